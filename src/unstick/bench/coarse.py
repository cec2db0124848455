"""What transfers cost: construction of the coarse matrix (Lai, table 5.1), and FAS multigrid with two of them (figure 6.12)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from unstick.bench.cases import LAI, compile_first, run_best, system_of
from unstick.bench.harness import Cell, Options, Report, Table, cpu_seconds, ratio
from unstick.bench.plots import lines
from unstick.bench.published import ABLATIONS, COARSE_SECONDS, COARSE_SIZES, lai
from unstick.problem import Stencil
from unstick.solvers.compact import Lattice
from unstick.solvers.fas import FasMg
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarse import CoarseMatrices, Direct, Galerkin
from unstick.solvers.multigrid.hierarchy import Hierarchy
from unstick.solvers.multigrid.transfers import Transfer

METHODS: dict[str, tuple[CoarseMatrices, Transfer]] = {
    "direct discretisation": (Direct(), Transfer()),
    "Galerkin, trilinear": (Galerkin(), Transfer(kind="trilinear")),
    "Galerkin, barycentric": (Galerkin(), Transfer()),
}


def cube(n: int) -> tuple[Stencil, Lattice]:
    """The Poisson matrix of a full cube with air on one side: what coarse matrices are built from in the thesis' figures."""
    w = [np.ones((n, n, n)) for _ in range(3)]
    w[0][0] = w[1][:, 0] = w[2][:, :, 0] = 0.0
    excess = np.zeros((n, n, n))
    excess[0] = 2.0
    ijk = np.indices((n, n, n), dtype=np.int32).reshape(3, -1).T
    return Stencil(w[0], w[1], w[2], excess), Lattice((n, n, n), np.ascontiguousarray(ijk))


def run(options: Options) -> Report:
    """Table 5.1: from a grid of twice the size to the coarse matrix of the size named."""
    rows: list[tuple[Cell, ...]] = []
    failures = []
    sizes = options.sizes_or(32, 64, 128)
    with options.meter.steps(sum(float(n) ** 3 for n in sizes) * len(METHODS), "coarse matrices") as step:
        for n in sizes:
            stencil, lattice = cube(n)
            A = stencil.to_csr(np.ones((n, n, n), dtype=np.bool_))
            values: dict[str, float] = {}
            for title, (coarse, transfer) in METHODS.items():
                step(f"{title}, {n // 2}", float(n) ** 3)

                build = partial(Hierarchy.build, A, lattice, transfer, coarse, Ledger(A.nnz), n - 1)
                hierarchy = build()
                hierarchy.fill()
                down = hierarchy.levels[0].down
                assert down is not None
                patterns, values[title] = cpu_seconds(build), cpu_seconds(hierarchy.fill)
                theirs = _published(title, n // 2)
                direct = _published("direct discretisation", n // 2)
                P = down.P.nnz if title.startswith("Galerkin") else None
                against = values[title] / values["direct discretisation"]
                rows.append((n // 2, title, P, hierarchy.levels[1].A.nnz, patterns, values[title], against, theirs, ratio(theirs, direct)))
            if n >= 64 and values["Galerkin, trilinear"] < 2.0 * values["Galerkin, barycentric"]:
                failures.append(f"barycentric construction is not twice as fast as trilinear at {n // 2}")
    columns = (
        "coarse cells",
        "method",
        "nonzeros of P",
        "nonzeros of A_H",
        "patterns, s",
        "values, s",
        "values / direct",
        "Lai, s",
        "Lai / direct",
    )
    note = (
        "Full cube, one coarsening, CPU seconds on one thread. Patterns (P and the pattern of A_H) are made once a geometry; "
        "values whenever the detached set changes, and then only above changed cells."
    )
    return Report(
        "lai-table-5.1", (Table("Construction of the coarse matrix (Lai, table 5.1)", columns, tuple(rows), note),), (), tuple(failures)
    )


def _published(title: str, size: int) -> float | None:
    return COARSE_SECONDS[title][COARSE_SIZES.index(size)] if size in COARSE_SIZES else None


def figure_6_12(options: Options) -> Report:
    """Seconds of FAS multigrid with barycentric and with trilinear transfers."""
    rows: list[tuple[Cell, ...]] = []
    sizes = options.sizes_or(32, 64, 128)
    curves: dict[str, tuple[list[float], list[float]]] = {"barycentric": ([], []), "trilinear": ([], [])}
    failures = []
    with options.meter.steps(sum(5.0 * float(s) ** 3 for s in sizes), "fas-mg") as step:
        for size in sizes:
            seconds: dict[str, float] = {}
            for kind in ("barycentric", "trilinear"):
                step(f"{kind} at {size}", float(size) ** 3 * (1.0 if kind == "barycentric" else 4.0))
                chosen = FasMg(**LAI, transfer=Transfer(kind=kind))
                compile_first(chosen)
                done = run_best(chosen, system_of("sphere", size), 3 if size <= 64 else 1)
                seconds[kind] = done.seconds
                curves[kind][0].append(size)
                curves[kind][1].append(done.seconds)
                theirs = lai(ABLATIONS["barycentric (ours)" if kind == "barycentric" else "trilinear"], size)
                rows.append((size, kind, done.iterations, theirs, done.work, done.seconds, done.seconds / seconds["barycentric"]))
            if size >= 128 and seconds["trilinear"] < 2.0 * seconds["barycentric"]:
                failures.append(f"trilinear takes {seconds['trilinear'] / seconds['barycentric']:.1f} times as long at {size}, not twice")
    columns = ("cells", "transfers", "cycles", "Lai's cycles", "work units", "seconds", "times barycentric")
    note = "The thesis shows figure 6.12 without numbers and says: barycentric is more than two times faster."
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        picture = lines(
            options.plots / "lai-fig-6.12.png",
            "FAS multigrid, sphere (compare Lai 2021, figure 6.12)",
            "cells a side",
            "CPU seconds",
            curves,
            True,
        )
        pictures = (picture,)
    table = Table("Barycentric against trilinear transfers (Lai, figure 6.12)", columns, tuple(rows), note)
    return Report("lai-fig-6.12", (table,), (), tuple(failures), pictures)
