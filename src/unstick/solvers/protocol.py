"""What every solver is: an immutable value with typed options, whose `solve` turns a system into a result.

`Solver.solve` is the frame that all share: check the guess, repair what has no solution, scale the problem by two numbers,
let the method iterate, recompute the residual from p, and say how it ended. A method implements `iterate` only.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from unstick.checks import InvalidSystem, require_count, require_positive
from unstick.kernels import warm
from unstick.problem import Array, PressureSystem
from unstick.result import Guess, SolveResult, Status
from unstick.solvers.compact import Compact, Lattice, compact
from unstick.solvers.ledger import Ledger


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The coupled rows of a system, scaled to mean a_ii = 1 and max|b| = 1: the form in which methods see it.

    The stopping test is max |min(weight_i p_i, (A p + b)_i)| on contact rows, max |(A p + b)_i| elsewhere, at most `goal`:
    weight = a_ii is the scale-free test, a constant is Lai's absolute one in scaled units.
    """

    A: sp.csr_array
    b: Array
    contact: Array
    diagonal: Array
    weight: Array
    goal: float
    lattice: Lattice | None  # grid coordinates of the rows, when there is a grid
    pocket: Array | None = None  # label >= 0 of the closed pocket a row lies in, -1 elsewhere; None without pockets

    @property
    def n(self) -> int:
        return len(self.b)

    def natural_residual(self, p: Array, slack: Array) -> float:
        """The norm of the stopping test; NaN when the iterate is not finite."""
        if self.n == 0:
            return 0.0
        rows = np.where(self.contact, np.minimum(self.weight * p, slack), slack)
        return float(np.max(np.abs(rows)))


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where a method begins: p in scaled units, and the detached rows when the guess was a result (Lai: the previous control)."""

    p: Array
    detached: Array | None
    cold: bool  # no guess was given


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How a method ended, in scaled units."""

    p: Array
    status: Status
    iterations: int
    outer_iterations: int
    residuals: tuple[float, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver(abc.ABC):
    """Options common to all solvers. `tolerance` is scale-free (relative to max|b|) unless `absolute` asks for Lai's test."""

    tolerance: float = 1e-6
    max_iterations: int = 1000
    absolute: bool = False
    on_iteration: Callable[[int, float], None] | None = field(default=None, repr=False)  # called with (iteration, residual)

    name: ClassVar[str] = "solver"

    def __post_init__(self) -> None:
        warm.announce()
        require_positive("tolerance", self.tolerance)
        require_count("max_iterations", self.max_iterations)

    def refuse(self, system: PressureSystem) -> None:  # noqa: B027 - most solvers take every system
        """Raise UnsupportedSystem, naming a solver that can, before any work."""

    @abc.abstractmethod
    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        """Run the method on the scaled problem."""

    def contact_rows(self, system: PressureSystem) -> Array:
        """The rows on which the complementarity is asked for; a linear solver returns none."""
        return system.row_contact

    def solve(self, system: PressureSystem, guess: Array | Guess | SolveResult | None = None) -> SolveResult:
        self.refuse(system)
        guess_p, guess_detached = read_guess(system, guess)
        rows = compact(system, self.contact_rows(system))
        ledger = Ledger(rows.nnz)
        problem, unit_p, unit_b = scaled(rows, self.tolerance, self.absolute)
        if problem.n == 0 or not np.any(rows.b):
            outcome = Outcome(np.zeros(problem.n), Status.CONVERGED, 0, 0, ())
        else:
            p0 = np.zeros(problem.n) if guess_p is None else guess_p.reshape(-1)[rows.index] / unit_p
            p0[problem.contact] = np.maximum(p0[problem.contact], 0.0)
            active = None if guess_detached is None else guess_detached.reshape(-1)[rows.index] & problem.contact
            outcome = self.iterate(problem, Start(p0, active, guess is None), ledger)
        p = rows.spread(outcome.p * unit_p)
        return conclude(self, system, rows, p, outcome, ledger, unit_b, problem.goal)


def read_guess(system: PressureSystem, guess: Array | Guess | SolveResult | None) -> tuple[Array | None, Array | None]:
    """p and the detached rows of a guess, on the rows of `system`, carried by cell."""
    if guess is None:
        return None, None
    result = guess if isinstance(guess, (Guess, SolveResult)) else None
    p = result.p if result is not None else np.asarray(guess)
    if p.size != int(np.prod(system.shape)) or p.dtype.kind not in "fiu":
        raise InvalidSystem(
            f"the guess has shape {p.shape} and type {p.dtype}; "
            f"give an array of real numbers of shape {system.shape}, or a SolveResult of that shape"
        )
    if not np.isfinite(p).all():
        raise InvalidSystem("the guess holds NaN or infinite entries; leave it out or give finite numbers")
    rows = system.restrict(p).astype(np.float64)
    return rows, None if result is None else system.restrict(result.detached)


def scaled(rows: Compact, tolerance: float, absolute: bool) -> tuple[Problem, float, float]:
    """The scaled problem, and the units of p and of b: A = mean a_ii A', b = unit_b b', p = unit_p p'."""
    mean = float(rows.diagonal.mean()) if rows.n else 1.0
    largest = rows.largest_b or 1.0
    unit_p = largest / mean
    diagonal = rows.diagonal / mean
    weight = np.full(rows.n, unit_p / largest) if absolute else diagonal
    goal = tolerance / largest if absolute else tolerance
    return Problem(rows.A / mean, rows.b / largest, rows.contact, diagonal, weight, goal, rows.lattice, rows.pocket), unit_p, largest


def conclude(
    solver: Solver,
    system: PressureSystem,
    rows: Compact,
    p: Array,
    outcome: Outcome,
    ledger: Ledger,
    unit_b: float,
    goal: float,
) -> SolveResult:
    """Recompute slack and residual from p, and correct a claim that they do not bear out."""
    slack = system.apply(p) + system.row_b + rows.repair
    residual = stopping_norm(system, rows, p, slack, solver.absolute)
    status = outcome.status
    if not np.isfinite(residual):
        status = Status.DIVERGED
    elif residual <= goal * unit_b:
        status = Status.CONVERGED
    elif status is Status.CONVERGED:
        status = Status.STAGNATED
    return SolveResult(
        system=system,
        row_p=p,
        row_slack=slack,
        status=status,
        solver=solver.name,
        iterations=outcome.iterations,
        outer_iterations=outcome.outer_iterations,
        residuals=(*(r * unit_b for r in outcome.residuals), residual),
        goal=goal * unit_b,
        notes=(*rows.notes, *outcome.notes),
        work=ledger.totals(),
    )


def stopping_norm(system: PressureSystem, rows: Compact, p: Array, slack: Array, absolute: bool) -> float:
    """The norm of the stopping test in the system's own units."""
    weight = 1.0 if absolute else rows.row_diagonal
    natural = np.where(rows.row_contact, np.minimum(weight * p, slack), slack)
    return float(np.max(np.abs(natural))) if natural.size else 0.0
