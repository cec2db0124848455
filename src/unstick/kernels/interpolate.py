"""Values between the points of a lattice: trilinear, its gradient, and cubic; one form serves 2D, where z has one layer and no step.

A point enters as lattice coordinates f (one unit is one cell). Indices are unsigned, since they depend on data: that spares the
test for negative ones. A point outside is held at the edge, and so is NaN: no index leaves the arrays. Multiplication and addition
may be contracted to one instruction (FUSED), which is a quarter of the time; nothing else of fast mathematics is allowed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
FUSED = {"contract"}
EDGE = 1e-9  # of a cell: how near to the last point of a lattice a point may come


@njit(cache=True, fastmath=FUSED, forceinline=True)
def place(f, top):
    """(index, part): the lattice point below f, and where f stands between it and the next; `top` is `top_of` the lattice's size."""
    f = f if f > 0.0 else 0.0  # this way round NaN becomes zero
    f = f if f < top else top
    i = np.int64(f)
    return np.uint64(i), f - i


@njit(cache=True, fastmath=FUSED, forceinline=True)
def place_inside(f, last):
    """`place` for a point that is known to lie inside: a tenth less time in loops over particles. Other points give nonsense, but no
    index leaves the arrays. `last` is the number of the last lattice point with a next one."""
    i = np.uint64(np.int64(f))
    i = i if i < last else last
    return i, f - np.int64(i)


@njit(cache=True)
def lasts(shape):
    """`last` of the faces along each axis, and of the cells along each axis."""
    nx, ny, nz = np.uint64(shape[0]), np.uint64(shape[1]), np.uint64(shape[2])
    return (nx - ONE, ny - ONE, nz - ONE), (max(nx, TWO) - TWO, max(ny, TWO) - TWO, max(nz, TWO) - TWO)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def spots_inside(x, y, z, full, half):
    """`spots` for a point that is known to lie inside, at least half a cell from the sides."""
    return (
        place_inside(x, full[0]),
        place_inside(y, full[1]),
        place_inside(z, full[2]),
        place_inside(x - 0.5, half[0]),
        place_inside(y - 0.5, half[1]),
        place_inside(z - 0.5, half[2]),
    )


@njit(cache=True, fastmath=FUSED, forceinline=True)
def top_of(size):
    """The largest coordinate from which the next lattice point still exists; 0 where there is only one."""
    return max(size - 1 - EDGE, 0.0)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def between(a, b, t):
    """The part t of the way from a to b."""
    return (1.0 - t) * a + t * b


@njit(cache=True, fastmath=FUSED, forceinline=True)
def linear(a, i, j, k, kz, r, s, t):
    """Trilinear value at the parts (r, s, t) of the box above (i, j, k)."""
    i1, j1, k1 = i + ONE, j + ONE, k + kz
    low = between(between(a[i, j, k], a[i, j, k1], t), between(a[i, j1, k], a[i, j1, k1], t), s)
    high = between(between(a[i1, j, k], a[i1, j, k1], t), between(a[i1, j1, k], a[i1, j1, k1], t), s)
    return between(low, high, r)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def linear_slope(a, i, j, k, kz, r, s, t):
    """(value, its derivatives by r, s, t) of the trilinear interpolation."""
    i1, j1, k1 = i + ONE, j + ONE, k + kz
    a00, a01, a10, a11 = a[i, j, k], a[i, j1, k], a[i1, j, k], a[i1, j1, k]
    d00, d01, d10, d11 = a[i, j, k1] - a00, a[i, j1, k1] - a01, a[i1, j, k1] - a10, a[i1, j1, k1] - a11
    e00, e01, e10, e11 = a00 + t * d00, a01 + t * d01, a10 + t * d10, a11 + t * d11
    g0, g1 = e01 - e00, e11 - e10
    low, high = e00 + s * g0, e10 + s * g1
    by_r = high - low
    d0, d1 = d00 + s * (d01 - d00), d10 + s * (d11 - d10)
    return low + r * by_r, by_r, g0 + r * (g1 - g0), d0 + r * (d1 - d0)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def tops(shape):
    """`top_of` the faces along each axis, and of the cells along each axis."""
    nx, ny, nz = shape
    return (top_of(nx + 1), top_of(ny + 1), top_of(nz + 1)), (top_of(nx), top_of(ny), top_of(nz))


@njit(cache=True, fastmath=FUSED, forceinline=True)
def spots(x, y, z, full, half):
    """`place` among faces and among cell centres along each axis; a face has its own axis from the first, the others from the second."""
    return (
        place(x, full[0]),
        place(y, full[1]),
        place(z, full[2]),
        place(x - 0.5, half[0]),
        place(y - 0.5, half[1]),
        place(z - 0.5, half[2]),
    )


@njit(cache=True, fastmath=FUSED, forceinline=True)
def velocity_at(u, v, w, x, y, z, full, half, kz):
    """The staggered velocity at a point, trilinear in each component; (u, v, 0) in 2D."""
    (i, r), (j, s), (k, t), (ic, rc), (jc, sc), (kc, tc) = spots(x, y, z, full, half)
    ux = linear(u, i, jc, kc, kz, r, sc, tc)
    uy = linear(v, ic, j, kc, kz, rc, s, tc)
    uz = linear(w, ic, jc, k, kz, rc, sc, t) if kz > ZERO else 0.0
    return ux, uy, uz


@njit(cache=True, fastmath=FUSED, forceinline=True)
def put_velocity(out, q, u, v, w, x, y, z, full, half, kz):
    """As `velocity_at`, into row q of `out` (whose last entry stays as it is in 2D). Storing each component before the next is
    looked up keeps everything in registers: a third less time in loops over particles."""
    (i, r), (j, s), (k, t), (ic, rc), (jc, sc), (kc, tc) = spots(x, y, z, full, half)
    out[q, 0] = linear(u, i, jc, kc, kz, r, sc, tc)
    out[q, 1] = linear(v, ic, j, kc, kz, rc, s, tc)
    if kz > ZERO:
        out[q, 2] = linear(w, ic, jc, k, kz, rc, sc, t)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def cubic_weights(i, t, size):
    """(first, count, four weights) of the cubic through the four points around; of the straight line in the outermost intervals,
    where there are no four, and of the only point where there is one."""
    if size == 1:
        return i, 1, 1.0, 0.0, 0.0, 0.0
    if i == ZERO or i + TWO >= np.uint64(size):
        return i, 2, 1.0 - t, t, 0.0, 0.0
    p, m, q = t + 1.0, t - 1.0, t - 2.0
    return i - ONE, 4, -t * m * q / 6.0, 0.5 * p * m * q, -0.5 * p * t * q, p * t * m / 6.0


@njit(cache=True, fastmath=FUSED, forceinline=True)
def pick(c, w0, w1, w2, w3):
    """The weight with that number."""
    return w0 if c == 0 else (w1 if c == 1 else (w2 if c == 2 else w3))


@njit(cache=True, fastmath=FUSED, forceinline=True)
def cubic(a, i, j, k, r, s, t, limited):
    """Cubic in each direction (Lagrange), exact for polynomials of third degree; `limited` to the range of the box's corners."""
    nx, ny, nz = a.shape
    i0, ni, x0, x1, x2, x3 = cubic_weights(i, r, nx)
    j0, nj, y0, y1, y2, y3 = cubic_weights(j, s, ny)
    k0, nk, z0, z1, z2, z3 = cubic_weights(k, t, nz)
    total = 0.0
    for p in range(ni):
        plane = 0.0
        for q in range(nj):
            row = 0.0
            for m in range(nk):
                row += pick(m, z0, z1, z2, z3) * a[i0 + np.uint64(p), j0 + np.uint64(q), k0 + np.uint64(m)]
            plane += pick(q, y0, y1, y2, y3) * row
        total += pick(p, x0, x1, x2, x3) * plane
    if limited:
        least, most = corners(a, i, j, k, np.uint64(1 if nz > 1 else 0))
        total = min(max(total, least), most)
    return total


@njit(cache=True, fastmath=FUSED, forceinline=True)
def corners(a, i, j, k, kz):
    """Smallest and largest value at the corners of the box above (i, j, k)."""
    least = most = a[i, j, k]
    for p in range(2):
        for q in range(2):
            for m in range(2):
                value = a[i + np.uint64(p), j + np.uint64(q), k + np.uint64(m) * kz]
                least, most = min(least, value), max(most, value)
    return least, most
