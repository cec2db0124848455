"""Nanoseconds per unknown, on one and on two threads, beside the memory limit of the same machine."""

from __future__ import annotations

from unstick.bench.cases import LAI, compile_first, run_best, solver, system_of
from unstick.bench.harness import Cell, Options, Report, Table, wall_seconds
from unstick.bench.limit import available_threads, triad_ns
from unstick.kernels import triad

MOST_NS = {"default": 400.0, "mgpcg": 300.0}
TWO_THREADS = {64: 0.75, 128: 0.6, 256: 0.6}


def run(options: Options) -> Report:
    sizes = options.sizes_or(64, 128, 256)
    limit = triad_ns()
    rows: list[tuple[Cell, ...]] = []
    threads: list[tuple[Cell, ...]] = []
    failures = []
    names = ("default", "mgpcg", "pi-pcg")
    with options.meter.steps(sum(30.0 * s**3 for s in sizes), "speed") as step:
        for size in sizes:
            system = system_of("sphere", size)
            n = system.unknowns
            first = None
            for name in names:
                step(f"{name} at {size}", 5.0 * size**3)
                chosen = solver(name, **LAI)
                compile_first(chosen)
                done = run_best(chosen, system, 3 if size < 256 or name != "pi-pcg" else 1)
                ns = done.seconds / n * 1e9
                first = first or ns
                rows.append((size, n, name, done.iterations, done.seconds, ns, ns / limit, ns / first))
                allowed = max(MOST_NS.get(name, 6000.0), 700.0 * limit if name == "default" else 0.0)
                if ns > allowed and (name != "pi-pcg" or size == 128):
                    failures.append(f"{name} at {size} takes {ns:.0f} ns per unknown, not {allowed:.0f}")
            for name in names[:2] if available_threads() >= 2 else ():
                step(f"{name} at {size}, two threads", 7.5 * size**3)
                chosen = solver(name, **LAI)
                one, two = wall_seconds(lambda s=chosen, a=system: s.solve(a), (1, 2), 10)  # type: ignore[misc]
                threads.append((size, name, one, two, two / one))
                if name == "default" and two / one > TWO_THREADS.get(size, 1.0):
                    failures.append(
                        f"default at {size} on two threads takes {two / one:.2f} of its time on one, not {TWO_THREADS.get(size, 1.0)}"
                    )
    tables = (
        Table(
            "Half-full sphere, cold, absolute tolerance 1e-6: one thread, CPU time, least of 3",
            ("cells", "unknowns", "solver", "iterations", "seconds", "ns per unknown", "in triads", "times default"),
            tuple(rows),
            f"Triad: {limit:.2f} ns per element of 32 bytes, {triad.BYTES / limit:.1f} GB/s. Set-up and rebuilds are included.",
        ),
        Table(
            "Two threads against one: wall time, least of 10, taken in turn",
            ("cells", "solver", "1 thread, s", "2 threads, s", "ratio"),
            tuple(threads),
            "Wall time is only worth something on a machine that does nothing else.",
        ),
    )
    return Report("speed", tables if threads else tables[:1], (), tuple(failures))
