"""Eckert's tables 4.2 and 4.4 and figures 4.7 and 4.12: counts by the thresholds of the inner and of the outer iteration, on dam-2d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unstick.bench import plots
from unstick.bench.eckert_flows import Moment, moments
from unstick.bench.eckert_identical import FRAMES, LOW, over_frames, study
from unstick.bench.eckert_methods import EXACT, Thresholds, call, compile_first, make
from unstick.bench.harness import Cell, Options, Report, Table, ratio
from unstick.bench.published_eckert import (
    ADMM_VEL_OUTER,
    EPSILON_CG,
    EPSILON_OUTER,
    GRID,
    OUTER_AT,
    SAME_INPUT_BC,
    THRESHOLDS,
    TIGHTEST,
)

AT = (40, 85, 130, 175, 220)
MOST = 20_000  # outer iterations: she lets them go on
MOST_BC = 1000  # and here she does not
ADMM_AND_IOP = ("ADMMVelSep", "ADMMDivSep", "IOPDivSep")
SETTINGS = (TIGHTEST, *((cg, outer) for cg in EPSILON_CG for outer in EPSILON_OUTER))


@dataclass(frozen=True, slots=True)
class Averages:
    cg: float
    outer: float
    seconds: float
    failed: int
    flows: int


Grid = dict[tuple[float, float], Averages]
_made: dict[tuple[object, ...], tuple[dict[str, Grid], str]] = {}


def averages(names: Sequence[str], options: Options) -> tuple[dict[str, Grid], str]:
    """Of the calls with all 21 settings on a few flows; and why the run ended early."""
    size, last = options.sizes_or(GRID)[0], options.frames_or(max(AT))
    at = tuple(sorted({min(frame, last) for frame in AT}))
    missing = [name for name in names if (name, size, at) not in _made]
    if missing:
        with options.meter.steps(max(at) / 10 + len(missing) * len(SETTINGS), "dam-2d") as step:
            found, ended = moments("dam-2d", size, at, make(EXACT), lambda what: step(what, 0.1))
            compile_first(missing, found[0].flow)
            for name in missing:
                grid: Grid = {}
                for cg, outer in SETTINGS:
                    step(f"{name}, {cg:g}, {outer:g}")
                    grid[cg, outer] = _average(name, Thresholds(cg, outer, outer), found)
                _made[name, size, at] = ({name: grid}, ended)
    together: dict[str, Grid] = {}
    why = ""
    for name in names:
        one, why = _made[name, size, at]
        together.update(one)
    return together, why


def _average(name: str, thresholds: Thresholds, found: Sequence[Moment]) -> Averages:
    most = MOST_BC if name == "IOPDivSepBC" else MOST
    projection = make(name, thresholds, max_iterations=most, allow_unbalanced=True)
    calls = [call(projection, moment.flow) for moment in found]
    return Averages(
        float(np.mean([c.cg for c in calls])),
        float(np.mean([c.outer for c in calls])),
        float(np.mean([c.seconds for c in calls])),
        sum(c.status != "converged" for c in calls),
        len(calls),
    )


def grid_table(name: str, grid: Grid, what: str, title: str) -> Table:
    """Ours, with hers in brackets."""
    rows: list[tuple[Cell, ...]] = []
    for cg in (TIGHTEST[0], *EPSILON_CG):
        cells: list[Cell] = [f"{cg:g}"]
        for outer in (TIGHTEST[1], *EPSILON_OUTER):
            mine = grid.get((cg, outer))
            if mine is None:
                cells.append("")
                continue
            hers = THRESHOLDS[name].get((cg, outer)) if what == "cg" else OUTER_AT.get(name, {}).get((cg, outer))
            failed = f", {mine.failed} of {mine.flows} at the limit" if mine.failed else ""
            cells.append(f"{getattr(mine, what):.0f}" + (f" ({hers})" if hers is not None else "") + failed)
        rows.append(tuple(cells))
    columns = ("epsilon_CG", *(f"outer {outer:g}" for outer in (TIGHTEST[1], *EPSILON_OUTER)))
    return Table(title, columns, tuple(rows), "Averages per step; Eckert's in brackets where she prints one.")


def table_4_2(options: Options) -> Report:
    made, ended = averages(ADMM_AND_IOP, options)
    tables = [grid_table(name, made[name], "cg", f"{name}: iterations of CG (Eckert, table 4.2)") for name in ADMM_AND_IOP]
    tables += [grid_table(name, made[name], "outer", f"{name}: outer iterations") for name in ADMM_AND_IOP]
    return Report("eckert-table-4.2", (*tables, _facts(made)), _notes(options), (ended,) if ended else ())


def figure_4_7(options: Options) -> Report:
    """Table 4.2 drawn: CG and outer iterations against the thresholds."""
    made, ended = averages(ADMM_AND_IOP, options)
    tables = [grid_table(name, made[name], what, f"{name}: {text} (Eckert, figure 4.7)") for what, text in
              (("cg", "iterations of CG"), ("outer", "outer iterations")) for name in ADMM_AND_IOP]  # fmt: skip
    pictures = [p for what in ("cg", "outer") for p in _lines(made, options, "4.7", what)]
    return Report("eckert-fig-4.7", (*tables, _facts(made)), _notes(options), (ended,) if ended else (), tuple(pictures))


def table_4_4(options: Options) -> Report:
    made, ended = averages(("IOPDivSepBC",), options)
    grid = made["IOPDivSepBC"]
    tables = (
        grid_table("IOPDivSepBC", grid, "cg", "IOPDivSepBC: iterations of CG (Eckert, table 4.4)"),
        grid_table("IOPDivSepBC", grid, "outer", "IOPDivSepBC: outer iterations"),
    )
    return Report("eckert-table-4.4", tables, _notes(options), (ended,) if ended else ())


def figure_4_12(options: Options) -> Report:
    """(a) table 4.4 drawn, (b) CG iterations over the frames on identical inputs."""
    made, ended = averages(("IOPDivSepBC",), options)
    same = study(options.sizes_or(GRID)[0], options.frames_or(FRAMES), options)
    names = [name + LOW for name in ("OrigPSSep", "IOPDivSepBC", "IOPDivSep")]
    rows: list[tuple[Cell, ...]] = [
        (name, same.mean(name, "cg"), SAME_INPUT_BC[name.removesuffix(LOW)], same.mean(name, "outer"), same.mean(name, "seconds"))
        for name in names
        if name in same.calls
    ]
    by_frame = Table(
        "Identical inputs: averages (Eckert, figure 4.12 b)", ("method", "CG", "Eckert", "outer iterations", "CPU s"), tuple(rows)
    )
    pictures = [*_lines(made, options, "4.12a", "cg")]
    if options.plots is not None:
        title = f"dam-2d at {same.size}: CG iterations per step (Eckert, figure 4.12 b)"
        path = options.plots / "eckert-fig-4.12b.png"
        pictures.append(plots.lines(path, title, "frame", "iterations of CG", over_frames(same, names, "cg")))
    first = grid_table("IOPDivSepBC", made["IOPDivSepBC"], "cg", "IOPDivSepBC: iterations of CG (Eckert, figure 4.12 a)")
    failures = [why for why in (ended, same.ended) if why]
    return Report("eckert-fig-4.12", (first, by_frame), _notes(options), tuple(failures), tuple(pictures))


def _facts(made: dict[str, Grid]) -> Table:
    """What she concludes, and whether it is so here."""
    rows: list[tuple[Cell, ...]] = []
    balanced = [s for s in SETTINGS if s != TIGHTEST and s[0] <= s[1]]
    unbalanced = [s for s in SETTINGS if s[0] > s[1]]
    for name in ADMM_AND_IOP:
        rows.append((f"{name}: most outer iterations, outer threshold not stricter", max(made[name][s].outer for s in balanced), "-"))
        hers = OUTER_AT.get(name, {}).get((1e-1, 1e-4), "-")
        rows.append((f"{name}: most outer iterations, outer threshold stricter", max(made[name][s].outer for s in unbalanced), hers))
    vel = [made["ADMMVelSep"][s].outer for s in SETTINGS if s != TIGHTEST]
    rows.append(("ADMMVelSep: outer iterations over all settings", f"{min(vel):.0f} to {max(vel):.0f}", "{} to {}".format(*ADMM_VEL_OUTER)))
    for a, b in (("ADMMDivSep", "IOPDivSep"), ("ADMMVelSep", "IOPDivSep")):
        hers_ratio = ratio(THRESHOLDS[a][TIGHTEST], THRESHOLDS[b][TIGHTEST])
        rows.append((f"{a} / {b}: CG at the tightest setting", ratio(made[a][TIGHTEST].cg, made[b][TIGHTEST].cg), hers_ratio))
    return Table("What the thesis concludes", ("what", "ours", "Eckert"), tuple(rows))


def _notes(options: Options) -> tuple[str, ...]:
    last = options.frames_or(max(AT))
    frames = ", ".join(map(str, sorted({min(frame, last) for frame in AT})))
    return (
        f"The first step of frames {frames} of a run of dam-2d with the exact projection; she averages over a run with each setting.",
        f"Cut cells, PCG inside, no acceleration, at most {MOST} outer iterations (IOPDivSepBC: {MOST_BC}, as hers).",
        "An outer threshold stricter than epsilon_CG is refused unless allow_unbalanced=True, as here; ADMMVelSep takes it anyway.",
    )


def _lines(made: dict[str, Grid], options: Options, number: str, what: str) -> tuple[Path, ...]:
    if options.plots is None:
        return ()
    names = {"cg": "iterations of CG", "outer": "outer iterations"}
    out = []
    for name, grid in made.items():
        curves = {f"epsilon_CG {cg:g}": (EPSILON_OUTER, [getattr(grid[cg, outer], what) for outer in EPSILON_OUTER]) for cg in EPSILON_CG}
        path = options.plots / f"eckert-fig-{number}-{name}-{what}.png"
        title = f"{name}: {names[what]} by thresholds (Eckert, figure {number})"
        out.append(plots.lines(path, title, "threshold of the outer iteration", names[what], curves, x_log=True))
    return tuple(out)
