"""How many threads compute; the result does not depend on it."""

from __future__ import annotations

import numba

from unstick.checks import InvalidSystem


def use_threads(count: int | None) -> None:
    """Compute with so many threads; None: as many as this process has."""
    available = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if count is None:
        return
    if not 1 <= count <= available:
        raise InvalidSystem(f"--threads is {count}; this process can use 1 to {available}")
    numba.set_num_threads(count)
