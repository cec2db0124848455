"""The structured kernels against the memory limit measured in the same run (kernels on liquid rows, `unstick.kernels.rows`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from unstick.bench.cases import system_of
from unstick.bench.harness import Cell, Options, Report, Table, cpu_seconds, wall_seconds
from unstick.bench.limit import available_threads, plain_loop, triad_ns, triad_speed_up
from unstick.kernels import rows, rows_contact, triad
from unstick.problem import Array, Stencil
from unstick.solvers.rows import Fine, Layout, Levels, lay_out, make_levels, pack_system, scan

RED, BLACK = 0, 1
FRACTION, SWEEP, THREADS = 0.50, 1.4, 1.7
PLACEMENTS = 4


@dataclass(frozen=True, slots=True)
class Kernel:
    title: str
    role: str  # "residual" or "sweep"
    precision: str
    bytes: int  # that must move for a cell, each array once, the write-allocate of what is written counted
    job: Callable[[], None]


def packed(stencil: Stencil, b: Array, contact: Array) -> tuple[Layout, Fine, Levels]:
    found, k0, k1 = scan(stencil, b)
    layout = lay_out(k0, k1, stencil.box)
    fine = pack_system(layout, stencil, b, contact, found.mean, max(found.largest, 1e-300))
    levels = make_levels(layout, fine)
    # Memory that was never written is read from one page of zeros, faster than any other: write all of it.
    for vector in (fine.p, fine.d, levels.x, levels.f, levels.r):
        vector[:] = 1.0
    return layout, fine, levels


def full_box(n: int) -> tuple[Stencil, Array, Array]:
    """Every cell is liquid; air above the first plane."""
    axes: list[Array] = []
    for axis in range(3):
        w = np.ones((n, n, n))
        w[(slice(None),) * axis + (0,)] = 0.0
        axes.append(w)
    excess = np.zeros((n, n, n))
    excess[0] = 2.0
    contact = np.zeros((n, n, n), dtype=np.bool_)
    contact[-1] = contact[:, 0] = contact[:, -1] = contact[:, :, 0] = contact[:, :, -1] = True
    b = np.sin(np.arange(n**3, dtype=np.float64)).reshape(n, n, n)
    return Stencil(axes[0], axes[1], axes[2], excess), b, contact


def kernels_of(layout: Layout, fine: Fine, levels: Levels) -> list[Kernel]:
    """Residual and sweep over both colours of the finest level, in double and in single precision."""
    tables = layout.strips, layout.blocks, 0, int(layout.cut[1])
    double = fine.wx, fine.wy, fine.wz
    single = levels.wx, levels.wy, levels.wz

    def residual_double() -> None:
        rows_contact.slack(fine.d, fine.p, fine.g, *double, fine.e, *tables)

    def residual_single() -> None:
        rows_contact.slack(levels.r, levels.x, levels.f, *single, levels.e, *tables)

    def inspect() -> None:
        rows_contact.inspect(
            fine.p, fine.g, fine.contact, *double, fine.e, 0.0, levels.f, levels.inv, levels.flag, *tables, layout.width, levels.part
        )

    def projected() -> None:
        for c in (RED, BLACK):
            rows_contact.project_relax(c, fine.p, fine.g, fine.contact, *double, fine.e, *tables)

    def relaxed() -> None:
        for c in (RED, BLACK):
            rows.relax(c, levels.x, levels.f, levels.inv, *single, *tables)

    return [
        Kernel("residual", "residual", "double", 8 * 8, residual_double),
        Kernel("residual, stopping test and detached set", "look", "double", 8 * 6 + 1 + 4 * 4, inspect),
        Kernel("projected sweep", "sweep", "double", 8 * 7 + 1, projected),
        Kernel("residual", "residual", "single", 4 * 8, residual_single),
        Kernel("sweep", "sweep", "single", 4 * 7, relaxed),
    ]


def uniform_cells(layout: Layout) -> int:
    """Cells whose couplings the kernels do not read."""
    parts = layout.strips.astype(np.int64)
    return sum(int((parts[:, a:b, 9] - parts[:, a:b, 8]).sum()) for a, b, even in layout.blocks if even)


@dataclass(frozen=True, slots=True)
class Timing:
    """Of one kernel: CPU seconds on one thread, and the speed-up on several."""

    kernel: Kernel
    seconds: float
    speed_up: float


def time_kernels(build: Callable[[], tuple[Stencil, Array, Array]], many: int, placements: int) -> tuple[int, int, list[Timing]]:
    """The number of rows, how many of them kernels take for uniform, and every kernel's timing. Which part of the machine's memory the
    arrays lie in is luck, and on some machines decides whether two threads get more than one: where they do not, the arrays are made
    anew, a few times."""
    stencil, right, contact = build()
    cells = int(np.count_nonzero(stencil.rows()))
    loops = min(200, max(1, int(2e6 / cells)))
    best: list[Timing] = []
    uniform = 0
    for _ in range(placements):
        found = []
        layout, fine, levels = packed(stencil, right, contact)
        uniform = uniform_cells(layout)
        for kernel in kernels_of(layout, fine, levels):
            kernel.job()
            job = partial(repeat, kernel.job, loops)
            seconds = cpu_seconds(job, 8) / loops
            one, two = wall_seconds(job, (1, many)) if many > 1 else (1.0, 1.0)
            found.append(Timing(kernel, seconds, one / two))
        best = [Timing(f.kernel, min(f.seconds, b.seconds), max(f.speed_up, b.speed_up)) for f, b in zip(found, best or found, strict=True)]
        if many == 1 or min(t.speed_up for t in best) >= THREADS:
            break
    return cells, uniform, best


def run(options: Options) -> Report:
    per_byte = triad_ns() * 1e-9 / triad.BYTES
    many = min(2, available_threads())
    limit_up = max(triad_speed_up(many) for _ in range(PLACEMENTS))
    plain = {}
    for precision, dtype in (("double", np.float64), ("single", np.float32)):
        tries = [plain_loop(dtype, many) for _ in range(PLACEMENTS)]
        plain[precision] = per_byte / (min(t[0] for t in tries) * 1e-9), max(t[1] for t in tries)
    table: list[tuple[Cell, ...]] = []
    failures, shares = [], {}
    sizes = options.sizes_or(128, 256)
    cases = [(f"sphere {n}", n, partial(_sphere, n)) for n in sizes]
    cases += [(f"full box {n}", n, partial(full_box, n)) for n in sizes if n <= 256]
    with options.meter.steps(len(cases), "kernels") as step:
        for title, n, build in cases:
            step(title)
            cells, uniform, timings = time_kernels(build, many, PLACEMENTS if n >= 256 else 1)
            shares[title] = uniform / cells
            reference = {t.kernel.precision: t.seconds for t in timings if t.kernel.role == "residual"}
            for t in timings:
                kernel = t.kernel
                fraction = per_byte * kernel.bytes * cells / t.seconds
                against = t.seconds / reference[kernel.precision]
                table.append((title, kernel.title, kernel.precision, t.seconds / cells * 1e9, kernel.bytes, fraction, against, t.speed_up))
                if n != 256:  # smaller ones stay in the cache, larger ones take the same time by the cell
                    continue
                if kernel.role == "residual" and kernel.precision == "double" and fraction < FRACTION:
                    failures.append(
                        f"{title}: the residual reaches {fraction:.2f} of the memory limit, not {FRACTION} "
                        f"(a plain loop over as many arrays: {plain['double'][0]:.2f})"
                    )
                if kernel.role == "sweep" and against > SWEEP:
                    failures.append(f"{title}: the {kernel.precision} {kernel.title} takes {against:.2f} times the residual, not {SWEEP}")
                if many > 1 and kernel.role != "look" and t.speed_up < THREADS:
                    failures.append(
                        f"{title}: two threads run the {kernel.precision} {kernel.title} {t.speed_up:.2f} times as fast, not {THREADS} "
                        f"(a plain loop: {plain[kernel.precision][1]:.2f})"
                    )
    columns = ("cells", "kernel", "precision", "ns per unknown", "bytes", "of the limit", "/ residual", f"{many} threads, speed-up")
    note = (
        f"Limit: triad on 16 Mi doubles, {1e-9 / per_byte:.1f} GB/s on one thread (write-allocate counted), "
        f"{limit_up:.2f} times that on {many}. One thread: CPU time, least of 8. Two: wall time, least of 10 in turn. "
        f"Best of up to {PLACEMENTS} placements of the arrays in memory. Bytes: each array once; cells without a row are not counted. "
        "Less than that moves where strips are uniform over long stretches, whose couplings are not read (kernels/rows_strips.py): "
        f"{', '.join(f'{title} {share:.0%}' for title, share in shares.items())} of the unknowns; there the "
        "residual moves 32 bytes in double and 16 in single precision, a sweep 32 and 16. "
        f"A plain loop over seven arrays, as many as the residual moves, reaches {plain['double'][0]:.2f} of the limit and is "
        f"{plain['double'][1]:.2f} times as fast on {many} threads in double precision, {plain['single'][0]:.2f} and "
        f"{plain['single'][1]:.2f} in single."
    )
    return Report("kernels", (Table("Kernels on liquid rows", columns, tuple(table), note),), (), tuple(failures))


def _sphere(n: int) -> tuple[Stencil, Array, Array]:
    system = system_of("sphere", n)
    assert isinstance(system.A, Stencil)
    return system.A, system.row_b, system.row_contact


def repeat(job: Callable[[], None], times: int) -> None:
    for _ in range(times):
        job()
