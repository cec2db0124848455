"""Walls as the splittings see them: a list of the closed parts of faces beside liquid, each with a velocity of its own.

A part lies between two rows, or between a row and a cell that has none (number -1, p = 0 in its centre). 2D grids have nz = 1 and kz = 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.assembly import flux
from unstick.kernels.fractions import theta

SOLID, LIQUID = 0, 1  # as in problem.py


@njit(cache=True)
def _number_at(number, i, j, k):
    bx, by, bz = number.shape
    if i < 0 or j < 0 or k < 0 or i >= bx or j >= by or k >= bz:
        return -1
    return number[i, j, k]


@njit(cache=True, parallel=True)
def fill_free(number, corner, ox, oy, oz, kz, scale, wx, wy, wz, excess):
    """The stencil without walls: every face between rows couples with `scale`, and the closed part of every other face of a row leads to
    p = 0. `excess` holds the couplings with air already; ox, oy, oz are open parts of the whole grid's faces."""
    bx, by, bz = number.shape
    ci, cj, ck = corner
    for i in prange(bx):
        for j in range(by):
            for k in range(bz):
                if number[i, j, k] < 0:
                    continue
                shut = 0.0
                if _number_at(number, i - 1, j, k) >= 0:
                    wx[i, j, k] = scale
                else:
                    shut += 1.0 - ox[i + ci, j + cj, k + ck]
                if _number_at(number, i, j - 1, k) >= 0:
                    wy[i, j, k] = scale
                else:
                    shut += 1.0 - oy[i + ci, j + cj, k + ck]
                shut += 0.0 if _number_at(number, i + 1, j, k) >= 0 else 1.0 - ox[i + ci + 1, j + cj, k + ck]
                shut += 0.0 if _number_at(number, i, j + 1, k) >= 0 else 1.0 - oy[i + ci, j + cj + 1, k + ck]
                if kz == 1:
                    if _number_at(number, i, j, k - 1) >= 0:
                        wz[i, j, k] = scale
                    else:
                        shut += 1.0 - oz[i + ci, j + cj, k + ck]
                    shut += 0.0 if _number_at(number, i, j, k + 1) >= 0 else 1.0 - oz[i + ci, j + cj, k + ck + 1]
                excess[i, j, k] += scale * shut


@njit(cache=True, parallel=True)
def count_parts(number, corner, ox, oy, oz, kz, count):
    """How many parts each plane of the box will list."""
    bx, by, bz = number.shape
    ci, cj, ck = corner
    for i in prange(bx):
        n = 0
        for j in range(by):
            for k in range(bz):
                if number[i, j, k] < 0:
                    continue
                a, b, c = i + ci, j + cj, k + ck
                n += ox[a, b, c] < 1.0
                n += ox[a + 1, b, c] < 1.0 and _number_at(number, i + 1, j, k) < 0
                n += oy[a, b, c] < 1.0
                n += oy[a, b + 1, c] < 1.0 and _number_at(number, i, j + 1, k) < 0
                if kz == 1:
                    n += oz[a, b, c] < 1.0
                    n += oz[a, b, c + 1] < 1.0 and _number_at(number, i, j, k + 1) < 0
        count[i] = n


@njit(cache=True, parallel=True)
def list_parts(number, corner, ox, oy, oz, kz, first, low, high, face, weight):
    """The rows on both sides of each part, its face (axis, i, j, k) on the whole grid, and its share of the face."""
    bx, by, bz = number.shape
    ci, cj, ck = corner
    for i in prange(bx):
        n = first[i]
        for j in range(by):
            for k in range(bz):
                me = number[i, j, k]
                if me < 0:
                    continue
                for axis in range(2 + kz):
                    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
                    for side in range(2):
                        other = _number_at(number, i + (2 * side - 1) * di, j + (2 * side - 1) * dj, k + (2 * side - 1) * dk)
                        if side == 1 and other >= 0:
                            continue  # the upper row lists it
                        a, b, c = i + ci + side * di, j + cj + side * dj, k + ck + side * dk
                        part = ox[a, b, c] if axis == 0 else (oy[a, b, c] if axis == 1 else oz[a, b, c])
                        if not part < 1.0:
                            continue
                        low[n] = other if side == 0 else me
                        high[n] = me if side == 0 else other
                        face[0, n], face[1, n], face[2, n], face[3, n] = axis, a, b, c
                        weight[n] = 1.0 - part
                        n += 1


@njit(cache=True)
def trace(p, low, high, scale, out):
    """What the gradient of p takes from the velocity of each part: scale (p_high - p_low), scale = dt / (density h)."""
    for n in range(out.size):
        below = p[low[n]] if low[n] >= 0 else 0.0
        above = p[high[n]] if high[n] >= 0 else 0.0
        out[n] = scale * (above - below)


@njit(cache=True)
def scatter(y, low, high, coefficient, r):
    """r += the divergence of the velocity y of the parts; coefficient = weight / h."""
    for n in range(y.size):
        through = coefficient[n] * y[n]
        if low[n] >= 0:
            r[low[n]] += through
        if high[n] >= 0:
            r[high[n]] -= through


@njit(cache=True, parallel=True)
def fill_flags(types, corner, scale, inverse_h, kz, u, v, w, us, vs, ws, moving, separating, wx, wy, wz, excess, b, contact):
    """The pressure equation on cell flags (Eckert 2014, eq. 2.12): faces are open or closed, p = 0 in the centre of air."""
    nx, ny, nz = types.shape
    bx, by, bz = b.shape
    ci, cj, ck = corner
    by_cell = separating.size > 1
    for bi in prange(bx):
        i = bi + ci
        for bj in range(by):
            j = bj + cj
            for bk in range(bz):
                k = bk + ck
                if types[i, j, k] != LIQUID:
                    continue
                air, net, touches = 0.0, 0.0, False
                for axis in range(2 + kz):
                    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
                    for side in range(2):
                        s = 2 * side - 1
                        a, e, c = i + s * di, j + s * dj, k + s * dk
                        inside = a >= 0 and e >= 0 and c >= 0 and a < nx and e < ny and c < nz
                        other = types[a, e, c] if inside else SOLID
                        fi, fj, fk = i + side * di, j + side * dj, k + side * dk
                        liquid = u[fi, fj, fk] if axis == 0 else (v[fi, fj, fk] if axis == 1 else w[fi, fj, fk])
                        wall = 0.0
                        if moving:
                            wall = us[fi, fj, fk] if axis == 0 else (vs[fi, fj, fk] if axis == 1 else ws[fi, fj, fk])
                        net += s * flux(0.0 if other == SOLID else 1.0, np.float64(liquid), np.float64(wall))
                        touches = touches or other == SOLID
                        air += other != SOLID and other != LIQUID
                        if other == LIQUID and side == 0:
                            if axis == 0:
                                wx[bi, bj, bk] = scale
                            elif axis == 1:
                                wy[bi, bj, bk] = scale
                            else:
                                wz[bi, bj, bk] = scale
                excess[bi, bj, bk] = scale * air
                b[bi, bj, bk] = inverse_h * net
                contact[bi, bj, bk] = touches and (separating[i, j, k] if by_cell else separating[0, 0, 0])


@njit(cache=True)
def _step(p, liquid, opened, axis, theta_min, i, j, k):
    """p_high - p_low across an open face that touches liquid, with the ghost pressure in the air (Lai eq. 3.35); 0 on other faces."""
    last = opened.shape[axis] - 1
    at = i if axis == 0 else (j if axis == 1 else k)
    if at == 0 or at == last or not opened[i, j, k] > 0.0:
        return 0.0
    a, b, c = i - int(axis == 0), j - int(axis == 1), k - int(axis == 2)
    low, high = liquid[a, b, c], liquid[i, j, k]
    if low < 0.0 and high < 0.0:
        return p[i, j, k] - p[a, b, c]
    if low < 0.0:
        return -p[a, b, c] / theta(low, high, theta_min)
    return p[i, j, k] / theta(high, low, theta_min) if high < 0.0 else 0.0


@njit(cache=True, parallel=True)
def subtract_open(out, p, liquid, opened, axis, scale, theta_min, corner, box):
    """u -= scale (p_high - p_low) on the open faces of the cells of a box; scale = dt / (density h)."""
    ci, cj, ck = corner
    for bi in prange(box[0] + int(axis == 0)):
        i = bi + ci
        for j in range(cj, cj + box[1] + int(axis == 1)):
            for k in range(ck, ck + box[2] + int(axis == 2)):
                out[i, j, k] -= scale * _step(p, liquid, opened, axis, theta_min, i, j, k)


@njit(cache=True, parallel=True)
def fastest(u, p, liquid, opened, axis, scale, theta_min, corner, box, part):
    """The largest |u - scale (p_high - p_low)| of the open faces of the cells of a box, by plane."""
    ci, cj, ck = corner
    for bi in prange(box[0] + int(axis == 0)):
        i = bi + ci
        top = 0.0
        for j in range(cj, cj + box[1] + int(axis == 1)):
            for k in range(ck, ck + box[2] + int(axis == 2)):
                step = _step(p, liquid, opened, axis, theta_min, i, j, k)
                if step != 0.0:
                    top = max(top, abs(u[i, j, k] - scale * step))
        part[bi] = top
