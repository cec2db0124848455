"""Eckert's figures 4.3-4.5: how residuals fall within one step of dam-2d, and what happens when the outer threshold is the stricter one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unstick.bench import plots
from unstick.bench.eckert_flows import Moment, moments
from unstick.bench.eckert_methods import EXACT_STICKING, Thresholds, Units, call, compile_first, leftover, make
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.published_eckert import CONVERGENCE_STEP, GRID, PERIOD, PERIOD_SAID

FOLLOWED = Thresholds(1e-9, 1e-7, 1e-7)  # tight enough to see many periods
STRICT = (1e-4, 1e-5)  # outer thresholds under an epsilon_CG of 1e-3
MOST = 2000
STEPS_OF_CG = 400

History = tuple[Sequence[float], Sequence[float]]


def _moment(options: Options) -> tuple[Moment, str]:
    size, frame = options.sizes_or(GRID)[0], options.frames_or(CONVERGENCE_STEP)
    with options.meter.steps(frame, "dam-2d") as step:
        found, ended = moments("dam-2d", size, (frame,), make(EXACT_STICKING), step)
    compile_first(("OrigPS", "OrigPSSep", "IOPDivSep", "ADMMVelSep", "ADMMDivSep"), found[0].flow)
    return found[0], ended


def outer_history(name: str, thresholds: Thresholds, moment: Moment, most: int) -> tuple[History, bool]:
    """The residual after each outer iteration, in the thesis' units, and whether it reached its threshold."""
    done = call(make(name, thresholds, max_iterations=most, allow_unbalanced=True), moment.flow)
    units = Units.of(moment.flow)
    scale = units.speed if name.startswith("ADMMVel") else units.rate
    values = [scale(r) for r in done.projected.result.residuals]
    return (list(range(1, len(values) + 1)), values), done.projected.result.converged


def inner_history(name: str, moment: Moment, epsilon: float) -> History:
    """The largest divergence after each step of conjugate gradients, found by stopping at it."""
    steps, values = [], []
    for most in range(1, STEPS_OF_CG):
        done = call(make(name, Thresholds(cg=epsilon), max_inner=most), moment.flow)
        steps.append(most)
        values.append(Units.of(moment.flow).rate(done.projected.result.residual))
        if done.status == "converged":
            break
    return steps, values


def figure_4_3(options: Options) -> Report:
    """The divergence in OrigPS and OrigPSSep by steps of conjugate gradients, in IOP by outer iterations."""
    moment, ended = _moment(options)
    curves = {name: inner_history(name, moment, 1e-8) for name in ("OrigPS", "OrigPSSep")}
    curves["IOPDivSep"], _ = outer_history("IOPDivSep", FOLLOWED, moment, MOST)
    left, _ = leftover(moment.flow, call(make("OrigPSSep"), moment.flow))
    rows: list[tuple[Cell, ...]] = [(name, values[0], len(steps), values[-1], _rises(values)) for name, (steps, values) in curves.items()]
    table = Table(
        f"dam-2d, frame {moment.frame}: the divergence (Eckert, figure 4.3)",
        ("method", "first", "iterations", "last", "times it rises"),
        tuple(rows),
        "OrigPS, OrigPSSep: by steps of conjugate gradients, to 1e-8. IOPDivSep: by outer iterations, to 1e-7. Cells and her unit of time.",
    )
    notes = (
        "Eckert: jagged and fast for OrigPS and OrigPSSep; smooth for IOP, up once around the tenth iteration, and straight from then on.",
        f"OrigPSSep leaves a divergence of {left:.3g} where the liquid lets go; as in the thesis those cells are left out of its residual.",
    )
    pictures = _draw(options, "4.3", moment, "iteration", "divergence", curves)
    return Report("eckert-fig-4.3", (table,), notes, (ended,) if ended else (), pictures)


def figure_4_4(options: Options) -> Report:
    """ADMM's two residuals and their period."""
    moment, ended = _moment(options)
    curves = {name: outer_history(name, FOLLOWED, moment, MOST)[0] for name in ("ADMMDivSep", "ADMMVelSep")}
    rows: list[tuple[Cell, ...]] = []
    for name, (steps, values) in curves.items():
        low = minima(values)
        rows.append((name, len(steps), values[-1], period(values), f"{PERIOD[0]} to {PERIOD[1]}", ", ".join(map(str, low[2:8]))))
    columns = ("residual of", "outer iterations", "last", "period", "Eckert", "minima at")
    table = Table(f"dam-2d, frame {moment.frame}: ADMM's residuals (Eckert, figure 4.4)", columns, tuple(rows),
                  "Period: median distance of successive minima, each the least within two iterations to either side.")  # fmt: skip
    notes = (
        f"Eckert says 'approximately {PERIOD_SAID}'; her minima stand at 67, 84, 101 (divergence) and 78, 93 (velocity).",
        "The period is that of the angle between the two subspaces, which differs from step to step.",
    )
    pictures = _draw(options, "4.4", moment, "outer iteration", "residual", curves)
    return Report("eckert-fig-4.4", (table,), notes, (ended,) if ended else (), pictures)


def figure_4_5(options: Options) -> Report:
    """The outer threshold stricter than the inner one."""
    moment, ended = _moment(options)
    rows: list[tuple[Cell, ...]] = []
    curves: dict[str, History] = {}
    for name in ("IOPDivSep", "ADMMDivSep", "ADMMVelSep"):
        for cg in (1e-3, 1e-6):
            for outer in STRICT:
                (steps, values), reached = outer_history(name, Thresholds(cg, outer, outer), moment, MOST)
                rows.append((name, f"{cg:g}", f"{outer:g}", len(steps), values[-1], _rises(values), reached))
                if outer == STRICT[-1]:
                    curves[f"{name}, epsilon_CG {cg:g}"] = (steps, values)
    columns = ("method", "epsilon_CG", "outer threshold", "outer iterations", "last", "times it rises", "reached")
    table = Table(f"dam-2d, frame {moment.frame}: the outer threshold stricter than epsilon_CG (Eckert, figure 4.5)", columns, tuple(rows),
                  f"At most {MOST} outer iterations. epsilon_CG = 1e-3 is her case; 1e-6 is balanced, for comparison.")  # fmt: skip
    notes = (
        "Eckert: IOP falls smoothly to about the two hundredth iteration, and then goes up and down; ADMM only takes more iterations.",
    )
    pictures = _draw(options, "4.5", moment, "outer iteration", f"residual, threshold {STRICT[-1]:g}", curves)
    return Report("eckert-fig-4.5", (table,), notes, (ended,) if ended else (), pictures)


def _draw(options: Options, number: str, moment: Moment, x: str, y: str, curves: dict[str, History]) -> tuple[Path, ...]:
    if options.plots is None:
        return ()
    title = f"dam-2d, frame {moment.frame} (Eckert, figure {number})"
    return (plots.lines(options.plots / f"eckert-fig-{number}.png", title, x, y, curves),)


def _rises(values: Sequence[float]) -> int:
    return int(np.count_nonzero(np.diff(values) > 0.0))


def minima(values: Sequence[float], around: int = 2) -> list[int]:
    """Iterations (from 1) whose residual is the least within `around` to either side."""
    v = np.asarray(values)
    return [i + 1 for i in range(around, len(v) - around) if v[i] == v[i - around : i + around + 1].min() and v[i] < v[i - 1]]


def period(values: Sequence[float]) -> float | None:
    found = minima(values)
    return float(np.median(np.diff(found))) if len(found) > 2 else None
