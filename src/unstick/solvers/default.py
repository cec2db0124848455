"""The default solver: the globalised active-set method with a multigrid-preconditioned inner solve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import SolveResult, Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Outcome, Problem, Solver, Start, read_guess
from unstick.solvers.rows import Fine, Layout, lay_out, make_levels, pack_system, rebuild, scan, unpack
from unstick.solvers.structured import Run, Tuning, iterate, nested_guess


@dataclass(frozen=True, slots=True, kw_only=True)
class Default(Solver):
    """Takes every system: liquid rows on a grid by multigrid, others by incomplete Cholesky."""

    name: ClassVar[str] = "default"
    max_iterations: int = 60
    tuning: Tuning = field(default_factory=Tuning)

    def solve(self, system: PressureSystem, guess: Array | SolveResult | None = None) -> SolveResult:
        if not isinstance(system.A, Stencil):
            return super(Default, self).solve(system, guess)
        return solve_on_rows(self, system, guess, self.tuning)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        raise NotImplementedError


def solve_on_rows(solver: Solver, system: PressureSystem, guess: Array | SolveResult | None, tuning: Tuning) -> SolveResult:
    assert isinstance(system.A, Stencil)
    guess_p, _ = read_guess(system, guess)
    contact = np.ascontiguousarray(solver.contact_rows(system))
    size, k0, k1 = scan(system.A, system.row_b)
    layout = lay_out(k0, k1, system.A.box)
    fine = pack_system(layout, system.A, system.row_b, contact, size.mean, size.largest)
    levels = make_levels(layout, fine)
    unit_p = size.largest / size.mean
    goal = solver.tolerance / size.largest if solver.absolute else solver.tolerance
    weight = 1 / size.mean if solver.absolute else 0.0
    first = slice(int(layout.begin[0]), int(layout.begin[1]))
    levels.flag[first] = True
    rebuild(layout, levels, 0)
    nnz = count_entries(layout, levels)
    ledger = Ledger(int(nnz[0]))
    ledger.spend("setup", 2.0 * nnz[0])
    run = Run(layout, fine, levels, weight, goal, ledger, tuning, nnz)
    if guess_p is None:
        nested_guess(run)
    levels.flag[first] = True
    status, steps, outer, residuals = iterate(run, solver.max_iterations)
    return finish(solver, system, run, contact, status, steps, outer, residuals, unit_p, size.largest)


def count_entries(layout: Layout, levels: object) -> Array:
    """Matrix entries of each level."""
    counts = np.zeros(layout.levels)
    for level in range(layout.levels):
        stored = slice(int(layout.start[level]), int(layout.start[level + 1]))
        couplings = sum(np.count_nonzero(w[stored]) for w in (levels.wx, levels.wy, levels.wz))
        counts[level] = np.count_nonzero(levels.inv[stored]) + 2 * couplings
    return counts


def finish(solver, system, run: Run, contact, status, steps, outer, residuals, unit_p, unit_b) -> SolveResult:
    p = np.zeros(system.A.box)
    unpack(run.layout, run.fine.p, p, unit_p)
    slack = system.apply(p) + system.row_b
    return SolveResult(
        system=system, row_p=p, row_slack=slack, status=status, solver=solver.name, iterations=steps, outer_iterations=outer,
        residuals=tuple(r * unit_b for r in residuals), goal=run.goal * unit_b, notes=(), work=run.ledger.totals(),
    )
