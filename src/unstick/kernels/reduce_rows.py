"""Row reductions. The order of additions is fixed by the row and its block alone, so results do not depend on the number of threads.

Only these few lines may reorder a sum to vectorise it. `largest` assumes numbers; a NaN is found by the sum beside it, which keeps it.
"""

import numpy as np
from numba import njit

U = np.uint64


@njit(fastmath={"reassoc", "contract", "nsz"})
def dot(a, at, b, bt, n):
    total = 0.0
    for s in range(n):
        m = U(s)
        total += np.float64(a[at + m] * b[bt + m])
    return total


@njit(fastmath={"nnan", "nsz", "reassoc"})
def largest(a, at, n):
    """max |a| of a run of numbers."""
    top = a.dtype.type(0)
    for s in range(n):
        v = abs(a[at + U(s)])
        top = v if v > top else top
    return top


@njit(fastmath={"reassoc", "nsz"})
def total(a, at, n):
    value = a.dtype.type(0)
    for s in range(n):
        value += a[at + U(s)]
    return value
