"""Velocities from particles to the faces of the grid and back, with linear (hat) weights.

To the grid: particles are sorted by cell, and slabs of SLAB planes of cells are added in two colours. A particle reaches one plane
beyond its own on either side, so slabs of one colour never touch the same face: no atomics, and the same order of every sum for any
number of threads. Sum and weight of a face lie side by side: one line of cache for both. Sums are of differences from one `base`
velocity, so that liquid that moves as one comes out with exactly its velocity.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import FUSED, ONE, lasts, linear, linear_slope, put_velocity, spots_inside, tops

SLAB = 4  # planes of cells
CHUNK = 1 << 12  # particles that one thread takes at a time


@njit(cache=True, fastmath=FUSED)
def near(start, shape, i, j):
    """Whether any particle lies in the rows of cells around row (i, j) of faces, so that it may reach them."""
    nx, ny, nz = shape
    low, high = max(j - 1, 0), min(j + 2, ny)
    found = False
    for p in range(max(i - 1, 0), min(i + 2, nx)):
        found |= start[(p * ny + high) * nz] > start[(p * ny + low) * nz]
    return found


@njit(cache=True, parallel=True, fastmath=FUSED)
def clear(pair, start, shape):
    """Zero in the rows that particles reach."""
    for i in prange(pair.shape[0]):
        for j in range(pair.shape[1]):
            if near(start, shape, i, j):
                for k in range(pair.shape[2]):
                    pair[i, j, k, 0] = 0.0
                    pair[i, j, k, 1] = 0.0


@njit(cache=True, fastmath=FUSED, forceinline=True)
def add(pair, i, j, k, weight, value):
    pair[i, j, k, 0] += weight * value
    pair[i, j, k, 1] += weight


@njit(cache=True, fastmath=FUSED, forceinline=True)
def add_constant(pair, i, j, k, kz, r, s, t, u):
    """One particle's velocity on the eight faces around it."""
    i1, j1, k1 = i + ONE, j + ONE, k + kz
    high, low = r * s, r - r * s
    far, rest = (1.0 - r) * s, (1.0 - r) - (1.0 - r) * s
    add(pair, i, j, k, rest - rest * t, u)
    add(pair, i, j, k1, rest * t, u)
    add(pair, i, j1, k, far - far * t, u)
    add(pair, i, j1, k1, far * t, u)
    add(pair, i1, j, k, low - low * t, u)
    add(pair, i1, j, k1, low * t, u)
    add(pair, i1, j1, k, high - high * t, u)
    add(pair, i1, j1, k1, high * t, u)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def add_affine(pair, i, j, k, kz, r, s, t, u, a, b, c):
    """One particle's velocity field u + (a, b, c) . (x - x_p), lengths in cells, on the eight faces around it."""
    i1, j1, k1 = i + ONE, j + ONE, k + kz
    high, low = r * s, r - r * s
    far, rest = (1.0 - r) * s, (1.0 - r) - (1.0 - r) * s
    u000 = u - (a * r + b * s + c * t)
    u010, u100 = u000 + b, u000 + a
    u110 = u100 + b
    add(pair, i, j, k, rest - rest * t, u000)
    add(pair, i, j, k1, rest * t, u000 + c)
    add(pair, i, j1, k, far - far * t, u010)
    add(pair, i, j1, k1, far * t, u010 + c)
    add(pair, i1, j, k, low - low * t, u100)
    add(pair, i1, j, k1, low * t, u100 + c)
    add(pair, i1, j1, k, high - high * t, u110)
    add(pair, i1, j1, k1, high * t, u110 + c)


@njit(cache=True, parallel=True, fastmath=FUSED)
def splat(pu, pv, pw, position, velocity, base, start, shape, origin, inverse, kz):
    """Add all particles' velocities."""
    x0, y0, z0 = origin
    u0, v0, w0 = base
    full, half = lasts(shape)
    dz = np.uint64(kz)
    slabs, plane = (shape[0] + SLAB - 1) // SLAB, shape[1] * shape[2]
    for colour in range(2):
        for two in prange((slabs + 1 - colour) // 2):
            first = (2 * two + colour) * SLAB
            begin, end = start[first * plane], start[min(first + SLAB, shape[0]) * plane]
            for q in range(np.uint64(begin), np.uint64(end)):
                x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
                (i, r), (j, s), (k, t), (ic, rc), (jc, sc), (kc, tc) = spots_inside(x, y, z, full, half)
                add_constant(pu, i, jc, kc, dz, r, sc, tc, velocity[q, 0] - u0)
                add_constant(pv, ic, j, kc, dz, rc, s, tc, velocity[q, 1] - v0)
                if kz > 0:
                    add_constant(pw, ic, jc, k, dz, rc, sc, t, velocity[q, 2] - w0)


@njit(cache=True, parallel=True, fastmath=FUSED)
def splat_affine(pu, pv, pw, position, velocity, affine, base, start, shape, origin, inverse, kz):
    """As `splat`, for particles that carry the gradient of their velocity (Jiang et al. 2015, section 5.3)."""
    x0, y0, z0 = origin
    u0, v0, w0 = base
    full, half = lasts(shape)
    dz = np.uint64(kz)
    h = 1.0 / inverse
    slabs, plane = (shape[0] + SLAB - 1) // SLAB, shape[1] * shape[2]
    for colour in range(2):
        for two in prange((slabs + 1 - colour) // 2):
            first = (2 * two + colour) * SLAB
            begin, end = start[first * plane], start[min(first + SLAB, shape[0]) * plane]
            for q in range(np.uint64(begin), np.uint64(end)):
                x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
                (i, r), (j, s), (k, t), (ic, rc), (jc, sc), (kc, tc) = spots_inside(x, y, z, full, half)
                a, b, c = h * affine[q, 0, 0], h * affine[q, 0, 1], h * affine[q, 0, 2]
                add_affine(pu, i, jc, kc, dz, r, sc, tc, velocity[q, 0] - u0, a, b, c)
                a, b, c = h * affine[q, 1, 0], h * affine[q, 1, 1], h * affine[q, 1, 2]
                add_affine(pv, ic, j, kc, dz, rc, s, tc, velocity[q, 1] - v0, a, b, c)
                if kz > 0:
                    a, b, c = h * affine[q, 2, 0], h * affine[q, 2, 1], h * affine[q, 2, 2]
                    add_affine(pw, ic, jc, k, dz, rc, sc, t, velocity[q, 2] - w0, a, b, c)


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def normalise(pair, start, shape, base, out, known):
    """Sum over weight where particles reached; `out` and `known` are zero elsewhere, as they came."""
    for i in prange(pair.shape[0]):
        for j in range(pair.shape[1]):
            if near(start, shape, i, j):
                for k in range(pair.shape[2]):
                    weight = pair[i, j, k, 1]
                    value = pair[i, j, k, 0] / weight + base
                    out[i, j, k] = value if weight > 0.0 else 0.0
                    known[i, j, k] = 1 if weight > 0.0 else 0


@njit(cache=True, parallel=True, fastmath=FUSED)
def change(before, after, flip, start, shape, out):
    """What the grid gives to particles that keep the part `flip` of their velocity: Karlsson, eq. 22, both interpolations in one.

    Only rows that particles reach are filled; all of them where `start` is empty.
    """
    everywhere = start.size == 0
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            if everywhere or near(start, shape, i, j):
                for k in range(out.shape[2]):
                    out[i, j, k] = after[i, j, k] - flip * before[i, j, k]


@njit(cache=True, parallel=True, fastmath=FUSED)
def gather(position, velocity, u, v, w, keep, shape, origin, inverse, kz):
    """Particle velocities: the part `keep` of what they are, and the grid's field interpolated."""
    x0, y0, z0 = origin
    full, half = lasts(shape)
    dz = np.uint64(kz)
    n = position.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
            (i, r), (j, s), (k, t), (ic, rc), (jc, sc), (kc, tc) = spots_inside(x, y, z, full, half)
            velocity[q, 0] = keep * velocity[q, 0] + linear(u, i, jc, kc, dz, r, sc, tc)
            velocity[q, 1] = keep * velocity[q, 1] + linear(v, ic, j, kc, dz, rc, s, tc)
            if kz > 0:
                velocity[q, 2] = keep * velocity[q, 2] + linear(w, ic, jc, k, dz, rc, sc, t)


@njit(cache=True, parallel=True, fastmath=FUSED)
def interpolate(position, velocity, u, v, w, shape, origin, inverse, kz):
    """Particle velocities interpolated from the grid."""
    x0, y0, z0 = origin
    full, half = tops(shape)
    dz = np.uint64(kz)
    n = position.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
            put_velocity(velocity, q, u, v, w, x, y, z, full, half, dz)


@njit(cache=True, fastmath=FUSED, forceinline=True)
def set_affine(affine, q, a, inverse, by_x, by_y, by_z):
    affine[q, a, 0] = by_x * inverse
    affine[q, a, 1] = by_y * inverse
    affine[q, a, 2] = by_z * inverse


@njit(cache=True, parallel=True, fastmath=FUSED)
def gather_affine(position, velocity, affine, u, v, w, shape, origin, inverse, kz):
    """Particle velocities interpolated, with their gradients c_a = sum_i grad w_i u_i (Jiang et al. 2015, section 5.3)."""
    x0, y0, z0 = origin
    full, half = lasts(shape)
    dz = np.uint64(kz)
    n = position.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
            (i, r), (j, s), (k, t), (ic, rc), (jc, sc), (kc, tc) = spots_inside(x, y, z, full, half)
            velocity[q, 0], by_x, by_y, by_z = linear_slope(u, i, jc, kc, dz, r, sc, tc)
            set_affine(affine, q, 0, inverse, by_x, by_y, by_z)
            velocity[q, 1], by_x, by_y, by_z = linear_slope(v, ic, j, kc, dz, rc, s, tc)
            set_affine(affine, q, 1, inverse, by_x, by_y, by_z)
            if kz > 0:
                velocity[q, 2], by_x, by_y, by_z = linear_slope(w, ic, jc, k, dz, rc, sc, t)
                set_affine(affine, q, 2, inverse, by_x, by_y, by_z)
