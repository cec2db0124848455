"""The nonlinear cycle: policy-truncated FAS (fas.md section 2.2) on the levels of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unstick.kernels import csr, reduce, sparse_relax, sparse_transfer
from unstick.problem import Array
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarsest import Coarsest
from unstick.solvers.multigrid.hierarchy import Hierarchy

Shape = Literal["V", "W", "F"]


@dataclass(slots=True, eq=False)
class Fields:
    """The vectors of one level."""

    x: Array
    f: Array
    r: Array
    lower: Array  # obstacle, -inf on rows that may not detach
    contact: Array
    before: Array  # the full unknown as restricted, q^H of fas.md 2.2

    @classmethod
    def empty(cls, n: int) -> Fields:
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, -np.inf), np.zeros(n, dtype=np.bool_), np.zeros(n))


class NonlinearCycle:
    """Runs cycles from any level downwards. The caller fills x, f, contact and lower of the level it starts from."""

    def __init__(
        self, hierarchy: Hierarchy, ledger: Ledger, shape: Shape, pre: int, post: int, boundary: int, line_search: bool, direct: bool
    ) -> None:
        self.hierarchy = hierarchy
        self.ledger = ledger
        self.shape = shape
        self.pre, self.post, self.boundary = pre, post, boundary
        self.line_search = line_search
        self.fields = [Fields.empty(level.n) for level in hierarchy.levels]
        self.coarsest = Coarsest(hierarchy.levels[-1], ledger, direct)
        self.changes = 0  # rows whose policy changed in the last cycle
        self._cut = 0

    @property
    def x(self) -> Array:
        return self.fields[0].x

    @property
    def r(self) -> Array:
        return self.fields[0].r

    @property
    def lower(self) -> Array:
        return self.fields[0].lower

    def advance(self) -> None:
        self.run(0)

    def update_residual(self) -> None:
        self.residual(0)

    def run(self, top: int) -> None:
        """One cycle for the problem of level `top`, whose policy is updated after the first sweeps."""
        self._cycle(top, top, self.shape)

    def residual(self, at: int) -> Array:
        level, v = self.hierarchy.levels[at], self.fields[at]
        csr.residual(level.A.ptr, level.A.idx, level.A.val, v.f, v.x, v.r)
        self._spend(at, "matvecs", level.A.nnz)
        return v.r

    def interpolate(self, at: int) -> None:
        """x of level `at` from that of the next coarser one, cut at the obstacle."""
        level, v = self.hierarchy.levels[at], self.fields[at]
        assert level.down is not None
        P = level.down.P
        sparse_transfer.prolong(P.ptr, P.idx, P.val, level.free, self.fields[at + 1].x, v.x)
        np.maximum(v.x, v.lower, out=v.x)
        self._spend(at, "transfers", P.nnz)

    def _cycle(self, at: int, top: int, shape: Shape) -> None:
        if at == len(self.hierarchy.levels) - 1:
            v = self.fields[at]
            self.coarsest.solve(v.f, v.lower, v.x)
            return
        self._smooth(at, self.pre, self.boundary, 0)
        self.residual(at)
        if at == top:
            self._update_policy(at)
        self._restrict(at)
        below = at + 1
        self._cycle(below, top, shape)
        if shape != "V" and below < len(self.hierarchy.levels) - 1:
            self._cycle(below, top, "W" if shape == "W" else "V")
        self._correct(at, top)
        self._smooth(at, self.post, 0, self.boundary)

    def _smooth(self, at: int, sweeps: int, boundary_first: int, boundary_last: int) -> None:
        level, v = self.hierarchy.levels[at], self.fields[at]
        A = level.A
        rows = np.flatnonzero(v.contact) if self.boundary else None
        if rows is not None and boundary_first:
            sparse_relax.forward_at(A.ptr, A.idx, A.val, level.inv, v.f, v.lower, v.x, rows, boundary_first)
        sparse_relax.forward(A.ptr, A.idx, A.val, level.inv, v.f, v.lower, v.x, sweeps)
        self._spend(at, "sweeps", float(A.nnz) * sweeps)
        if rows is not None and boundary_last:
            sparse_relax.forward_at(A.ptr, A.idx, A.val, level.inv, v.f, v.lower, v.x, rows, boundary_last)
        if rows is not None:
            self._spend(at, "sweeps", A.nnz / max(level.n, 1) * len(rows) * (boundary_first + boundary_last))

    def _update_policy(self, at: int) -> None:
        level, v = self.hierarchy.levels[at], self.fields[at]
        changed = np.empty(level.n, dtype=np.bool_)
        self.changes = sparse_relax.policy(v.contact, v.x, v.r, level.free, changed)
        if not self.hierarchy.filled:
            self.hierarchy.fill()
        elif self.changes:
            self.hierarchy.change(at, np.flatnonzero(changed))
        self.hierarchy.refresh()

    def release(self, at: int) -> None:
        """Give up the policy of level `at`, when the problem moves to the next finer level."""
        level = self.hierarchy.levels[at]
        self.hierarchy.change(at, np.flatnonzero(~level.free))
        level.free[:] = True

    def _restrict(self, at: int) -> None:
        level, below = self.hierarchy.levels[at], self.hierarchy.levels[at + 1]
        v, w = self.fields[at], self.fields[at + 1]
        down = level.down
        assert down is not None
        T = down.T
        sparse_transfer.restrict_full(T.ptr, T.idx, T.val, down.scale, level.free, v.contact, v.r, v.x, w.r, w.x, w.contact)
        sparse_relax.obstacles(w.contact, w.x, w.lower)
        np.copyto(w.before, w.x)
        csr.multiply(below.A.ptr, below.A.idx, below.A.val, w.x, w.f)
        w.f += w.r  # tau-corrected: f^H = A_H q^H + R r
        self._spend(at, "transfers", 2.0 * T.nnz)
        self._spend(at + 1, "matvecs", below.A.nnz)

    def _correct(self, at: int, top: int) -> None:
        level = self.hierarchy.levels[at]
        v, w = self.fields[at], self.fields[at + 1]
        assert level.down is not None
        P = level.down.P
        step = v.before if at == top else v.r  # the line search still needs r
        cut = sparse_transfer.prolong_step(P.ptr, P.idx, P.val, level.free, w.x, w.before, v.x, v.lower, step)
        self._spend(at, "transfers", P.nnz)
        self._cut += cut
        alpha = 1.0
        if at == top:
            if self.line_search and self._cut:
                alpha = self._exact_step(at, step)
            self._cut = 0
        sparse_relax.add_scaled(v.x, alpha, step, v.lower)

    def _exact_step(self, at: int, step: Array) -> float:
        """The minimiser of the energy along the projected correction, at most 1 so that it stays feasible."""
        level, v = self.hierarchy.levels[at], self.fields[at]
        image = np.empty(level.n)
        csr.multiply(level.A.ptr, level.A.idx, level.A.val, step, image)
        self._spend(at, "matvecs", level.A.nnz)
        self.ledger.count("line_searches")
        curvature, slope = reduce.dot(step, image), reduce.dot(v.r, step)
        if not slope > 0.0:
            return 0.0
        return 1.0 if slope >= curvature else float(slope / curvature)

    def _spend(self, at: int, kind: str, entries: float) -> None:
        self.ledger.spend(kind if at == 0 else "coarse", float(entries))
