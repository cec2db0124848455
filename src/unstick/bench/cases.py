"""The systems that benches solve, and one solve with its cost: shared by all benches that compare solvers."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from unstick.bench.frames import FRAMES
from unstick.bench.frames import frame as build
from unstick.bench.harness import using_threads
from unstick.problem import Array, PressureSystem
from unstick.result import Guess, SolveResult
from unstick.solvers.protocol import Solver
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS

# Lai, section 6: the absolute tolerance of all published counts.
LAI: dict[str, Any] = {"tolerance": 1e-6, "absolute": True}


@functools.lru_cache(maxsize=2)
def system_of(frame: str, size: int, margin: int = 0) -> PressureSystem:
    return build(frame, size, margin=margin).system()


# Ways of solvers that are shown beside their defaults.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "fmg-literal": ("fmg", {"globalised": False}),
    "newton-plain": ("newton", {"preconditioner": "none"}),
}


def solver(name: str, **options: Any) -> Solver:
    name, way = WAYS.get(name, (name, {}))
    options = {**options, **way}
    table = SOLVERS if name in SOLVERS else LINEAR_SOLVERS
    return table[name](**options)


@dataclass(frozen=True, slots=True)
class Run:
    """One solve: what came out and what it cost."""

    result: SolveResult
    seconds: float  # CPU seconds on one thread, set-up included

    @property
    def work(self) -> float:
        """Work units, set-up and rebuilds included."""
        return self.result.work.get("work_units", np.nan) + self.result.work.get("setup_units", 0.0)

    @property
    def iterations(self) -> int | str:
        """The count, or how it ended where it did not converge."""
        result = self.result
        return result.iterations if result.converged else f"{result.status.name.lower()} ({result.iterations})"


def run_once(chosen: Solver, system: PressureSystem, guess: Array | Guess | SolveResult | None = None) -> Run:
    with using_threads(1):
        start = time.process_time()
        result = chosen.solve(system, guess)
        return Run(result, time.process_time() - start)


def run_best(chosen: Solver, system: PressureSystem, repeats: int = 3, guess: Array | Guess | SolveResult | None = None) -> Run:
    """The least CPU seconds of several runs; counts are the same in all."""
    runs = [run_once(chosen, system, guess) for _ in range(repeats)]
    return Run(runs[0].result, min(r.seconds for r in runs))


def compile_first(chosen: Solver, frame: str = "sphere") -> None:
    """Solve a small system once, so that compilation is not timed: large enough for the kernels that large ones use."""
    chosen.solve(system_of(frame, 32 if FRAMES[frame].dimension == 3 else 96))


def detached_share(result: SolveResult) -> float:
    """The part of the contact rows from which the liquid lets go."""
    contact = int(np.count_nonzero(result.system.row_contact))
    return float(np.count_nonzero(result.row_detached)) / max(contact, 1)
