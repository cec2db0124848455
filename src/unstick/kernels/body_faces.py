"""The faces that a moving body closes, next to rows of the pressure system: what couples its motion to the liquid.

2D grids come as one layer of cells (nz = 1) on one layer of nodes: `kz` is 0 for them and 1 in 3D.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from unstick.kernels.fractions import face_from_nodes

Array = npt.NDArray[Any]


TOUCH = 1e-9  # share of a body that touches a face in a point: it counts only where no body has more


@njit(cache=True)
def _corners(i: int, j: int, k: int, axis: int, kz: int) -> tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]:
    """The three other nodes of the face whose lowest node is (i, j, k); in 2D they repeat."""
    pi = 0 if axis == 0 else 1
    qj = 1 if axis == 2 else 0
    qk = 0 if axis == 2 else kz
    return (i + pi, j + 1 - pi, k), (i + pi, j + 1 - pi + qj, k + qk), (i, j + qj, k + qk)


@njit(cache=True)
def _closed_beside_row(
    body: Array, snap: float, row: Array, corner: tuple[int, int, int], i: int, j: int, k: int, axis: int, kz: int
) -> float:
    """Part of a face that the body closes, if one of the two cells beside the face has a row; else 0."""
    nx, ny, nz = row.shape
    a, b, c = i - corner[0], j - corner[1], k - corner[2]  # the upper cell, within the box of rows
    la, lb, lc = a - (axis == 0), b - (axis == 1), c - (axis == 2)
    beside = a < nx and b < ny and c < nz and a >= 0 and b >= 0 and c >= 0 and row[a, b, c]
    beside = beside or (la < nx and lb < ny and lc < nz and la >= 0 and lb >= 0 and lc >= 0 and row[la, lb, lc])
    if not beside:
        return 0.0
    part = 1.0 - face_from_nodes(body, snap, i, j, k, axis, kz)
    if part > 0.0:
        return part
    p, q, r = _corners(i, j, k, axis, kz)
    near = min(min(body[i, j, k], body[p]), min(body[q], body[r]))
    return TOUCH if near <= snap else 0.0


@njit(cache=True, parallel=True)
def count_faces(body: Array, snap: float, row: Array, corner: tuple[int, int, int], low: Array, high: Array, axis: int, kz: int) -> Array:
    """For each plane i of the range low..high of faces normal to `axis`, how many the body closes in part or touches."""
    count = np.zeros(high[0] - low[0], dtype=np.int64)
    for plane in prange(high[0] - low[0]):
        i = low[0] + plane
        found = 0
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                found += 1 if _closed_beside_row(body, snap, row, corner, i, j, k, axis, kz) > 0.0 else 0
        count[plane] = found
    return count


@njit(cache=True, parallel=True)
def list_faces(
    body: Array,
    together: Array,
    solid: Array,
    snap: float,
    row: Array,
    corner: tuple[int, int, int],
    low: Array,
    high: Array,
    axis: int,
    kz: int,
    begin: Array,
    face: Array,
    share: Array,
    closed: Array,
    alone: Array,
) -> None:
    """Those faces: index (n, 3), the part the body closes, the part that all walls together close, and whether at its nodes no wall is
    nearer than the nearest body (`together`: the least of all bodies' distances)."""
    for plane in prange(high[0] - low[0]):
        i = low[0] + plane
        n = begin[plane]
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                part = _closed_beside_row(body, snap, row, corner, i, j, k, axis, kz)
                if part > 0.0:
                    face[n, 0], face[n, 1], face[n, 2] = i, j, k
                    share[n] = part
                    closed[n] = 1.0 - face_from_nodes(solid, snap, i, j, k, axis, kz)
                    p, q, r = _corners(i, j, k, axis, kz)
                    gap = max(together[i, j, k] - solid[i, j, k], together[p] - solid[p])
                    alone[n] = max(gap, max(together[q] - solid[q], together[r] - solid[r])) <= snap
                    n += 1


@njit(cache=True)
def closed_of_cells(solid: Array, snap: float, shape: tuple[int, int, int], cells: Array, kz: int, out: Array) -> None:
    """Closed parts of the faces of each cell (n, 3), added up; the domain's sides are closed."""
    for n in range(cells.shape[0]):
        total = 0.0
        for axis in range(2 + kz):
            for side in range(2):
                i, j, k = cells[n, 0] + side * (axis == 0), cells[n, 1] + side * (axis == 1), cells[n, 2] + side * (axis == 2)
                at = i if axis == 0 else (j if axis == 1 else k)
                inner = at > 0 and at < shape[axis]
                total += 1.0 - (face_from_nodes(solid, snap, i, j, k, axis, kz) if inner else 0.0)
        out[n] = total
