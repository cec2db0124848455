"""Figures 7 and 8 of Andersen: how PCG and the Newton method converge over many solves of a run, with ours beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unstick.bench import plots
from unstick.bench.andersen import SCENE, systems
from unstick.bench.cases import solver
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.published_over_time import ANDERSEN_NEWTON, ANDERSEN_PCG
from unstick.problem import PressureSystem
from unstick.result import SolveResult
from unstick.solvers.newton import Newton
from unstick.solvers.protocol import Solver

SIZE, FRAMES = 200, 40
TOLERANCE = 1e-5  # scale-free; Andersen's absolute and relative one
WARM = ", warm"  # in a name: starts from its last result instead of p = 0
ORDER = 1.5  # of convergence that Newton's last step must show at least when its inner solves are nearly exact


def figure_7(options: Options) -> Report:
    """Residual against steps of conjugate gradients or cycles, walls that stick."""
    methods = {name: solver(name, tolerance=TOLERANCE) for name in ("pcg", "mg", "mgpcg")}
    found, size, failures = _solve_all(methods, options)
    note = f"Andersen: about 900 to {ANDERSEN_PCG} iterations of PCG at 200 x 200. Here pcg has a modified incomplete Cholesky factor."
    return _report("andersen-fig-7", "iterations", found, size, (note,), failures, options)


def figure_8(options: Options) -> Report:
    """Residual against outer iterations of the methods that know separating walls."""
    methods: dict[str, Solver] = {
        "newton, gamma 0.01": Newton(tolerance=TOLERANCE, preconditioner="cholesky"),
        f"newton, gamma 0.01{WARM}": Newton(tolerance=TOLERANCE, preconditioner="cholesky"),
        "newton, gamma 1e-6": Newton(tolerance=TOLERANCE, preconditioner="cholesky", gamma=1e-6),
        "default": solver("default", tolerance=TOLERANCE),
        f"default{WARM}": solver("default", tolerance=TOLERANCE),
        "pi-pcg": solver("pi-pcg", tolerance=TOLERANCE),
    }
    found, size, failures = _solve_all(methods, options)
    exact = [history(r, r.outer_iterations) for r in found["newton, gamma 1e-6"]]
    orders = [o for o in map(last_order, exact) if o is not None]
    usual = float(np.median([r.outer_iterations for r in found[f"newton, gamma 0.01{WARM}"]]))
    if usual > ANDERSEN_NEWTON["usual"]:
        failures.append(f"newton takes {usual:g} iterations in most runs, Andersen {ANDERSEN_NEWTON['usual']}")
    if orders and float(np.median(orders)) < ORDER:
        failures.append(f"the last step of newton is of order {float(np.median(orders)):.2f}, not {ORDER}")
    notes = (
        f"Andersen: {ANDERSEN_NEWTON['usual']} Newton iterations do for most runs at 200 x 200, and {ANDERSEN_NEWTON['most']} for all.",
        "gamma 1e-6 solves the inner systems nearly exactly"
        + (f": the last step is then of order {float(np.median(orders)):.1f} (median)." if orders else ".")
        + " Once the set is found the next step is exact.",
    )
    return _report("andersen-fig-8", "outer_iterations", found, size, notes, failures, options)


def last_order(residuals: Sequence[float]) -> float | None:
    """log(r2 / r1) / log(r1 / r0) of the last three residuals: 2 where convergence is quadratic."""
    tail = [r for r in residuals if r > 0]
    if len(tail) < 3 or not tail[-3] > tail[-2] > tail[-1]:
        return None
    return float(np.log(tail[-1] / tail[-2]) / np.log(tail[-2] / tail[-3]))


def _solve_all(methods: dict[str, Solver], options: Options) -> tuple[dict[str, list[SolveResult]], int, list[str]]:
    """Every method on every system of the run, from p = 0 or, where its name says so, from its last result."""
    size, frames = options.sizes_or(SIZE)[0], options.frames_or(FRAMES)
    found: dict[str, list[SolveResult]] = {name: [] for name in methods}
    with options.meter.steps(2 * frames, "two-discs") as step:
        made: list[PressureSystem] = systems(size, frames, step)
        for at, system in enumerate(made):
            step(f"system {at + 1}", frames / len(made))
            for name, method in methods.items():
                last = found[name][-1] if found[name] and name.endswith(WARM) else np.zeros(system.shape)
                found[name].append(method.solve(system, last))
    failures = []
    for name, results in found.items():
        failed = sum(not r.converged for r in results)
        if failed:
            failures.append(f"{name}: {failed} of {len(results)} solves did not converge")
    return found, size, failures


def history(result: SolveResult, count: int) -> list[float]:
    """Residuals before the first and after each of `count` iterations, as parts of max |b|; empty where a solver does not record them."""
    residuals = list(result.residuals)
    if len(residuals) == count + 2:  # the last one recomputed
        residuals.pop()
    largest = float(np.max(np.abs(result.system.row_b)))
    return [r / largest for r in residuals] if len(residuals) == count + 1 else []


def _report(
    title: str,
    unit: str,
    found: dict[str, list[SolveResult]],
    size: int,
    notes: tuple[str, ...],
    failures: list[str],
    options: Options,
) -> Report:
    words = unit.replace("_", " ")
    rows: list[tuple[Cell, ...]] = []
    curves: dict[str, plots.Curve] = {}
    bands: dict[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] = {}
    for name, results in found.items():
        counts = [int(getattr(r, unit)) for r in results]
        low, middle, high = np.percentile(counts, (25, 50, 75))
        inner = float(np.mean([r.iterations for r in results]))
        rows.append((name, len(results), min(counts), float(low), float(middle), float(high), max(counts), inner))
        length = max(counts) + 1
        histories = [h for h in map(history, results, counts) if h]
        if not histories:
            continue
        table = np.array([h + [h[-1]] * (length - len(h)) for h in histories])
        low_line, line, high_line = np.maximum(np.percentile(table, (25, 50, 75), axis=0), 1e-17)
        x = list(range(length))
        curves[name] = (x, line.tolist())
        bands[name] = (x, low_line.tolist(), high_line.tolist())
    columns = ("solver", "solves", "least", "quarter", "median", "three quarters", "most", "inner iterations on average")
    table_of = Table(f"{SCENE} at {size}: {words} to {TOLERANCE:g}, from p = 0", columns, tuple(rows))
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        heading = f"{SCENE} at {size}: median and quartiles of {len(next(iter(found.values())))} solves"
        path = options.plots / f"{title}.png"
        pictures = (plots.lines(path, heading, words, "residual / max |b|", curves, level=TOLERANCE, bands=bands),)
    return Report(title, (table_of,), notes, tuple(failures), pictures)
