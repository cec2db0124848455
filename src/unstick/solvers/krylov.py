"""Krylov methods on the free rows of a matrix, and the honest frame around them.

A method sees an operator and a preconditioner as functions `(x, out) -> None`, works on the residual it updates itself, and stops
when that reaches the goal. The frame `refine` then computes the true residual and starts again from there if it does not bear the
claim out (a recursive residual can fall to 1e-18 while the true one stands at 1e-12); it gives up when starting again gains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unstick.kernels import csr
from unstick.kernels.reduce import dot, max_abs
from unstick.problem import Array
from unstick.result import Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearOutcome

Apply = Callable[[Array, Array], None]
PATIENCE = 5000  # iterations without a new minimum of the residual: without preconditioner, plateaus of a thousand are normal


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What one stretch of a Krylov method did: x is the correction to add."""

    x: Array
    iterations: int
    history: tuple[float, ...]


Method = Callable[[Array, float, int], Run]  # (residual, goal, limit) -> Run


class FreeRows:
    """Products with Lambda A Lambda (Lai eq. 5.6) without building it; vectors are zero on rows that are not free."""

    def __init__(self, A: sp.csr_array, free: Array | None, ledger: Ledger) -> None:
        self.ptr, self.idx, self.val = csr_arrays(A)
        self.free = np.ones(A.shape[0], dtype=np.bool_) if free is None else free
        self.ledger = ledger

    def multiply(self, x: Array, out: Array) -> None:
        csr.multiply_masked(self.ptr, self.idx, self.val, self.free, x, out)
        self.ledger.spend("matvecs", self.val.size)

    def residual(self, rhs: Array, x: Array) -> Array:
        out = np.empty_like(x)
        csr.residual(self.ptr, self.idx, self.val, rhs, x, out)
        out[~self.free] = 0.0
        self.ledger.spend("matvecs", self.val.size)
        return out


def csr_arrays(A: sp.csr_array) -> tuple[Array, Array, Array]:
    """indptr, indices, data with the one index type that the kernels are compiled for."""
    return A.indptr.astype(np.int32, copy=False), A.indices.astype(np.int32, copy=False), A.data


def refine(method: Method, rows: FreeRows, rhs: Array, x0: Array, goal: float, limit: int) -> LinearOutcome:
    x = np.where(rows.free, x0, 0.0)
    r = rows.residual(rhs, x)
    norm = max_abs(r)
    used, idle, history = 0, 0, [norm]
    best, best_norm = x, norm
    while True:
        if not math.isfinite(norm):
            return LinearOutcome(x, used, norm, Status.DIVERGED, tuple(history))
        if norm <= goal:
            return LinearOutcome(x, used, norm, Status.CONVERGED, tuple(history))
        if used >= limit:
            # Not the iterate of least residual: conjugate gradients lower the energy while the residual may grow for hundreds of steps.
            return LinearOutcome(x, used, norm, Status.ITERATION_LIMIT, tuple(history))
        if idle >= 2:
            return LinearOutcome(best, used, best_norm, Status.STAGNATED, tuple(history))
        run = method(r, goal, limit - used)
        used += run.iterations
        x = x + run.x
        r = rows.residual(rhs, x)
        norm = max_abs(r)
        history += [*run.history[:-1], norm]
        idle = 0 if norm < 0.5 * best_norm else idle + 1
        if run.iterations == 0:
            idle = 2
        if norm < best_norm:
            best, best_norm = x, norm


def conjugate_gradients(multiply: Apply, precondition: Apply | None, r0: Array, goal: float, limit: int) -> Run:
    x, r = np.zeros_like(r0), r0.copy()
    z, q = np.empty_like(r0), np.empty_like(r0)
    p = np.zeros_like(r0)
    rho = 1.0
    history: list[float] = []
    watch = Watch()
    for iteration in range(1, limit + 1):
        if precondition is None:
            z[:] = r
        else:
            precondition(r, z)
        new = dot(r, z)
        p *= new / rho if iteration > 1 else 0.0
        p += z
        rho = new
        multiply(p, q)
        curvature = dot(p, q)
        if not (curvature > 0.0 and rho > 0.0):  # the null space, or rounding, is all that is left
            return Run(x, iteration - 1, tuple(history))
        alpha = rho / curvature
        x += alpha * p
        r -= alpha * q
        norm = max_abs(r)
        history.append(norm)
        if norm <= goal or watch.gives_up(norm):
            return Run(x, iteration, tuple(history))
    return Run(x, limit, tuple(history))


def conjugate_residuals(multiply: Apply, precondition: Apply | None, r0: Array, goal: float, limit: int) -> Run:
    """Minimises |r|_2 (of the preconditioned system) over the Krylov space; A symmetric."""
    x, r = np.zeros_like(r0), r0.copy()
    z, q, s = np.empty_like(r0), np.empty_like(r0), np.empty_like(r0)
    _apply(precondition, r, z)
    p, Az, Ap = z.copy(), np.empty_like(r0), np.empty_like(r0)
    multiply(z, Az)
    Ap[:] = Az
    rho = dot(z, Az)
    history: list[float] = []
    watch = Watch()
    for iteration in range(1, limit + 1):
        _apply(precondition, Ap, q)
        scale = dot(Ap, q)
        if not (scale > 0.0 and rho > 0.0):
            return Run(x, iteration - 1, tuple(history))
        alpha = rho / scale
        x += alpha * p
        r -= alpha * Ap
        z -= alpha * q
        norm = max_abs(r)
        history.append(norm)
        if norm <= goal or watch.gives_up(norm):
            return Run(x, iteration, tuple(history))
        multiply(z, s)
        new = dot(z, s)
        beta, rho = new / rho, new
        p *= beta
        p += z
        Ap *= beta
        Ap += s
    return Run(x, limit, tuple(history))


def bicgstab(multiply: Apply, precondition: Apply | None, r0: Array, goal: float, limit: int) -> Run:
    """van der Vorst 1992; one iteration is two products."""
    x, r, shadow = np.zeros_like(r0), r0.copy(), r0.copy()
    p, v, s, y = np.zeros_like(r0), np.zeros_like(r0), np.empty_like(r0), np.empty_like(r0)
    z, t = np.empty_like(r0), np.empty_like(r0)
    rho, alpha, omega = 1.0, 1.0, 1.0
    history: list[float] = []
    watch = Watch()
    for iteration in range(1, limit + 1):
        new = dot(shadow, r)
        if new == 0.0 or omega == 0.0 or not math.isfinite(new):
            return Run(x, iteration - 1, tuple(history))
        p = r + (new / rho) * (alpha / omega) * (p - omega * v)
        rho = new
        _apply(precondition, p, y)
        multiply(y, v)
        along = dot(shadow, v)
        if along == 0.0:
            return Run(x, iteration - 1, tuple(history))
        alpha = rho / along
        s = r - alpha * v
        _apply(precondition, s, z)
        multiply(z, t)
        tt = dot(t, t)
        omega = dot(t, s) / tt if tt > 0.0 else 0.0
        x += alpha * y + omega * z
        r = s - omega * t
        norm = max_abs(r)
        history.append(norm)
        if norm <= goal or watch.gives_up(norm):
            return Run(x, iteration, tuple(history))
    return Run(x, limit, tuple(history))


def gmres(multiply: Apply, precondition: Apply | None, r0: Array, goal: float, limit: int, restart: int = 50) -> Run:
    """Saad, Iterative Methods, Alg. 9.5 (right-preconditioned), one restart cycle; `refine` restarts it."""
    m = min(restart, limit)
    beta = math.sqrt(dot(r0, r0))
    shrink = max_abs(r0) / beta  # the Arnoldi process knows |r|_2 only; the maximum is estimated from it
    Q = np.zeros((m + 1, r0.size))
    H, g = np.zeros((m + 1, m)), np.zeros(m + 1)
    turns: list[tuple[float, float]] = []
    Q[0], g[0], steps = r0 / beta, beta, 0
    z, w = np.empty_like(r0), np.empty_like(r0)
    history: list[float] = []
    for j in range(m):
        _apply(precondition, Q[j], z)
        multiply(z, w)
        for i in range(j + 1):
            H[i, j] = dot(w, Q[i])
            w -= H[i, j] * Q[i]
        H[j + 1, j] = math.sqrt(dot(w, w))
        breakdown = not H[j + 1, j] > 1e-14 * beta
        if not breakdown:
            Q[j + 1] = w / H[j + 1, j]
        for i, (c, s) in enumerate(turns):
            H[i, j], H[i + 1, j] = c * H[i, j] + s * H[i + 1, j], -s * H[i, j] + c * H[i + 1, j]
        length = math.hypot(H[j, j], H[j + 1, j])
        if not (length > 0.0 and math.isfinite(length)):
            break
        c, s = H[j, j] / length, H[j + 1, j] / length
        turns.append((c, s))
        H[j, j], H[j + 1, j] = length, 0.0
        g[j], g[j + 1] = c * g[j], -s * g[j]
        steps = j + 1
        history.append(abs(g[j + 1]) * shrink)
        if history[-1] <= goal or breakdown:
            break
    if steps == 0:
        return Run(np.zeros_like(r0), 0, ())
    y = np.linalg.solve(np.triu(H[:steps, :steps]), g[:steps])
    total = np.zeros_like(r0)
    for j in range(steps):
        total += y[j] * Q[j]
    x = np.empty_like(r0)
    _apply(precondition, total, x)
    return Run(x, steps, tuple(history))


class Watch:
    """Notices that a residual no longer falls, or is no number."""

    def __init__(self) -> None:
        self.least, self.since = math.inf, 0

    def gives_up(self, norm: float) -> bool:
        if norm < self.least:
            self.least, self.since = norm, 0
        else:
            self.since += 1
        return self.since > PATIENCE or not math.isfinite(norm)


def _apply(precondition: Apply | None, r: Array, out: Array) -> None:
    if precondition is None:
        out[:] = r
    else:
        precondition(r, out)
