"""The coarsest grid: projected Gauss-Seidel, 40 sweeps before and 40 after, with a direct solve on the free rows between them.

The direct solve matters where pieces are nearly closed to each other or to the air: sweeps alone would leave their mean pressure behind.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from unstick.kernels import sparse_relax
from unstick.problem import Array
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.hierarchy import Level

SWEEPS = 40
LARGEST = 700  # rows up to which the matrix is factored
SHIFT = 1e-13  # added to the scaled matrix, whose diagonal is 1: keeps singular pieces factorable


class Coarsest:
    def __init__(self, level: Level, ledger: Ledger, direct: bool = True) -> None:
        self.level = level
        self.ledger = ledger
        self.direct = direct and level.n <= LARGEST
        self._key: tuple[int, bytes] | None = None
        self._factor: tuple[Array, bool] | None = None
        self._root = np.empty(0)
        self._piece: Array | None = None

    def solve(self, f: Array, lower: Array, x: Array) -> None:
        """Relax A x = f with x >= lower, in place."""
        A, inv = self.level.A, self.level.inv
        if not self.direct:
            sparse_relax.forward(A.ptr, A.idx, A.val, inv, f, lower, x, SWEEPS)
            sparse_relax.backward(A.ptr, A.idx, A.val, inv, f, lower, x, SWEEPS)
            self.ledger.spend("coarse", 2.0 * SWEEPS * A.nnz)
            return
        sparse_relax.forward(A.ptr, A.idx, A.val, inv, f, lower, x, SWEEPS)
        r = f - A.to_scipy(A.n) @ x
        free = (inv > 0) & ~((x <= lower) & (r <= 0))
        if free.any() and np.isfinite(r).all():
            step = np.zeros(A.n)
            step[free] = self._solve_free(free, r[free])
            falling = step < 0
            room = (lower[falling] - x[falling]) / step[falling]
            # The longest feasible part of the step lowers the energy as well.
            x += min(1.0, float(room.min(initial=1.0))) * step
            np.maximum(x, lower, out=x)
        sparse_relax.backward(A.ptr, A.idx, A.val, inv, f, lower, x, SWEEPS)
        self.ledger.spend("coarse", (2.0 * SWEEPS + 1) * A.nnz + float(np.count_nonzero(free)) ** 2)

    def _solve_free(self, free: Array, r: Array) -> Array:
        key = (self.level.stamp, free.tobytes())
        if key != self._key:
            self._prepare(free)
            self._key = key
        assert self._factor is not None
        scaled = r / self._root
        if self._piece is not None:
            scaled -= self._null @ (self._null.T @ scaled)
        found: Array = la.cho_solve(self._factor, scaled, check_finite=False)
        if self._piece is not None:
            found -= self._null @ (self._null.T @ found)
        return found / self._root

    def _prepare(self, free: Array) -> None:
        """Factor D^-1/2 A D^-1/2 of the free rows; find its null vectors, one for each piece without a link to air."""
        rows = np.flatnonzero(free)
        matrix = self.level.A.to_scipy(self.level.n).toarray()[np.ix_(rows, rows)]
        diagonal = np.diagonal(matrix).copy()
        self._root = np.sqrt(diagonal)
        count, piece = sp.csgraph.connected_components(sp.csr_array(matrix), directed=False)
        outflow = np.bincount(piece, matrix.sum(axis=1), count)
        closed = outflow <= 1e-12 * np.bincount(piece, diagonal, count)
        self._piece = None
        if closed.any():
            self._piece = piece
            null = np.zeros((len(rows), int(closed.sum())))
            column = np.cumsum(closed) - 1
            inside = closed[piece]
            null[inside, column[piece[inside]]] = self._root[inside]
            self._null = null / np.linalg.norm(null, axis=0)
        scaled = matrix / np.outer(self._root, self._root)
        scaled[np.diag_indices(len(rows))] += SHIFT
        try:
            self._factor = la.cho_factor(scaled, lower=True, check_finite=False)
        except la.LinAlgError:
            scaled[np.diag_indices(len(rows))] += 1e-9
            self._factor = la.cho_factor(scaled, lower=True, check_finite=False)
        self.ledger.spend("setup", len(rows) ** 3 / 6)
