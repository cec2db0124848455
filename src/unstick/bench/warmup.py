"""Compile by doing: solve tiny systems with every solver, so that what is kept on disk is what real solves will ask for."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from rich.console import Console

from unstick.bench.cases import run_once, solver
from unstick.bench.frames import frame
from unstick.bench.progress import Meter
from unstick.kernels import warm
from unstick.problem import PressureSystem
from unstick.result import UnsupportedSystem
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS


def chain(n: int) -> PressureSystem:
    """A system without a grid."""
    A = sp.csr_array(sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]))
    return PressureSystem.from_matrix(A, np.sin(np.arange(n)), np.ones(n, dtype=bool))


def warm_up(console: Console) -> tuple[float, int]:
    """(seconds, kernels that are ready). The default solver comes first, so that an interrupted warm-up has done the most useful part."""
    start = time.perf_counter()
    systems: list[tuple[str, Callable[[], PressureSystem]]] = [
        ("sphere", lambda: frame("sphere", 24).system()),
        ("circle", lambda: frame("circle", 48).system()),
        ("no grid", lambda: chain(300)),
    ]
    names = [*SOLVERS, *LINEAR_SOLVERS]
    with Meter(console).steps(len(names) * len(systems), "compiling") as step:
        built = [(title, build()) for title, build in systems]
        for name in names:
            for title, system in built:
                step(f"{name}, {title}")
                try:
                    run_once(solver(name, max_iterations=20), system)
                except UnsupportedSystem:
                    continue
    return time.perf_counter() - start, len(warm.kernels()) - len(warm.missing())
