"""Linear cycles in correction form: V, W, F, and the full cycle (Lai figures 5.2 and 5.3)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from unstick.kernels import csr, sparse_relax, sparse_transfer
from unstick.problem import Array
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarsest import Coarsest
from unstick.solvers.multigrid.hierarchy import Hierarchy

Shape = Literal["V", "W", "F", "full"]


class LinearCycle:
    """Cycles on a filled hierarchy. `free` marks the finest rows that are solved; x stays 0 on the others.

    Post-sweeps run backwards, which makes a cycle symmetric: a preconditioner for conjugate gradients.
    """

    def __init__(
        self, hierarchy: Hierarchy, free: Array, ledger: Ledger, shape: Shape, pre: int, post: int, boundary: int, direct: bool
    ) -> None:
        self.hierarchy = hierarchy
        self.ledger = ledger
        self.shape = shape
        self.pre, self.post = pre, post
        levels = hierarchy.levels
        self.inv = [np.where(free, levels[0].inv, 0.0), *(level.inv for level in levels[1:])]
        self.x = [np.zeros(level.n) for level in levels]
        self.f = [np.zeros(level.n) for level in levels]
        self.r = [np.zeros(level.n) for level in levels]
        self.unbounded = [np.full(level.n, -np.inf) for level in levels]
        self.coarsest = Coarsest(levels[-1], ledger, direct)
        self.boundary = boundary
        self.rim = [_rim(hierarchy, at) for at in range(len(levels))] if boundary else []

    def correct(self, r: Array, out: Array) -> None:
        """out: the correction of one cycle for the residual r, starting from zero."""
        self.f[0][:] = r
        if self.shape == "full":
            self._full()
        else:
            self.x[0][:] = 0.0
            self._cycle(0, self.shape)
        out[:] = self.x[0]

    def _full(self) -> None:
        """Restrict the residual to the coarsest grid, solve there, and run a V-cycle on each finer one from its interpolant."""
        last = len(self.x) - 1
        for at in range(last):
            self._restrict(at, self.f[at])
        originals = [f.copy() for f in self.f]
        self.x[last][:] = 0.0
        self._cycle(last, "V")
        for at in range(last - 1, -1, -1):
            self.x[at][:] = 0.0
            self._prolong(at)
            self.f[at][:] = originals[at]
            self._cycle(at, "V")

    def _cycle(self, at: int, shape: Shape) -> None:
        if at == len(self.x) - 1:
            self.coarsest.solve(self.f[at], self.unbounded[at], self.x[at])
            return
        self._smooth(at, self.pre, forward=True)
        level = self.hierarchy.levels[at]
        csr.residual(level.A.ptr, level.A.idx, level.A.val, self.f[at], self.x[at], self.r[at])
        self._spend(at, "matvecs", level.A.nnz)
        self._restrict(at, self.r[at])
        self.x[at + 1][:] = 0.0
        self._cycle(at + 1, shape)
        if shape != "V" and at + 1 < len(self.x) - 1:
            self._cycle(at + 1, "W" if shape == "W" else "V")
        self._prolong(at)
        self._smooth(at, self.post, forward=False)

    def _smooth(self, at: int, sweeps: int, forward: bool) -> None:
        A, inv, f, free, x = self.hierarchy.levels[at].A, self.inv[at], self.f[at], self.unbounded[at], self.x[at]
        if forward:
            if self.boundary:
                sparse_relax.forward_at(A.ptr, A.idx, A.val, inv, f, free, x, self.rim[at], self.boundary)
            sparse_relax.forward(A.ptr, A.idx, A.val, inv, f, free, x, sweeps)
        else:
            sparse_relax.backward(A.ptr, A.idx, A.val, inv, f, free, x, sweeps)
            if self.boundary:
                sparse_relax.backward_at(A.ptr, A.idx, A.val, inv, f, free, x, self.rim[at], self.boundary)
        extra = len(self.rim[at]) / max(A.n, 1) * self.boundary if self.boundary else 0.0
        self._spend(at, "sweeps", A.nnz * (sweeps + extra))

    def _restrict(self, at: int, r: Array) -> None:
        level = self.hierarchy.levels[at]
        assert level.down is not None
        T = level.down.T
        sparse_transfer.restrict(T.ptr, T.idx, T.val, level.down.scale, level.free, r, self.f[at + 1])
        self._spend(at, "transfers", T.nnz)

    def _prolong(self, at: int) -> None:
        level = self.hierarchy.levels[at]
        assert level.down is not None
        P = level.down.P
        sparse_transfer.prolong(P.ptr, P.idx, P.val, level.free, self.x[at + 1], self.r[at])
        self.x[at] += self.r[at]
        self._spend(at, "transfers", P.nnz)

    def _spend(self, at: int, kind: str, entries: float) -> None:
        self.ledger.spend(kind if at == 0 else "coarse", float(entries))


def _rim(hierarchy: Hierarchy, at: int) -> Array:
    """Rows with fewer entries than an inner one, and those coupled to them: where walls and surface are."""
    A = hierarchy.levels[at].A
    length = np.diff(A.ptr)
    short = length < length.max(initial=0)
    if at == 0 and hierarchy.levels[0].n:
        near = np.zeros(A.n, dtype=np.bool_)
        rows = np.repeat(np.arange(A.n), length)
        near[A.idx[short[rows]]] = True
        short |= near
    return np.flatnonzero(short).astype(np.int32)
