"""Projected Gauss-Seidel sweeps over CSR rows with a stored inverse diagonal, and the tests that go with them.

inv_i = 0 freezes a row. `lower` is the obstacle, -inf where there is none. The sweeps are serial: their order is the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]


@njit(cache=True, error_model="numpy")
def _relax(ptr: Array, idx: Array, val: Array, inv: Array, f: Array, lower: Array, x: Array, i: int) -> None:
    s = f[i]
    for k in range(ptr[i], ptr[i + 1]):
        s -= val[k] * x[idx[k]]
    v = x[i] + s * inv[i]
    x[i] = v if v > lower[i] else lower[i]


@njit(cache=True, error_model="numpy")
def forward(ptr: Array, idx: Array, val: Array, inv: Array, f: Array, lower: Array, x: Array, times: int) -> None:
    """x_i <- max(lower_i, x_i + (f - A x)_i / a_ii), rows in rising order (Lai Alg. 5)"""
    for _ in range(times):
        for i in range(x.size):
            _relax(ptr, idx, val, inv, f, lower, x, i)


@njit(cache=True, error_model="numpy")
def backward(ptr: Array, idx: Array, val: Array, inv: Array, f: Array, lower: Array, x: Array, times: int) -> None:
    for _ in range(times):
        for i in range(x.size - 1, -1, -1):
            _relax(ptr, idx, val, inv, f, lower, x, i)


@njit(cache=True, error_model="numpy")
def forward_at(ptr: Array, idx: Array, val: Array, inv: Array, f: Array, lower: Array, x: Array, rows: Array, times: int) -> None:
    """Sweeps over the listed rows only (extra smoothing at boundaries)."""
    for _ in range(times):
        for s in range(rows.size):
            _relax(ptr, idx, val, inv, f, lower, x, rows[s])


@njit(cache=True, error_model="numpy")
def backward_at(ptr: Array, idx: Array, val: Array, inv: Array, f: Array, lower: Array, x: Array, rows: Array, times: int) -> None:
    for _ in range(times):
        for s in range(rows.size - 1, -1, -1):
            _relax(ptr, idx, val, inv, f, lower, x, rows[s])


@njit(cache=True, error_model="numpy", parallel=True)
def inverse_diagonal(ptr: Array, idx: Array, val: Array, inv: Array) -> None:
    for i in prange(inv.size):
        d = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            d = val[k] if idx[k] == i else d
        inv[i] = 1.0 / d if d > 0.0 else 0.0


@njit(cache=True, error_model="numpy", parallel=True)
def policy(contact: Array, x: Array, r: Array, free: Array, changed: Array) -> int:
    """Lambda: row i is active iff it may detach, x_i <= 0 and r_i = f_i - (A x)_i <= 0. Returns how many entries changed."""
    count = 0
    for i in prange(x.size):
        now = not (contact[i] and x[i] <= 0.0 and r[i] <= 0.0)
        differs = now != free[i]
        changed[i] = differs
        free[i] = now
        count += 1 if differs else 0
    return count


@njit(cache=True, error_model="numpy", parallel=True)
def natural(contact: Array, weight: Array, x: Array, r: Array, out: Array) -> None:
    """out = min(weight x, -r) on contact rows, -r elsewhere"""
    for i in prange(x.size):
        slack = -r[i]
        pressed = weight[i] * x[i]
        # NaN on either side must come out as NaN.
        least = pressed if pressed < slack else slack
        least = least if pressed == pressed else pressed
        out[i] = least if contact[i] else slack


@njit(cache=True, error_model="numpy", parallel=True)
def add_scaled(x: Array, alpha: float, step: Array, lower: Array) -> None:
    """x <- max(lower, x + alpha step); the exact zeros of the obstacle are kept."""
    for i in prange(x.size):
        v = x[i] + alpha * step[i]
        x[i] = v if v > lower[i] else lower[i]


@njit(cache=True, error_model="numpy", parallel=True)
def obstacles(contact: Array, x: Array, lower: Array) -> None:
    """lower = min(0, x) where a row may detach, -inf elsewhere (fas.md 2.2, step 4)"""
    for i in prange(x.size):
        lower[i] = min(0.0, x[i]) if contact[i] else -np.inf
