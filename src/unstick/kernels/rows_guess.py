"""Transfers of the nested start: right-hand side and contact to coarse levels, a first guess back to fine ones."""

import numpy as np
from numba import njit, prange

U = np.uint64


@njit(parallel=True, cache=True)
def restrict_all(f, r, off, par, span, child, blocks, first, last, width):
    """f of coarse rows = sum of r over all their fine cells (the transpose of constant interpolation)."""
    for block in prange(first, last):
        total = np.empty(width, dtype=f.dtype)
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[2, row] - lo
            for s in range(2 * n):
                total[s] = 0
            for which in range(4):
                a, b = U(off[0, child[which, row]] + 2 * lo), U(off[1, child[which, row]] + 2 * lo)
                for s in range(2 * n):
                    m = U(s)
                    total[m] += r[a + m] + r[b + m]
            even, odd = U(off[par[row] & 1, row] + lo), U(off[1 - (par[row] & 1), row] + lo)
            for s in range(n):
                m = U(s)
                f[even + m] = total[U(2) * m]
                f[odd + m] = total[U(2) * m + U(1)]


@njit(parallel=True, cache=True)
def contact_above(contact, inv, off, par, span, child, blocks, first, last, width):
    """A coarse cell is in contact if any of its fine cells is."""
    for block in prange(first, last):
        any_child = np.empty(width, dtype=np.uint8)
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[2, row] - lo
            for s in range(2 * n):
                any_child[s] = 0
            for which in range(4):
                a, b = U(off[0, child[which, row]] + 2 * lo), U(off[1, child[which, row]] + 2 * lo)
                for s in range(2 * n):
                    m = U(s)
                    any_child[m] |= contact[a + m] | contact[b + m]
            for c in range(2):
                side = (par[row] + c) & 1
                own = U(off[c, row] + lo)
                for s in range(n):
                    m = U(s)
                    contact[own + m] = any_child[U(2) * m + U(side)] if inv[own + m] != 0 else 0


@njit(parallel=True, cache=True)
def prolong_guess(p, y, low, contact, fine_inv, wx, wy, wz, e, off, nbr, par, span, child, blocks, first, last):
    """p of fine cells = barycentric interpolation of y (own coarse cell and the nearest one in each direction, Lai 2021 section 5.2).

    A neighbour behind a wall is left out and the weights rescaled; one in the air counts with its pressure 0. p >= low on contact cells.
    """
    zero, one = p.dtype.type(0), p.dtype.type(1)
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            for c in range(2):
                o = 1 - c
                side = (par[row] + c) & 1
                for m in range(span[0, row], span[2, row]):
                    at = U(off[c, row] + m)
                    whole = 2 * m + side
                    y0 = p.dtype.type(y[at])
                    open_air = e[at] > 0
                    low_z, high_z = U(off[o, row] + m - 1 + side), U(off[o, row] + m + side)
                    for which in range(4):
                        fine = child[which, row]
                        if whole < span[0, fine] or whole >= span[2, fine]:
                            continue
                        if which < 2:
                            x_at = U(off[o, nbr[0, row]] + m)
                            link_x = wx[at] > 0
                        else:
                            x_at = U(off[o, nbr[1, row]] + m)
                            link_x = wx[x_at] > 0
                        if which & 1 == 0:
                            y_at = U(off[o, nbr[2, row]] + m)
                            link_y = wy[at] > 0
                        else:
                            y_at = U(off[o, nbr[3, row]] + m)
                            link_y = wy[y_at] > 0
                        value = y0
                        weight = one
                        if link_x:
                            value += y[x_at]
                        if link_x or open_air:
                            weight += one
                        if link_y:
                            value += y[y_at]
                        if link_y or open_air:
                            weight += one
                        for colour in range(2):
                            put = U(off[colour, fine] + whole)
                            upper = (par[fine] + colour) & 1
                            link_z = wz[high_z] > 0 if upper else wz[at] > 0
                            v, w = value, weight
                            if link_z:
                                v += y[high_z if upper else low_z]
                            if link_z or open_air:
                                w += one
                            v /= w
                            if contact[put] != 0 and v < low:
                                v = low
                            if fine_inv[put] == 0:
                                v = zero
                            p[put] = v
