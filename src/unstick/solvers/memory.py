"""Large arrays of zeros on large pages, where the system has them: memory page by page costs a small solve a fifth of its time."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np

from unstick.kernels.rows_pack import touch
from unstick.problem import Array

LARGE = 1 << 20  # bytes
PAGE = 2 << 20


def zeros(count: int, dtype: Any) -> Array:
    """A vector of zeros that begins at a large page, if it is long enough for that to pay."""
    size = count * np.dtype(dtype).itemsize
    if size < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(count, dtype=dtype)
    region = mmap.mmap(-1, size + PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system that has switched them off
        region.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(region, dtype=np.uint8)
    shift = -whole.ctypes.data % PAGE
    found = whole[shift : shift + size]
    touch(found, PAGE)
    return found.view(dtype)
