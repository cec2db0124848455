"""The liquid's distance inside solids: the surface goes on into the wall as it comes, and no air hides behind the liquid.

A cut cell that counts as air behind a sliver of an open face would let the liquid squirt into it (p = 0 there). So distances are
continued linearly, which leaves a plane a plane, and air that is found only in cells whose centres lie in the solid is liquid.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.surface_cells import BESIDE, WITHIN

_AROUND = 2  # cells to each side from which a distance is continued
_LIQUID, _AIR, _NEAR = np.uint8(1), np.uint8(2), np.uint8(4)
_STEEP = 1.3  # slopes above this are brought back to one


@njit(cache=True)
def _factor(a, ridge, n, low):
    """Cholesky's factor of a symmetric matrix (its lower half) with `ridge` added to all of its diagonal but the first entry."""
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] + (ridge if i == j and i > 0 else 0.0)
            for m in range(j):
                s -= low[i, m] * low[j, m]
            low[i, j] = np.sqrt(max(s, 1e-300)) if i == j else s / low[j, j]


@njit(cache=True)
def _solve(a, r, total, n, low, x, e):
    """Solve a x = r, n unknowns, with no slope in directions in which a says nothing (Tikhonov, iterated until no other direction
    notices): `total` is a's first entry."""
    _factor(a, 1e-5 * total, n, low)
    x[:] = 0.0
    for _ in range(5):
        for i in range(n):
            s = r[i]
            for m in range(n):
                s -= (a[i, m] if m <= i else a[m, i]) * x[m]
            for m in range(i):
                s -= low[i, m] * e[m]
            e[i] = s / low[i, i]
        for i in range(n - 1, -1, -1):
            s = e[i]
            for m in range(i + 1, n):
                s -= low[m, i] * e[m]
            e[i] = s / low[i, i]
        for i in range(n):
            x[i] += e[i]


@njit(cache=True)
def _plane(phi, kinds, i, j, k, kz, inverse_h, near, room):
    """Value in the cell (in cells) of the plane through the distances around it, by weighted least squares; (value, how many were used).

    Only cells in the open with a distance up to `near` count, with weights 1 / r^4.
    """
    nx, ny, nz = phi.shape
    n = 3 + kz
    a, factor, r, e, b = room[:4], room[4:8], room[8], room[9], room[10]
    a[:, :] = 0.0
    r[:] = 0.0
    used = 0
    total, mean, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0
    for p in range(max(i - _AROUND, 0), min(i + _AROUND + 1, nx)):
        for q in range(max(j - _AROUND, 0), min(j + _AROUND + 1, ny)):
            for m in range(max(k - _AROUND * kz, 0), min(k + _AROUND * kz + 1, nz)):
                if kinds[p, q, m] > BESIDE:
                    continue
                v = phi[p, q, m] * inverse_h
                if not abs(v) <= near:
                    continue
                x, y, z = np.float64(p - i), np.float64(q - j), np.float64(m - k)
                d2 = x * x + y * y + z * z
                w = 1.0 / (d2 * d2)
                used += 1
                total += w
                mean += w * v
                mx += w * x
                my += w * y
                mz += w * z
                a[1, 1] += w * x * x
                a[2, 1] += w * x * y
                a[2, 2] += w * y * y
                r[1] += w * x * v
                r[2] += w * y * v
                if kz == 1:
                    a[3, 1] += w * x * z
                    a[3, 2] += w * y * z
                    a[3, 3] += w * z * z
                    r[3] += w * z * v
    if used == 0:
        return 0.0, 0
    a[0, 0], a[1, 0], a[2, 0] = total, mx, my
    r[0] = mean
    if kz == 1:
        a[3, 0] = mz
    _solve(a, r, total, n, factor, b, e)
    steep = np.sqrt(b[1] * b[1] + b[2] * b[2] + (b[3] * b[3] if kz == 1 else 0.0))
    value = b[0]
    if steep > _STEEP:
        value = (mean - (b[1] * mx + b[2] * my + (b[3] * mz if kz == 1 else 0.0)) / steep) / total
    return value, used


@njit(cache=True)
def _nearest_sign(phi, kinds, i, j, k, kz):
    """Sign of the nearest cells in the open; the liquid's if they differ, 0 without any."""
    nx, ny, nz = phi.shape
    best, sign = 1 << 20, 0
    for p in range(max(i - _AROUND, 0), min(i + _AROUND + 1, nx)):
        for q in range(max(j - _AROUND, 0), min(j + _AROUND + 1, ny)):
            for m in range(max(k - _AROUND * kz, 0), min(k + _AROUND * kz + 1, nz)):
                if kinds[p, q, m] > BESIDE:
                    continue
                d2 = (p - i) * (p - i) + (q - j) * (q - j) + (m - k) * (m - k)
                here = -1 if phi[p, q, m] < 0.0 else 1
                if d2 < best:
                    best, sign = d2, here
                elif d2 == best:
                    sign = min(sign, here)
    return sign


@njit(cache=True, parallel=True)
def fill_open(codes, phi, kinds, near, low, high, planes):
    """What cells in the open say about their surroundings: _LIQUID or _AIR, and _NEAR where the distance is up to `near`; 0 in solids."""
    _, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        for j in range(ny):
            a, b = low[i, j], high[i, j]
            for k in range(nz):
                v = phi[i, j, k]
                code = (_LIQUID if v < 0.0 else _AIR) | (_NEAR if abs(v) <= near else np.uint8(0))
                codes[i, j, k] = code if kinds[i, j, k] <= BESIDE and k >= a and k < b else np.uint8(0)


@njit(cache=True)
def _gather(over, codes, i, j, first, last):
    """Codes of all rows around (i, j), united."""
    nx, ny, _ = codes.shape
    for k in range(first, last):
        over[k] = 0
    for p in range(max(i - _AROUND, 0), min(i + _AROUND + 1, nx)):
        for q in range(max(j - _AROUND, 0), min(j + _AROUND + 1, ny)):
            for k in range(first, last):
                over[k] |= codes[p, q, k]


@njit(cache=True, parallel=True)
def extend(phi, kinds, codes, start, low, high, kz, h, near, far, planes, fixed, cells, count):
    """Give cells with their centre in a solid the distance that the cells in the open around them go on to, and list those in air.

    `fixed` becomes 1 where that distance is worth keeping. Elsewhere only a sign is given (+-far): that of the cells around; without
    any, the liquid's where the cell holds particles; else NaN.
    """
    _, ny, nz = phi.shape
    inverse_h = 1.0 / h
    wide = _AROUND * kz
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        room = np.zeros((11, 4))
        over = np.empty(nz, dtype=np.uint8)
        for j in range(ny):
            row = (i * ny + j) * nz
            ready = False
            for k in range(low[i, j], high[i, j]):
                if kinds[i, j, k] <= BESIDE:
                    continue
                if kinds[i, j, k] != WITHIN:
                    phi[i, j, k] = np.nan
                    continue
                if not ready:
                    _gather(over, codes, i, j, max(low[i, j] - wide, 0), min(high[i, j] + wide, nz))
                    ready = True
                around = np.uint8(0)
                for m in range(max(k - wide, 0), min(k + wide + 1, nz)):
                    around |= over[m]
                value, used = 0.0, 0
                if around & _NEAR != 0:
                    value, used = _plane(phi, kinds, i, j, k, kz, inverse_h, near, room)
                if used >= 3 + kz:
                    value *= h
                    fixed[i, j, k] = 1
                elif around & (_LIQUID | _AIR) == _LIQUID | _AIR:
                    value = _nearest_sign(phi, kinds, i, j, k, kz) * far
                elif around != 0:
                    value = -far if around & _LIQUID != 0 else far
                else:
                    value = -far if start[row + k + 1] > start[row + k] else np.nan
                phi[i, j, k] = value
                if value >= 0.0:
                    cells[i, n] = j * nz + k
                    n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def reach_air(phi, kinds, cells, count, planes, before, after):
    """Mark listed cells that touch air in the open, or a cell that was marked before."""
    nx, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        for n in range(count[i]):
            j, k = cells[i, n] // nz, cells[i, n] % nz
            found = before[i, j, k]
            for side in range(6):
                p = min(max(i + (side == 1) - (side == 0), 0), nx - 1)
                q = min(max(j + (side == 3) - (side == 2), 0), ny - 1)
                m = min(max(k + (side == 5) - (side == 4), 0), nz - 1)
                if before[p, q, m] != 0 or (kinds[p, q, m] <= BESIDE and phi[p, q, m] >= 0.0):
                    found = np.uint8(1)
            after[i, j, k] = found


@njit(cache=True, parallel=True)
def drown(phi, kinds, cells, count, planes, airy, fixed, kz, far):
    """Listed cells that no air in the open reaches, and that have liquid in the open around them, are liquid."""
    nx, ny, nz = phi.shape
    for t in prange(planes.size):
        i = planes[t]
        for n in range(count[i]):
            j, k = cells[i, n] // nz, cells[i, n] % nz
            if airy[i, j, k] != 0:
                continue
            wet = False
            for p in range(max(i - _AROUND, 0), min(i + _AROUND + 1, nx)):
                for q in range(max(j - _AROUND, 0), min(j + _AROUND + 1, ny)):
                    for m in range(max(k - _AROUND * kz, 0), min(k + _AROUND * kz + 1, nz)):
                        wet |= kinds[p, q, m] <= BESIDE and phi[p, q, m] < 0.0
            if wet:
                phi[i, j, k] = -far
                fixed[i, j, k] = 0
