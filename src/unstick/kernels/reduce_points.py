"""Sums over particles whose result does not depend on the number of threads: fixed chunks, added in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]

CHUNK = 1 << 14


@njit(cache=True, parallel=True)
def squares_by_chunk(velocity: Array, sums: Array, largest: Array) -> None:
    """|velocity|^2 of each chunk of points: the sum and the largest."""
    n = velocity.shape[0]
    for c in prange(sums.shape[0]):
        total, most = 0.0, 0.0
        for q in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            square = velocity[q, 0] * velocity[q, 0] + velocity[q, 1] * velocity[q, 1] + velocity[q, 2] * velocity[q, 2]
            total += square
            most = max(most, square)
        sums[c] = total
        largest[c] = most


def energy_and_speed(velocity: Array) -> tuple[float, float]:
    """Sum of |velocity|^2 over all points, and the largest |velocity|."""
    chunks = max(1, -(-len(velocity) // CHUNK))
    sums, largest = np.zeros(chunks), np.zeros(chunks)
    squares_by_chunk(velocity, sums, largest)
    total = 0.0
    for part in sums:
        total += float(part)
    return total, float(np.sqrt(largest.max()))
