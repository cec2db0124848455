"""Where every liquid row of every level is stored: the tables behind the kernels of `rows.py`."""

import numpy as np
from numba import njit, prange

from unstick.kernels.rows_strips import STEP

ALIGN = 8  # numbers in double precision that fill a cache line
BAND = 32  # rows


@njit(parallel=True, cache=True)
def row_ranges(wx, wy, wz, e, k0, k1, total, largest, b):
    """First and one past the last cell with a row in (i, j); by plane i: sum of a_ii, number of rows, max|b|, null rows with b != 0."""
    ni, nj, nk = e.shape
    for i in prange(ni):
        for j in range(nj):
            first, last = nk, 0
            for k in range(nk):
                w = wx[i, j, k] + wy[i, j, k] + wz[i, j, k]
                w += wx[i + 1, j, k] if i + 1 < ni else 0.0
                w += wy[i, j + 1, k] if j + 1 < nj else 0.0
                w += wz[i, j, k + 1] if k + 1 < nk else 0.0
                d = e[i, j, k] + w
                total[i, 3] += (wx[i, j, k] > 0) + (wy[i, j, k] > 0) + (wz[i, j, k] > 0)
                size = abs(b[i, j, k])
                largest[i] = max(largest[i], size)
                if d > 0:
                    total[i, 0] += d
                    total[i, 1] += 1
                    first = min(first, k)
                    last = k + 1
                elif size != 0:
                    total[i, 2] += 1
            k0[i, j] = first if last > 0 else 0
            k1[i, j] = last


@njit(cache=True)
def coarse_ranges(k0, k1):
    """The ranges of the next coarser level: each coarse row spans its (up to) four fine rows."""
    ni, nj = k0.shape
    c0 = np.zeros(((ni + 1) // 2, (nj + 1) // 2), dtype=np.int64)
    c1 = np.zeros_like(c0)
    for i in range(c0.shape[0]):
        for j in range(c0.shape[1]):
            first, last = np.int64(1) << 60, np.int64(0)
            for a in range(2 * i, min(2 * i + 2, ni)):
                for b in range(2 * j, min(2 * j + 2, nj)):
                    if k1[a, b] > 0:
                        first = min(first, k0[a, b])
                        last = max(last, k1[a, b])
            if last > 0:
                c0[i, j] = first >> 1
                c1[i, j] = ((last - 1) >> 1) + 1
    return c0, c1


@njit(cache=True)
def number_rows(k1, number, start):
    """Give the non-empty rows consecutive numbers from `start`, band by band in j; returns the next free one.

    Within a band the row (i + 1, j) follows soon after (i, j), while what it shares with it is still in the second-level cache.
    """
    ni, nj = k1.shape
    for band in range(0, nj, BAND):
        for i in range(ni):
            for j in range(band, min(band + BAND, nj)):
                number[i, j] = start if k1[i, j] > 0 else -1
                start += 1 if k1[i, j] > 0 else 0
    return start


@njit(cache=True)
def fill_rows(k0, k1, number, fine_number, nbr, par, span, child, place, null, has_fine):
    """Neighbours, parity, computed span and place (both in m), and children of one level's rows. The computed span begins with the
    first cell and is a multiple of STEP long; what it holds beyond the last cell is zero and stays so."""
    ni, nj = k1.shape
    for i in range(ni):
        for j in range(nj):
            row = number[i, j]
            if row < 0:
                continue
            around = (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)
            for side in range(4):
                a, b = around[side]
                inside = 0 <= a < ni and 0 <= b < nj and number[a, b] >= 0
                nbr[side, row] = number[a, b] if inside else null
            par[row] = (i + j) & 1
            first, last = k0[i, j] >> 1, (k1[i, j] + 1) >> 1
            span[0, row], span[2, row] = first, last
            span[1, row] = first + (last - first + STEP - 1) // STEP * STEP
            place[0, row], place[1, row], place[2, row], place[3, row] = i, j, first, last - first
            for which in range(4):
                a, b = 2 * i + which // 2, 2 * j + which % 2
                inside = has_fine and a < fine_number.shape[0] and b < fine_number.shape[1] and fine_number[a, b] >= 0
                child[which, row] = fine_number[a, b] if inside else null


@njit(cache=True)
def fill_offsets(begin, end, up_begin, up_end, nbr, span, child, off, start, null):
    """Storage of the rows begin..end: both colours one after the other, each row wide enough for all that reads it at its own m."""
    lo, hi = np.empty(end - begin, dtype=np.int64), np.empty(end - begin, dtype=np.int64)
    for row in range(begin, end):
        first, last = span[0, row], span[1, row]
        for side in range(4):
            other = nbr[side, row]
            if other != null:
                first, last = min(first, span[0, other]), max(last, span[1, other])
        lo[row - begin], hi[row - begin] = first, last
    for row in range(up_begin, up_end):
        for which in range(4):
            fine = child[which, row]
            if fine != null:
                lo[fine - begin] = min(lo[fine - begin], 2 * span[0, row])
                hi[fine - begin] = max(hi[fine - begin], 2 * span[2, row])
    for colour in range(2):
        for row in range(begin, end):
            first = lo[row - begin]
            start += -(start + 1 + span[0, row] - first) % ALIGN  # the first computed cell begins a cache line
            off[colour, row] = start + 1 - first
            start += hi[row - begin] - first + 2
    return start


@njit(parallel=True, cache=True)
def fill_strips(off, nbr, par, span, strips):
    """By colour and row: where the first cell stands, how many are computed, and where the neighbours of the first stand;
    which part is uniform (none yet)."""
    for row in prange(off.shape[1]):
        lo = span[0, row]
        for c in range(2):
            o = 1 - c
            strips[c, row, 0], strips[c, row, 1] = off[c, row] + lo, span[1, row] - lo
            for near in range(4):
                strips[c, row, 2 + near] = off[o, nbr[near, row]] + lo
            strips[c, row, 8], strips[c, row, 9] = 0, 0
            side = (par[row] + c) & 1
            strips[c, row, 6], strips[c, row, 7] = off[o, row] + lo - 1 + side, off[o, row] + lo + side


@njit(cache=True)
def fill_blocks(begin, end, span, target, blocks, at):
    """Cut the rows begin..end into blocks of about `target` cells; returns the number of blocks so far."""
    first, size = begin, 0
    for row in range(begin, end):
        size += 2 * (span[1, row] - span[0, row])
        if size >= target or row == end - 1:
            blocks[at, 0] = first
            blocks[at, 1] = row + 1
            at += 1
            first, size = row + 1, 0
    return at
