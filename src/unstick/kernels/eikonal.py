"""Distances from a surface: |grad phi| = 1 in a band on both sides, the cells next to the surface left as they are.

The upwind scheme of Zhao 2005 (eq. 2.3-2.4), whose solution for a plane is the plane; solved in layers of cells that start at the
surface instead of sweeps over the box, so that only the band costs anything. Within a layer all cells are found at once from what was
there before (Jacobi), so results do not depend on the number of threads. Lists are by planes, as in surface_cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_STEEP = 1.5  # a link across the surface on which phi changes faster than this is scaled back, both ends alike


@njit(cache=True)
def _neighbour(side, i, j, k, nx, ny, nz):
    """The cell across a side, or the cell itself at the border of the box."""
    p = min(max(i + (side == 1) - (side == 0), 0), nx - 1)
    q = min(max(j + (side == 3) - (side == 2), 0), ny - 1)
    m = min(max(k + (side == 5) - (side == 4), 0), nz - 1)
    return p, q, m


@njit(cache=True, parallel=True)
def start_at_surface(phi, fixed, low, high, h, mark, cells, value, count, planes):
    """List the cells that keep their value: next to the surface, or `fixed`. mark: 1 there, 0 elsewhere; later
    the number of the layer that a cell came with."""
    nx, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        for j in range(ny):
            for k in range(low[i, j], high[i, j]):
                here = phi[i, j, k]
                if here != here:
                    continue
                if i > 0 and j > 0 and k > 0 and i < nx - 1 and j < ny - 1 and k < nz - 1 and fixed[i, j, k] == 0:
                    # Almost all cells have neighbours of their own sign only; a NaN (> 0 and < 0 both false) is looked at below.
                    if here < 0.0:
                        same = (phi[i - 1, j, k] < 0.0) & (phi[i + 1, j, k] < 0.0) & (phi[i, j - 1, k] < 0.0)
                        same &= (phi[i, j + 1, k] < 0.0) & (phi[i, j, k - 1] < 0.0) & (phi[i, j, k + 1] < 0.0)
                    else:
                        same = (phi[i - 1, j, k] >= 0.0) & (phi[i + 1, j, k] >= 0.0) & (phi[i, j - 1, k] >= 0.0)
                        same &= (phi[i, j + 1, k] >= 0.0) & (phi[i, j, k - 1] >= 0.0) & (phi[i, j, k + 1] >= 0.0)
                    if same:
                        continue
                next_to, steep = False, 0.0
                for side in range(6):
                    p, q, m = _neighbour(side, i, j, k, nx, ny, nz)
                    other = phi[p, q, m]
                    if (other < 0.0) != (here < 0.0) and other == other and m >= low[p, q] and m < high[p, q]:
                        next_to = True
                        steep = max(steep, abs(other - here) / h)
                if next_to or fixed[i, j, k] != 0:
                    mark[i, j, k] = 1
                    cells[i, n] = j * nz + k
                    value[i, n] = here / steep if steep > _STEEP else here
                    n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def put(phi, cells, value, first, count, planes):
    """Write listed values into the field."""
    nz = phi.shape[2]
    for t in prange(planes.size):
        i = planes[t]
        for n in range(first[i], count[i]):
            phi[i, cells[i, n] // nz, cells[i, n] % nz] = value[i, n]


@njit(cache=True)
def _side(phi, mark, i, j, k, layer):
    """-1 if a neighbour of an earlier layer is liquid, else 1."""
    nx, ny, nz = phi.shape
    out = 1.0
    for side in range(6):
        p, q, m = _neighbour(side, i, j, k, nx, ny, nz)
        if mark[p, q, m] != 0 and mark[p, q, m] < layer and phi[p, q, m] < 0.0:
            out = -1.0
    return out


@njit(cache=True, parallel=True)
def spread(phi, low, high, most, far, layer, mark, cells, old, first, count, planes):
    """The next layer: unmarked neighbours of the last one, where that is within `most`. Their old values are kept in `old`; cells of
    unknown sign (NaN) are liquid if any neighbour of an earlier layer is. All become +-far."""
    nx, ny, nz = phi.shape
    after = count.copy()
    for t in prange(planes.size):
        i = planes[t]
        n = count[i]
        for source in range(max(i - 1, 0), min(i + 2, nx)):
            for c in range(first[source], count[source]):
                j, k = cells[source, c] // nz, cells[source, c] % nz
                for side in range(6):
                    p, q, m = _neighbour(side, source, j, k, nx, ny, nz)
                    if p != i or mark[p, q, m] != 0 or m < low[p, q] or m >= high[p, q]:
                        continue
                    if abs(phi[source, j, k]) >= most:
                        continue
                    mark[p, q, m] = layer
                    was = phi[p, q, m]
                    cells[i, n] = q * nz + m
                    old[i, n] = was if was == was else far * _side(phi, mark, p, q, m, layer)
                    phi[p, q, m] = np.copysign(far, old[i, n])
                    n += 1
        after[i] = n
    first[:] = count
    count[:] = after


@njit(cache=True)
def _upwind(phi, mark, i, j, k, h, far):
    """Distance from the smallest neighbours along each axis."""
    nx, ny, nz = phi.shape
    a, b, c = far, far, far
    if i > 0 and mark[i - 1, j, k] != 0:
        a = abs(phi[i - 1, j, k])
    if i < nx - 1 and mark[i + 1, j, k] != 0:
        a = min(a, abs(phi[i + 1, j, k]))
    if j > 0 and mark[i, j - 1, k] != 0:
        b = abs(phi[i, j - 1, k])
    if j < ny - 1 and mark[i, j + 1, k] != 0:
        b = min(b, abs(phi[i, j + 1, k]))
    if k > 0 and mark[i, j, k - 1] != 0:
        c = abs(phi[i, j, k - 1])
    if k < nz - 1 and mark[i, j, k + 1] != 0:
        c = min(c, abs(phi[i, j, k + 1]))
    a, b = min(a, b), max(a, b)
    b, c = min(b, c), max(b, c)
    a, b = min(a, b), max(a, b)
    x = a + h
    if x > b:
        s = b - a
        x = 0.5 * (a + b + np.sqrt(max(2.0 * h * h - s * s, 0.0)))
        if x > c:
            s = a + b + c
            x = (s + np.sqrt(max(s * s - 3.0 * (a * a + b * b + c * c - h * h), 0.0))) / 3.0
    return x


@njit(cache=True, parallel=True)
def solve_layer(phi, mark, cells, old, value, first, count, h, far, keep, agree, planes, moved):
    """New distances of the listed cells, into `value`; `moved` gets the largest change in each plane.

    An old value up to `keep` from the surface that agrees within `agree` with the new one is taken instead: it is more exact.
    """
    nz = phi.shape[2]
    for t in prange(planes.size):
        i = planes[t]
        most = 0.0
        for n in range(first[i], count[i]):
            j, k = cells[i, n] // nz, cells[i, n] % nz
            x = _upwind(phi, mark, i, j, k, h, far)
            was = abs(old[i, n])
            if was <= keep and abs(x - was) <= agree:
                x = was
            most = max(most, abs(x - abs(phi[i, j, k])))
            value[i, n] = np.copysign(x, old[i, n])
        moved[i] = most


@njit(cache=True, parallel=True)
def cap(phi, mark, low, high, most, planes):
    """Marked cells are held between -most and most; the others have one of them by their sign, and are air where nothing is known."""
    _, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        for j in range(ny):
            a, b = low[i, j], high[i, j]
            for k in range(nz):
                v = phi[i, j, k]
                inner = min(max(v, -most), most) if mark[i, j, k] != 0 else (-most if v < 0.0 else most)
                phi[i, j, k] = inner if k >= a and k < b else most
