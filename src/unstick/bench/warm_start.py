"""What a guess is worth: the default solver after a small smooth change of b, against a cold linear solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unstick.bench.cases import LAI, compile_first, run_best, solver, system_of
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.problem import PressureSystem

CHANGE = 0.05


def changed(system: PressureSystem, part: float) -> PressureSystem:
    """b multiplied by 1 + part * a smooth wave of the position."""
    box = system.row_b.shape
    x, y, z = (np.linspace(0.0, 1.0, n).reshape([-1 if a == axis else 1 for a in range(3)]) for axis, n in enumerate(box))
    wave = np.sin(2 * np.pi * x + 0.3) * np.cos(2 * np.pi * y + 0.7) * np.cos(np.pi * z)
    return replace(system, row_b=system.row_b * (1.0 + part * wave))


def run(options: Options) -> Report:
    rows: list[tuple[Cell, ...]] = []
    failures = []
    sizes = options.sizes_or(64, 128, 256)
    frames = ("sphere", "sphere-box", "double-sphere")
    with options.meter.steps(sum(4.0 * s**3 for s in sizes) * len(frames), "warm") as step:
        for frame in frames:
            ours, linear = solver("default", **LAI), solver("mgpcg", **LAI)
            for size in sizes:
                step(f"{frame} at {size}", 4.0 * size**3)
                for chosen in (ours, linear):
                    compile_first(chosen, frame)
                before = ours.solve(system_of(frame, size))
                after = changed(system_of(frame, size), CHANGE)
                repeats = 3 if size <= 128 else 1
                warm, cold, flat = run_best(ours, after, repeats, before), run_best(ours, after, repeats), run_best(linear, after, repeats)
                by_work = warm.work / flat.work
                rows.append(
                    (frame, size, warm.result.outer_iterations, warm.work, cold.work, flat.work, by_work, warm.seconds / flat.seconds)
                )
                if (by_work > 1.1 and size >= 64) or not warm.result.converged:
                    failures.append(f"warm default on {frame} at {size} needs {by_work:.2f} times the work of a cold linear solve, not 1.1")
    columns = ("frame", "cells", "outer", "warm default", "cold default", "cold linear", "warm / linear", "seconds: warm / linear")
    table = Table(f"Work units after a smooth change of b by {100 * CHANGE:.0f} %", columns, tuple(rows))
    return Report("warm", (table,), ("The guess is the result before the change.",), tuple(failures))
