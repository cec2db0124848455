"""Paths of points through the staggered velocity, and fields carried along them.

A Runge-Kutta path of up to three stages is (a2, a3, b1, b2, b3):
    k1 = u(x), k2 = u(x + a2 dt k1), k3 = u(x + a3 dt k2), x + dt (b1 k1 + b2 k2 + b3 k3).
Points are in cells here, and `s` is dt over the spacing.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import FUSED, cubic, linear, place, put_velocity, top_of, tops, velocity_at

BLOCK = 512  # particles that one thread takes at a time


@njit(cache=True, fastmath=FUSED)
def trace(u, v, w, x, y, z, s, path, full, half, kz):
    """How far a point moves, in cells."""
    a2, a3, b1, b2, b3 = path
    px, py, pz = velocity_at(u, v, w, x, y, z, full, half, kz)
    if px == 0.0 and py == 0.0 and pz == 0.0:
        return 0.0, 0.0, 0.0
    c = s * a2
    qx, qy, qz = velocity_at(u, v, w, x + c * px, y + c * py, z + c * pz, full, half, kz)
    dx, dy, dz = b1 * px + b2 * qx, b1 * py + b2 * qy, b1 * pz + b2 * qz
    if b3 != 0.0:
        c = s * a3
        px, py, pz = velocity_at(u, v, w, x + c * qx, y + c * qy, z + c * qz, full, half, kz)
        dx, dy, dz = dx + b3 * px, dy + b3 * py, dz + b3 * pz
    return s * dx, s * dy, s * dz


@njit(cache=True, fastmath=FUSED)
def stage(position, first, count, slope, c, u, v, w, full, half, origin, inverse, kz, out):
    """Velocities at x + c slope for a block of particles; one stage for all of them, so that their memory accesses overlap."""
    x0, y0, z0 = origin
    for m in range(np.uint64(count)):
        q = first + m
        x = (position[q, 0] - x0) * inverse + c * slope[m, 0]
        y = (position[q, 1] - y0) * inverse + c * slope[m, 1]
        z = (position[q, 2] - z0) * inverse + c * slope[m, 2]
        put_velocity(out, m, u, v, w, x, y, z, full, half, kz)


@njit(cache=True, parallel=True, fastmath=FUSED)
def move(position, u, v, w, dt, path, shape, origin, inverse, kz):
    """Every particle along its path."""
    a2, a3, b1, b2, b3 = path
    full, half = tops(shape)
    step = np.uint64(kz)
    s = dt * inverse
    n = position.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        first, count = np.uint64(block * BLOCK), min(BLOCK, n - block * BLOCK)
        k1, k2, k3 = np.zeros((BLOCK, 3)), np.zeros((BLOCK, 3)), np.zeros((BLOCK, 3))
        stage(position, first, count, k1, 0.0, u, v, w, full, half, origin, inverse, step, k1)
        stage(position, first, count, k1, s * a2, u, v, w, full, half, origin, inverse, step, k2)
        if b3 != 0.0:
            stage(position, first, count, k2, s * a3, u, v, w, full, half, origin, inverse, step, k3)
        for m in range(np.uint64(count)):
            for a in range(np.uint64(3)):
                position[first + m, a] += dt * (b1 * k1[m, a] + b2 * k2[m, a] + b3 * k3[m, a])


@njit(cache=True, parallel=True, fastmath=FUSED)
def carry(values, shift, u, v, w, s, path, shape, kz, high, limited, out):
    """Semi-Lagrangian: each lattice point takes the value from where it came from, cubic if `high`, else linear.

    `shift` is the place of the first lattice point, in cells. Where nothing moves, values stay as they are to the last bit.
    """
    hx, hy, hz = shift
    full, half = tops(shape)
    step = np.uint64(kz)
    nx, ny, nz = values.shape
    tx, ty, tz = top_of(nx), top_of(ny), top_of(nz)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                dx, dy, dz = trace(u, v, w, i + hx, j + hy, k + hz, -s, path, full, half, step)
                if dx == 0.0 and dy == 0.0 and dz == 0.0:
                    out[i, j, k] = values[i, j, k]
                    continue
                ii, r = place(i + dx, tx)
                jj, q = place(j + dy, ty)
                kk, t = place(k + dz, tz)
                if high:
                    out[i, j, k] = cubic(values, ii, jj, kk, r, q, t, limited)
                else:
                    out[i, j, k] = linear(values, ii, jj, kk, step, r, q, t)
