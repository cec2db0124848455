"""The solver of coupled systems: multigrid on liquid rows, or sparse rows for small systems and as the rescue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from unstick.checks import require_count, require_positive
from unstick.grid import Array
from unstick.pressure.coupling import sparse
from unstick.pressure.coupling.lowrank import CoupledSystem
from unstick.pressure.coupling.on_rows import Options, solve_on_rows
from unstick.pressure.coupling.pockets import Closed, find_closed
from unstick.problem import Stencil
from unstick.result import Guess, SolveResult, Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import read_guess
from unstick.solvers.structured import Tuning

RESCUE = 10  # outer iterations below which a limit is meant as such
SMALL = 900  # rows below which a dense factor is quicker than a hierarchy


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupled:
    """Options of a coupled solve. `tolerance` is scale-free as everywhere: natural residual by max|b|, with A's own diagonal."""

    tolerance: float = 1e-6
    max_iterations: int = 100
    absolute: bool = False
    tuning: Tuning = field(default_factory=Tuning)
    small: int = SMALL
    deflate: bool = True  # take the bodies' rigid motions out of the conjugate gradients
    on_iteration: Callable[[int, float], None] | None = field(default=None, repr=False)

    name = "coupled"

    def __post_init__(self) -> None:
        require_positive("tolerance", self.tolerance)
        require_count("max_iterations", self.max_iterations)

    def solve(self, system: CoupledSystem, guess: Array | Guess | SolveResult | None = None) -> SolveResult:
        """As `Solver.solve`, for a system with a term of low rank."""
        assert isinstance(system.A, Stencil)
        contact = np.ascontiguousarray(system.row_contact)
        closed = find_closed(system, contact)
        b = np.ascontiguousarray(system.row_b, dtype=np.float64)
        notes: tuple[str, ...] = ()
        if closed is not None:
            b, notes = b + closed.change, closed.notes
        start, _ = read_guess(system, guess)
        if np.any(b) and system.term is not None and system.term.size:
            options = Options(self.tolerance, self.max_iterations, self.absolute, self.tuning, self.small, self.deflate, self.on_iteration)
            found = solve_on_rows(system, b, contact, closed, start, options)
            if found is not None:
                end = found.ended
                residuals = [r * found.unit_b for r in end.residuals]
                result = conclude(self, system, b, found.p, end.status, end.steps, end.outer, residuals, notes, found.ledger, found.slack)
                if result.status in (Status.CONVERGED, Status.DIVERGED) or self.max_iterations < RESCUE:
                    return result
                return self.rescue(system, b, contact, closed, result)
        return self.on_sparse_rows(system, b, contact, closed, start, notes)

    def rescue(self, system: CoupledSystem, b: Array, contact: Array, closed: Closed | None, stalled: SolveResult) -> SolveResult:
        """Sparse rows go on from where multigrid stalled; the better of the two is kept."""
        other = self.on_sparse_rows(system, b, contact, closed, stalled.row_p, stalled.notes)
        better = other if other.residual < stalled.residual else stalled
        note = f"multigrid stalled at a residual of {stalled.residual:.3g} after {stalled.outer_iterations} steps; sparse rows went on"
        return replace(
            better,
            iterations=stalled.iterations + other.iterations,
            outer_iterations=stalled.outer_iterations + other.outer_iterations,
            notes=(*stalled.notes, note),
        )

    def on_sparse_rows(
        self, system: CoupledSystem, b: Array, contact: Array, closed: Closed | None, start: Array | None, notes: tuple[str, ...]
    ) -> SolveResult:
        assert isinstance(system.A, Stencil)
        p = np.zeros(system.A.box)
        ledger = Ledger(1)
        ended = sparse.Ended(np.zeros(0), Status.CONVERGED, 0, 0, (0.0,))
        unit_b = 0.0
        if np.any(b):
            rows = sparse.Rows.of(system, b, contact, closed)
            ledger, unit_b = Ledger(int(rows.A.nnz)), rows.unit_b
            weight = np.full(len(rows.b), rows.unit_p / rows.unit_b) if self.absolute else rows.diagonal
            goal = self.tolerance / unit_b if self.absolute else self.tolerance
            first = np.zeros(len(rows.b)) if start is None else start.reshape(-1)[rows.index] / rows.unit_p
            ended = sparse.iterate(rows, first, goal, weight, self.max_iterations, ledger, self.on_iteration)
            p.reshape(-1)[rows.index] = ended.p * rows.unit_p
        return conclude(self, system, b, p, ended.status, ended.steps, ended.outer, [r * unit_b for r in ended.residuals], notes, ledger)


def conclude(
    solver: Coupled, system: CoupledSystem, b: Array, p: Array, status: Status, steps: int, outer: int, residuals: list[float],
    notes: tuple[str, ...], ledger: Ledger, slack: Array | None = None,
) -> SolveResult:  # fmt: skip
    """Slack and residual recomputed from p, and a claim corrected that they do not bear out."""
    assert isinstance(system.A, Stencil)
    diagonal = system.A.diagonal()
    if slack is None:
        slack = np.where(diagonal > 0.0, system.apply(p) + b, 0.0)
    weight = 1.0 if solver.absolute else diagonal
    natural = np.where(system.row_contact, np.minimum(weight * p, slack), slack)
    residual = float(np.max(np.abs(natural), initial=0.0))
    goal = solver.tolerance * (1.0 if solver.absolute else float(np.max(np.abs(b), initial=0.0)))
    if not np.isfinite(residual):
        status = Status.DIVERGED
    elif residual <= goal:
        status = Status.CONVERGED
    elif status is Status.CONVERGED:
        status = Status.STAGNATED
    return SolveResult(
        system=system,
        row_p=p,
        row_slack=slack,
        status=status,
        solver=solver.name,
        iterations=steps,
        outer_iterations=outer,
        residuals=(*residuals, residual),
        goal=goal,
        notes=notes,
        work=ledger.totals(),
    )
