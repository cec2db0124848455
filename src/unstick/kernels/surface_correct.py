"""An advected distance set right by particles: liquid that has none left becomes air, air that particles have escaped into becomes liquid.

All tolerances are wide enough to leave a surface alone whose particles lie where liquid is.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.surface_cells import BESIDE, OPEN
from unstick.kernels.walls import cell_mean


@njit(cache=True)
def _nearest(position, start, i, j, k, kz, x, y, z, inverse_h, shape):
    """Distance, in cells, from a cell's centre to the nearest particle in it and its neighbours; 1.5 if there is none."""
    nx, ny, nz = shape
    best = 2.25
    for p in range(max(i - 1, 0), min(i + 2, nx)):
        for q in range(max(j - 1, 0), min(j + 2, ny)):
            row = (p * ny + q) * nz
            for s in range(start[row + max(k - kz, 0)], start[row + min(k + kz + 1, nz)]):
                dx, dy, dz = position[s, 0] * inverse_h - x, position[s, 1] * inverse_h - y, position[s, 2] * inverse_h - z
                best = min(best, dx * dx + dy * dy + dz * dz)
    return np.sqrt(best)


@njit(cache=True)
def _missing(phi, solid, start, i, j, k, kz, inverse_h):
    """How many cells of liquid should be in the cell and its neighbours that hold no particle."""
    nx, ny, nz = phi.shape
    total = 0.0
    for p in range(max(i - 1, 0), min(i + 2, nx)):
        for q in range(max(j - 1, 0), min(j + 2, ny)):
            for m in range(max(k - kz, 0), min(k + kz + 1, nz)):
                c = (p * ny + q) * nz + m
                if start[c + 1] == start[c]:
                    wet = min(max(0.5 - phi[p, q, m] * inverse_h, 0.0), 1.0)
                    total += wet * min(max(0.5 + cell_mean(solid, p, q, m, kz) * inverse_h, 0.0), 1.0)
    return total


@njit(cache=True, parallel=True)
def find_dry(phi, kinds, solid, position, start, origin, h, kz, lost, radius, missing, deep, planes, cells, value, count):
    """List liquid cells in the open whose nearest particle is farther than `lost` (cells), with the distance that this gives them.

    Beside a wall at least `missing` cells of liquid must be missing: the tip of a wedge holds no particle either. Voids deeper than
    `deep` that touch no wall are left to close.
    """
    nx, ny, nz = phi.shape
    inverse_h = 1.0 / h
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        for j in range(ny):
            row = (i * ny + j) * nz
            for k in range(nz):
                here = phi[i, j, k]
                if not here < 0.0 or start[row + k + 1] > start[row + k] or kinds[i, j, k] > BESIDE:
                    continue
                if kinds[i, j, k] == OPEN and here < -deep * h:
                    continue
                x, y, z = origin[0] * inverse_h + i + 0.5, origin[1] * inverse_h + j + 0.5, origin[2] * inverse_h + k + 0.5
                nearest = _nearest(position, start, i, j, k, kz, x, y, z, inverse_h, (nx, ny, nz))
                if nearest <= lost:
                    continue
                if kinds[i, j, k] == OPEN or _missing(phi, solid, start, i, j, k, kz, inverse_h) >= missing:
                    cells[i, n] = j * nz + k
                    value[i, n] = (nearest - radius) * h
                    n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def dry(phi, cells, value, count, h, kz, planes):
    """Raise listed cells to their values, and their neighbours as far as a distance can differ between two cells."""
    nx, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        for source in range(max(i - 1, 0), min(i + 2, nx)):
            for n in range(count[source]):
                j, k = cells[source, n] // nz, cells[source, n] % nz
                for q in range(max(j - 1, 0), min(j + 2, ny)):
                    for m in range(max(k - kz, 0), min(k + kz + 1, nz)):
                        apart = np.sqrt((source - i) ** 2 + (q - j) ** 2 + (m - k) ** 2)
                        phi[i, q, m] = max(phi[i, q, m], value[source, n] - apart * h)


@njit(cache=True)
def _between(phi, x, y, z, kz):
    """phi at a point given in cells from the grid's corner, linear between centres."""
    nx, ny, nz = phi.shape
    fx, fy = min(max(x - 0.5, 0.0), nx - 1.000001), min(max(y - 0.5, 0.0), ny - 1.000001)
    fz = min(max(z - 0.5, 0.0), nz - 1.000001) * kz
    i, j, k = int(fx), int(fy), int(fz)
    a, b, c = fx - i, fy - j, fz - k
    low = (1.0 - a) * ((1.0 - b) * phi[i, j, k] + b * phi[i, j + 1, k]) + a * ((1.0 - b) * phi[i + 1, j, k] + b * phi[i + 1, j + 1, k])
    if kz == 0:
        return low
    k += 1
    high = (1.0 - a) * ((1.0 - b) * phi[i, j, k] + b * phi[i, j + 1, k]) + a * ((1.0 - b) * phi[i + 1, j, k] + b * phi[i + 1, j + 1, k])
    return (1.0 - c) * low + c * high


@njit(cache=True, parallel=True)
def find_escaped(phi, position, start, origin, h, kz, escaped, planes, flags, cells, count):
    """Flag particles that lie more than `escaped` (metres) outside the liquid, and list the cells that hold some."""
    _, ny, nz = phi.shape
    inverse_h = 1.0 / h
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        for j in range(ny):
            row = (i * ny + j) * nz
            for k in range(nz):
                if not phi[i, j, k] > -h or start[row + k + 1] == start[row + k]:
                    continue
                found = False
                for s in range(start[row + k], start[row + k + 1]):
                    x = position[s, 0] * inverse_h - origin[0] * inverse_h
                    y = position[s, 1] * inverse_h - origin[1] * inverse_h
                    z = position[s, 2] * inverse_h - origin[2] * inverse_h
                    flags[s] = _between(phi, x, y, z, kz) > escaped
                    found |= flags[s] != 0
                if found:
                    cells[i, n] = j * nz + k
                    n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def wet(phi, position, start, flags, origin, h, kz, radius, cells, count, planes):
    """Lower listed cells and their neighbours to drops of `radius` (metres) around the flagged particles."""
    nx, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        x = origin[0] + (i + 0.5) * h
        for source in range(max(i - 1, 0), min(i + 2, nx)):
            for n in range(count[source]):
                j, k = cells[source, n] // nz, cells[source, n] % nz
                c = (source * ny + j) * nz + k
                for s in range(start[c], start[c + 1]):
                    if flags[s] == 0:
                        continue
                    for q in range(max(j - 1, 0), min(j + 2, ny)):
                        for m in range(max(k - kz, 0), min(k + kz + 1, nz)):
                            dx, dy = position[s, 0] - x, position[s, 1] - (origin[1] + (q + 0.5) * h)
                            dz = position[s, 2] - (origin[2] + (m + 0.5) * h)
                            phi[i, q, m] = min(phi[i, q, m], np.sqrt(dx * dx + dy * dy + dz * dz) - radius)
