"""Closed pockets of liquid beside bodies: which pressures nothing answers to, and what of b no pressure can balance.

Alone, a pocket without air has the null vector 1, and a solution only if its liquid is not compressed (numerics: B = sum of b >= 0, = 0
where no row may detach). A body that can give way takes part: two pockets on the sides of a piston may exchange volume, and a
light lid yields. So the null vectors are those combinations of pockets that push no body, and b must be orthogonal to them up to
slacks that are not negative. What is missing to that is added evenly to b, in the least-squares sense, and reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls

from unstick.grid import Array
from unstick.pressure.coupling.lowrank import CoupledSystem
from unstick.problem import Stencil
from unstick.solvers.pockets import find_pockets
from unstick.solvers.rows import scan

NULL = 1e-11  # eigenvalue, as a part of the diagonal's, that counts as zero


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """Pieces of the liquid and the combinations of them that are null vectors of the coupled matrix."""

    label: Array  # on the box: -1 outside the pieces
    null: Array  # (pieces, null vectors), orthonormal
    change: Array  # what to add to b, on the box
    notes: tuple[str, ...]

    def alone(self) -> list[int]:
        """Pieces that are null vectors on their own."""
        weight = (self.null**2).sum(axis=1)
        return [k for k in range(len(weight)) if weight[k] > 1 - 1e-9]


def find_closed(system: CoupledSystem, contact: Array) -> Closed | None:
    """None if every piece of liquid has air or gives way: the usual case."""
    A = system.A
    assert isinstance(A, Stencil)
    label = _pieces(system)
    if label is None:
        return None
    count = int(label.max()) + 1
    inside = label >= 0
    piece = label[inside]
    size = np.bincount(piece, minlength=count)
    null = _null_vectors(system, label, count)
    if null.shape[1] == 0:
        return None
    b = system.row_b[inside]
    total, magnitude = np.bincount(piece, b, count), np.bincount(piece, np.abs(b), count)
    lets_go = np.bincount(piece, contact[inside], count) > 0
    lift, notes = _lift(null, total, magnitude, lets_go)
    change = np.zeros(A.box)
    change[inside] = (lift / size)[piece]
    return Closed(label, null, change, notes)


def _pieces(system: CoupledSystem) -> Array | None:
    """Labels of the closed pockets; of all connected pieces where the term takes stiffness away."""
    A, term = system.A, system.term
    assert isinstance(A, Stencil)
    if term is not None and term.size and np.linalg.eigvalsh(term.core)[0] < -1e-12 * np.abs(term.core).max():
        rows = A.rows()
        _, found = sp.csgraph.connected_components(A.to_csr(rows), directed=False)
        label = np.full(A.box, -1, dtype=np.int64)
        label[rows] = found
        return label if rows.any() else None
    _, k0, k1 = scan(A, np.ascontiguousarray(system.row_b))
    pockets = find_pockets(A, np.zeros(A.box), np.zeros(A.box, dtype=np.bool_), k0, k1)
    if pockets is None:
        return None
    label = np.full(A.box, -1, dtype=np.int64)
    cells = pockets.cells[:, 1:] if A.box[2] == 1 else pockets.cells  # find_pockets sees a 2D box as one plane
    at = (cells[:, 0], cells[:, 1], np.zeros(len(cells), dtype=np.int64)) if A.box[2] == 1 else tuple(cells.T)
    label[at] = pockets.label
    return label


def _null_vectors(system: CoupledSystem, label: Array, count: int) -> Array:
    """Orthonormal combinations x of the pieces' indicators with x^T (A + F C F^T) x = 0, hence null vectors."""
    A, term = system.A, system.term
    assert isinstance(A, Stencil)
    inside = label >= 0
    piece = label[inside]
    scale = np.bincount(piece, A.diagonal()[inside], count)
    # A pocket's own excess is rounding by definition; a piece with air has some.
    gram = np.diag(np.where(np.bincount(piece, A.excess[inside], count) <= 64 * np.finfo(float).eps * scale, 0.0, 1.0) * scale)
    if term is not None and term.size:
        gram = np.diag(np.bincount(piece, A.excess[inside], count))
        beside = label.reshape(-1)[term.rows]
        spread = sp.coo_array((np.ones(int((beside >= 0).sum())), (beside[beside >= 0], np.flatnonzero(beside >= 0))))
        spread.resize((count, len(term.rows)))
        moments = (sp.csr_array(spread) @ term.factor).toarray()
        # The sum over a closed surface is zero up to the rounding of its terms.
        size = (sp.csr_array(spread) @ abs(term.factor)).toarray()
        moments[np.abs(moments) <= 1e-12 * size] = 0.0
        gram = gram + moments @ term.core @ moments.T
    root = 1.0 / np.sqrt(scale)
    values, vectors = np.linalg.eigh(root[:, None] * gram * root)
    found = root[:, None] * vectors[:, values <= NULL]
    return np.asarray(np.linalg.qr(found)[0]) if found.shape[1] else np.zeros((count, 0))


def _lift(null: Array, total: Array, magnitude: Array, lets_go: Array) -> tuple[Array, tuple[str, ...]]:
    """The least change of the pieces' sums of b after which slacks s >= 0 (0 where no row may detach) balance them along the null
    vectors."""
    s = np.zeros(len(total))
    chosen = np.flatnonzero(lets_go)
    if chosen.size:
        s[chosen] = nnls(null.T[:, chosen], null.T @ total)[0]
    s[s <= 64 * np.finfo(float).eps * magnitude] = 0.0
    lift = -null @ (null.T @ (total - s))
    wrong = np.abs(lift) > 64 * np.finfo(float).eps * np.maximum(magnitude, 1e-300)
    if not wrong.any():
        return lift, ()
    note = (
        f"{int(wrong.sum())} closed pockets of liquid had a net inflow of {np.abs(lift[wrong]).sum():.3g} that no wall and no body "
        "gives way to; their b was changed evenly"
    )
    return lift, (note,)
