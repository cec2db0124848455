"""The exact reference of coupled systems: principal pivoting with dense solves, in the unknowns pressure and body velocity, refined in
extended precision.

It shares nothing with the solvers but the data (A, G, M, b, contact): find p and w with M w = G^T p and the mixed complementarity of
A p + G w + b. Bodies are kept as unknowns of their own, so that light ones spoil no digits. The pivoting is Kostreva's block rule,
and Murty's least index where that stalls: for a positive definite matrix it ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from unstick.grid import Array

Long = np.longdouble


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """A p + G w + b with M w = G^T p: dense, small."""

    A: Array
    G: Array
    M: Array
    b: Array
    contact: Array


@dataclass(frozen=True, slots=True, eq=False)
class MixedSolution:
    p: Array  # extended precision
    w: Array
    slack: Array
    pivots: int


def solve_mixed(given: Mixed, most: int = 5000) -> MixedSolution:
    n = len(given.b)
    held = np.zeros(n, dtype=bool)
    least, patience = n + 1, 5
    for pivots in range(most):
        p, w = _solve_free(given, ~held)
        slack = _slack(given, p, w)
        size = float(np.max(np.abs(given.b), initial=0.0))
        force = 1e-15 * size
        wrong = given.contact & np.where(held, slack < -force, p * np.diag(given.A) < -force)
        count = int(wrong.sum())
        if count == 0:
            return MixedSolution(p, w, slack, pivots)
        if count < least:
            least, patience = count, 5
            held ^= wrong
        elif patience > 0:
            patience -= 1
            held ^= wrong
        else:
            first = int(np.flatnonzero(wrong)[0])
            held[first] = not held[first]
    raise ArithmeticError("principal pivoting did not end; its decisions are at the level of rounding")


def _slack(given: Mixed, p: Array, w: Array) -> Array:
    return np.asarray(given.A.astype(Long) @ p + given.G.astype(Long) @ w + given.b.astype(Long))


def _solve_free(given: Mixed, free: Array) -> tuple[Array, Array]:
    """A_ff p_f + G_f w = -b_f, G_f^T p_f - M w = 0, with both scaled to a unit diagonal."""
    at = np.flatnonzero(free)
    motion = given.G[at]
    whole = np.block([[given.A[np.ix_(at, at)], motion], [motion.T, -given.M]])
    s = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(whole)), 1e-300))
    factor = scipy.linalg.lu_factor(s[:, None] * whole * s)
    right = np.concatenate([-given.b[at], np.zeros(len(given.M))]).astype(Long)
    exact = whole.astype(Long)
    x = np.zeros(len(right), dtype=Long)
    for _ in range(6):
        r = right - exact @ x
        x += s * scipy.linalg.lu_solve(factor, s * r.astype(float))
    p = np.zeros(len(given.b), dtype=Long)
    p[at] = x[: len(at)]
    return p, x[len(at) :]
