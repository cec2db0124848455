"""Coarse operators by aggregation of 2 x 2 x 2 cells, couplings times 1/2, which keeps a 7-point matrix on every level, row by row.

Cells with inv = 0 (detached, or no unknown) have no row or column in the coarse matrix; their couplings stay on the diagonal as
excess, which is the Dirichlet value p = 0 of a detached cell. Excess is taken times 3/4: two coarse centres are twice as far apart
as two fine ones, but a coarse centre is less than twice as far from the surface or the detached cell that the excess stands for.
"""

import numpy as np
from numba import njit, prange

from unstick.kernels.twins import twins

U = np.uint64


def _coarsen(wx, wy, wz, e, inv, off, nbr, par, span, child, todo, count, width):
    """Couplings and excess of the coarse rows todo[:count]: w_IJ = 1/2 sum w_ij over free pairs, e_I = 3/4 sum of what is left."""
    dtype = e.dtype
    zero, half, near = dtype.type(0), dtype.type(0.5), dtype.type(0.75)
    tasks = (count + 15) // 16
    for task in prange(tasks):
        buffer = np.empty((4, width), dtype=dtype)
        for at in range(16 * task, min(count, 16 * task + 16)):
            row = todo[at]
            lo = span[0, row]
            n = span[2, row] - lo
            for s in range(2 * n):
                m = U(s)
                buffer[0, m] = zero
                buffer[1, m] = zero
                buffer[2, m] = zero
                buffer[3, m] = zero
            for which in range(4):
                fine = child[which, row]
                west, south = which < 2, (which & 1) == 0  # lower child in x, in y: only they carry the coarse coupling
                for c in range(2):
                    o = 1 - c
                    side = (par[fine] + c) & 1  # 0: the even cells k = 2m, whose lower neighbour lies in the next coarse cell
                    own = U(off[c, fine] + 2 * lo)
                    xm, xp = U(off[o, nbr[0, fine]] + 2 * lo), U(off[o, nbr[1, fine]] + 2 * lo)
                    ym, yp = U(off[o, nbr[2, fine]] + 2 * lo), U(off[o, nbr[3, fine]] + 2 * lo)
                    zm, zp = U(off[o, fine] + 2 * lo - 1 + side), U(off[o, fine] + 2 * lo + side)
                    fx, fy, fz = half if west else zero, half if south else zero, zero if side else half
                    for s in range(2 * n):
                        m = U(s)
                        free = near if inv[own + m] != zero else zero
                        out = e[own + m]
                        out += wx[own + m] if inv[xm + m] == zero else zero
                        out += wx[xp + m] if inv[xp + m] == zero else zero
                        out += wy[own + m] if inv[ym + m] == zero else zero
                        out += wy[yp + m] if inv[yp + m] == zero else zero
                        out += wz[own + m] if inv[zm + m] == zero else zero
                        out += wz[zp + m] if inv[zp + m] == zero else zero
                        buffer[3, m] += free * out
                        keep = inv[own + m] != zero
                        buffer[0, m] += fx * wx[own + m] if keep & (inv[xm + m] != zero) else zero
                        buffer[1, m] += fy * wy[own + m] if keep & (inv[ym + m] != zero) else zero
                        buffer[2, m] += fz * wz[own + m] if keep & (inv[zm + m] != zero) else zero
            for c in range(2):
                side = (par[row] + c) & 1
                own = U(off[c, row] + lo)
                for s in range(n):
                    m = U(s)
                    k = U(2) * m + U(side)
                    wx[own + m] = buffer[0, k]
                    wy[own + m] = buffer[1, k]
                    wz[own + m] = buffer[2, k]
                    e[own + m] = buffer[3, k]


def _invert(inv, wx, wy, wz, e, off, nbr, par, span, todo, count):
    """inv = 1 / a_ii of the rows todo[:count], 0 where the row is empty."""
    zero, one = e.dtype.type(0), e.dtype.type(1)
    tasks = (count + 63) // 64
    for task in prange(tasks):
        for at in range(64 * task, min(count, 64 * task + 64)):
            row = todo[at]
            lo = span[0, row]
            for c in range(2):
                o = 1 - c
                side = (par[row] + c) & 1
                own = U(off[c, row] + lo)
                xp, yp, zp = U(off[o, nbr[1, row]] + lo), U(off[o, nbr[3, row]] + lo), U(off[o, row] + lo + side)
                for s in range(span[1, row] - lo):
                    m = U(s)
                    d = e[own + m] + wx[own + m] + wx[xp + m] + wy[own + m] + wy[yp + m] + wz[own + m] + wz[zp + m]
                    inv[own + m] = one / d if d > zero else zero


@njit(cache=True)
def rows_above(flag, child, nbr, begin, end, todo):
    """Coarse rows begin..end that lie above a flagged fine row or next to one; flags them in turn. Returns how many."""
    count = 0
    for row in range(begin, end):
        touched = False
        for which in range(4):
            fine = child[which, row]
            touched |= flag[fine]
            for side in range(4):
                touched |= flag[nbr[side, fine]]
        flag[row] = touched
        if touched:
            todo[count] = row
            count += 1
    return count


coarsen, coarsen_serial = twins(_coarsen)
invert, invert_serial = twins(_invert)


@njit(cache=True)
def rebuild(top, all_below, wx, wy, wz, e, inv, off, nbr, par, span, child, begin, flag, todo, count, width, light):
    """Coarse matrices below level `top` above flagged rows, from the second one on everywhere if `all_below`; counts the rows of each
    level that were written, and takes the flags down. Fewer than `light` rows are not worth a second thread."""
    levels = len(begin) - 1
    for level in range(top + 1, levels):
        if all_below and level == top + 2:
            flag[begin[level - 1] : begin[level]] = True
        n = rows_above(flag, child, nbr, begin[level], begin[level + 1], todo)
        count[level] = n
        if n == 0:
            continue
        if n >= light:
            coarsen(wx, wy, wz, e, inv, off, nbr, par, span, child, todo, n, width)
            invert(inv, wx, wy, wz, e, off, nbr, par, span, todo, n)
        else:
            coarsen_serial(wx, wy, wz, e, inv, off, nbr, par, span, child, todo, n, width)
            invert_serial(inv, wx, wy, wz, e, off, nbr, par, span, todo, n)
    flag[:] = False
