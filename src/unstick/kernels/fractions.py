"""How much of a face is open, from the solid's signed distance at its corners (positive outside the solid)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]


@njit(cache=True)
def triangle_open(a: float, b: float, c: float) -> float:
    """Part of a triangle where the linear function with corner values a, b, c is positive."""
    count = (a > 0.0) + (b > 0.0) + (c > 0.0)
    if count == 3:
        return 1.0
    if count == 0:
        return 0.0
    # The corner whose sign stands alone cuts off a small triangle: similar, scaled along its two edges.
    lone_a = (a > 0.0) == (count == 1)
    lone_b = (b > 0.0) == (count == 1)
    tip = a if lone_a else (b if lone_b else c)
    left = b if lone_a else a
    right = c if (lone_a or lone_b) else b
    cut = (tip / (tip - left)) * (tip / (tip - right))
    return cut if count == 1 else 1.0 - cut


@njit(cache=True)
def face_open(a: float, b: float, c: float, d: float) -> float:
    """Part of a square face that is open; a, b, c, d go around it. Exact where the distance is linear on the face.

    Four triangles meet in the middle: continuous in the values, without ambiguous cases, and the same bits for a turned or
    mirrored face. In 2D a face is an edge: (a, a, b, b) gives a / (a - b).
    """
    if min(min(a, b), min(c, d)) > 0.0:
        return 1.0
    if max(max(a, b), max(c, d)) <= 0.0:
        return 0.0
    middle = 0.25 * ((a + c) + (b + d))
    first = triangle_open(a, b, middle) + triangle_open(c, d, middle)
    second = triangle_open(b, c, middle) + triangle_open(d, a, middle)
    return 0.25 * (first + second)


@njit(cache=True)
def snapped(value: float, snap: float) -> float:
    """A distance, with rounding of a wall that goes through the node taken for the zero that was meant."""
    return 0.0 if abs(value) <= snap else np.float64(value)


@njit(cache=True)
def face_from_nodes(solid: Array, snap: float, i: int, j: int, k: int, axis: int, kz: int) -> float:
    """Open part of the face whose lowest node is (i, j, k), normal to `axis`; kz = 0 on a 2D grid (one layer of nodes), else 1."""
    pi = 0 if axis == 0 else 1  # first edge of the face: along x, or along y where the face is normal to x
    pj = 1 - pi
    qj = 1 if axis == 2 else 0  # second edge: along z, or along y where the face is normal to z
    qk = 0 if axis == 2 else kz
    a = snapped(solid[i, j, k], snap)
    b = snapped(solid[i + pi, j + pj, k], snap)
    c = snapped(solid[i + pi, j + pj + qj, k + qk], snap)
    d = snapped(solid[i, j + qj, k + qk], snap)
    return face_open(a, b, c, d)


@njit(cache=True, parallel=True)
def fill_face_fractions(out: Array, solid: Array, snap: float, axis: int, kz: int) -> None:
    """Open fractions of all faces normal to `axis`; the domain's own sides are solid walls."""
    nx, ny, nz = out.shape
    last = out.shape[axis] - 1
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                at = i if axis == 0 else (j if axis == 1 else k)
                inner = at > 0 and at < last
                out[i, j, k] = face_from_nodes(solid, snap, i, j, k, axis, kz) if inner else 0.0


@njit(cache=True)
def theta(inside: float, outside: float, least: float) -> float:
    """Where the surface crosses the link from a liquid centre to an air centre, Lai eq. 3.34, clamped from below."""
    t = inside / (inside - outside)
    return t if t > least else least


def snap_for(dtype: np.dtype[Any], size: float) -> float:
    """Rounding of coordinates in a domain of that size, as they enter a distance of that type."""
    return 8.0 * float(np.finfo(dtype).eps) * size
