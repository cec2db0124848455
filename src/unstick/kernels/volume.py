"""How much liquid there is: the part of each cell below its surface times the part of it that solids leave open."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.walls import cell_mean

_FULL = 0.87  # half of a cube's diagonal, in cells: no plane farther from the centre cuts the cell


@njit(cache=True)
def part_above(value, a, b, c):
    """Part of the unit cube around the origin in which value + (a, b, c) . x > 0.

    Inclusion and exclusion over the corners, as in Scardovelli and Zaleski 2000, eq. 1; exact but for rounding.
    """
    a, b, c = abs(a), abs(b), abs(c)
    a, b = max(a, b), min(a, b)
    a, c = max(a, c), min(a, c)
    b, c = max(b, c), min(b, c)
    reach = 0.5 * (a + b + c)
    if value >= reach:
        return 1.0
    if value <= -reach:
        return 0.0
    # By symmetry work on the smaller side, where nothing cancels.
    t = reach - abs(value)
    if c > 1e-4 * a:
        small = t**3 - max(t - a, 0.0) ** 3 - max(t - b, 0.0) ** 3 - max(t - c, 0.0) ** 3
        small += max(t - a - b, 0.0) ** 3 + max(t - a - c, 0.0) ** 3 + max(t - b - c, 0.0) ** 3
        small /= 6.0 * a * b * c
    elif b > 1e-6 * a:
        small = (t * t - max(t - a, 0.0) ** 2 - max(t - b, 0.0) ** 2) / (2.0 * a * b)
    else:
        small = t / a
    small = min(max(small, 0.0), 1.0)
    return 1.0 - small if value > 0.0 else small


@njit(cache=True)
def _slope(low, here, high):
    """Difference over a cell, from both sides where both are near the surface, else from the nearer one."""
    return 0.5 * (high - low) if abs(high - low) < 3.0 else (here - low if abs(here - low) < abs(high - here) else high - here)


@njit(cache=True)
def wet_part(liquid, i, j, k, kz, inverse_h):
    """Part of a cell below the liquid's surface, taken for a plane through the values around the cell."""
    nx, ny, nz = liquid.shape
    here = liquid[i, j, k] * inverse_h
    if here >= _FULL:
        return 0.0
    if here <= -_FULL:
        return 1.0
    a = _slope(liquid[max(i - 1, 0), j, k] * inverse_h, here, liquid[min(i + 1, nx - 1), j, k] * inverse_h)
    b = _slope(liquid[i, max(j - 1, 0), k] * inverse_h, here, liquid[i, min(j + 1, ny - 1), k] * inverse_h)
    c = _slope(liquid[i, j, max(k - 1, 0)] * inverse_h, here, liquid[i, j, min(k + 1, nz - 1)] * inverse_h) if kz == 1 else 0.0
    return part_above(-here, a, b, c)


@njit(cache=True)
def open_part(solid, snap, i, j, k, kz, inverse_h):
    """Part of a cell outside the solid, whose surface is taken for a plane."""
    here = cell_mean(solid, i, j, k, kz) * inverse_h
    if here >= 2.0 or here <= -2.0:
        return 1.0 if here > 0.0 else 0.0
    n000, n100, n010, n110 = solid[i, j, k], solid[i + 1, j, k], solid[i, j + 1, k], solid[i + 1, j + 1, k]
    n001, n101, n011, n111 = solid[i, j, k + kz], solid[i + 1, j, k + kz], solid[i, j + 1, k + kz], solid[i + 1, j + 1, k + kz]
    # In a corner of the box the distance is no plane, but its zeros are exact.
    if min(min(min(n000, n100), min(n010, n110)), min(min(n001, n101), min(n011, n111))) >= -snap:
        return 1.0
    if max(max(max(n000, n100), max(n010, n110)), max(max(n001, n101), max(n011, n111))) <= snap:
        return 0.0
    s = 0.25 * inverse_h
    a = s * (((n100 - n000) + (n110 - n010)) + ((n101 - n001) + (n111 - n011)))
    b = s * (((n010 - n000) + (n110 - n100)) + ((n011 - n001) + (n111 - n101)))
    c = s * (((n001 - n000) + (n101 - n100)) + ((n011 - n010) + (n111 - n110))) if kz == 1 else 0.0
    return part_above(here, a, b, c)


@njit(cache=True, parallel=True)
def volume_by_plane(liquid, solid, snap, kz, inverse_h, out, planes):
    """Liquid in each plane of cells, in cells."""
    _, ny, nz = liquid.shape
    for t in prange(planes.size):
        i = planes[t]
        total = 0.0
        for j in range(ny):
            for k in range(nz):
                if liquid[i, j, k] * inverse_h >= _FULL:
                    continue
                opened = open_part(solid, snap, i, j, k, kz, inverse_h)
                if opened > 0.0:
                    total += opened * wet_part(liquid, i, j, k, kz, inverse_h)
        out[i] = total


@njit(cache=True)
def sum_in_order(values):
    """Plain sum from first to last."""
    total = 0.0
    for x in values:
        total += x
    return np.float64(total)
