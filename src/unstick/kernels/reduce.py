"""Sums and maxima that do not depend on the number of threads: fixed chunks, each summed by one thread, added in order.

Sums may be reassociated inside a chunk (that is what makes them vectorise); NaN and infinity still come out as such.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]

CHUNK = 8192
_MAGNITUDE = np.uint64(0x7FFFFFFFFFFFFFFF)  # clears the sign of a double


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _dot_piece(x: Array, y: Array, start: int, stop: int) -> float:
    s = 0.0
    for i in range(start, stop):
        s += x[i] * y[i]
    return s


@njit(cache=True, error_model="numpy", parallel=True)
def dot(x: Array, y: Array) -> float:
    n = x.size
    chunks = (n + CHUNK - 1) // CHUNK
    if chunks <= 1:
        return _dot_piece(x, y, 0, n)
    part = np.empty(chunks)
    for c in prange(chunks):
        part[c] = _dot_piece(x, y, c * CHUNK, min(n, (c + 1) * CHUNK))
    s = 0.0
    for c in range(chunks):
        s += part[c]
    return s


@njit(cache=True)
def _max_piece(bits: Array, start: int, stop: int) -> np.uint64:
    m = np.uint64(0)
    for i in range(start, stop):
        m = max(m, bits[i] & _MAGNITUDE)
    return m


@njit(cache=True, parallel=True)
def _max_bits(bits: Array) -> np.uint64:
    n = bits.size
    chunks = (n + CHUNK - 1) // CHUNK
    if chunks <= 1:
        return _max_piece(bits, 0, n)
    part = np.empty(chunks, dtype=np.uint64)
    for c in prange(chunks):
        part[c] = _max_piece(bits, c * CHUNK, min(n, (c + 1) * CHUNK))
    m = np.uint64(0)
    for c in range(chunks):
        m = max(m, part[c])
    return m


def max_abs(x: Array) -> float:
    """max |x|; NaN when there is one. Doubles without their sign bit are ordered like integers, with NaN at the top."""
    return float(np.array(_max_bits(x.reshape(-1).view(np.uint64)), dtype=np.uint64).view(np.float64))
