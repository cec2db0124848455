"""MPRGP: modified proportioning with reduced gradient projections (Dostal and Schoeberl 2005), Jacobi-scaled.

Conjugate gradients on the free rows, a projected step when the next one would leave p >= 0, a step along the chopped gradient when that
is too large. No matrix is taken apart, no set is guessed: an independent oracle for the others, 1.5 times the count of
Jacobi-CG. Without the scaling it is unusable (the ghost-fluid factor spreads the diagonal over a thousand).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from unstick.checks import require_positive
from unstick.kernels import csr
from unstick.kernels.reduce import dot
from unstick.problem import Array
from unstick.result import Status
from unstick.solvers.control import Slack
from unstick.solvers.krylov import csr_arrays
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

PATIENCE = 1000  # iterations without a new minimum of the residual


@dataclass(frozen=True, slots=True, kw_only=True)
class MPRGP(Solver):
    """Dostal's gradient projection with proportioning: robust, no set-up, any matrix; counts double with the resolution."""

    max_iterations: int = 100_000
    proportion: float = 1.0  # Gamma: how much chopped gradient is tolerated beside the free one

    name: ClassVar[str] = "mprgp"

    def __post_init__(self) -> None:
        Solver.__post_init__(self)
        require_positive("proportion", self.proportion)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        s = 1.0 / np.sqrt(problem.diagonal)
        scale = sp.diags_array(s)
        ptr, idx, val = csr_arrays(sp.csr_array(scale @ problem.A @ scale))
        bound = problem.contact

        def multiply(v: Array) -> Array:
            out = np.empty_like(v)
            csr.multiply(ptr, idx, val, v, out)
            ledger.spend("matvecs", val.size)
            return out

        slack_of = Slack(problem, ledger)
        longest = 1.9 / _largest_eigenvalue(ptr, idx, val)
        x, g = start.p / s, s * slack_of(start.p)
        free, chopped = _split(bound, x, g)
        p = free.copy()
        residuals = [problem.natural_residual(start.p, g / s)]
        best, since, checks = (start.p, residuals[0]), 0, 0
        iterations = 0
        status = Status.CONVERGED
        while True:
            if residuals[-1] <= problem.goal or since >= PATIENCE:  # g is updated, and drifts: begin again from the true one
                g = s * slack_of(s * x)
                residuals[-1] = problem.natural_residual(s * x, g / s)
                if residuals[-1] <= problem.goal:
                    break
                free, chopped = _split(bound, x, g)
                p, since, checks = free.copy(), 0, checks + 1
                if checks > 3:
                    status = Status.STAGNATED
                    break
            if iterations >= self.max_iterations:
                status = Status.ITERATION_LIMIT
                break
            iterations += 1
            if dot(chopped, chopped) <= self.proportion**2 * dot(_reduced(bound, x, free, longest), free):
                Ap = multiply(p)
                curvature = dot(p, Ap)
                step = dot(g, p) / curvature if curvature > 0.0 else math.inf
                room = _feasible(bound, x, p)
                if step <= room and math.isfinite(step):
                    x = _project(bound, x - step * p)
                    g = g - step * Ap
                    free, chopped = _split(bound, x, g)
                    p = free - dot(free, Ap) / curvature * p
                else:
                    if math.isfinite(room):
                        x = _reach(bound, x, p, room)
                        g = g - room * Ap
                        free, chopped = _split(bound, x, g)
                    x = _project(bound, x - longest * free)
                    g = multiply(x) + s * problem.b
                    free, chopped = _split(bound, x, g)
                    p = free.copy()
            else:
                Ad = multiply(chopped)
                curvature = dot(chopped, Ad)
                step = dot(g, chopped) / curvature if curvature > 0.0 else longest
                x = _project(bound, x - step * chopped)
                g = g - step * Ad
                free, chopped = _split(bound, x, g)
                p = free.copy()
            ledger.spend("vectors", 8 * x.size)
            residuals.append(problem.natural_residual(s * x, g / s))
            if self.on_iteration is not None:
                self.on_iteration(iterations, residuals[-1])
            if not math.isfinite(residuals[-1]):
                return Outcome(s * x, Status.DIVERGED, iterations, 1, tuple(residuals))
            since += 1
            if residuals[-1] < best[1]:
                best, since = (s * x, residuals[-1]), 0
                if residuals[-1] > problem.goal:
                    checks = 0
        found = s * x if status is Status.CONVERGED else best[0]
        return Outcome(found, status, iterations, 1, tuple(residuals))


def _project(bound: Array, x: Array) -> Array:
    return np.where(bound, np.maximum(x, 0.0), x)


def _split(bound: Array, x: Array, g: Array) -> tuple[Array, Array]:
    """Free and chopped gradient: g off the bounds, its negative part on them."""
    at = bound & (x <= 0.0)
    return np.where(at, 0.0, g), np.where(at, np.minimum(g, 0.0), 0.0)


def _reduced(bound: Array, x: Array, free: Array, longest: float) -> Array:
    """The free gradient, where it points to a bound no longer than the way there."""
    return np.where(bound & (free > 0.0), np.minimum(x / longest, free), free)


def _feasible(bound: Array, x: Array, p: Array) -> float:
    """The largest t with x - t p >= 0 on the bounds."""
    hits = bound & (p > 0.0)
    return float(np.min(x[hits] / p[hits])) if hits.any() else math.inf


def _reach(bound: Array, x: Array, p: Array, room: float) -> Array:
    """x - room p, where the rows that stop the step come to stand on their bound exactly: a rounding error beside it would stop the
    next step at once, or not, as luck and the units have it."""
    after = _project(bound, x - room * p)
    hits = np.flatnonzero(bound & (p > 0.0))
    after[hits[x[hits] / p[hits] <= room]] = 0.0
    return after


def _largest_eigenvalue(ptr: Array, idx: Array, val: Array) -> float:
    """Gershgorin: at most 2 for a Jacobi-scaled M-matrix."""
    sizes = np.add.reduceat(np.abs(val), ptr[:-1])
    return float(min(2.0, sizes.max())) if sizes.size else 2.0
