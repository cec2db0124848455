"""A system reduced to its coupled rows, with what has no solution repaired: the view of all solvers that work on sparse matrices.

Rows without couplings are solved on the spot. A pocket (a connected piece without any link to air) is singular: it is solvable
only if the liquid in it is not compressed, sum of b >= 0 over the piece (= 0 when none of its rows may detach).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unstick.problem import Array, PressureSystem, Stencil
from unstick.solvers.pockets import lift_null_rows, lifts


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Where the compact rows stand on the grid: coordinates (n, 3) within a box of the given size."""

    box: tuple[int, int, int]
    ijk: Array  # int32 (n, 3)


@dataclass(frozen=True, slots=True, eq=False)
class Compact:
    A: sp.csr_array  # coupled rows, C order, sorted indices
    b: Array  # repaired
    contact: Array
    diagonal: Array
    index: Array  # position of each coupled row among A's rows (flattened)
    lattice: Lattice | None
    pocket: Array | None  # label >= 0 of the pocket a coupled row lies in, -1 elsewhere; None without pockets
    row_contact: Array  # on all rows of the system
    row_diagonal: Array
    repair: Array | float  # what was added to b, on all rows of the system
    isolated_p: Array  # on all rows of the system: p of rows without couplings, 0 elsewhere
    largest_b: float  # max|b| over all rows, repaired
    nnz: int
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.b)

    def spread(self, values: Array) -> Array:
        """Values on coupled rows, placed among all rows of the system; isolated rows hold their solution."""
        out = self.isolated_p.copy()
        out.reshape(-1)[self.index] = values
        return out


def compact(system: PressureSystem, row_contact: Array) -> Compact:
    if isinstance(system.A, Stencil):
        d = system.A.diagonal()
        coupled = d > system.A.excess
        for axis, w in enumerate((system.A.wx, system.A.wy, system.A.wz)):
            touched = w != 0
            coupled |= touched
            shifted = np.zeros_like(touched)
            take, put = [slice(None)] * 3, [slice(None)] * 3
            take[axis], put[axis] = slice(1, None), slice(None, -1)
            shifted[tuple(put)] = touched[tuple(take)]
            coupled |= shifted
        matrix = system.A.to_csr(coupled)
        lattice: Lattice | None = Lattice(system.A.box, np.argwhere(coupled).astype(np.int32))
    else:
        d = system.A.diagonal()
        off = system.A.copy()
        off.setdiag(0.0)
        off.eliminate_zeros()
        coupled = np.diff(off.indptr) > 0
        matrix = sp.csr_array(system.A[coupled][:, coupled])
        matrix.sort_indices()
        lattice = None
    index = np.flatnonzero(coupled.reshape(-1))
    contact = row_contact.reshape(-1)[index]
    b = system.row_b.astype(np.float64).copy()
    repair = np.zeros_like(b)
    notes: list[str] = []
    isolated_p = _isolated(d, b, row_contact, coupled, repair, notes)
    pocket = _pockets(matrix, b.reshape(-1)[index], contact, repair, index, notes)
    b += repair
    flat = b.reshape(-1)
    return Compact(
        A=matrix,
        b=flat[index],
        contact=contact,
        diagonal=matrix.diagonal(),
        index=index,
        lattice=lattice,
        pocket=pocket,
        row_contact=row_contact,
        row_diagonal=d,
        repair=repair,
        isolated_p=isolated_p,
        largest_b=float(np.max(np.abs(b))) if b.size else 0.0,
        nnz=int(matrix.nnz),
        notes=tuple(notes),
    )


def _isolated(d: Array, b: Array, contact: Array, coupled: Array, repair: Array, notes: list[str]) -> Array:
    """Rows without couplings: p = -b/a, clipped at 0 where the row may detach; null rows that cannot hold are repaired."""
    p = np.zeros_like(b)
    single = ~coupled & (d > 0)
    p[single] = -b[single] / d[single]
    clipped = single & contact & (p < 0)
    p[clipped] = 0.0
    change, said = lift_null_rows(d == 0, b, contact)
    repair += change
    notes += said
    return p


def _pockets(A: sp.csr_array, b: Array, contact: Array, repair: Array, index: Array, notes: list[str]) -> Array | None:
    """Find pieces without a link to air, and lift the b of those that have no solution. Returns labels, -1 outside pockets."""
    count, label = sp.csgraph.connected_components(A, directed=False)
    d = A.diagonal()
    excess = np.asarray(A.sum(axis=1)).reshape(-1)
    linked = np.abs(excess) > 32 * np.finfo(float).eps * d
    open_piece = np.bincount(label, linked, count) > 0
    if open_piece.all():
        return None
    size = np.bincount(label, minlength=count)
    total = np.bincount(label, b, count)
    magnitude = np.bincount(label, np.abs(b), count)
    may_detach = np.bincount(label, contact, count) > 0
    closed = ~open_piece
    lift = np.zeros(count)
    lift[closed], said = lifts(total[closed], magnitude[closed], size[closed], may_detach[closed])
    repair.reshape(-1)[index] += lift[label]
    notes += said
    return np.asarray(np.where(open_piece[label], -1, label))
