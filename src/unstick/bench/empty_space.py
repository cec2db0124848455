"""Cost must follow the liquid, not the box: the same liquid in a box of twice the side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unstick.bench.cases import LAI, compile_first, solver
from unstick.bench.frames import frame
from unstick.bench.harness import Cell, Options, Report, Table, cpu_seconds

MOST_SOLVE, MOST_WITH_ASSEMBLY = 1.15, 1.5


def run(options: Options) -> Report:
    rows: list[tuple[Cell, ...]] = []
    failures, notes = [], []
    sizes = options.sizes_or(128)
    chosen = solver("default", **LAI)
    with options.meter.steps(sum(20.0 * s**3 for s in sizes), "empty space") as step:
        for size in sizes:
            compile_first(chosen)
            tight, wide = frame("sphere", size), frame("sphere", size, margin=size // 2)
            step(f"{size}, assembly", 6.0 * size**3)
            assembly = in_turn((tight.system, wide.system))
            systems = tight.system(), wide.system()
            step(f"{size}, solve", 14.0 * size**3)
            solve = in_turn((lambda a=systems[0]: chosen.solve(a), lambda a=systems[1]: chosen.solve(a)))  # type: ignore[misc]
            inside, around = (chosen.solve(s) for s in systems)
            gap = (
                float(np.max(np.abs(np.sort(inside.row_p.ravel()) - np.sort(around.row_p.ravel()))))
                if inside.row_p.size == around.row_p.size
                else np.nan
            )
            notes.append(
                f"{size}: unknowns {systems[0].unknowns} and {systems[1].unknowns}, largest difference of the sorted pressures {gap:.2g}"
            )
            by_solve, by_all = solve[1] / solve[0], (solve[1] + assembly[1]) / (solve[0] + assembly[0])
            rows.append((size, "solve", *solve, by_solve))
            rows.append((size, "assembly", *assembly, assembly[1] / assembly[0]))
            rows.append((size, "both", solve[0] + assembly[0], solve[1] + assembly[1], by_all))
            if by_solve > MOST_SOLVE:
                failures.append(f"at {size} the solve takes {by_solve:.2f} times as long in the larger box, not {MOST_SOLVE}")
            if by_all > MOST_WITH_ASSEMBLY:
                failures.append(f"at {size} assembly and solve take {by_all:.2f} times as long in the larger box, not {MOST_WITH_ASSEMBLY}")
    columns = ("cells along the liquid's box", "what", "tight box, s", "twice the side, s", "ratio")
    table = Table("The same half-full sphere in a box of eight times the volume: CPU seconds, one thread", columns, tuple(rows))
    return Report("empty-space", (table,), tuple(notes), tuple(failures))


def in_turn(jobs: tuple[Callable[[], object], ...], repeats: int = 5) -> list[float]:
    """Least CPU seconds of each job, one thread, taken in turn."""
    best = [np.inf] * len(jobs)
    for _ in range(repeats):
        for at, job in enumerate(jobs):
            best[at] = min(best[at], cpu_seconds(job, 1))
    return best
