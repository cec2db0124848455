"""A term of low rank, F C F^T, beside the stencil of a pressure system: what a body, or anything with few unknowns of its own, adds to A.

Column c of F is the divergence in the cells by unit twist number c; C is a small symmetric matrix. Rigid bodies have
C = dt V J M^-1 J^T (positive semidefinite); C may be indefinite, as long as A + F C F^T is positive semidefinite, which is the case when
the term is a Schur complement: bubbles at constant volume (Aanjaneya eq. 20) have C = -1 / sum of their couplings, one column each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unstick.grid import Array
from unstick.problem import PressureSystem, Stencil


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    rows: Array  # flat index among the box's cells, ascending
    factor: sp.csr_array  # (len(rows), q)
    core: Array  # (q, q), symmetric

    @property
    def size(self) -> int:
        return int(self.core.shape[0])

    def moments(self, p: Array) -> Array:
        """F^T p, for p on the box."""
        return np.asarray(self.factor.T @ p.reshape(-1)[self.rows])

    def add_to(self, out: Array, twist: Array) -> None:
        """out += F twist, on the box."""
        out.reshape(-1)[self.rows] += self.factor @ twist

    def trimmed(self) -> LowRank:
        """Without columns that touch no row."""
        used = np.flatnonzero(np.diff(sp.csc_array(self.factor).indptr) > 0)
        factor = sp.csr_array(sp.csc_array(self.factor)[:, used])
        factor.sort_indices()
        return LowRank(self.rows, factor, np.ascontiguousarray(self.core[np.ix_(used, used)]))

    def dense(self, index: Array) -> Array:
        """F C F^T on the rows `index` (ascending flat indices)."""
        wide = self.on(index).toarray()
        return np.asarray(wide @ self.core @ wide.T)

    def on(self, index: Array) -> sp.csr_array:
        """F on the rows `index` (ascending flat indices): (len(index), q)."""
        place = np.searchsorted(index, self.rows)
        known = (place < len(index)) & (index[np.minimum(place, len(index) - 1)] == self.rows) if len(index) else np.zeros(len(place), bool)
        spread = sp.coo_array((np.ones(int(known.sum())), (place[known], np.flatnonzero(known))), shape=(len(index), len(self.rows)))
        return sp.csr_array(sp.csr_array(spread) @ self.factor)


@dataclass(frozen=True, slots=True, eq=False)
class CoupledSystem(PressureSystem):
    """The same problem with A + F C F^T for A, on a grid; `row_b` holds what the bodies do without the pressure.

    Only solvers of pressure/coupling know the term: give no other one such a system.
    """

    term: LowRank | None = None

    def apply(self, p: Array) -> Array:
        """(A + F C F^T) p on A's rows."""
        assert isinstance(self.A, Stencil)
        out = self.A.apply(p)
        if self.term is not None:
            self.term.add_to(out, self.term.core @ self.term.moments(p))
        return out
