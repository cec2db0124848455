"""Conjugate gradients preconditioned by an incomplete Cholesky factor without fill: IC(0) and MIC(0), on any graph.

Robust, little memory, no grid needed; counts grow with the number of cells along a side. On 5- and 7-point stencils (and every
graph without triangles) the product with A is saved (Eisenstat 1981; kernels/cholesky.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from unstick.checks import InvalidSystem
from unstick.kernels import cholesky
from unstick.kernels.reduce import dot, max_abs
from unstick.problem import Array
from unstick.solvers.compact import Lattice
from unstick.solvers.krylov import FreeRows, Run, Watch, conjugate_gradients, csr_arrays, refine
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod, LinearOutcome, LinearSolver, Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompleteCholesky(LinearMethod):
    """PCG with MIC(0), or IC(0) when `modification` is 0.

    Left open, `modification` is that of `usual_modification`.
    """

    modification: float | None = None  # how much of the dropped fill goes to the diagonal
    least_pivot: float = 0.01  # smaller pivots, as parts of the diagonal entry, are replaced by it

    def __post_init__(self) -> None:
        if self.modification is not None and not 0.0 <= self.modification <= 1.0:
            raise InvalidSystem(f"modification is {self.modification!r}; it must be between 0 (IC) and 1 (MIC)")

    def prepare(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger, free: Array | None = None) -> Prepared:
        rows = FreeRows(A, free, ledger)
        modification = usual_modification(A.shape[0], lattice) if self.modification is None else self.modification
        factor = Factor(A, rows.free, modification, self.least_pivot)
        ledger.spend("setup", A.nnz)
        return PreparedPCG(rows, factor)


def usual_modification(rows: int, lattice: Lattice | None) -> float:
    """How much of the dropped fill pays: on a grid 1 - 4 m^-1.5 with m rows along a side, found on the frames from 32 to 256 cells a side
    (0.94 to 0.997; with a constant 0.97 counts double with the side, with this they grow by 1.6), and nothing elsewhere: on
    triangulations with conductances that vary by a hundred it costs two to four times the iterations. A little more would be a little
    better there, but far worse on liquid in small pieces."""
    if lattice is None or rows == 0:
        return 0.0
    side = float(rows ** (1.0 / max(1, sum(extent > 1 for extent in lattice.box))))
    return max(0.9, 1.0 - 4.0 * float(side**-1.5))


class Factor:
    """M = (I - V^T) (I - V), scaled by S on both sides."""

    def __init__(self, A: sp.csr_array, free: Array, modification: float, least_pivot: float) -> None:
        self.at, self.to, self.v, diagonal = cholesky.upper_triangle(*csr_arrays(A), free)
        pivots, self.same = cholesky.factorise(self.at, self.to, self.v, diagonal, modification, least_pivot)
        self.s = 1.0 / np.sqrt(pivots)
        cholesky.unit_scale(self.at, self.to, self.v, self.s)
        self.E = diagonal * self.s * self.s - 2.0

    def apply(self, r: Array, out: Array) -> None:
        cholesky.apply_inverse(self.at, self.to, self.v, self.s, r, out)


class PreparedPCG(Prepared):
    def __init__(self, rows: FreeRows, factor: Factor) -> None:
        self.rows, self.factor = rows, factor

    def solve(self, rhs: Array, x0: Array, goal: float, limit: int) -> LinearOutcome:
        if self.factor.same:
            return refine(partial(eisenstat, self.factor, self.rows.ledger), self.rows, rhs, x0, goal, limit)
        return refine(partial(conjugate_gradients, self.rows.multiply, self.precondition), self.rows, rhs, x0, goal, limit)

    def precondition(self, r: Array, out: Array) -> None:
        self.factor.apply(r, out)
        self.rows.ledger.spend("sweeps", 2 * self.factor.v.size + r.size)


def eisenstat(factor: Factor, ledger: Ledger, r0: Array, goal: float, limit: int) -> Run:
    """PCG in the split-preconditioned unknowns. Their residual is not ours: the maximum of ours is looked at only when the
    ratio of the two at the last look says that it should have reached the goal."""
    at, to, v, s = factor.at, factor.to, factor.v, factor.s
    r = s * r0
    cholesky.forward_solve(at, to, v, r)
    x, p, z = np.zeros_like(r), np.zeros_like(r), np.zeros_like(r)
    t, look = np.empty_like(r), np.empty_like(r)
    rho = dot(r, r)
    if not rho > 0.0:
        return Run(x, 0, ())
    ratio, beta = max_abs(r0) / math.sqrt(rho), 0.0
    history: list[float] = []
    watch = Watch()
    for iteration in range(1, limit + 1):
        cholesky.backward(at, to, v, r, beta, p, t)
        curvature = cholesky.forward(at, to, v, factor.E, p, t, z)
        if not curvature > 0.0:
            return Run(s * x, iteration - 1, tuple(history))
        new = cholesky.advance(rho / curvature, t, z, x, r)
        beta, rho = new / rho, new
        ledger.spend("sweeps", 2 * v.size + r.size)
        ledger.spend("vectors", 5 * r.size)
        norm = ratio * math.sqrt(rho)
        if norm <= goal:
            cholesky.forward_multiply(at, to, v, r, look)
            look /= s
            ledger.spend("sweeps", v.size)
            norm = max_abs(look)
            ratio = norm / math.sqrt(rho) if rho > 0.0 else ratio
        history.append(norm)
        if norm <= goal or rho == 0.0 or watch.gives_up(norm):
            return Run(s * x, iteration, tuple(history))
    return Run(s * x, limit, tuple(history))


@dataclass(frozen=True, slots=True, kw_only=True)
class PCG(LinearSolver):
    """The pressure equation without separation, by PCG with an incomplete Cholesky factor."""

    modification: float | None = None  # see `usual_modification`
    max_iterations: int = 20000

    name: ClassVar[str] = "pcg"

    def __post_init__(self) -> None:
        LinearSolver.__post_init__(self)
        self.method()  # checks its options

    def method(self) -> LinearMethod:
        return IncompleteCholesky(modification=self.modification)
