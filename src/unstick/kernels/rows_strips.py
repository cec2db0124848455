"""Where a strip of a liquid row stands, and which part of it is uniform.

Away from walls and surfaces all six couplings of a cell are one number, bit for bit, and the excess is zero. A loop over such cells
reads no couplings, excess, inverse or contact: half the bytes of the others. Contact cells do not count as uniform, for they may be
detached. To skip couplings breaks the stream in which memory is read best, so only long uniform parts are worth it, in blocks in which
most strips have one. The formulas are the same, and so are their results, to the bit.
"""

import numpy as np
from numba import njit, prange

U = np.uint64
STEP = 8  # cells by which loops proceed; strips are that many, or two, three ... times as many, cells long
LEAST = 96  # cells of a uniform part that is worth skipping couplings for
COLUMNS = 10  # of a strip's entry in the table


@njit(inline="always")
def places(strips, c, row):
    """Where the first cell of a strip stands, and its neighbours: lower and upper by axis."""
    own, xm, xp = U(strips[c, row, 0]), U(strips[c, row, 2]), U(strips[c, row, 3])
    return own, xm, xp, U(strips[c, row, 4]), U(strips[c, row, 5]), U(strips[c, row, 6]), U(strips[c, row, 7])


@njit(inline="always")
def length(strips, c, row):
    return np.int64(strips[c, row, 1])


@njit(inline="always")
def uniform_part(strips, c, row):
    """From where to where, counted from the first cell, a strip is uniform."""
    return np.int64(strips[c, row, 8]), np.int64(strips[c, row, 9])


@njit(inline="always")
def beside(s, a, b):
    """The s-th cell of a strip without its part a..b."""
    return s if s < a else s + (b - a)


@njit
def is_uniform(w, contact, wx, wy, wz, e, at, s):
    """Whether the STEP cells from s on have couplings w only, no excess and no contact."""
    own, _, xp, _, yp, _, zp = at
    apart = 0
    for t in range(STEP):
        m = U(s + t)
        apart |= (wx[own + m] != w) | (wx[xp + m] != w) | (wy[own + m] != w) | (wy[yp + m] != w)
        apart |= (wz[own + m] != w) | (wz[zp + m] != w) | (e[own + m] != 0) | (contact[own + m] != 0)
    return apart == 0


@njit
def longest_uniform(contact, wx, wy, wz, e, at, n):
    """From where to where a strip of n cells is uniform, in whole steps."""
    best, best_end, begin = 0, 0, 0
    before = wx.dtype.type(0)
    for s in range(0, n, STEP):
        w = wx[at[0] + U(s)]
        if w != before:
            begin = s
        before = w
        if not (w > 0 and is_uniform(w, contact, wx, wy, wz, e, at, s)):
            begin = s + STEP
        elif s + STEP - begin > best_end - best:
            best, best_end = begin, s + STEP
    return best, best_end


@njit(parallel=True, cache=True)
def find_uniform(contact, wx, wy, wz, e, strips, blocks, first, last, least):
    """Uniform parts of at least `least` cells go into the table of strips; blocks with one in most strips are marked."""
    for block in prange(first, last):
        found = 0
        for row in range(blocks[block, 0], blocks[block, 1]):
            for c in range(2):
                at, n = places(strips, c, row), length(strips, c, row)
                a, b = longest_uniform(contact, wx, wy, wz, e, at, n) if n >= least else (0, 0)
                if b - a < least:
                    a, b = 0, 0
                strips[c, row, 8], strips[c, row, 9] = a, b
                found += 1 if b > a else 0
        blocks[block, 2] = 1 if found > blocks[block, 1] - blocks[block, 0] else 0
