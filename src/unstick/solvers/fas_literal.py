"""fas-literal: Lai's Algorithm 6 as it stands, but for the units: N(q) = min(A q - c, a_ii q) instead of min(A q - c, q).

With the printed min() the coarse control depends on dt/h^2 and the iteration limit-cycles; with both branches in the same unit it
converges, in counts that grow with the size (fas.md section 1). It is here to be compared with; `fas-mg` is the one to use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from unstick.checks import require_count
from unstick.kernels import csr, sparse_relax, sparse_transfer
from unstick.problem import Array, PressureSystem
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarse import Galerkin
from unstick.solvers.multigrid.coarsest import SWEEPS
from unstick.solvers.multigrid.drive import refuse_without_grid, repeat
from unstick.solvers.multigrid.hierarchy import Hierarchy
from unstick.solvers.multigrid.transfers import Transfer
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

LITERAL_TRANSFER = Transfer(strength=0.0, leak=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FasLiteral(Solver):
    """`restriction` of the full unknown: "mean" divides by the sum of the weights, "transpose" is P^T / 2^d."""

    max_iterations: int = 1000
    transfer: Transfer = field(default_factory=lambda: LITERAL_TRANSFER)
    pre: int = 2
    post: int = 2
    restriction: Literal["mean", "transpose"] = "transpose"
    same_units: bool = True  # False, with absolute=True: the printed min(A q - c, q)

    name: ClassVar[str] = "fas-literal"

    def __post_init__(self) -> None:
        super(FasLiteral, self).__post_init__()
        require_count("pre", self.pre, 1)
        require_count("post", self.post, 1)

    def refuse(self, system: PressureSystem) -> None:
        refuse_without_grid(self.name, system)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        assert problem.lattice is not None
        hierarchy = Hierarchy.build(problem.A, problem.lattice, self.transfer, Galerkin(truncated=False), ledger)
        hierarchy.fill()
        cycle = LiteralCycle(hierarchy, problem, ledger, self)
        cycle.levels[0].q[:] = start.p
        return repeat(self, cycle, problem, ledger, stretch=False)


@dataclass(slots=True, eq=False)
class _Level:
    q: Array
    c: Array
    f: Array
    g: Array  # c + f
    r: Array
    value: Array  # N(q)
    contact: Array
    diagonal: Array
    lower: Array
    before: Array


class LiteralCycle:
    """Solves N(q) = f by V-cycles, f = 0 on the finest level (Lai eq. 5.18 to 5.23)."""

    def __init__(self, hierarchy: Hierarchy, problem: Problem, ledger: Ledger, options: FasLiteral) -> None:
        self.hierarchy, self.ledger, self.options = hierarchy, ledger, options
        c, contact = -problem.b, problem.contact
        self.levels: list[_Level] = []
        for at, level in enumerate(hierarchy.levels):
            weight = 1.0 / np.where(level.inv > 0, level.inv, np.inf)
            if not options.same_units:
                weight = np.where(weight > 0, problem.weight.mean(), 0.0)
            empty = [np.zeros(level.n) for _ in range(7)]
            self.levels.append(_Level(empty[0], c, empty[1], empty[2], empty[3], empty[4], contact, weight, empty[5], empty[6]))
            if level.down is not None:
                T = level.down.T
                below = hierarchy.levels[at + 1].n
                coarse_c, coarse_contact = np.empty(below), np.empty(below, dtype=np.bool_)
                sparse_transfer.restrict(T.ptr, T.idx, T.val, level.down.scale, level.free, c, coarse_c)
                sparse_transfer.any_child(T.ptr, T.idx, contact, coarse_contact)
                c, contact = coarse_c, coarse_contact
        self.weights = [self._weights(at) for at in range(len(hierarchy.levels) - 1)]
        self.obstacle = np.where(problem.contact, 0.0, -np.inf)

    @property
    def x(self) -> Array:
        return self.levels[0].q

    @property
    def r(self) -> Array:
        return self.levels[0].r

    @property
    def lower(self) -> Array:
        return self.obstacle

    def advance(self) -> None:
        self._cycle(0)

    def update_residual(self) -> None:
        v, A = self.levels[0], self.hierarchy.levels[0].A
        csr.residual(A.ptr, A.idx, A.val, v.c, v.q, v.r)
        self._spend(0, "matvecs", A.nnz)

    def _weights(self, at: int) -> Array:
        """What R divides a restricted pressure by, so that constants stay constants; 1 / scale for the transpose."""
        down = self.hierarchy.levels[at].down
        assert down is not None
        if self.options.restriction == "transpose":
            return np.full(down.T.n, 1.0 / down.scale)
        total = np.add.reduceat(np.append(down.T.val, 0.0), down.T.ptr[:-1])
        total[down.T.ptr[1:] == down.T.ptr[:-1]] = 1.0
        return np.asarray(total)

    def _cycle(self, at: int) -> None:
        v = self.levels[at]
        np.add(v.c, v.f, out=v.g)
        # On a contact row min(A q - c, a q) = f is solved by the larger of two values, one for each branch.
        v.lower[:] = np.where(v.contact, v.f / np.where(v.diagonal > 0, v.diagonal, 1.0), -np.inf)
        if at == len(self.levels) - 1:
            self._sweep(at, 2 * SWEEPS)
            return
        level = self.hierarchy.levels[at]
        down = level.down
        assert down is not None
        w = self.levels[at + 1]
        self._sweep(at, self.options.pre)
        self._evaluate(at)
        np.subtract(v.f, v.value, out=v.r)
        T, P = down.T, down.P
        sparse_transfer.restrict(T.ptr, T.idx, T.val, 1.0, level.free, v.q, w.q)
        w.q /= self.weights[at]
        np.copyto(w.before, w.q)
        sparse_transfer.restrict(T.ptr, T.idx, T.val, down.scale, level.free, v.r, w.f)
        self._evaluate(at + 1)
        w.f += w.value
        self._cycle(at + 1)
        sparse_transfer.prolong(P.ptr, P.idx, P.val, level.free, w.q - w.before, v.r)
        v.q += v.r
        self._spend(at, "transfers", 3.0 * P.nnz)
        self._sweep(at, self.options.post)

    def _sweep(self, at: int, times: int) -> None:
        level, v = self.hierarchy.levels[at], self.levels[at]
        A = level.A
        sparse_relax.forward(A.ptr, A.idx, A.val, level.inv, v.g, v.lower, v.q, times)
        self._spend(at, "sweeps", A.nnz * times)

    def _evaluate(self, at: int) -> None:
        """value = N(q)"""
        v, A = self.levels[at], self.hierarchy.levels[at].A
        csr.residual(A.ptr, A.idx, A.val, v.c, v.q, v.r)
        sparse_relax.natural(v.contact, v.diagonal, v.q, v.r, v.value)
        self._spend(at, "matvecs", A.nnz)

    def _spend(self, at: int, kind: str, entries: float) -> None:
        self.ledger.spend(kind if at == 0 else "coarse", float(entries))
