"""Peak resident memory of a run of the half-full sphere, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from unstick.bench.harness import Cell, Options, Report, Table, peak_rss_bytes

SCENE, SIZE, FRAMES = "sphere", 256, 3
LIMIT = 8 * 2**30


def child(size: int, frames: int, threads: int | None) -> dict[str, Cell]:
    """Run some frames; what the process needed at its largest."""
    import time

    import numba

    from unstick.liquid.simulation import Simulation
    from unstick.scenes.table import SCENES

    if threads is not None:
        numba.set_num_threads(threads)
    start = time.perf_counter()
    simulation = Simulation(SCENES[SCENE](resolution=size))
    started, seconds = peak_rss_bytes(), time.perf_counter() - start
    steps: list[int] = []
    for _ in range(frames):
        simulation.advance_frame(lambda report: steps.append(report.unknowns))
    return {
        "unknowns": max(steps),
        "particles": len(simulation.state.particles),
        "steps": len(steps),
        "start": seconds,
        "frames": time.perf_counter() - start - seconds,
        "peak_started": started,
        "peak": peak_rss_bytes(),
    }


def run(options: Options) -> Report:
    rows: list[tuple[Cell, ...]] = []
    failures = []
    sizes, frames = options.sizes_or(SIZE), options.frames_or(FRAMES)
    with options.meter.steps(sum(s**3 for s in sizes), "memory of a run") as step:
        for size in sizes:
            step(f"{size}", size**3)
            code = f"import json; from unstick.bench.memory_run import child; print(json.dumps(child({size}, {frames}, {options.threads})))"
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
                    found["particles"],
                    found["steps"],
                    None if peak is None else found["peak_started"] / 2**30,
                    None if peak is None else peak / 2**30,
                    None if peak is None else peak / found["particles"],
                    found["start"],
                    found["frames"],
                )
            )
            if size == SIZE and peak is not None and peak > LIMIT:
                failures.append(f"a run at {size} needs {peak / 2**30:.2f} GiB, not 8")
    columns = ("cells", "liquid cells", "particles", "steps", "GiB at start", "GiB peak", "bytes per particle", "start, s", "frames, s")
    note = f"{frames} frames. Peak resident memory of the whole process; seconds are wall time and may hold compilation."
    return Report("memory-run", (Table(f"{SCENE}, a run", columns, tuple(rows), note),), (), tuple(failures))
