"""Policy iteration (Lai 2021, Algorithm 2): hold a set of contact rows at p = 0, solve the rest, choose the set anew.

What differs from the text, and why.
* The linear systems are solved to a part of the present natural residual only (`inner`), since a control that is still wrong does
  not deserve an exact solve; once the control comes out unchanged, to the tolerance. Inexact policy iteration can cycle for ever;
  so whenever the natural residual has not fallen for two steps, the part becomes ten times smaller. In the limit the solves are
  exact, and exact policy iteration ends (M-matrix).
* It stops on the natural residual, not on an unchanged control: rows with p and slack near zero flip with the rounding.
* A closed pocket keeps at least one detached row (control.py).
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.problem import Array, PressureSystem
from unstick.result import Status
from unstick.solvers.control import Slack, finest_goal, first_control, next_control, pin_pockets, unit_residual
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod, LinearOutcome
from unstick.solvers.pcg import IncompleteCholesky
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

ROUNDING = 1e-15  # no inner goal below this part of max|b|
GIVE_UP = 12  # outer iterations without progress
REPEATS = 6  # of them with a control that was held before


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSet(Solver, abc.ABC):
    """What policy iteration and penalty share. As Lai does, `iterations` counts all inner ones, `outer_iterations` the linear systems."""

    max_iterations: int = 100_000  # inner iterations in total
    max_outer: int = 200
    inner: float = 0.01  # goal of the inner solve, as a part of the natural residual before it

    def __post_init__(self) -> None:
        Solver.__post_init__(self)
        if not 0.0 < self.inner < 1.0:
            raise InvalidSystem(f"inner is {self.inner!r}; it must be between 0 and 1")
        require_count("max_outer", self.max_outer)
        self.method()  # checks its own options

    @abc.abstractmethod
    def method(self) -> LinearMethod:
        """The linear method inside."""

    @abc.abstractmethod
    def first(self, problem: Problem, start: Start, slack: Array) -> Array:
        """The rows held at zero in the first linear system."""

    @abc.abstractmethod
    def evaluate(self, problem: Problem, detached: Array, p: Array, goal: float, limit: int, ledger: Ledger) -> LinearOutcome:
        """Solve the linear system that belongs to a control."""

    def refuse(self, system: PressureSystem) -> None:
        self.method().refuse(system)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        slack_of = Slack(problem, ledger)
        p, slack = start.p, slack_of(start.p)
        detached = self.first(problem, start, slack)
        residuals = [problem.natural_residual(p, slack)]
        best, best_unit = (p, residuals[0]), unit_residual(problem, p, slack)
        inner, used, outer, idle = self.inner, 0, 0, 0
        unit = best_unit
        before: Array | None = None
        seen: set[bytes] = set()
        again = 0
        status = Status.CONVERGED
        while residuals[-1] > problem.goal:
            if used >= self.max_iterations or outer >= self.max_outer:
                status = Status.ITERATION_LIMIT
                break
            # A residual that does not fall is no proof: a front of one row an iteration may have a long way to go. A control that
            # was held before is: exact policy iteration never returns to one.
            if idle >= GIVE_UP and again >= REPEATS:
                status = Status.STAGNATED
                break
            detached = pin_pockets(problem, detached, p)
            key = np.packbits(detached).tobytes()
            again, seen = again + (key in seen), seen | {key}
            settled = before is not None and np.array_equal(detached, before)
            goal = max(0.0 if settled else inner * unit, ROUNDING if idle else finest_goal(problem))
            before = detached
            found = self.evaluate(problem, detached, p, goal, self.max_iterations - used, ledger)
            outer, used = outer + 1, used + found.iterations
            p = found.x
            p[detached] = 0.0
            slack = slack_of(p)
            unit = unit_residual(problem, p, slack)
            residuals.append(problem.natural_residual(p, slack))
            if self.on_iteration is not None:
                self.on_iteration(outer, residuals[-1])
            if not math.isfinite(residuals[-1]):
                return Outcome(p, Status.DIVERGED, used, outer, tuple(residuals))
            if residuals[-1] < best[1]:
                best = (p, residuals[-1])
            idle = 0 if unit < 0.9 * best_unit else idle + 1
            again = again if idle else 0
            best_unit = min(best_unit, unit)
            if idle > 0 and idle % 2 == 0:
                inner = max(0.1 * inner, 1e-8)
            detached = next_control(problem, detached, p, slack)
        return Outcome(best[0], status, used, outer, tuple(residuals))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyIteration(ActiveSet, abc.ABC):
    """Lai's Algorithm 2, in the symmetric form of eq. 5.6."""

    def first(self, problem: Problem, start: Start, slack: Array) -> Array:
        return first_control(problem, start, slack)

    def evaluate(self, problem: Problem, detached: Array, p: Array, goal: float, limit: int, ledger: Ledger) -> LinearOutcome:
        prepared = self.method().prepare(problem.A, problem.lattice, ledger, ~detached)
        return prepared.solve(-problem.b, p, goal, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPCG(PolicyIteration):
    """Policy iteration with incomplete-Cholesky PCG inside. Takes every system; counts double with the resolution."""

    modification: float | None = None  # see pcg.IncompleteCholesky

    name: ClassVar[str] = "pi-pcg"

    def method(self) -> LinearMethod:
        return IncompleteCholesky(modification=self.modification)
