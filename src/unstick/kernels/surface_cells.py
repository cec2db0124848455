"""Which cells the search for a surface has to look at: where walls are, where particles are, and where some are missing.

Lists of cells are kept by planes along x: entry q of plane i holds j * nz + k. 2D grids have one layer of nodes and of cells: `kz`
is 0 for them and 1 in 3D. `low, high` are the ranges of k in which the cells of each (i, j) matter.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.walls import cell_mean

OPEN, BESIDE, WITHIN, DEEP = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)  # kinds of cells
FAR = 1e6  # cells: a distance of which only the sign is known
_SOME, _GAP = np.uint8(1), np.uint8(2)  # a cell with particles; a cell in the open without


@njit(cache=True, parallel=True)
def fill_kinds(kinds, solid, kz, beside, within, snap, planes):
    """OPEN: centre in the open, farther than `beside` from walls. BESIDE: nearer. WITHIN: centre in a solid, no deeper than `within`.
    DEEP: deeper."""
    _, ny, nz = kinds.shape
    for t in prange(planes.size):
        i = planes[t]
        for j in range(ny):
            for k in range(nz):
                s = cell_mean(solid, i, j, k, kz)
                kinds[i, j, k] = (DEEP if s < -within else WITHIN) if s <= snap else (BESIDE if s < beside else OPEN)


@njit(cache=True, parallel=True)
def occupied_extents(start, nz, low, high):
    """For each row of cells along z, the range that holds all its particles."""
    rows, columns = low.shape
    for i in prange(rows):
        for j in range(columns):
            base = (i * columns + j) * nz
            a, b = 0, 0
            if start[base + nz] > start[base]:
                b = nz
                while start[base + a + 1] == start[base]:
                    a += 1
                while start[base + b - 1] == start[base + nz]:
                    b -= 1
            low[i, j] = a
            high[i, j] = b


@njit(cache=True, parallel=True)
def fill_occupied(codes, start, kinds, low, high, planes):
    """What each cell holds: _SOME particles, none although it is open (_GAP), or nothing to speak of (0)."""
    _, ny, nz = codes.shape
    for t in prange(planes.size):
        i = planes[t]
        for j in range(ny):
            base = (i * ny + j) * nz
            for k in range(low[i, j], high[i, j]):
                empty = _GAP if kinds[i, j, k] <= BESIDE else np.uint8(0)
                codes[i, j, k] = _SOME if start[base + k + 1] > start[base + k] else empty


@njit(cache=True, parallel=True)
def sort_out(phi, codes, kinds, low, high, reach, kz, far, planes, cells, count):
    """Split the cells into air (+far), liquid all around (-far), walls (NaN, unless all is far), and those whose distance must be found
    from the particles around them, which are listed. Outside the ranges all is air.

    The neighbourhood of a cell goes `reach` cells to each side.
    """
    nx, ny, nz = phi.shape
    rz = reach * kz
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        over = np.empty(nz, dtype=np.uint8)
        for j in range(ny):
            a, b = low[i, j], high[i, j]
            for k in range(a):
                phi[i, j, k] = far
            for k in range(b, nz):
                phi[i, j, k] = far
            if a >= b:
                continue
            first, last = max(a - rz, 0), min(b + rz, nz)
            for k in range(first, last):
                over[k] = 0
            for p in range(max(i - reach, 0), min(i + reach + 1, nx)):
                for q in range(max(j - reach, 0), min(j + reach + 1, ny)):
                    for k in range(first, last):
                        over[k] |= codes[p, q, k]
            for k in range(a, b):
                around = np.uint8(0)
                for m in range(max(k - rz, first), min(k + rz + 1, last)):
                    around |= over[m]
                inside = kinds[i, j, k] >= WITHIN
                phi[i, j, k] = far if around & _SOME == 0 else -far
                if inside:
                    phi[i, j, k] = np.nan
                elif around == _SOME | _GAP:
                    cells[i, n] = j * nz + k
                    n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def find_bare(phi, kinds, low, high, far, planes, cells, count):
    """List the cells that were taken for liquid all around but touch a cell in the open that is air."""
    nx, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        for j in range(ny):
            for k in range(low[i, j], high[i, j]):
                if phi[i, j, k] != -far:
                    continue
                air = phi[max(i - 1, 0), j, k] >= 0.0 or phi[min(i + 1, nx - 1), j, k] >= 0.0
                air = air or phi[i, max(j - 1, 0), k] >= 0.0 or phi[i, min(j + 1, ny - 1), k] >= 0.0
                if air or phi[i, j, max(k - 1, 0)] >= 0.0 or phi[i, j, min(k + 1, nz - 1)] >= 0.0:
                    cells[i, n] = j * nz + k
                    n += 1
        count[i] = n
