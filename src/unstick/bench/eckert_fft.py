"""The outlook of Eckert's thesis (section 5.2): a fast Poisson solve inside, against PCG and multigrid, without and with a free surface."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unstick.bench import plots
from unstick.bench.eckert_flows import Moment, walk
from unstick.bench.eckert_methods import EXACT, Units, make
from unstick.bench.harness import Cell, Options, Report, Table, ratio, using_threads
from unstick.grid import Array
from unstick.pressure.splitting.fast import is_exact
from unstick.pressure.splitting.inner import FreeProblem
from unstick.pressure.splitting.inners import INNERS
from unstick.pressure.splitting.walls import Rows, Setting, WallsFrom, without_walls
from unstick.problem import Stencil
from unstick.solvers.compact import Lattice
from unstick.solvers.ledger import Ledger

NAMES = ("pcg", "mgpcg", "fft")
EPSILON = 1e-5  # epsilon_CG in the thesis' units
AT_LEAST = 5.0  # times faster than PCG, without a free surface
SCENES = (("dam-2d", (96, 192), (20, 80)), ("stairs", (48, 96), (10,)), ("dam", (48, 96), (20,)))
REPEATS = 2
LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Solved:
    setup: float
    seconds: float
    iterations: int
    transforms: float
    converged: bool


def run(options: Options) -> Report:
    boxes = [(2, n) for n in options.sizes_or(256, 512)] + [(3, n) for n in options.sizes_or(64, 96, 128)]
    failures: list[str] = []
    with options.meter.steps(len(boxes), "closed boxes") as step:
        rows: list[tuple[Cell, ...]] = []
        for dimension, n in boxes:
            step(f"{n}^{dimension}")
            rows.append(_closed(n, dimension, failures))
    columns = ("cells", "unknowns", "PCG iterations", "PCG s", "mgpcg iterations", "mgpcg s", "fft s", "PCG / fft", "with set-up")
    closed = Table(
        f"A closed box full of liquid: one inner solve at epsilon_CG = {EPSILON:g}",
        columns,
        tuple(rows),
        "Solids as air, so that p = 0 one cell beyond every side. Seconds: CPU, one thread; the last column with the set-up of both.",
    )
    surface = _with_surface(options)
    pictures = _draw(boxes, rows, options)
    notes = (
        "Without a free surface the transforms are exact: one there and back. With one they precondition conjugate gradients.",
        f"epsilon_CG is in the thesis' units: {EPSILON:g} of a cell per cell and unit of time, of which a step is 0.5.",
        "PCG: incomplete Cholesky with Eisenstat's trick, which saves the product with the matrix.",
        "Break-even: how many iterations of PCG take as long as one of fft, and how many times more than that PCG would have to need.",
    )
    return Report("eckert-fft", (closed, surface), notes, tuple(failures), pictures)


def _draw(boxes: Sequence[tuple[int, int]], rows: Sequence[tuple[Cell, ...]], options: Options) -> tuple[Path, ...]:
    if options.plots is None:
        return ()
    curves = {}
    for dimension in (2, 3):
        mine = [(n, row) for (d, n), row in zip(boxes, rows, strict=True) if d == dimension]
        for name, column in (("PCG", 3), ("mgpcg", 5), ("fft", 6)):
            curves[f"{name}, {dimension}D"] = ([n for n, _ in mine], [float(row[column] or 0.0) for _, row in mine])
    title = f"One inner solve in a closed box at epsilon_CG = {EPSILON:g}"
    return (plots.lines(options.plots / "eckert-fft.png", title, "cells along a side", "CPU seconds, one thread", curves, x_log=True),)


def full_box(n: int, dimension: int) -> tuple[FreeProblem, Array]:
    """A box full of liquid with all solids taken for air, and the divergence of a smooth flow that its walls stop."""
    shape = (n, n, n if dimension == 3 else 1)
    w, excess = [], np.zeros(shape)
    for axis in range(3):
        coupling = np.ones(shape) if shape[axis] > 1 else np.zeros(shape)
        inner = tuple(slice(0, 1) if a == axis else slice(None) for a in range(3))
        coupling[inner] = 0.0
        w.append(coupling)
        if shape[axis] > 1:
            for end in (0, n - 1):
                excess[tuple(end if a == axis else slice(None) for a in range(3))] += 1.0
    A = Stencil(w[0], w[1], w[2], excess)
    there = np.ones(shape, dtype=bool)
    problem = FreeProblem(A.to_csr(there), Lattice(A.box, np.argwhere(there).astype(np.int32)), 1.0, stencil=A)
    return problem, _divergence(shape).reshape(-1)


def _divergence(shape: tuple[int, int, int]) -> Array:
    """Of a swirl and a fall of half a cell per unit of time, zero on the walls."""
    total = np.zeros(shape)
    at = [(np.arange(n) + 0.5) / n for n in shape]
    wave = np.sin(2 * np.pi * at[0])[:, None, None] * np.cos(2 * np.pi * at[1])[None, :, None] * np.ones(shape[2])
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        faces = np.zeros(tuple(n + (a == axis) for a, n in enumerate(shape)))
        inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
        faces[inner] = -0.5 * (axis == 1) + 0.3 * (axis + 1) * wave[tuple(slice(1, None) if a == axis else slice(None) for a in range(3))]
        total += np.diff(faces, axis=axis)
    return total


def solve(name: str, problem: FreeProblem, r: Array, goal: float) -> Solved:
    """One inner solve, the least CPU seconds of several."""
    best, setup = math.inf, math.inf
    with using_threads(1):
        for _ in range(REPEATS):
            ledger = Ledger(problem.A.nnz)
            start = time.process_time()
            prepared = INNERS[name].prepare(problem, ledger)
            between = time.process_time()
            found = prepared(r, goal, LIMIT)
            best, setup = min(best, time.process_time() - between), min(setup, between - start)
    return Solved(setup, best, found.iterations, ledger.totals().get("transforms", 0.0), found.norm <= goal)


def _closed(n: int, dimension: int, failures: list[str]) -> tuple[Cell, ...]:
    problem, r = full_box(n, dimension)
    found = {name: solve(name, problem, r, EPSILON) for name in NAMES}
    pcg, fft = found["pcg"], found["fft"]
    where = f"{n}^{dimension}"
    if not is_exact(problem) or fft.iterations != 1 or not fft.converged:
        failures.append(f"fft takes {fft.iterations} transforms there and back on a closed box of {where}, not one")
    times = ratio(pcg.seconds, fft.seconds) or 0.0
    if times < AT_LEAST:
        failures.append(f"fft is {times:.1f} times as fast as PCG in a closed box of {where}, not {AT_LEAST:g}")
    whole = ratio(pcg.seconds + pcg.setup, fft.seconds + fft.setup)
    mg = found["mgpcg"]
    return where, problem.A.shape[0], pcg.iterations, pcg.seconds, mg.iterations, mg.seconds, fft.seconds, times, whole


def _with_surface(options: Options) -> Table:
    rows: list[tuple[Cell, ...]] = []
    chosen: list[tuple[str, int, tuple[int, ...]]] = [
        (scene, size, frames) for scene, sizes, frames in SCENES for size in (options.sizes or sizes)
    ]
    if options.frames is not None:
        chosen = [(scene, size, tuple(sorted({min(f, options.frames) for f in frames}))) for scene, size, frames in chosen]
    with options.meter.steps(len(chosen), "liquid") as step:
        for scene, size, frames in chosen:
            step(f"{scene} at {size}")
            walk(scene, size, frames, make(EXACT), lambda m, s=scene, n=size: rows.append(_line(s, n, m)))  # type: ignore[misc]
    columns = (
        "scene", "cells", "frame", "unknowns", "part of its box %", "PCG iterations", "PCG s", "mgpcg iterations", "mgpcg s",
        "fft iterations", "transforms", "fft s", "fft / PCG", "fft / mgpcg", "one fft = PCG iterations", "break-even at PCG iterations",
    )  # fmt: skip
    note = "Inner problems of the splittings on cut cells, from p = 0. Seconds: CPU, one thread, set-up left out: it is made once a step."
    return Table(f"With a free surface: one inner solve at epsilon_CG = {EPSILON:g}", columns, tuple(rows), note)


def inner_problem(moment: Moment, walls_from: WallsFrom = "fractions") -> tuple[FreeProblem, Array, float]:
    """The first inner solve of a splitting: the problem, its right-hand side, and the goal in 1/s."""
    setting = Setting.of(moment.flow, walls_from)
    rows = Rows.of(setting.stencil)
    problem = rows.problem(without_walls(setting, rows), setting.coupling)
    goal = EPSILON / Units.of(moment.flow).time
    return problem, -rows.take(setting.system.row_b), goal


def _line(scene: str, size: int, moment: Moment) -> tuple[Cell, ...]:
    problem, r, goal = inner_problem(moment)
    found = {name: solve(name, problem, r, goal) for name in NAMES}
    pcg, mg, fft = (found[name] for name in NAMES)
    box = np.prod(np.ptp(problem.lattice.ijk, axis=0) + 1)
    one = ratio(fft.seconds / max(fft.iterations, 1), pcg.seconds / max(pcg.iterations, 1))
    return (
        scene, size, moment.frame, problem.A.shape[0], 100.0 * problem.A.shape[0] / float(box), pcg.iterations, pcg.seconds, mg.iterations,
        mg.seconds, fft.iterations, fft.transforms, fft.seconds, ratio(fft.seconds, pcg.seconds), ratio(fft.seconds, mg.seconds), one,
        None if one is None else one * fft.iterations,
    )  # fmt: skip
