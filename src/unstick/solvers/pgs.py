"""Projected Gauss-Seidel (Lai 2021, Algorithm 5): forward and backward sweeps over the rows of any matrix.

It always converges for an M-matrix, and needs a number of sweeps that grows with the square of the resolution: a smoother, a
yardstick and a second opinion on small systems, not a solver for large ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unstick.kernels import csr
from unstick.kernels.reduce import max_abs
from unstick.result import Status
from unstick.solvers.control import Slack
from unstick.solvers.krylov import csr_arrays
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

LOOK = 16  # double sweeps between looks at the residual, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class PGS(Solver):
    """`max_iterations` and `iterations` count sweeps, a forward and a backward one by turns."""

    max_iterations: int = 100_000

    name: ClassVar[str] = "pgs"

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        slack_of = Slack(problem, ledger)
        ptr, idx, val = csr_arrays(problem.A)
        p, before = start.p.copy(), start.p.copy()
        residuals = [problem.natural_residual(p, slack_of(p))]
        sweeps, stride = 0, 1
        while residuals[-1] > problem.goal:
            if sweeps >= self.max_iterations:
                return Outcome(p, Status.ITERATION_LIMIT, sweeps, sweeps, tuple(residuals))
            for _ in range(stride):
                csr.sweep_forward(ptr, idx, val, problem.b, problem.contact, p)
                csr.sweep_backward(ptr, idx, val, problem.b, problem.contact, p)
                ledger.spend("sweeps", 2 * val.size)
            sweeps, stride = sweeps + 2 * stride, min(LOOK, stride + 1)
            residuals.append(problem.natural_residual(p, slack_of(p)))
            if self.on_iteration is not None:
                self.on_iteration(sweeps, residuals[-1])
            if not math.isfinite(residuals[-1]):
                return Outcome(p, Status.DIVERGED, sweeps, sweeps, tuple(residuals))
            # The residual creeps and may grow for long, so it does not tell; when sweeps move p by rounding only, nothing more comes.
            moved = max_abs(p - before)
            before = p.copy()
            if moved <= 2.0 * np.finfo(float).eps * max_abs(p):
                return Outcome(p, Status.STAGNATED, sweeps, sweeps, tuple(residuals))
        return Outcome(p, Status.CONVERGED, sweeps, sweeps, tuple(residuals))
