"""The default solver and the linear one made of the same parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from unstick.problem import Array, PressureSystem
from unstick.result import Guess, SolveResult, Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod, LinearSolver
from unstick.solvers.on_rows import solve_on_rows
from unstick.solvers.pcg import PCG, IncompleteCholesky
from unstick.solvers.policy import PolicyPCG
from unstick.solvers.protocol import Outcome, Problem, Solver, Start
from unstick.solvers.structured import Tuning

SMALL = 700  # unknowns below which a hierarchy costs more than it saves


@dataclass(frozen=True, slots=True, kw_only=True)
class Default(Solver):
    """Takes every system. On a grid: truncated multigrid on liquid rows, and policy iteration with incomplete Cholesky where that
    stalls (a pocket that hangs on a face of 1e-9, say). Small systems and those without a grid: policy iteration at once."""

    name: ClassVar[str] = "default"
    max_iterations: int = 100
    tuning: Tuning = field(default_factory=Tuning)
    small: int = SMALL

    def solve(self, system: PressureSystem, guess: Array | Guess | SolveResult | None = None) -> SolveResult:
        result = solve_on_rows(self, system, guess, self.tuning, self.small)
        if result is None:
            return Solver.solve(self, system, guess)
        return result if result.status in (Status.CONVERGED, Status.DIVERGED) else rescue(self, self.sparse(), result)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        return self.sparse().iterate(problem, start, ledger)

    def sparse(self) -> PolicyPCG:
        return PolicyPCG(tolerance=self.tolerance, absolute=self.absolute, max_outer=self.max_iterations, on_iteration=self.on_iteration)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultigridPCG(LinearSolver):
    """Conjugate gradients preconditioned by the structured multigrid: the default's machinery without the complementarity."""

    name: ClassVar[str] = "mgpcg"
    max_iterations: int = 100
    tuning: Tuning = field(default_factory=Tuning)
    small: int = SMALL

    def solve(self, system: PressureSystem, guess: Array | Guess | SolveResult | None = None) -> SolveResult:
        result = solve_on_rows(self, system, guess, self.tuning, self.small)
        if result is None:
            sparse = replace(self, max_iterations=20_000)
            return Solver.solve(sparse, system, guess)
        method = PCG(tolerance=self.tolerance, absolute=self.absolute, on_iteration=self.on_iteration)
        return result if result.status in (Status.CONVERGED, Status.DIVERGED) else rescue(self, method, result)

    def method(self) -> LinearMethod:
        """What systems without a grid are solved with."""
        return IncompleteCholesky()


def rescue(solver: Solver, method: Solver, stalled: SolveResult) -> SolveResult:
    """Let a slower, sturdier method go on from where multigrid stalled; keep the better of the two."""
    other = method.solve(stalled.system, stalled)
    better = other if other.residual < stalled.residual else stalled
    note = (
        f"multigrid stalled at a residual of {stalled.residual:.3g} after {stalled.outer_iterations} outer iterations; "
        f"{method.name} went on"
    )
    return replace(
        better,
        solver=solver.name,
        iterations=stalled.iterations + other.iterations,
        outer_iterations=stalled.outer_iterations + other.outer_iterations,
        residuals=(*stalled.residuals, *other.residuals) if better is other else (*other.residuals, *stalled.residuals),
        notes=(*stalled.notes, note),
        work={key: stalled.work.get(key, 0.0) + other.work.get(key, 0.0) for key in {**stalled.work, **other.work}},
    )
