"""The memory limit of this machine, measured in the run that compares with it."""

from __future__ import annotations

import numba
import numpy as np

from unstick.bench.harness import cpu_seconds, wall_seconds
from unstick.kernels import triad
from unstick.problem import Array

ELEMENTS = 16 << 20


def triad_ns() -> float:
    """CPU nanoseconds per element (32 bytes) on one thread."""
    a, b, c = triad.arrays(ELEMENTS)
    triad.triad(a, b, c, 0.5)
    return cpu_seconds(lambda: triad.triad(a, b, c, 0.5), 6) / ELEMENTS * 1e9


def triad_speed_up(threads: int) -> float:
    """Wall time on one thread over that on several."""
    a, b, c = triad.arrays(ELEMENTS)
    triad.triad(a, b, c, 0.5)
    one, many = wall_seconds(lambda: triad.triad(a, b, c, 0.5), (1, threads))
    return one / many


def plain_loop(dtype: type, threads: int) -> tuple[float, float]:
    """Of a plain loop over seven long arrays, one of which is written: CPU nanoseconds per byte that moves on one thread, and how many
    times as fast it is on several. No kernel that moves as many arrays can be expected to do better."""
    vectors: list[Array] = [np.ones(ELEMENTS // 4, dtype=dtype) for _ in range(7)]
    triad.seven(*vectors)
    moved = 8 * vectors[0].nbytes
    one, many = wall_seconds(lambda: triad.seven(*vectors), (1, threads))
    return cpu_seconds(lambda: triad.seven(*vectors), 6) / moved * 1e9, one / many


def available_threads() -> int:
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
