"""The linear solve inside a splitting: the pressure equation of a flow whose solids were taken for air (Eckert 2014, section 3.2).

Its matrix knows no walls: every two liquid cells that share a face are coupled alike. An `Inner` is an immutable value; `prepare` does
the set-up once per time step, and the splitting then asks for one correction after another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from unstick.kernels import csr
from unstick.kernels.reduce import max_abs
from unstick.problem import Array, Stencil
from unstick.result import Status
from unstick.solvers.compact import Lattice
from unstick.solvers.krylov import FreeRows, conjugate_gradients, csr_arrays
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod
from unstick.solvers.pcg import Factor, eisenstat, usual_modification

IDLE = 2  # stretches of conjugate gradients that gain nothing, after which rounding is all that is left


@dataclass(frozen=True, slots=True, eq=False)
class FreeProblem:
    """A on the liquid's rows, symmetric positive definite (semi-definite without any surface or wall).

    A coupling between rows that share a face is -`coupling`. What a row has beyond these on its diagonal leads to p = 0: through a wall
    `coupling` (p = 0 in the centre of the cell behind it), through the surface coupling / theta.
    """

    A: sp.csr_array  # sorted indices, rows in C order of their cells
    lattice: Lattice  # where the rows stand
    coupling: float  # dt / (density h^2)
    stencil: Stencil | None = None  # the same matrix on the lattice's box, where it is at hand


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    x: Array
    residual: Array  # r - A x, recomputed from x
    norm: float  # its largest entry
    iterations: int  # as the method counts them: of conjugate gradients, cycles, transforms
    status: Status  # CONVERGED only if norm <= goal


PreparedInner = Callable[[Array, float, int], Correction]  # (r, goal, limit): x with max |r - A x| <= goal, in at most `limit` iterations


class Inner(Protocol):
    """A way to solve A x = r again and again. r is not changed, and x is a new array."""

    @property
    def name(self) -> str: ...

    def prepare(self, problem: FreeProblem, ledger: Ledger) -> PreparedInner: ...


@dataclass(frozen=True, slots=True)
class CholeskyInner:
    """Conjugate gradients with an incomplete Cholesky factor, as everywhere in this package (solvers/pcg.py)."""

    name: str = "pcg"
    least_pivot: float = 0.01

    def prepare(self, problem: FreeProblem, ledger: Ledger) -> PreparedInner:
        A = problem.A
        modification = usual_modification(A.shape[0], problem.lattice)
        factor = Factor(A, np.ones(A.shape[0], dtype=np.bool_), modification, self.least_pivot)
        ledger.spend("setup", A.nnz)
        return partial(_by_cholesky, factor, csr_arrays(A), ledger)


def _by_cholesky(factor: Factor, matrix: tuple[Array, Array, Array], ledger: Ledger, r0: Array, goal: float, limit: int) -> Correction:
    x, r = np.zeros_like(r0), r0
    norm = best = max_abs(r0)
    used, idle = 0, 0
    while np.isfinite(norm) and norm > goal and used < limit and idle < IDLE:
        run = eisenstat(factor, ledger, r, goal, limit - used)
        used += run.iterations
        x = run.x if used == run.iterations else x + run.x
        r = np.empty_like(r0)
        csr.residual(*matrix, r0, x, r)
        ledger.spend("matvecs", matrix[2].size)
        norm = max_abs(r)
        idle = 0 if norm < 0.5 * best and run.iterations else idle + 1
        best = min(best, norm)
    return Correction(x, r, norm, used, ending(norm, goal, used >= limit))


@dataclass(frozen=True, slots=True)
class MethodInner:
    """A linear method of this package, as multigrid."""

    name: str
    method: LinearMethod = field(repr=False)

    def prepare(self, problem: FreeProblem, ledger: Ledger) -> PreparedInner:
        prepared = self.method.prepare(problem.A, problem.lattice, ledger)
        rows = FreeRows(problem.A, None, ledger)

        def solve(r: Array, goal: float, limit: int) -> Correction:
            found = prepared.solve(r, np.zeros_like(r), goal, limit)
            return Correction(found.x, rows.residual(r, found.x), found.residual, found.iterations, found.status)

        return solve


@dataclass(frozen=True, slots=True)
class PreconditionedInner:
    """Conjugate gradients with any symmetric preconditioner: `make` is given the problem and the ledger, and returns (r, out) -> None."""

    name: str
    make: Callable[[FreeProblem, Ledger], Callable[[Array, Array], None]] = field(repr=False)

    def prepare(self, problem: FreeProblem, ledger: Ledger) -> PreparedInner:
        rows, precondition = FreeRows(problem.A, None, ledger), self.make(problem, ledger)

        def solve(r: Array, goal: float, limit: int) -> Correction:
            norm = max_abs(r)
            if norm <= goal:
                return Correction(np.zeros_like(r), r, norm, 0, Status.CONVERGED)
            run = conjugate_gradients(rows.multiply, precondition, r, goal, limit)
            left = rows.residual(r, run.x)
            norm = max_abs(left)
            return Correction(run.x, left, norm, run.iterations, ending(norm, goal, run.iterations >= limit))

        return solve


def ending(norm: float, goal: float, at_limit: bool) -> Status:
    if not np.isfinite(norm):
        return Status.DIVERGED
    if norm <= goal:
        return Status.CONVERGED
    return Status.ITERATION_LIMIT if at_limit else Status.STAGNATED
