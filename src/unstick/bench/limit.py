"""The memory limit of this machine, measured in the run that compares with it."""

from __future__ import annotations

import numba

from unstick.bench.harness import cpu_seconds, wall_seconds
from unstick.kernels import triad

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


def available_threads() -> int:
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
