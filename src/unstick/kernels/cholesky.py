"""Incomplete Cholesky without fill, plain and modified, on the strict upper triangle of a matrix (CSR rows i < k).

M = (D + U^T) D^-1 (D + U), U with the pattern of A. Where no two neighbours of a row are coupled (every 5- and 7-point stencil)
U is A's own, only D differs, and CG on the split-preconditioned matrix needs no product with A (Eisenstat 1981):
with S = D^-1/2, V = -S U S, E = S^2 diag(A) - 2 I,

    (I - V^T)^-1 S A S (I - V)^-1 p  =  t + z,   t = (I - V)^-1 p,   z = (I - V^T)^-1 (p + E t).
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.reduce import CHUNK, Array

U64 = np.uint64  # an index that needs no wrap-around test


@njit(cache=True)
def upper_triangle(ptr: Array, idx: Array, val: Array, free: Array) -> tuple[Array, Array, Array, Array]:
    """The strict upper triangle of the couplings between free rows, and the diagonal (1 on other rows)."""
    n = ptr.size - 1
    at = np.zeros(n + 1, dtype=np.int32)
    diagonal = np.ones(n)
    for i in range(n):
        count = 0
        if free[i]:
            for k in range(ptr[i], ptr[i + 1]):
                j = idx[k]
                if j == i:
                    diagonal[i] = val[k]
                elif j > i and free[j] and val[k] != 0.0:
                    count += 1
        at[i + 1] = at[i] + count
    to = np.empty(at[n], dtype=np.int32)
    u = np.empty(at[n])
    for i in range(n):
        m = at[i]
        if free[i]:
            for k in range(ptr[i], ptr[i + 1]):
                j = idx[k]
                if j > i and free[j] and val[k] != 0.0:
                    to[m] = j
                    u[m] = val[k]
                    m += 1
    return at, to, u, diagonal


@njit(cache=True, error_model="numpy")
def factorise(at: Array, to: Array, u: Array, diagonal: Array, tau: float, least: float) -> tuple[Array, bool]:
    """D, and whether U (changed in place) still is A's own.

    Fill outside the pattern is added to the diagonal with the factor tau: 0 is IC(0), 1 keeps row sums (MIC).
    A pivot below `least` times the diagonal entry would blow up (null spaces end in a zero pivot): the diagonal entry takes its place.
    """
    n = diagonal.size
    d = diagonal.copy()
    same = True
    for j in range(n):
        if not d[j] > least * diagonal[j]:
            d[j] = diagonal[j]
        for a in range(at[j], at[j + 1]):
            i = to[a]
            part = u[a] / d[j]
            d[i] -= part * u[a]
            for c in range(a + 1, at[j + 1]):
                k = to[c]
                fill = part * u[c]
                hit = -1
                for e in range(at[i], at[i + 1]):
                    if to[e] == k:
                        hit = e
                if hit >= 0:
                    u[hit] -= fill
                    same = False
                else:
                    d[i] -= tau * fill
                    d[k] -= tau * fill
    return d, same


@njit(cache=True)
def unit_scale(at: Array, to: Array, u: Array, s: Array) -> None:
    """u <- V = -S U S"""
    for i in range(s.size):
        for a in range(at[i], at[i + 1]):
            u[a] *= -s[i] * s[U64(to[a])]


@njit(cache=True, error_model="numpy")
def backward(at: Array, to: Array, v: Array, r: Array, beta: float, p: Array, t: Array) -> None:
    """p <- r + beta p, and t = (I - V)^-1 p"""
    for i in range(p.size - 1, -1, -1):
        q = r[i] + beta * p[i]
        p[i] = q
        for a in range(at[i], at[i + 1]):
            q += v[a] * t[U64(to[a])]
        t[i] = q


@njit(cache=True, error_model="numpy")
def forward(at: Array, to: Array, v: Array, e: Array, p: Array, t: Array, z: Array) -> float:
    """z = (I - V^T)^-1 (p + E t), given z = 0 and e = E; returns p . (t + z)"""
    s = 0.0
    for i in range(p.size):
        q = z[i] + p[i] + e[i] * t[i]
        z[i] = q
        for a in range(at[i], at[i + 1]):
            z[U64(to[a])] += v[a] * q
        s += p[i] * (t[i] + q)
    return s


@njit(cache=True, error_model="numpy")
def forward_solve(at: Array, to: Array, v: Array, r: Array) -> None:
    """r <- (I - V^T)^-1 r"""
    for i in range(r.size):
        q = r[i]
        for a in range(at[i], at[i + 1]):
            r[U64(to[a])] += v[a] * q


@njit(cache=True, error_model="numpy")
def forward_multiply(at: Array, to: Array, v: Array, r: Array, out: Array) -> None:
    """out = (I - V^T) r"""
    out[:] = r
    for i in range(r.size):
        for a in range(at[i], at[i + 1]):
            out[U64(to[a])] -= v[a] * r[i]


@njit(cache=True, error_model="numpy")
def _advance_piece(alpha: float, t: Array, z: Array, x: Array, r: Array, start: int, stop: int) -> float:
    s = 0.0
    for i in range(start, stop):
        x[i] += alpha * t[i]
        q = r[i] - alpha * (t[i] + z[i])
        r[i] = q
        z[i] = 0.0
        s += q * q
    return s


@njit(cache=True, error_model="numpy", parallel=True)
def advance(alpha: float, t: Array, z: Array, x: Array, r: Array) -> float:
    """x += alpha t, r -= alpha (t + z), z = 0; returns r . r, the same for any number of threads"""
    n = x.size
    chunks = (n + CHUNK - 1) // CHUNK
    if chunks <= 1:
        return _advance_piece(alpha, t, z, x, r, 0, n)
    part = np.empty(chunks)
    for c in prange(chunks):
        part[c] = _advance_piece(alpha, t, z, x, r, c * CHUNK, min(n, (c + 1) * CHUNK))
    s = 0.0
    for c in range(chunks):
        s += part[c]
    return s


@njit(cache=True, error_model="numpy")
def apply_inverse(at: Array, to: Array, v: Array, s: Array, r: Array, out: Array) -> None:
    """out = M^-1 r = S (I - V)^-1 (I - V^T)^-1 S r"""
    n = r.size
    for i in range(n):
        out[i] = s[i] * r[i]
    for i in range(n):
        q = out[i]
        for a in range(at[i], at[i + 1]):
            out[U64(to[a])] += v[a] * q
    for i in range(n - 1, -1, -1):
        q = out[i]
        for a in range(at[i], at[i + 1]):
            q += v[a] * out[U64(to[a])]
        out[i] = q
    for i in range(n):
        out[i] *= s[i]
