"""Linear methods: what policy iteration, penalty and Newton use inside, and what a solver without separation is made of.

A `LinearMethod` is an immutable value with typed options. `prepare` does the set-up for one matrix (a factor, a hierarchy),
`Prepared.solve` runs it for a right-hand side. Status is honest: CONVERGED means that the true residual was recomputed.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from unstick.problem import Array, PressureSystem
from unstick.result import Status
from unstick.solvers.compact import Lattice
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Outcome, Problem, Solver, Start


@dataclass(frozen=True, slots=True, eq=False)
class LinearOutcome:
    x: Array
    iterations: int
    residual: float  # max |rhs - A x| over the rows that were solved, recomputed from x
    status: Status
    history: tuple[float, ...] = ()  # the norm after each iteration, as the method saw it


class Prepared(abc.ABC):
    """A linear method after its set-up for one matrix."""

    @abc.abstractmethod
    def solve(self, rhs: Array, x0: Array, goal: float, limit: int) -> LinearOutcome:
        """Solve A x = rhs from x0 until max |rhs - A x| <= goal, in at most `limit` iterations.

        With a mask `free` (see `prepare`) only free rows are solved and measured: x = 0 on the others, whatever x0 and rhs hold there.
        Neither rhs nor x0 is changed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearMethod(abc.ABC):
    """A way to solve A x = rhs for a symmetric M-matrix A, singular ones with a consistent right-hand side included."""

    @abc.abstractmethod
    def prepare(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger, free: Array | None = None) -> Prepared:
        """Set up for A (sorted indices, positive diagonal), or for its free rows and columns only (Lai eq. 5.6).

        `free` (bool, n) is the diagonal of the control matrix: the rows that are not free are taken out, which leaves
        Dirichlet zeros beside their neighbours. Set-up work is booked in the ledger under "setup".
        """

    def refuse(self, system: PressureSystem) -> None:  # noqa: B027 - most methods take every system
        """Raise UnsupportedSystem, naming a method that can, before any work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSolver(Solver):
    """A pressure solve without separation (`No LCP` in Lai's tables): A p + b = 0 on all rows, contact rows included."""

    name: ClassVar[str] = "linear"

    @abc.abstractmethod
    def method(self) -> LinearMethod:
        """The linear method with this solver's options."""

    def contact_rows(self, system: PressureSystem) -> Array:
        return np.zeros_like(system.row_contact)

    def refuse(self, system: PressureSystem) -> None:
        self.method().refuse(system)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        prepared = self.method().prepare(problem.A, problem.lattice, ledger)
        found = prepared.solve(-problem.b, start.p, problem.goal, self.max_iterations)
        if self.on_iteration is not None:
            self.on_iteration(found.iterations, found.residual)
        return Outcome(found.x, found.status, found.iterations, 1, found.history)


def eliminated(A: sp.csr_array, free: Array) -> sp.csr_array:
    """The matrix of Lai eq. 5.6, Lambda A Lambda + I - Lambda, where Lambda = diag(free)."""
    keep = sp.diags_array(free.astype(np.float64))
    matrix = sp.csr_array(keep @ A @ keep + sp.diags_array((~free).astype(np.float64)))
    matrix.sort_indices()
    return matrix
