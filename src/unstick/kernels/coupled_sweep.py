"""Projected Gauss-Seidel for a sparse matrix with a term of low rank, A + F C F^T: each row sees all others' latest values."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True)
def sweep(
    ptr: Array, idx: Array, val: Array, fptr: Array, fidx: Array, fval: Array, core: Array, diagonal: Array, b: Array, contact: Array,
    p: Array, t: Array, upwards: bool,
) -> None:  # fmt: skip
    """p_i -= slack_i / diagonal_i, at least 0 on contact rows; t = C F^T p is kept up to date. `diagonal` is that of the whole matrix."""
    n = p.shape[0]
    for step in range(n):
        i = step if upwards else n - 1 - step
        if not diagonal[i] > 0.0:
            continue
        slack = b[i]
        for at in range(ptr[i], ptr[i + 1]):
            slack += val[at] * p[idx[at]]
        for at in range(fptr[i], fptr[i + 1]):
            slack += fval[at] * t[fidx[at]]
        new = p[i] - slack / diagonal[i]
        if contact[i] and new < 0.0:
            new = 0.0
        change = new - p[i]
        if change == 0.0:
            continue
        p[i] = new
        for at in range(fptr[i], fptr[i + 1]):
            for c in range(core.shape[0]):
                t[c] += core[c, fidx[at]] * fval[at] * change
