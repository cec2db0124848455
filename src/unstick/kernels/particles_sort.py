"""Particles in the order of their cells: a stable counting sort in two passes, by planes of cells and then inside each plane.

A stable order is unique, so it does not depend on how the particles are cut into chunks, nor on the number of threads. No two
threads count into one array: chunks have counters of their own for planes, and every plane belongs to one thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

ONE = np.uint64(1)
CHUNK = 1 << 14  # particles that one thread takes at a time


@njit(cache=True)
def cell_along(x, low, inverse, size):
    """Number of the cell along one axis, held inside; NaN goes to the first."""
    f = (x - low) * inverse
    f = f if f > 0.0 else 0.0
    return np.int64(f if f < size - 1 else size - 1)


@njit(cache=True, parallel=True)
def find_cells(position, origin, inverse, shape, row, plane, count):
    """Plane of each particle's cell, its place in the plane, and how many particles of each chunk lie in each plane."""
    n, chunks = position.shape[0], count.shape[0]
    nx, ny, nz = shape
    x0, y0, z0 = origin
    for c in prange(chunks):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            i = cell_along(position[q, 0], x0, inverse, nx)
            j = cell_along(position[q, 1], y0, inverse, ny)
            k = cell_along(position[q, 2], z0, inverse, nz)
            plane[q] = i
            row[q] = j * nz + k
            count[np.uint64(c), np.uint64(i)] += 1


@njit(cache=True)
def offsets(count, first):
    """Turn counts into the place of each chunk's first particle in each plane; `first` gets where each plane begins."""
    total = 0
    for i in range(count.shape[1]):
        first[i] = total
        for c in range(count.shape[0]):
            here = count[c, i]
            count[c, i] = total
            total += here
    first[count.shape[1]] = total


@njit(cache=True, parallel=True)
def by_plane(row, plane, count, order, key):
    """Particles in the order of planes: their numbers, and their places in the plane."""
    n = row.shape[0]
    for c in prange(count.shape[0]):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            i = np.uint64(plane[q])
            at = np.uint64(count[np.uint64(c), i])
            count[np.uint64(c), i] += 1
            order[at] = q
            key[at] = row[q]


@njit(cache=True, parallel=True)
def by_cell(first, key, order, size, start, sorted_order):
    """Inside each plane, particles in the order of cells; `start` gets where each cell begins."""
    for i in prange(first.shape[0] - 1):
        begin, end = np.uint64(first[i]), np.uint64(first[i + 1])
        base = np.uint64(i * size)
        for c in range(np.uint64(size)):
            start[base + c] = begin
        if begin == end:
            continue
        at = np.zeros(size + 1, dtype=np.int64)
        for q in range(begin, end):
            at[np.uint64(key[q]) + ONE] += 1
        total = np.int64(begin)
        for c in range(np.uint64(size)):
            total += at[c]
            at[c] = total
            start[base + c] = total
        for q in range(begin, end):
            here = np.uint64(key[q])
            sorted_order[np.uint64(at[here])] = order[q]
            at[here] += 1
    start[(first.shape[0] - 1) * size] = key.shape[0]


@njit(cache=True, parallel=True)
def rearrange(values, order, out):
    """out[q] = values[order[q]], rows of three numbers or a multiple of three."""
    n, width = values.shape
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            source = np.uint64(order[q])
            for m in range(np.uint64(0), np.uint64(width), np.uint64(3)):
                out[q, m] = values[source, m]
                out[q, m + ONE] = values[source, m + ONE]
                out[q, m + ONE + ONE] = values[source, m + ONE + ONE]


@njit(cache=True, parallel=True)
def copy_rows(values, out):
    """The rows of `values` to the first ones of `out`, or as many as `out` has."""
    n, width = min(values.shape[0], out.shape[0]), values.shape[1]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            for m in range(np.uint64(width)):
                out[q, m] = values[q, m]
