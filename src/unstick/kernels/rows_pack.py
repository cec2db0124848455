"""Between arrays on the box of the system and strips of liquid rows."""

import numpy as np
from numba import njit, prange

U = np.uint64


@njit(parallel=True, cache=True)
def pack(box, strips, factor, off, par, place, begin, end):
    """strips = factor * box, on the rows begin..end (all cells of their computed span)."""
    nk = box.shape[2]
    for row in prange(begin, end):
        i, j = place[0, row], place[1, row]
        lo, n = place[2, row], place[3, row]
        even, odd = U(off[par[row], row] + lo), U(off[1 - par[row], row] + lo)
        whole = min(n, nk // 2 - lo)
        for s in range(whole):
            m = U(s)
            k = U(2) * (U(lo) + m)
            strips[even + m] = box[i, j, k] * factor
            strips[odd + m] = box[i, j, k + U(1)] * factor
        if whole < n:  # the last cell of a box with an odd number of cells
            strips[even + U(whole)] = box[i, j, nk - 1] * factor


@njit(parallel=True, cache=True)
def pack_mask(box, strips, off, par, place, begin, end):
    """The same for a mask."""
    nk = box.shape[2]
    for row in prange(begin, end):
        i, j = place[0, row], place[1, row]
        lo, n = place[2, row], place[3, row]
        even, odd = U(off[par[row], row] + lo), U(off[1 - par[row], row] + lo)
        whole = min(n, nk // 2 - lo)
        for s in range(whole):
            m = U(s)
            k = U(2) * (U(lo) + m)
            strips[even + m] = box[i, j, k]
            strips[odd + m] = box[i, j, k + U(1)]
        if whole < n:
            strips[even + U(whole)] = box[i, j, nk - 1]


@njit(parallel=True, cache=True)
def unpack(strips, box, factor, off, par, place, begin, end):
    """box = factor * strips on the cells of the rows; other cells of the box are left alone."""
    nk = box.shape[2]
    for row in prange(begin, end):
        i, j = place[0, row], place[1, row]
        lo, n = place[2, row], place[3, row]
        even, odd = U(off[par[row], row] + lo), U(off[1 - par[row], row] + lo)
        whole = min(n, nk // 2 - lo)
        for s in range(whole):
            m = U(s)
            k = U(2) * (U(lo) + m)
            box[i, j, k] = strips[even + m] * factor
            box[i, j, k + U(1)] = strips[odd + m] * factor
        if whole < n:
            box[i, j, nk - 1] = strips[even + U(whole)] * factor


@njit(parallel=True, cache=True)
def convert(source, target, begin, end):
    """target[begin:end] = source[begin:end] in the target's precision."""
    chunk = 1 << 12
    for task in prange((end - begin + chunk - 1) // chunk):
        for at in range(begin + task * chunk, min(end, begin + (task + 1) * chunk)):
            target[at] = source[at]


@njit(parallel=True, cache=True)
def touch(memory, page):
    """Write to each page of fresh memory, so that all threads share the work of the system, which clears a page when it is first used."""
    for at in prange((memory.size + page - 1) // page):
        memory[at * page] = 0
