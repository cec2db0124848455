"""The Galerkin product scale P^T Lambda A Lambda P on a fixed pattern: all rows, or only those above changed ones.

A coarse row is computed by one thread in an order that depends on that row alone, so an incremental rebuild
gives the same bits as a full one, with any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]

ROUNDING = 1e-13  # a diagonal below this part of the terms it is made of is a singular row's exact zero


@njit(cache=True)
def _row_pattern(c: int, tptr: Array, tidx: Array, aptr: Array, aidx: Array, pptr: Array, pidx: Array, mark: Array, cols: Array) -> int:
    length = 0
    for k in range(tptr[c], tptr[c + 1]):
        i = tidx[k]
        for m in range(aptr[i], aptr[i + 1]):
            j = aidx[m]
            for q in range(pptr[j], pptr[j + 1]):
                to = pidx[q]
                if mark[to] != c + 1:
                    mark[to] = c + 1
                    cols[length] = to
                    length += 1
    return length


@njit(cache=True, parallel=True)
def pattern(
    fill: bool, chunks: int, tptr: Array, tidx: Array, aptr: Array, aidx: Array, pptr: Array, pidx: Array, widest: int,
    out_ptr: Array, out_idx: Array,
) -> None:  # fmt: skip
    """Row lengths of P^T A P into out_ptr[1:] (`fill` False), or its sorted columns at out_ptr (`fill` True)."""
    n = tptr.size - 1
    for chunk in prange(chunks):
        mark = np.zeros(n, dtype=np.int32)
        cols = np.empty(widest, dtype=np.int32)
        for c in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            length = _row_pattern(c, tptr, tidx, aptr, aidx, pptr, pidx, mark, cols)
            if fill:
                out_idx[out_ptr[c] : out_ptr[c] + length] = np.sort(cols[:length])
            else:
                out_ptr[c + 1] = length


@njit(cache=True, error_model="numpy")
def _row_values(
    c: int, scale: float, tptr: Array, tidx: Array, tval: Array, free: Array, aptr: Array, aidx: Array, aval: Array,
    pptr: Array, pidx: Array, pval: Array, cptr: Array, cidx: Array, cval: Array, inv: Array, place: Array,
) -> int:  # fmt: skip
    done = 0
    for k in range(cptr[c], cptr[c + 1]):
        place[cidx[k]] = k
        cval[k] = 0.0
    size = 0.0
    for k in range(tptr[c], tptr[c + 1]):
        i = tidx[k]
        if not free[i]:
            continue
        for m in range(aptr[i], aptr[i + 1]):
            j = aidx[m]
            t = scale * tval[k] * aval[m]
            if free[j] and t != 0.0:
                for q in range(pptr[j], pptr[j + 1]):
                    v = t * pval[q]
                    cval[place[pidx[q]]] += v
                    size += abs(v) if pidx[q] == c else 0.0
                done += pptr[j + 1] - pptr[j]
    d = 0.0
    for k in range(cptr[c], cptr[c + 1]):
        d = cval[k] if cidx[k] == c else d
    inv[c] = 1.0 / d if d > ROUNDING * size else 0.0
    if inv[c] == 0.0:  # else the next level would take this rounding for a matrix of its own
        for k in range(cptr[c], cptr[c + 1]):
            cval[k] = 0.0
    return done


@njit(cache=True, error_model="numpy", parallel=True)
def product(
    rows: Array, chunks: int, scale: float, tptr: Array, tidx: Array, tval: Array, free: Array,
    aptr: Array, aidx: Array, aval: Array, pptr: Array, pidx: Array, pval: Array,
    cptr: Array, cidx: Array, cval: Array, inv: Array,
) -> int:  # fmt: skip
    """Values of the given rows of scale P^T Lambda A Lambda P, and 1 / diagonal (0 for frozen rows). Returns the multiply-adds."""
    n = rows.size
    work = np.zeros(chunks, dtype=np.int64)
    for chunk in prange(chunks):
        place = np.empty(tptr.size - 1, dtype=np.int32)
        for s in range(n * chunk // chunks, n * (chunk + 1) // chunks):
            work[chunk] += _row_values(
                rows[s], scale, tptr, tidx, tval, free, aptr, aidx, aval, pptr, pidx, pval, cptr, cidx, cval, inv, place
            )
    return int(work.sum())


@njit(cache=True)
def mark_above(changed_rows: Array, changed_free: Array, aptr: Array, aidx: Array, pptr: Array, pidx: Array, touched: Array) -> None:
    """Coarse rows whose values depend on the changed fine rows, or on the changed entries of Lambda."""
    for s in range(changed_rows.size):
        i = changed_rows[s]
        for q in range(pptr[i], pptr[i + 1]):
            touched[pidx[q]] = True
    for s in range(changed_free.size):
        i = changed_free[s]
        for q in range(pptr[i], pptr[i + 1]):
            touched[pidx[q]] = True
        for m in range(aptr[i], aptr[i + 1]):
            j = aidx[m]
            for q in range(pptr[j], pptr[j + 1]):
                touched[pidx[q]] = True
