"""From a grid system to a result by way of liquid rows: pack, repair, choose a start, iterate, unpack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import Guess, SolveResult, Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.pins import Pins
from unstick.solvers.pockets import Pockets, find_pockets, lift_null_rows
from unstick.solvers.protocol import Solver, read_guess
from unstick.solvers.rows import Scan, contact_cells, lay_out, make_levels, pack_guess, pack_system, scan, unpack
from unstick.solvers.structured import Run, Tuning, count_entries, iterate, nested_guess, write_slack


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    b: Array
    notes: tuple[str, ...]
    scan: Scan
    k0: Array
    k1: Array
    pockets: Pockets | None


def solve_on_rows(
    solver: Solver, system: PressureSystem, guess: Array | Guess | SolveResult | None, tuning: Tuning, small: int
) -> SolveResult | None:
    """The body of `Solver.solve` for solvers that work on liquid rows; None, before any other work, when these are fewer than `small`
    or do not stand on a grid."""
    A = system.A
    if not isinstance(A, Stencil):
        return None
    b = np.ascontiguousarray(system.row_b, dtype=np.float64)
    size, k0, k1 = scan(A, b)
    if size.unknowns < small:
        return None
    guess_p, _ = read_guess(system, guess)
    contact = np.ascontiguousarray(solver.contact_rows(system))
    ready = repair(A, b, contact, size, k0, k1)
    size = ready.scan
    if size.unknowns == 0 or size.largest == 0.0:
        return trivial(solver, system, ready)
    layout = lay_out(ready.k0, ready.k1, A.box)
    fine = pack_system(layout, A, ready.b, contact, size.mean, size.largest)
    levels = make_levels(layout, fine)
    nnz = count_entries(layout, size.entries)
    ledger = Ledger(int(nnz[0]))
    run = Run(
        layout=layout,
        fine=fine,
        levels=levels,
        weight=1.0 / size.mean if solver.absolute else 0.0,
        goal=solver.tolerance / size.largest if solver.absolute else solver.tolerance,
        ledger=ledger,
        tuning=tuning,
        nnz=nnz,
        hit=np.zeros(len(layout.par), dtype=np.bool_),
        contact_at=contact_cells(layout, fine, levels),
        light=int(np.count_nonzero(layout.cells >= tuning.parallel_cells)),
    )
    if ready.pockets is not None:
        run.pins = Pins.of(layout, fine, ready.pockets.cells, ready.pockets.label, ready.pockets.count)
    unit_p = size.largest / size.mean
    begin_at(run, guess_p, unit_p)
    outcome = iterate(run, solver.max_iterations, guess_p is not None, solver.on_iteration)
    p = np.zeros(A.box)
    slack = ready.b.copy() if size.null_rows else np.zeros(A.box)
    unpack(layout, fine.p, p, unit_p)
    write_slack(run)
    unpack(layout, fine.d, slack, size.largest)
    return SolveResult(
        system=system,
        row_p=p,
        row_slack=slack,
        status=outcome.status,
        solver=solver.name,
        iterations=outcome.steps,
        outer_iterations=outcome.outer,
        residuals=tuple(r * size.largest for r in outcome.residuals),
        goal=run.goal * size.largest,
        notes=ready.notes,
        work=ledger.totals(),
    )


def repair(A: Stencil, b: Array, contact: Array, size: Scan, k0: Array, k1: Array) -> Repaired:
    """Give closed pockets and null rows a b that has a solution."""
    notes: list[str] = []
    changed = False
    if size.null_rows:
        change, said = lift_null_rows(~A.rows(), b, contact)
        b, changed, notes = b + change, bool(said), said
    pockets = find_pockets(A, b, contact, k0, k1)
    if pockets is not None:
        b, changed = b + pockets.lift, True
        notes = notes + pockets.notes
    if changed:
        size, k0, k1 = scan(A, b)
    return Repaired(b, tuple(notes), size, k0, k1, pockets)


def trivial(solver: Solver, system: PressureSystem, ready: Repaired) -> SolveResult:
    """b = 0, or no unknowns at all: p = 0."""
    return SolveResult(
        system=system,
        row_p=np.zeros_like(ready.b),
        row_slack=ready.b,
        status=Status.CONVERGED,
        solver=solver.name,
        iterations=0,
        outer_iterations=0,
        residuals=(0.0,),
        goal=solver.tolerance * (1.0 if solver.absolute else ready.scan.largest),
        notes=ready.notes,
        work=Ledger(1).totals(),
    )


def begin_at(run: Run, guess: Array | None, unit_p: float) -> None:
    """Start from the guess, or without one from the nested solution of coarser problems."""
    run.levels.flag[: int(run.layout.begin[1])] = True
    if guess is None:
        run.rebuild(0)
        nested_guess(run)
    else:
        pack_guess(run.layout, run.fine, guess, 1.0 / unit_p)
        run.below_is_old = True
