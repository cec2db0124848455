"""Particles out of solids and back into the domain."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import FUSED, linear, linear_slope, place, top_of, tops, velocity_at

CHUNK = 1 << 12  # particles that one thread takes at a time
PUSHES = 4  # at most; an interpolated distance is not quite one
LEAST = 0.01  # cells that a particle stands in the open after a push
FLAT = 1e-6  # slopes of the distance below this say nothing of the way out


@njit(cache=True, fastmath=FUSED)
def held(x, low, high):
    """x, or the nearer end of the interval; `low` for NaN."""
    x = x if x > low else low
    return x if x < high else high


@njit(cache=True, fastmath=FUSED)
def way_out(solid, x, y, z, top, kz):
    """(distance, unit vector along its slope, zero where it is flat) of the solid at a point, in cells."""
    (i, r), (j, s), (k, t) = place(x, top[0]), place(y, top[1]), place(z, top[2])
    d, nx, ny, nz = linear_slope(solid, i, j, k, kz, r, s, t)
    size = np.sqrt(nx * nx + ny * ny + nz * nz)
    scale = 1.0 / size if size > FLAT else 0.0
    return d, nx * scale, ny * scale, nz * scale


@njit(cache=True, fastmath=FUSED)
def push(solid, x, y, z, h, beta, top, kz):
    """A point in the solid moved out of it (Karlsson, eq. 27, with the slope normalised), and the last direction taken."""
    nx = ny = nz = 0.0
    for _ in range(PUSHES):
        d, ax, ay, az = way_out(solid, x, y, z, top, kz)
        if d > 0.0 or ax * ax + ay * ay + az * az == 0.0:
            break
        nx, ny, nz = ax, ay, az
        depth = -d / h
        step = depth + max((beta - 1.0) * depth, LEAST)
        x, y, z = x + step * nx, y + step * ny, z + step * nz
    return x, y, z, nx, ny, nz


@njit(cache=True, parallel=True, error_model="numpy", fastmath=FUSED)
def push_out(position, velocity, solid, beta, low, high, halt, moving, u, v, w, shape, origin, inverse, kz):
    """Particles at the surface of a solid or in it are pushed out, and all are held in the box from `low` to `high`.

    With `halt` those that were pushed lose the part of their velocity that leads into the solid, which
    moves with (u, v, w) if `moving`.
    """
    x0, y0, z0 = origin
    h = 1.0 / inverse
    top = top_of(solid.shape[0]), top_of(solid.shape[1]), top_of(solid.shape[2])
    full, half = tops(shape)
    step = np.uint64(kz)
    n = position.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
            (i, r), (j, s), (k, t) = place(x, top[0]), place(y, top[1]), place(z, top[2])
            if linear(solid, i, j, k, step, r, s, t) <= 0.0:
                px, py, pz, nx, ny, nz = push(solid, x, y, z, h, beta, top, step)
                position[q, 0] += h * (px - x)
                position[q, 1] += h * (py - y)
                position[q, 2] += h * (pz - z)
                if halt:
                    ux = uy = uz = 0.0
                    if moving:
                        ux, uy, uz = velocity_at(u, v, w, px, py, pz, full, half, step)
                    inward = (velocity[q, 0] - ux) * nx + (velocity[q, 1] - uy) * ny + (velocity[q, 2] - uz) * nz
                    inward = min(inward, 0.0)
                    velocity[q, 0] -= inward * nx
                    velocity[q, 1] -= inward * ny
                    velocity[q, 2] -= inward * nz
            position[q, 0] = held(position[q, 0], low[0], high[0])
            position[q, 1] = held(position[q, 1], low[1], high[1])
            position[q, 2] = held(position[q, 2], low[2], high[2])


@njit(cache=True, parallel=True, fastmath=FUSED)
def sample_nodes(values, position, origin, inverse, kz, out):
    """Nodal values interpolated at points."""
    x0, y0, z0 = origin
    tx, ty, tz = top_of(values.shape[0]), top_of(values.shape[1]), top_of(values.shape[2])
    step = np.uint64(kz)
    n = position.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            i, r = place((position[q, 0] - x0) * inverse, tx)
            j, s = place((position[q, 1] - y0) * inverse, ty)
            k, t = place((position[q, 2] - z0) * inverse, tz)
            out[q] = linear(values, i, j, k, step, r, s, t)
