"""Vorticity at cell centres and the force that keeps it from fading (Fedkiw, Stam and Jensen 2001, eq. 9 to 11).

2D grids have one layer of cells and of nodes: `kz` is 0 for them and 1 in 3D. Cells with their centre in a solid have no vorticity,
and cells beside them take their own for theirs.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.walls import cell_mean

FLAT = 1e-4  # of the largest |vorticity|: a slope of it that is much smaller has no direction to speak of


@njit(cache=True)
def centre(field, i, j, k, axis):
    """Face values averaged to a cell's centre."""
    return 0.5 * (field[i, j, k] + field[i + int(axis == 0), j + int(axis == 1), k + int(axis == 2)])


@njit(cache=True)
def slope(field, i, j, k, axis, along, kz):
    """Central difference of a velocity component along an axis, per cell; 0 along z in 2D."""
    if along == 2 and kz == 0:
        return 0.0
    di, dj, dk = int(along == 0), int(along == 1), int(along == 2)
    return 0.5 * (centre(field, i + di, j + dj, k + dk, axis) - centre(field, i - di, j - dj, k - dk, axis))


@njit(cache=True, parallel=True)
def fill_vorticity(u, v, w, solid, inverse_h, kz, omega, size):
    """Curl of the velocity at inner cell centres in the open, (nx, ny, nz, 3), and its length."""
    nx, ny, nz = size.shape
    for i in prange(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(kz, nz - kz):
                if not cell_mean(solid, i, j, k, kz) > 0.0:
                    continue
                x = slope(w, i, j, k, 2, 1, kz) - slope(v, i, j, k, 1, 2, kz) if kz == 1 else 0.0
                y = slope(u, i, j, k, 0, 2, kz) - slope(w, i, j, k, 2, 0, kz) if kz == 1 else 0.0
                z = slope(v, i, j, k, 1, 0, kz) - slope(u, i, j, k, 0, 1, kz)
                omega[i, j, k, 0], omega[i, j, k, 1], omega[i, j, k, 2] = x * inverse_h, y * inverse_h, z * inverse_h
                size[i, j, k] = inverse_h * np.sqrt(x * x + y * y + z * z)


@njit(cache=True)
def rise(size, solid, i, j, k, axis, kz):
    """Central difference of |vorticity| along an axis, per cell."""
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    here = size[i, j, k]
    high = size[i + di, j + dj, k + dk] if cell_mean(solid, i + di, j + dj, k + dk, kz) > 0.0 else here
    low = size[i - di, j - dj, k - dk] if cell_mean(solid, i - di, j - dj, k - dk, kz) > 0.0 else here
    return 0.5 * (high - low)


@njit(cache=True, parallel=True)
def fill_confinement(omega, size, largest, solid, strength, kz, force):
    """strength * (N x vorticity) at inner cell centres in the open, N the direction in which |vorticity| grows."""
    nx, ny, nz = size.shape
    for i in prange(1, nx - 1):
        for j in range(1, ny - 1):
            for k in range(kz, nz - kz):
                if not cell_mean(solid, i, j, k, kz) > 0.0:
                    continue
                a, b = rise(size, solid, i, j, k, 0, kz), rise(size, solid, i, j, k, 1, kz)
                c = rise(size, solid, i, j, k, 2, kz) if kz == 1 else 0.0
                length = np.sqrt(a * a + b * b + c * c)
                if not length > 0.0:
                    continue
                scale = strength / (length + FLAT * largest)
                x, y, z = omega[i, j, k, 0], omega[i, j, k, 1], omega[i, j, k, 2]
                force[i, j, k, 0] = scale * (b * z - c * y)
                force[i, j, k, 1] = scale * (c * x - a * z)
                force[i, j, k, 2] = scale * (a * y - b * x)
