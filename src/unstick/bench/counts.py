"""Every solver on the hard frames, cold, with Lai's tolerance: iterations, outer iterations, work units, seconds (Lai, tables 6.4-6.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.bench import aims
from unstick.bench.cases import LAI, WAYS, Run, compile_first, detached_share, run_best, run_once, solver, system_of
from unstick.bench.harness import Cell, Options, Report, Table, ratio
from unstick.bench.published import FRAME_COUNTS, FRAME_TABLE, LINEAR_PCG, lai
from unstick.result import UnsupportedSystem
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS

FRAMES_3D = ("sphere", "sphere-box", "double-sphere")
FRAMES_2D = ("circle", "square", "maze")
LINEAR = tuple(name for name in LINEAR_SOLVERS if name != "fft")  # which needs a full box
SMALL_ONLY = {"newton": 128, "newton-plain": 64, "pgs": 128, "mprgp": 128, "fas-literal": 128, "fmg-literal": 128}
REPEATED = 4.0  # seconds: shorter runs are repeated and the least is taken
# How much longer than the default a solver takes, roughly: for the time left only.
WEIGHT = {
    "newton": 10.0,
    "newton-plain": 60.0,
    "pgs": 60.0,
    "mprgp": 20.0,
    "pi-pcg": 8.0,
    "pe-pcg": 10.0,
    "pi-mg": 12.0,
    "pe-mg": 20.0,
    "fmg": 20.0,
    "fas-mg": 8.0,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """How hard a frame is."""

    unknowns: int
    contact: int
    detached: float
    policy: int | str  # outer iterations of exact policy iteration from p = 0


def facts(frame: str, size: int) -> Facts:
    system = system_of(frame, size)
    exact = run_once(solver("pi-pcg", inner=1e-8, **LAI), system).result
    outer: int | str = exact.outer_iterations if exact.converged else exact.status.name.lower()
    return Facts(system.unknowns, int(np.count_nonzero(system.row_contact)), detached_share(exact), outer)


def run(options: Options) -> Report:
    return compare("frames", FRAMES_3D, options.sizes_or(32, 64, 128, 256), (*SOLVERS, *WAYS, *LINEAR), options)


def run_2d(options: Options) -> Report:
    names = ("default", "fas-mg", "pi-mg", "pi-pcg", "mgpcg")
    return compare("frames-2d", FRAMES_2D, options.sizes_or(256, 1024, 4096), names, options)


def table_6_4(options: Options) -> Report:
    return _one("sphere", options)


def table_6_5(options: Options) -> Report:
    return _one("sphere-box", options)


def table_6_6(options: Options) -> Report:
    return _one("double-sphere", options)


def _one(frame: str, options: Options) -> Report:
    names = ("default", *(name for name in FRAME_COUNTS[frame] if name in SOLVERS), "mgpcg", "pcg")
    return compare(f"lai-table-{FRAME_TABLE[frame]}", (frame,), options.sizes_or(32, 64, 128, 256), names, options)


def options_of(name: str) -> dict[str, float | int]:
    """Plain methods need many cheap iterations: their limit must not be what stops them."""
    return (
        {**LAI, "max_iterations": 1_000_000} if name in ("newton", "newton-plain", "pgs", "mprgp", "pcg", "pi-pcg", "pe-pcg") else dict(LAI)
    )


def compare(title: str, frames: tuple[str, ...], sizes: tuple[int, ...], names: tuple[str, ...], options: Options) -> Report:
    flat = frames[0] in FRAMES_2D
    tables, failures = [], []
    hardness: list[tuple[Cell, ...]] = []
    for frame in frames:
        runs: dict[tuple[str, int], Run | None] = {}
        plan = [(n, s) for s in sizes for n in names if s <= SMALL_ONLY.get(n, 1 << 30)]
        power = 2 if flat else 3
        total = sum(float(s) ** power * WEIGHT.get(n, 1.0) for n, s in plan) + sum(10.0 * float(s) ** power for s in sizes)
        with options.meter.steps(total, frame) as step:
            for size in sizes:
                step(f"exact policy iteration at {size}", 10.0 * float(size) ** power)
                if not flat or size <= 1024:
                    f = facts(frame, size)
                    hardness.append((frame, size, f.unknowns, f.contact, round(100 * f.detached, 1), f.policy))
                    failures += aims.too_easy(frame, size, f.detached, f.policy)
                for name in (n for n, s in plan if s == size):
                    step(f"{name} at {size}", float(size) ** power * WEIGHT.get(name, 1.0))
                    runs[name, size] = _measure(name, frame, size)
        tables.append(counts_table(frame, sizes, names, runs))
        tables.append(cost_table(frame, sizes, names, runs))
        failures += [
            f"{name} on {frame} at {size} ended {done.result.status.name}: {done.result.status.value}"
            for (name, size), done in runs.items()
            if done is not None and not done.result.converged and name in ("default", "fas-mg", "mgpcg")
        ]
        failures += aims.missed(frame, sizes, runs)
    facts_table = Table(
        "How hard the frames are",
        ("frame", "cells", "unknowns", "contact rows", "detached %", "exact policy iteration, outer"),
        tuple(hardness),
        "Exact policy iteration starts from p = 0 with PCG to 1e-8 of the residual inside.",
    )
    notes = (
        "Cold start, max |min(p, A p + b)| <= 1e-6 (Lai's absolute test). A nested start counts as work.",
        "Iterations: inner ones in total (cycles, Krylov steps or sweeps). Work units: residuals of the finest matrix, rebuilds included.",
        "Seconds: CPU seconds on one thread, set-up included.",
        *([] if flat else ["Lai: the thesis' frames are of a simulation; ours are still. Compare growth with size first."]),
    )
    return Report(title, (facts_table, *tables), notes, tuple(failures))


def _measure(name: str, frame: str, size: int) -> Run | None:
    """None when the solver refuses the system."""
    chosen = solver(name, **options_of(name))
    try:
        compile_first(chosen, frame)
        system = system_of(frame, size)
        first = run_once(chosen, system)
        if first.seconds > REPEATED:
            return first
        again = run_best(chosen, system)
        return Run(first.result, min(first.seconds, again.seconds))
    except UnsupportedSystem:
        return None


def counts_table(frame: str, sizes: tuple[int, ...], names: tuple[str, ...], runs: dict[tuple[str, int], Run | None]) -> Table:
    """Iterations beside Lai's."""
    published = FRAME_COUNTS.get(frame, {})
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        if not any(runs.get((name, s)) for s in sizes):
            continue
        theirs = published.get(WAYS.get(name, (name, {}))[0], LINEAR_PCG if name == "pcg" and frame == "sphere" else None)
        cells: list[Cell] = [name]
        for size in sizes:
            done = runs.get((name, size))
            cells.append(None if done is None else done.iterations)
            if published:
                cells.append(lai(theirs, size))
        rows.append(tuple(cells))
    columns = ("solver", *(c for s in sizes for c in ((str(s), "Lai") if published else (str(s),))))
    where = f" (Lai, table {FRAME_TABLE[frame]}{'; the pcg row: table 6.2' if frame == 'sphere' else ''})" if frame in FRAME_TABLE else ""
    return Table(f"{frame}: iterations{where}", columns, tuple(rows))


def cost_table(frame: str, sizes: tuple[int, ...], names: tuple[str, ...], runs: dict[tuple[str, int], Run | None]) -> Table:
    """Outer iterations, work and seconds; the default beside the linear solve by the same machinery."""
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        for size in sizes:
            done, linear = runs.get((name, size)), runs.get(("mgpcg", size))
            if done is None:
                continue
            result = done.result
            against = (ratio(done.work, linear.work), ratio(done.seconds, linear.seconds)) if linear else (None, None)
            setup = result.work.get("setup_units", 0.0)
            rows.append((name, size, result.outer_iterations, done.iterations, done.work, setup, done.seconds, *against, result.residual))
    columns = ("solver", "cells", "outer", "iterations", "work", "set-up", "seconds", "work / lin.", "s / lin.", "residual")
    note = "work: work units, set-up and rebuilds included; lin.: mgpcg, the structured linear solve of the same system"
    return Table(f"{frame}: cost", columns, tuple(rows), note)
