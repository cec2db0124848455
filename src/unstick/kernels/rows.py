"""Red-black relaxation and transfers on liquid rows.

Storage. A row (i, j) holds its cells k as two strips, one a colour c = (i + j + k) & 1; the cell k = 2m + ((i + j + c) & 1) stands
at position off[c, row] + m. All six neighbours of a cell have the other colour: those in neighbouring rows stand at the same m,
those along the row at m - 1 + side and m + side with side = (i + j + c) & 1. Hence every inner loop has unit stride.
wx, wy, wz hold the coupling with the lower neighbour; the coupling with the upper one is read from that neighbour. Cells that
are no unknowns have zero couplings and inv = 0. Rows that do not exist point to a shared row of zeros. All levels of a hierarchy
lie in the same arrays, so a kernel knows no levels: it is given blocks of rows. strips[c, row] holds what an inner loop needs, in one
place (kernels/rows_strips.py).

Each kernel exists twice from one source: `name` runs its blocks in parallel, `name_serial` does not (for coarse levels).
"""

import numpy as np
from numba import njit, prange

from unstick.kernels.apart import get, put
from unstick.kernels.rows_strips import STEP, beside, length, places, uniform_part
from unstick.kernels.twins import twins

U = np.uint64


@njit(inline="always")
def relax_part(x, f, inv, wx, wy, wz, at, begin, end):
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        v = get(f, own + m) + get(wx, own + m) * get(x, xm + m) + get(wx, xp + m) * get(x, xp + m)
        v += get(wy, own + m) * get(x, ym + m) + get(wy, yp + m) * get(x, yp + m)
        v += get(wz, own + m) * get(x, zm + m) + get(wz, zp + m) * get(x, zp + m)
        put(x, own + m, v * get(inv, own + m))


@njit(inline="always")
def relax_uniform(x, f, inv, w, at, begin, end):
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        v = get(f, own + m) + w * get(x, xm + m) + w * get(x, xp + m)
        v += w * get(x, ym + m) + w * get(x, yp + m)
        v += w * get(x, zm + m) + w * get(x, zp + m)
        put(x, own + m, v * inv)


def _relax(c, x, f, inv, wx, wy, wz, strips, blocks, first, last):
    """Gauss-Seidel on the cells of colour c: x_i = (f_i + sum w_ij x_j) / a_ii."""
    for block in prange(first, last):
        if blocks[block, 2]:
            for row in range(blocks[block, 0], blocks[block, 1]):
                at, n, (a, b) = places(strips, c, row), length(strips, c, row), uniform_part(strips, c, row)
                one = at[0] + U(a)
                relax_uniform(x, f, inv[one], wx[one], at, a, b)
                for s in range(0, n - (b - a), STEP):
                    m = beside(s, a, b)
                    relax_part(x, f, inv, wx, wy, wz, at, m, m + STEP)
        else:
            for row in range(blocks[block, 0], blocks[block, 1]):
                at, n = places(strips, c, row), length(strips, c, row)
                relax_part(x, f, inv, wx, wy, wz, at, 0, n)


def _relax_from_zero(c, x, f, inv, off, span, blocks, first, last):
    """The same from x = 0, where no coupling counts: x_i = f_i / a_ii on colour c."""
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            own = U(off[c, row] + lo)
            for s in range((span[1, row] - lo) & -STEP):
                m = U(s)
                put(x, own + m, get(f, own + m) * get(inv, own + m))


@njit(inline="always")
def residual_part(r, x, f, e, inv, wx, wy, wz, at, begin, end):
    zero = r.dtype.type(0)
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        p = get(x, own + m)
        v = get(e, own + m) * p + get(wx, own + m) * (p - get(x, xm + m)) + get(wx, xp + m) * (p - get(x, xp + m))
        v += get(wy, own + m) * (p - get(x, ym + m)) + get(wy, yp + m) * (p - get(x, yp + m))
        v += get(wz, own + m) * (p - get(x, zm + m)) + get(wz, zp + m) * (p - get(x, zp + m))
        put(r, own + m, get(f, own + m) - v if get(inv, own + m) != zero else zero)


@njit(inline="always")
def residual_uniform(r, x, f, w, at, begin, end):
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        p = get(x, own + m)
        v = w * (p - get(x, xm + m)) + w * (p - get(x, xp + m))
        v += w * (p - get(x, ym + m)) + w * (p - get(x, yp + m))
        v += w * (p - get(x, zm + m)) + w * (p - get(x, zp + m))
        put(r, own + m, get(f, own + m) - v)


def _residual(c, r, x, f, e, inv, wx, wy, wz, strips, blocks, first, last):
    """r = f - A x on colour c, zero where inv is; in the form e x_i + sum w (x_i - x_j), in which constants cancel exactly."""
    for block in prange(first, last):
        if blocks[block, 2]:
            for row in range(blocks[block, 0], blocks[block, 1]):
                at, n, (a, b) = places(strips, c, row), length(strips, c, row), uniform_part(strips, c, row)
                residual_uniform(r, x, f, wx[at[0] + U(a)], at, a, b)
                for s in range(0, n - (b - a), STEP):
                    m = beside(s, a, b)
                    residual_part(r, x, f, e, inv, wx, wy, wz, at, m, m + STEP)
        else:
            for row in range(blocks[block, 0], blocks[block, 1]):
                at, n = places(strips, c, row), length(strips, c, row)
                residual_part(r, x, f, e, inv, wx, wy, wz, at, 0, n)


def _restrict_red(f, r, inv, off, par, span, child, blocks, first, last, width):
    """f of coarse rows = sum of the residuals of their fine cells, of which the black ones are zero after a black half-sweep."""
    zero = r.dtype.type(0)
    for block in prange(first, last):
        total = np.empty(width, dtype=r.dtype)
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[2, row] - lo
            a, b = U(off[0, child[0, row]] + 2 * lo), U(off[0, child[1, row]] + 2 * lo)
            c, d = U(off[0, child[2, row]] + 2 * lo), U(off[0, child[3, row]] + 2 * lo)
            for s in range(2 * n):
                m = U(s)
                total[m] = (r[a + m] + r[b + m]) + (r[c + m] + r[d + m])
            even, odd = U(off[par[row] & 1, row] + lo), U(off[1 - (par[row] & 1), row] + lo)
            for s in range(n):
                m = U(s)
                f[even + m] = total[U(2) * m] if inv[even + m] != zero else zero
                f[odd + m] = total[U(2) * m + U(1)] if inv[odd + m] != zero else zero


def _prolong_red(x, y, inv, off, par, span, child, blocks, first, last, width):
    """x of red fine cells += y of their coarse cell. The black ones are overwritten by the half-sweep that follows."""
    zero = x.dtype.type(0)
    for block in prange(first, last):
        coarse = np.empty(width, dtype=x.dtype)
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[2, row] - lo
            even, odd = U(off[par[row] & 1, row] + lo), U(off[1 - (par[row] & 1), row] + lo)
            for s in range(n):
                m = U(s)
                coarse[U(2) * m] = y[even + m]
                coarse[U(2) * m + U(1)] = y[odd + m]
            for which in range(4):
                fine_row = child[which, row]
                begin, end = max(span[0, fine_row], 2 * lo), min(span[2, fine_row], 2 * (lo + n))
                fine, shift = U(off[0, fine_row] + begin), U(begin - 2 * lo)
                for s in range(end - begin):
                    m = U(s)
                    x[fine + m] += coarse[shift + m] if inv[fine + m] != zero else zero


relax, relax_serial = twins(_relax)
relax_from_zero, relax_from_zero_serial = twins(_relax_from_zero)
residual, residual_serial = twins(_residual)
restrict_red, restrict_red_serial = twins(_restrict_red)
prolong_red, prolong_red_serial = twins(_prolong_red)
