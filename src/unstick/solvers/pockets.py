"""Closed pockets of liquid: connected pieces without any link to air, on which A is singular.

The sum of A p + b over a pocket is B, the sum of its b. Where rows may detach, B > 0 is solved by cavitation, B = 0 fixes p up to a
constant, and B < 0 (compression) has no solution; without contact rows only B = 0 has one. What has none is made balanced by an
even change of b before the solve, and said so in the notes of the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.kernels.pieces import SLABS, roots, runs, unite_slabs
from unstick.problem import Array, Stencil
from unstick.solvers.rows import couplings, planes


def lifts(total: Array, magnitude: Array, size: Array, may_detach: Array) -> tuple[Array, list[str]]:
    """What to add to every b of each pocket, given its sum of b, of |b|, its number of rows, and whether any may detach."""
    rounding = 64 * np.finfo(float).eps * magnitude
    balanced = np.abs(total) <= rounding
    wrong = balanced | ~may_detach | (total < 0)
    lift = np.where(wrong, -total / np.maximum(size, 1), 0.0)
    compressed, loose = wrong & ~balanced & may_detach, wrong & ~balanced & ~may_detach
    notes = []
    if compressed.any():
        notes.append(
            f"{int(compressed.sum())} closed pockets of liquid were compressed (net inflow {-total[compressed].sum():.3g}), "
            "which has no solution; their b was lifted evenly to zero net inflow"
        )
    if loose.any():
        notes.append(
            f"{int(loose.sum())} closed pockets without contact rows had a net flow of "
            f"{np.abs(total[loose]).sum():.3g}; it was removed evenly"
        )
    return lift, notes


def lift_null_rows(empty: Array, b: Array, contact: Array) -> tuple[Array, list[str]]:
    """Rows without any entry cannot balance b < 0, nor any b where they may not detach: what to add to b there, and the note."""
    null = empty & ((b < 0) | ((b != 0) & ~contact))
    if not null.any():
        return np.zeros_like(b), []
    return np.where(null, -b, 0.0), [f"{int(null.sum())} rows without any open face had a b that no pressure can balance; it was set to 0"]


@dataclass(frozen=True, slots=True, eq=False)
class Pockets:
    """The closed pockets of a box: the change of b that makes them solvable, the notes about it, and which cell lies in which."""

    lift: Array
    notes: list[str]
    cells: Array  # (n, 3) indices of the cells that lie in a pocket
    label: Array  # of each of them, 0 .. count - 1
    count: int


def find_pockets(A: Stencil, b: Array, contact: Array, k0: Array, k1: Array) -> Pockets | None:
    """Closed pockets (None if there is none, the usual case, found in one pass over the couplings)."""
    wx, wy, wz, e = couplings(A)
    ni, nj, nk = e.shape
    slabs = min(SLABS, ni)
    before = np.concatenate([[0], np.cumsum((k1 - k0).sum(axis=1))])
    start = before[[ni * slab // slabs for slab in range(slabs)]]
    count = int(before[-1])
    end, parent, linked = np.empty_like(start), np.empty(count, dtype=np.int32), np.zeros(count, dtype=np.bool_)
    edge = np.empty((slabs, 2, nj, nk), dtype=np.int32)
    runs(wx, wy, wz, e, k0, k1, start, end, parent, linked, np.empty((0, 0, 0), dtype=np.int32), edge)
    unite_slabs(wx, k0, k1, parent, edge)
    if roots(parent, linked, start, end) == 0:
        return None
    run, united = np.full(e.shape, -1, dtype=np.int32), parent.copy()
    runs(wx, wy, wz, e, k0, k1, start, end, parent, np.empty_like(linked), run, edge)
    parent = united
    rows = run >= 0
    piece = parent[run[rows]]
    values = planes(b)[rows]
    total = np.bincount(piece, values, count)
    magnitude = np.bincount(piece, np.abs(values), count)
    size = np.bincount(piece, minlength=count)
    may_detach = np.bincount(piece, planes(contact)[rows], count) > 0
    closed = ~linked[:count] & (size > 0)
    lift, notes = lifts(total[closed], magnitude[closed], size[closed], may_detach[closed])
    every = np.zeros(count)
    every[closed] = lift
    change = np.zeros(e.shape)
    change[rows] = every[piece]
    inside = closed[piece]
    names, label = np.unique(piece[inside], return_inverse=True)
    return Pockets(change.reshape(b.shape), notes, np.argwhere(rows)[inside], label, len(names))
