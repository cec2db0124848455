"""Contact cells one by one: where they and their neighbours stand, and how many would change sides under a correction."""

import numpy as np
from numba import njit, prange

U = np.uint64
CHUNK = 1024


@njit(parallel=True, cache=True)
def count_contact(contact, inv, off, span, blocks, first, last, count):
    """Contact cells that are rows (inv = 1 / a_ii, not 0) by block, into count[block + 1]."""
    for block in prange(first, last):
        found = 0
        for row in range(blocks[block, 0], blocks[block, 1]):
            for c in range(2):
                own = off[c, row]
                for m in range(span[0, row], span[2, row]):
                    found += 1 if (contact[own + m] != 0) & (inv[own + m] != 0) else 0
        count[block + 1] = found


@njit(parallel=True, cache=True)
def list_contact(contact, inv, off, nbr, par, span, blocks, first, last, begin, at):
    """at[:, n]: position of the n-th contact cell and of its six neighbours, lower and upper by axis; begin[block] says where to write."""
    for block in prange(first, last):
        n = begin[block]
        for row in range(blocks[block, 0], blocks[block, 1]):
            for c in range(2):
                o = 1 - c
                side = (par[row] + c) & 1
                for m in range(span[0, row], span[2, row]):
                    if (contact[off[c, row] + m] != 0) & (inv[off[c, row] + m] != 0):
                        at[0, n] = off[c, row] + m
                        for near in range(4):
                            at[1 + near, n] = off[o, nbr[near, row]] + m
                        at[5, n] = off[o, row] + m - 1 + side
                        at[6, n] = off[o, row] + m + side
                        n += 1


@njit(parallel=True, cache=True)
def would_change(p, v, g, inv, slip, wx, wy, wz, at):
    """How many contact cells p + v takes to the other side: free ones below 0, and detached ones (inv = 0) that are pressed back,
    in both cases by more than `slip` in units of the residual, so that rounding counts for nothing.

    A detached cell has p = v = 0, so its slack is the flow from its neighbours alone.
    """
    n = at.shape[1]
    changes = 0
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        found = 0
        for s in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            i = U(at[0, s])
            if inv[i] != 0:
                found += 1 if p[i] + v[i] < -slip * inv[i] else 0
            else:
                xm, xp, ym, yp, zm, zp = U(at[1, s]), U(at[2, s]), U(at[3, s]), U(at[4, s]), U(at[5, s]), U(at[6, s])
                press = g[i] + wx[i] * (p[xm] + v[xm]) + wx[xp] * (p[xp] + v[xp])
                press += wy[i] * (p[ym] + v[ym]) + wy[yp] * (p[yp] + v[yp])
                press += wz[i] * (p[zm] + v[zm]) + wz[zp] * (p[zp] + v[zp])
                found += 1 if press > slip else 0
        changes += found
    return changes
