"""Peak resident memory of assembling and solving a half-full sphere, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from unstick.bench.harness import Cell, Options, Report, Table, peak_rss_bytes

LIMIT = 8 * 2**30


def child(size: int, threads: int | None) -> dict[str, Cell]:
    """Assemble and solve; what the process needed at its largest."""
    import time

    import numba

    from unstick.bench.cases import LAI, solver
    from unstick.bench.frames import frame

    if threads is not None:
        numba.set_num_threads(threads)
    start = time.perf_counter()
    system = frame("sphere", size).system()
    assembled, peak_assembled = time.perf_counter() - start, peak_rss_bytes()
    result = solver("default", **LAI).solve(system)
    return {
        "unknowns": system.unknowns,
        "assembly": assembled,
        "solve": time.perf_counter() - start - assembled,
        "peak_assembled": peak_assembled,
        "peak": peak_rss_bytes(),
        "outer": result.outer_iterations,
        "status": result.status.name,
    }


def run(options: Options) -> Report:
    rows: list[tuple[Cell, ...]] = []
    failures = []
    sizes = options.sizes_or(512)
    with options.meter.steps(sum(s**3 for s in sizes), "memory") as step:
        for size in sizes:
            step(f"{size}", size**3)
            code = f"import json; from unstick.bench.memory import child; print(json.dumps(child({size}, {options.threads})))"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            if done.returncode != 0:
                failures.append(f"{size}: the process ended with code {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            peak = found["peak"]
            rows.append(
                (
                    size,
                    found["unknowns"],
                    None if peak is None else found["peak_assembled"] / 2**30,
                    None if peak is None else peak / 2**30,
                    None if peak is None else peak / found["unknowns"],
                    found["assembly"],
                    found["solve"],
                    found["outer"],
                    found["status"].lower(),
                )
            )
            if size == 512 and peak is not None and peak > LIMIT:
                failures.append(f"512 needs {peak / 2**30:.2f} GiB, not 8")
            if found["status"] != "CONVERGED":
                failures.append(f"{size} ended {found['status']}")
    columns = ("cells", "unknowns", "GiB assembled", "GiB peak", "bytes per unknown", "assembly, s", "solve, s", "outer", "ended")
    note = "Peak resident memory of the whole process, Python and compiled code included. Seconds are wall time and may hold compilation."
    return Report("memory", (Table("Half-full sphere", columns, tuple(rows), note),), (), tuple(failures))
