"""The memory limit: a = b + s c on arrays larger than any cache. 32 bytes an element, the write-allocate of a counted.

And what is left of it for a loop over as many arrays as a residual: six that are read, one that is read and written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

BYTES = 32


@njit(cache=True, parallel=True)
def triad(a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any], s: float) -> None:
    for i in prange(a.shape[0]):
        a[i] = b[i] + s * c[i]


@njit(cache=True, parallel=True)
def seven(
    a: npt.NDArray[Any],
    b: npt.NDArray[Any],
    c: npt.NDArray[Any],
    d: npt.NDArray[Any],
    e: npt.NDArray[Any],
    f: npt.NDArray[Any],
    g: npt.NDArray[Any],
) -> None:
    for i in prange(a.shape[0]):
        a[i] += b[i] + c[i] * d[i] + e[i] * f[i] + g[i]


def arrays(elements: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    return np.zeros(elements), np.linspace(0.0, 1.0, elements), np.linspace(1.0, 0.0, elements)
