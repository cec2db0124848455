"""The default solver and the linear one made of the same parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import SolveResult
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod, LinearSolver
from unstick.solvers.on_rows import solve_on_rows
from unstick.solvers.pcg import IncompleteCholesky
from unstick.solvers.policy import PolicyPCG
from unstick.solvers.protocol import Outcome, Problem, Solver, Start
from unstick.solvers.structured import Tuning


@dataclass(frozen=True, slots=True, kw_only=True)
class Default(Solver):
    """Takes every system: liquid rows on a grid by truncated multigrid, systems without a grid by policy iteration with
    incomplete Cholesky."""

    name: ClassVar[str] = "default"
    max_iterations: int = 100
    tuning: Tuning = field(default_factory=Tuning)

    def solve(self, system: PressureSystem, guess: Array | SolveResult | None = None) -> SolveResult:
        if isinstance(system.A, Stencil):
            return solve_on_rows(self, system, guess, self.tuning)
        return Solver.solve(self, system, guess)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        method = PolicyPCG(tolerance=self.tolerance, absolute=self.absolute, on_iteration=self.on_iteration)
        return method.iterate(problem, start, ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultigridPCG(LinearSolver):
    """Conjugate gradients preconditioned by the structured multigrid: the default's machinery without the complementarity."""

    name: ClassVar[str] = "mgpcg"
    max_iterations: int = 100
    tuning: Tuning = field(default_factory=Tuning)

    def solve(self, system: PressureSystem, guess: Array | SolveResult | None = None) -> SolveResult:
        if isinstance(system.A, Stencil):
            return solve_on_rows(self, system, guess, self.tuning)
        return Solver.solve(self, system, guess)

    def method(self) -> LinearMethod:
        """What systems without a grid are solved with."""
        return IncompleteCholesky()
