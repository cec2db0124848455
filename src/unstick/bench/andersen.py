"""Andersen's measurements on two discs of liquid: what separating walls cost beside slip walls, speed-up, and where the time goes.

His code runs on a processor and on a graphics card; ours on one thread and on several. His minimum-map Newton method stands here with
an incomplete Cholesky factor, the same that `pcg` has, and ours (`default`) beside `mgpcg`, which is made of the same parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unstick.bench import plots
from unstick.bench.harness import Cell, Options, Report, Table, cpu_seconds, ratio, using_threads, wall_seconds
from unstick.bench.limit import available_threads
from unstick.bench.over_time import chosen_solver, in_thesis_units, trajectories
from unstick.bench.published_over_time import ANDERSEN_OVERHEAD, ANDERSEN_SPEEDUP
from unstick.bench.raw_counts import Trajectory
from unstick.liquid.simulation import Simulation
from unstick.pressure.projection import Flow, PressureProjection, Projected
from unstick.problem import PressureSystem
from unstick.result import Guess
from unstick.scenes.table import SCENES
from unstick.solvers.compact import compact
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearSolver
from unstick.solvers.protocol import Solver, Start, conclude, scaled

SCENE = "two-discs"
SIZES = (64, 128, 256, 512, 1024)
PAIRS = (("newton-cholesky", "pcg"), ("pi-pcg", "pcg"), ("default", "mgpcg"), ("default", "pcg"))
NAMES = ("default", "newton-cholesky", "pi-pcg", "pcg", "mgpcg")
FRAMES = {64: 60, 128: 60, 256: 30, 512: 12, 1024: 4}
MOST = 1.0  # how much more than the linear solve by the same parts the default may take on average


def overhead(options: Options) -> Report:
    """How much longer the separating problem takes than the slip-wall one, over a trajectory."""
    made = [t for s in options.sizes_or(*SIZES) for t in trajectories(SCENE, (s,), options.frames_or(FRAMES.get(s, 12)), NAMES, options)]
    rows: list[tuple[Cell, ...]] = []
    counts: list[tuple[Cell, ...]] = []
    failures = [t.ended for t in made if t.ended]
    for t in made:
        more = [_percent(t, a, b) for a, b in PAIRS]
        rows.append((t.size, t.frames, len(t.moments), *more, ANDERSEN_OVERHEAD.get(t.size)))
        for name in NAMES:
            counts.append((t.size, name, t.mean(name, "iterations"), t.mean(name, "outer"), t.mean(name, "seconds"), t.failed(name)))
            if t.failed(name):
                failures.append(f"{name} at {t.size}: {t.failed(name)} of {len(t.of(name))} solves did not converge")
        against = more[2]
        if against is not None and against > 100 * MOST:
            failures.append(f"default at {t.size} takes {against:.0f} % more than the linear solve by the same parts, not {100 * MOST:.0f}")
    columns = ("cells", "frames", "solves", *(f"{a} over {b}, %" for a, b in PAIRS), "Andersen, %")
    tables = (
        Table(
            f"{SCENE}: extra time of the separating problem", columns, tuple(rows), "CPU seconds on one thread; Andersen: Newton over PCG."
        ),
        Table(f"{SCENE}: averages per solve", ("cells", "solver", "iterations", "outer", "seconds", "not converged"), tuple(counts)),
    )
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        curves: dict[str, plots.Curve] = {
            f"{a} over {b}": ([t.size for t in made], [p or 0.0 for t in made for p in [_percent(t, a, b)]]) for a, b in PAIRS
        }
        curves["Andersen"] = (list(ANDERSEN_OVERHEAD), list(ANDERSEN_OVERHEAD.values()))
        title = "Extra time of separating walls"
        pictures = (plots.lines(options.plots / "andersen-overhead.png", title, "cells", "per cent", curves, x_log=True, y_log=False),)
    note = (
        "All solve the same systems of a trajectory made by the default, each from its own last result, to max |min(p, A p + b)| <= 1e-6 "
        "with density 1. Andersen stops at 1e-5, and both of his methods use conjugate gradients without or with a fixed preconditioner."
    )
    return Report("andersen-overhead", tables, (note,), tuple(failures), pictures)


def _percent(t: Trajectory, a: str, b: str) -> float | None:
    share = ratio(t.mean(a, "seconds"), t.mean(b, "seconds"))
    return None if share is None else 100 * (share - 1.0)


@dataclass(slots=True, eq=False)
class Collector:
    """A projection that hands every flow and system on, the system in the units of the thesis."""

    leader: PressureProjection
    look: Callable[[Flow, PressureSystem], None]

    @property
    def name(self) -> str:
        return self.leader.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        projected = self.leader(flow, guess)
        self.look(flow, in_thesis_units(projected.result.system, flow.density))
        return projected


def systems(size: int, frames: int, tell: Callable[[str], None] = lambda what: None) -> list[PressureSystem]:
    """All pressure systems of the first frames of the scene."""
    found: list[PressureSystem] = []
    simulation = Simulation(SCENES[SCENE](resolution=size), projection=Collector(PressureProjection(), lambda flow, s: found.append(s)))
    for frame in range(frames):
        tell(f"frame {frame + 1}")
        simulation.advance_frame()
    return found


def hard_system(size: int, frames: int, tell: Callable[[str], None]) -> PressureSystem:
    """The system with the largest part of the contact rows detached, of the first frames."""
    best: list[tuple[float, PressureSystem]] = []
    leader = PressureProjection()

    def look(flow: Flow, system: PressureSystem) -> None:
        result = leader.solver.solve(system)
        share = float(np.count_nonzero(result.row_detached)) / max(1, int(np.count_nonzero(system.row_contact)))
        if not best or share > best[0][0]:
            best[:] = [(share, system)]

    simulation = Simulation(SCENES[SCENE](resolution=size), projection=Collector(leader, look))
    for frame in range(frames):
        tell(f"frame {frame + 1}")
        simulation.advance_frame()
    return best[0][1]


def figure_4(options: Options) -> Report:
    """Speed-up: several threads against one, and ours against the Newton method on one."""
    sizes, frames = options.sizes_or(*SIZES[:-1]), options.frames_or(20)
    names = ("default", "mgpcg")
    threads = available_threads()
    rows: list[tuple[Cell, ...]] = []
    curves: dict[str, tuple[list[float], list[float]]] = {}
    with options.meter.steps(sum((frames + 10) * float(s) ** 2 for s in sizes), "speed-up") as step:
        for size in sizes:
            system = hard_system(size, frames, lambda what, s=size: step(f"{s}, {what}", float(s) ** 2))  # type: ignore[misc]
            step(f"{size}, timing", 10 * float(size) ** 2)
            known = chosen_solver("newton-cholesky")
            known.solve(system)
            (newton,) = wall_seconds(lambda s=known, a=system: s.solve(a), (1,), 2)  # type: ignore[misc]
            for name in names:
                chosen = chosen_solver(name)
                chosen.solve(system)
                one, many = wall_seconds(lambda s=chosen, a=system: s.solve(a), (1, threads), 5)  # type: ignore[misc]
                faster = newton / one if name == "default" else None
                rows.append((size, system.unknowns, name, one, many, one / many, faster))
                for key, value in ((f"{name}, {threads} threads", one / many), (f"{name} over newton", faster)):
                    if value is not None:
                        x, y = curves.setdefault(key, ([], []))
                        x.append(float(size))
                        y.append(value)
    columns = ("cells", "unknowns", "solver", "1 thread, s", f"{threads} threads, s", "speed-up", "newton / default")
    note = "; ".join(f"Andersen, {name}: {text}" for name, text in ANDERSEN_SPEEDUP.items())
    table = Table(f"{SCENE}: a hard system, cold (Andersen, figure 4)", columns, tuple(rows), f"Wall time, least of 5. {note}.")
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        title = "Speed-up of one solve"
        pictures = (plots.lines(options.plots / "andersen-fig-4.png", title, "cells", "times faster", curves, x_log=True),)
    notes = ("newton has an incomplete Cholesky factor. Wall time is only worth something on a machine that does nothing else.",)
    return Report("andersen-fig-4", (table,), notes, (), pictures)


PHASES = ("setup", "initialization", "computation", "finalization")


def phases(chosen: Solver, system: PressureSystem) -> tuple[float, float, float, float]:
    """CPU seconds of the phases of a solve on one thread, in Andersen's words: compressed rows, preconditioner, iterations, back to the
    grid. Newton's preconditioners belong to its iterations."""
    with using_threads(1):
        clock = [time.process_time()]
        rows = compact(system, chosen.contact_rows(system))
        ledger = Ledger(rows.nnz)
        problem, unit_p, unit_b = scaled(rows, chosen.tolerance, chosen.absolute)
        clock.append(time.process_time())
        if isinstance(chosen, LinearSolver):
            chosen.method().prepare(problem.A, problem.lattice, ledger)
        clock.append(time.process_time())
        outcome = chosen.iterate(problem, Start(np.zeros(problem.n), None, True), ledger)
        clock.append(time.process_time())
        conclude(chosen, system, rows, rows.spread(outcome.p * unit_p), outcome, ledger, unit_b, problem.goal)
        clock.append(time.process_time())
    setup, initialization, computation, finalization = np.diff(clock)
    # `iterate` of a linear solver prepares once more.
    return float(setup), float(initialization), float(max(0.0, computation - initialization)), float(finalization)


def figure_5(options: Options) -> Report:
    return _phases("andersen-fig-5", "pcg", 5, options)


def figure_6(options: Options) -> Report:
    return _phases("andersen-fig-6", "newton-cholesky", 6, options)


def _phases(title: str, name: str, figure: int, options: Options) -> Report:
    sizes, frames = options.sizes_or(*SIZES[:-1]), options.frames_or(20)
    rows: list[tuple[Cell, ...]] = []
    with options.meter.steps(sum((frames + 5) * float(s) ** 2 for s in sizes), title) as step:
        for size in sizes:
            system = hard_system(size, frames, lambda what, s=size: step(f"{s}, {what}", float(s) ** 2))  # type: ignore[misc]
            step(f"{size}, timing", 5 * float(size) ** 2)
            chosen, ours = chosen_solver(name), chosen_solver("default")
            phases(chosen, system)  # compiles
            spent = np.min([phases(chosen, system) for _ in range(3)], axis=0)
            ours.solve(system)
            whole = cpu_seconds(lambda s=ours, a=system: s.solve(a))  # type: ignore[misc]
            rows.append((size, system.unknowns, *map(float, spent), float(spent.sum()), whole))
    columns = ("cells", "unknowns", *(f"{phase}, s" for phase in PHASES), "all, s", "default, all, s")
    note = "CPU seconds, one thread, least of 3. setup: to compressed rows; initialization: preconditioner; finalization: back to the grid."
    table = Table(f"{SCENE}: phases of one solve by {name} (Andersen, figure {figure})", columns, tuple(rows), note)
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        groups = {phase: [float(row[2 + at] or 0.0) for row in rows] for at, phase in enumerate(PHASES)}
        ticks = [str(row[0]) for row in rows]
        path = options.plots / f"{title}.png"
        pictures = (plots.bars(path, f"Phases of one solve by {name}", "cells", "CPU seconds", groups, ticks, y_log=True),)
    more = "Andersen: setting up is close to the computation for PCG on a graphics card, and far below it for Newton."
    return Report(title, (table,), (more,), (), pictures)
