"""Loops over the rows of a sparse matrix (CSR, sorted indices, int32) on any graph."""

from __future__ import annotations

from collections.abc import Callable

from numba import njit, prange

from unstick.kernels.reduce import Array
from unstick.kernels.twins import twins

SERIAL = 4096  # rows up to which starting threads costs more than it saves


def _multiply(ptr: Array, idx: Array, val: Array, x: Array, out: Array) -> None:
    """out = A x"""
    for i in prange(out.size):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[idx[k]]
        out[i] = s


def _affine(ptr: Array, idx: Array, val: Array, b: Array, x: Array, out: Array) -> None:
    """out = A x + b"""
    for i in prange(out.size):
        s = b[i]
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[idx[k]]
        out[i] = s


def _residual(ptr: Array, idx: Array, val: Array, rhs: Array, x: Array, out: Array) -> None:
    """out = rhs - A x"""
    for i in prange(out.size):
        s = rhs[i]
        for k in range(ptr[i], ptr[i + 1]):
            s -= val[k] * x[idx[k]]
        out[i] = s


def _multiply_masked(ptr: Array, idx: Array, val: Array, free: Array, x: Array, out: Array) -> None:
    """out = Lambda A x with Lambda = diag(free); x must be zero on rows that are not free"""
    for i in prange(out.size):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[idx[k]]
        out[i] = s if free[i] else 0.0


def _by_size(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop on one thread for short vectors, on all for long ones; its last argument is the result."""
    parallel, serial = twins(loop, error_model="numpy")

    def run(*args: Array) -> None:
        (serial if args[-1].size <= SERIAL else parallel)(*args)

    run.__doc__ = loop.__doc__
    return run


multiply = _by_size(_multiply)
affine = _by_size(_affine)
residual = _by_size(_residual)
multiply_masked = _by_size(_multiply_masked)


@njit(cache=True, error_model="numpy")
def relax_row(ptr: Array, idx: Array, val: Array, b: Array, contact: Array, p: Array, i: int) -> None:
    """p_i <- -(b_i + sum_j a_ij p_j) / a_ii over j != i, at least 0 on a contact row (Lai Alg. 5)"""
    s = b[i]
    d = 0.0
    for k in range(ptr[i], ptr[i + 1]):
        j = idx[k]
        if j == i:
            d = val[k]
        else:
            s += val[k] * p[j]
    v = -s / d
    p[i] = 0.0 if (contact[i] and v <= 0.0) else v


@njit(cache=True, error_model="numpy")
def sweep_forward(ptr: Array, idx: Array, val: Array, b: Array, contact: Array, p: Array) -> None:
    for i in range(p.size):
        relax_row(ptr, idx, val, b, contact, p, i)


@njit(cache=True, error_model="numpy")
def sweep_backward(ptr: Array, idx: Array, val: Array, b: Array, contact: Array, p: Array) -> None:
    for i in range(p.size - 1, -1, -1):
        relax_row(ptr, idx, val, b, contact, p, i)
