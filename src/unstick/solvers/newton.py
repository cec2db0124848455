"""Minimum-map Newton (Andersen, Niebe, Erleben 2017) for the mixed problem.

H_i = min(y_i, x_i) on contact rows, y_i elsewhere, y = A x + b; the B-derivative splits the rows into those that solve (a) and those that
go to zero (f), by masks and never by sub-matrices (eq. 36 to 46). Where the paper's print cannot be meant:
* eq. 40: the operator adds + f dx (the identity block of eq. 44), not - f H. That block needs no iteration: dx_f = -H_f.
* eq. 48: rows outside S solve, a = {y < x} or not in S; f = {y >= x} and in S.
* Algorithm 1 projects contact rows only: elsewhere p may be negative.
Where we differ: the absolute test is the stopping test of all our solvers. When the relative or the stagnation test fires, or no
step length satisfies Armijo, the inner goal gamma is tightened first (a rough direction is the usual cause), the full projected step is
taken, and only if that does not help the run ends as STAGNATED. A closed pocket keeps one held row (control.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from unstick.checks import InvalidSystem, require_count, require_positive
from unstick.kernels.reduce import dot, max_abs
from unstick.problem import Array
from unstick.result import Status
from unstick.solvers.control import Slack, finest_goal, pin_pockets
from unstick.solvers.krylov import Apply, FreeRows, Method, bicgstab, conjugate_gradients, conjugate_residuals, gmres, refine
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearOutcome
from unstick.solvers.pcg import Factor, usual_modification
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

Krylov = Literal["pcg", "cr", "gmres", "bicgstab"]
Preconditioner = Literal["none", "diagonal", "cholesky"]
KRYLOV = {"pcg": conjugate_gradients, "cr": conjugate_residuals, "gmres": gmres, "bicgstab": bicgstab}
LEAST_GAMMA = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Newton(Solver):
    """Minimum-map Newton after Andersen et al., matrix-free, on any matrix. Compare with it; without a hierarchy it is slow on fine
    grids, and without a preconditioner, as published, very slow."""

    max_iterations: int = 1_000_000  # inner iterations in total
    max_newton: int = 100  # published: 10, with thresholds of 1e-5
    krylov: Krylov = "pcg"
    preconditioner: Preconditioner = "diagonal"  # published: none, since an incomplete factor made some solves fail
    gamma: float = 0.01  # inner goal as a part of |H| (theorem 3.2)
    inner_limit: int = 10_000  # published: 1000, which does not do for 64^3
    alpha: float = 1e-3  # sufficient decrease (eq. 31)
    beta: float = 0.5  # step reduction
    max_line_search: int = 100
    relative: float = 1e-5  # eq. 34
    stagnation: float = 1e-14  # eq. 35, as a part of max|x|; published: 1e-5, absolute

    name: ClassVar[str] = "newton"

    def __post_init__(self) -> None:
        Solver.__post_init__(self)
        if self.krylov not in get_args(Krylov):
            raise InvalidSystem(f"krylov is {self.krylov!r}; it must be one of {', '.join(get_args(Krylov))}")
        if self.preconditioner not in get_args(Preconditioner):
            raise InvalidSystem(f"preconditioner is {self.preconditioner!r}; it must be one of {', '.join(get_args(Preconditioner))}")
        for name in ("gamma", "alpha", "beta"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise InvalidSystem(f"{name} is {getattr(self, name)!r}; it must be between 0 and 1")
        for name in ("relative", "stagnation"):
            require_positive(name, getattr(self, name))
        for name in ("max_newton", "inner_limit", "max_line_search"):
            require_count(name, getattr(self, name))

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        slack_of = Slack(problem, ledger)
        x, y = start.p, slack_of(start.p)
        residuals = [problem.natural_residual(x, y)]
        best = (x, residuals[0])
        gamma, used, steps, weak = self.gamma, 0, 0, 0
        before: Array | None = None
        while residuals[-1] > problem.goal:
            if used >= self.max_iterations or steps >= self.max_newton:
                return Outcome(best[0], Status.ITERATION_LIMIT, used, steps, tuple(residuals))
            H, held = self.minimum_map(problem, start if steps == 0 else None, x, y)
            theta = 0.5 * dot(H, H)
            settled = before is not None and np.array_equal(held, before)
            goal = max(finest_goal(problem) if weak == 0 else 1e-15, 0.0 if settled else gamma * max_abs(H))
            found = self.direction(problem, H, held, goal, min(self.inner_limit, self.max_iterations - used), ledger)
            dx, before = found.x, held
            steps, used = steps + 1, used + found.iterations
            slope = dot(H, np.where(held, dx, slack_of(dx) - problem.b))
            tau = self.line_search(problem, slack_of, x, dx, theta, slope)
            armijo = tau is not None
            new = _project(problem, x + (tau or 1.0) * dx)
            moved = max_abs(new - x)
            x, y = new, slack_of(new)
            residuals.append(problem.natural_residual(x, y))
            if self.on_iteration is not None:
                self.on_iteration(steps, residuals[-1])
            if not math.isfinite(residuals[-1]):
                return Outcome(x, Status.DIVERGED, used, steps, tuple(residuals))
            if residuals[-1] < best[1]:
                best = (x, residuals[-1])
            change = abs(theta - self.merit(problem, x, y))
            if not armijo or change < self.relative * theta or moved < self.stagnation * max_abs(x):
                gamma, weak = max(0.01 * gamma, LEAST_GAMMA), weak + 1
                if weak > 8:
                    return Outcome(best[0], Status.STAGNATED, used, steps, tuple(residuals))
        return Outcome(x, Status.CONVERGED, used, steps, tuple(residuals))

    def minimum_map(self, problem: Problem, start: Start | None, x: Array, y: Array) -> tuple[Array, Array]:
        """H (eq. 12), and the rows that go to zero (eq. 27 and 48); the first time those of a previous result."""
        held = problem.contact & (y >= x)
        if start is not None and start.detached is not None:
            held = start.detached
        held = pin_pockets(problem, held, x)
        return np.where(held, x, y), held

    def merit(self, problem: Problem, x: Array, y: Array) -> float:
        H = np.where(problem.contact, np.minimum(x, y), y)
        return 0.5 * dot(H, H)

    def direction(self, problem: Problem, H: Array, held: Array, goal: float, limit: int, ledger: Ledger) -> LinearOutcome:
        """The Newton equation (eq. 30): A_aa dx_a = A_af H_f - H_a, dx_f = -H_f."""
        rows = FreeRows(problem.A, ~held, ledger)
        H_f = np.where(held, H, 0.0)
        rhs = np.empty_like(H)
        rows.multiply(H_f, rhs)  # a (A (f H)), eq. 39
        rhs -= np.where(held, 0.0, H)
        precondition = self.prepare(problem, held, ledger)
        method: Method = partial(KRYLOV[self.krylov], rows.multiply, precondition)
        found = refine(method, rows, rhs, np.zeros_like(H), goal, limit)
        return LinearOutcome(found.x - H_f, found.iterations, found.residual, found.status)

    def prepare(self, problem: Problem, held: Array, ledger: Ledger) -> Apply | None:
        """The preconditioner on the rows that are not held."""
        if self.preconditioner == "none":
            return None
        if self.preconditioner == "diagonal":
            inverse = np.where(held, 0.0, 1.0 / problem.diagonal)

            def apply(r: Array, z: Array) -> None:
                np.multiply(inverse, r, out=z)
                ledger.spend("vectors", problem.n)

            return apply
        factor = Factor(problem.A, ~held, usual_modification(problem.n, problem.lattice), 0.01)
        ledger.spend("setup", problem.A.nnz)
        return factor.apply

    def line_search(self, problem: Problem, slack_of: Slack, x: Array, dx: Array, theta: float, slope: float) -> float | None:
        """Projected Armijo back-tracking (Algorithm 1); None when no step length satisfies it."""
        tau = 1.0
        for _ in range(self.max_line_search):
            tried = _project(problem, x + tau * dx)
            if self.merit(problem, tried, slack_of(tried)) <= theta + self.alpha * tau * slope:
                return tau
            tau *= self.beta
            if tau < 1e-6 and slope >= 0.0:
                break
        return None


def _project(problem: Problem, x: Array) -> Array:
    return np.where(problem.contact, np.maximum(x, 0.0), x)
