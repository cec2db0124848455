"""How planes of a grid are handed to threads."""

from __future__ import annotations

import functools
import math

import numpy as np

from unstick.grid import Array


@functools.lru_cache(maxsize=64)
def in_turn(n: int) -> Array:
    """The numbers 0..n-1 in an order in which each run of them is spread over the whole.

    Threads take runs of this order. Liquid that lies at one end of the box is then shared among them, and the work of a plane, and so
    its result, is the same whoever does it.
    """
    step = max(1, round(n * (math.sqrt(5.0) - 1.0) / 2.0))
    while math.gcd(step, n) != 1:
        step += 1
    order = (np.arange(n, dtype=np.int64) * step) % n
    order.setflags(write=False)
    return order
