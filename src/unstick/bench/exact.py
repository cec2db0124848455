"""`unstick bench exact`: every solver against the direct active-set reference, on small random systems of every kind.

A solve agrees when p does to 1e-7 of max|p| (in closed pieces, where p is unique up to a shift only, its differences along couplings do,
to 1e-7 of the largest difference), and the detached rows do wherever the reference is clear about them. A wrong claim is a solve that
says CONVERGED while the residual, recomputed in extended precision, is above the goal by more than double precision can see.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from unstick.bench.direct import Exact, natural_residual, rounding, solve_exactly
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.systems import Case, random_systems
from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import SolveResult, Status, UnsupportedSystem
from unstick.solvers.default import Default
from unstick.solvers.protocol import Solver
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS

TOLERANCE = 1e-11
USUAL = 1e-6  # the tolerance at which counts are compared in two systems of units: at 1e-11 a Krylov count also shows its rounding
AGREE = 1e-7
SHARE = 0.98  # of the systems on which a solver must agree
LENGTH, STEP, DENSITY = 1e-3, 1e-2, 1e3  # a change of units: A = dt / (rho h^2) ..., b = velocity / h with velocity = g dt
BINARY = 8.0  # the power of two nearest to what that change multiplies A and b with: it changes no digit of a double
EXEMPT = ("pgs",)  # too slow to be asked for agreement


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one solve compares with the reference."""

    p_error: float  # relative, see above
    set_errors: int  # clear rows on which the detached sets differ
    wrong_claim: bool

    @property
    def agrees(self) -> bool:
        return self.p_error <= AGREE and self.set_errors == 0


@dataclass(slots=True)
class Tally:
    """A solver's record over all systems; the lists hold (seed, place, kind)."""

    solver: str
    solved: int = 0
    agreed: int = 0
    refused: int = 0
    seconds: float = 0.0
    worst: float = 0.0  # relative error of p among the solves that agree
    disagreed: list[tuple[int, int, str]] = field(default_factory=list)
    unconverged: list[tuple[int, int, str]] = field(default_factory=list)
    wrong_claims: list[tuple[int, int, str]] = field(default_factory=list)
    crashed: list[tuple[int, int, str]] = field(default_factory=list)
    moved_by_units: list[tuple[int, int, str]] = field(default_factory=list)  # detached set, or outer count by more than 1
    drifted: list[tuple[int, int, str]] = field(default_factory=list)  # only the inner count, by more than 1
    moved_by_binary: list[tuple[int, int, str]] = field(default_factory=list)  # any count at all, where no digit changes

    @property
    def share(self) -> float:
        return self.agreed / self.solved if self.solved else 1.0


def judge(exact: Exact, result: SolveResult, tolerance: float = TOLERANCE) -> Verdict:
    p, slack = _everywhere(result, result.row_p), _everywhere(result, result.row_slack)
    system = exact.system
    goal = tolerance * exact.largest_b
    error = np.where(exact.drifts, 0.0, np.asarray(np.abs(p - exact.p), dtype=float))
    size = float(np.max(np.abs(exact.p), initial=0.0))
    p_error = float(np.max(error, initial=0.0)) / size if size > 0.0 else float(np.max(np.abs(p), initial=0.0))
    if exact.drifts.any():
        p_error = max(p_error, _difference_error(exact, p))
    clear = clear_rows(exact, tolerance)
    ours, theirs = (p == 0.0) & (slack > 0.0), (exact.p == 0.0) & (exact.slack > 0.0)
    claim = result.status is Status.CONVERGED
    finite = bool(np.isfinite(p).all())
    wrong = claim and not (finite and natural_residual(system, p) <= goal * (1.0 + 1e-9) + rounding(system, p))
    return Verdict(p_error if finite else np.inf, int(np.count_nonzero(clear & (ours != theirs))), wrong)


def clear_rows(exact: Exact, tolerance: float = TOLERANCE) -> Array:
    """Contact rows that are far enough from p = slack = 0 for the detached set to be asked about."""
    size = np.maximum(exact.system.A.diagonal() * exact.p, exact.slack)
    return np.asarray(exact.system.contact & (size > 10.0 * tolerance * exact.largest_b))


def _difference_error(exact: Exact, p: Array) -> float:
    A = exact.system.A.tocoo()
    drop = np.asarray((p[A.row] - p[A.col]) - (exact.p[A.row] - exact.p[A.col]), dtype=float)
    size = float(np.max(np.abs(np.asarray(exact.p[A.row] - exact.p[A.col], dtype=float)), initial=0.0))
    worst = float(np.max(np.abs(drop[exact.drifts[A.row]]), initial=0.0))
    return worst / size if size > 0.0 else worst


def _everywhere(result: SolveResult, values: Array) -> Array:
    return values.reshape(-1) if isinstance(result.system.A, Stencil) else values


def rescaled(system: PressureSystem, matrix: float, right: float) -> PressureSystem:
    """The same system in other units."""
    A = system.A
    if isinstance(A, Stencil):
        A = dataclasses.replace(A, wx=A.wx * matrix, wy=A.wy * matrix, wz=A.wz * matrix, excess=A.excess * matrix)
    else:
        A = A * matrix
    return dataclasses.replace(system, A=A, row_b=system.row_b * right)


def without_contact(system: PressureSystem) -> PressureSystem:
    return dataclasses.replace(system, row_contact=np.zeros_like(system.row_contact))


def examine(make: Callable[[float], Solver], name: str, case: Case, exact: Exact, units: PressureSystem | None, tally: Tally) -> None:
    """Solve one case and enter it in the record; with `units`, solve it in other units too."""
    mark = (case.seed, case.place, case.name)
    began = time.process_time()
    try:
        result = make(TOLERANCE).solve(case.system)
    except UnsupportedSystem:
        tally.refused += 1
        return
    except Exception as error:  # a bench reports a crash and goes on
        tally.crashed.append((case.seed, case.place, f"{case.name}: {type(error).__name__}: {error}"))
        tally.solved += 1
        return
    tally.seconds += time.process_time() - began
    tally.solved += 1
    verdict = judge(exact, result)
    if verdict.wrong_claim:
        tally.wrong_claims.append(mark)
    if not result.converged:
        tally.unconverged.append(
            (case.seed, case.place, f"{case.name}: {result.status.name} at {result.residual / (result.goal or 1.0):.2g} goals")
        )
    if verdict.agrees:
        tally.agreed += 1
        tally.worst = max(tally.worst, verdict.p_error)
    else:
        tally.disagreed.append((case.seed, case.place, f"{case.name}: p {verdict.p_error:.1e}, {verdict.set_errors} rows"))
    if units is not None:
        here, there = make(USUAL).solve(case.system), make(USUAL).solve(units)
        same = make(USUAL).solve(rescaled(case.system, BINARY, BINARY))
        if (same.iterations, same.outer_iterations) != (here.iterations, here.outer_iterations):
            tally.moved_by_binary.append((case.seed, case.place, f"{case.name}: {here.iterations} and {same.iterations}"))
        differ = _everywhere(here, here.row_detached != there.row_detached)
        rows = int(np.count_nonzero(clear_rows(exact, USUAL) & differ))
        outer = abs(here.outer_iterations - there.outer_iterations)
        inner = abs(here.iterations - there.iterations)
        if rows or outer > 1:
            tally.moved_by_units.append((case.seed, case.place, f"{case.name}: {rows} rows, outer count by {outer}"))
        elif inner > 1:
            tally.drifted.append((case.seed, case.place, f"{case.name}: {here.iterations} by {inner}"))


def compare(
    solvers: Mapping[str, Callable[..., Solver]], count: int, seed: int = 0, units: bool = True, step: Callable[..., None] = lambda *_: None
) -> list[Tally]:
    """Every solver of a table on `count` systems; linear ones without contact rows. With `units`, on each also in other units."""
    tallies = {name: Tally(name) for name in solvers}
    for case in random_systems(seed, count):
        step(f"{case.name} {case.place}")
        answers: dict[bool, Exact] = {}
        for name, cls in solvers.items():
            linear = name in LINEAR_SOLVERS
            asked = without_contact(case.system) if linear else case.system
            if linear not in answers:
                answers[linear] = solve_exactly(asked)
            other = rescaled(case.system, STEP / (DENSITY * LENGTH**2), STEP / LENGTH) if units else None

            def make(tolerance: float, cls: Callable[..., Solver] = cls) -> Solver:
                return cls(tolerance=tolerance)

            examine(make, name, case, answers[linear], other, tallies[name])
    return list(tallies.values())


def run(options: Options) -> Report:
    count = options.count_or(500)
    # Systems as small as these never reach the default's multigrid by themselves.
    solvers: dict[str, Callable[..., Solver]] = {**SOLVERS, "default, multigrid": partial(Default, small=0), **LINEAR_SOLVERS}
    with options.meter.steps(count, "exact") as step:
        tallies = compare(solvers, count, step=step)
    return report(tallies, count)


def report(tallies: Iterable[Tally], count: int) -> Report:
    rows: list[tuple[Cell, ...]] = []
    notes, failures = [], []
    for t in tallies:
        rows.append(
            (
                t.solver,
                t.solved,
                t.refused,
                f"{100.0 * t.share:.1f} %" if t.solved else "-",
                t.worst,
                len(t.unconverged),
                len(t.wrong_claims),
                len(t.moved_by_units),
                len(t.drifted),
                len(t.moved_by_binary),
                t.seconds,
            )
        )
        if t.share < SHARE and t.solver not in EXEMPT:
            failures.append(f"{t.solver} agrees with the reference on {100.0 * t.share:.1f} % of the systems, not on {100.0 * SHARE:.0f} %")
        if t.wrong_claims:
            failures.append(f"{t.solver} claims convergence wrongly on {_places(t.wrong_claims)}")
        if t.crashed:
            failures.append(f"{t.solver} crashes on {_places(t.crashed)}")
        if t.moved_by_units and t.solver not in EXEMPT:
            failures.append(f"{t.solver} depends on the units on {_places(t.moved_by_units)}")
        if t.moved_by_binary:
            failures.append(f"{t.solver} depends on units that are powers of two on {_places(t.moved_by_binary)}")
        if t.drifted:
            notes.append(f"{t.solver} needs another number of inner iterations in other units on {_places(t.drifted)}")
        if t.disagreed:
            notes.append(f"{t.solver} disagrees on {_places(t.disagreed)}")
        if t.unconverged:
            notes.append(f"{t.solver} says that it has not converged on {_places(t.unconverged)}")
    columns = (
        "solver",
        "systems",
        "refused",
        "agree",
        "worst error of p",
        "not converged",
        "wrong claims",
        "moved by units",
        "inner count only",
        "binary units",
        "CPU s",
    )
    title = f"{count} random systems at tolerance {TOLERANCE:g} against the direct reference"
    note = (
        f"Moved by units: lengths times {LENGTH:g}, dt times {STEP:g}, density times {DENSITY:g} changes a detached row, or an outer count "
        f"by more than 1, at tolerance {USUAL:g}. Inner count only: an inner count by more than 1. A and b are then multiplied by 10, "
        f"which rounds; binary units: multiplied by {BINARY:g}, which does not, so that a difference there would be a dependence on units."
    )
    return Report("exact", (Table(title, columns, tuple(rows), note),), tuple(notes), tuple(failures))


def _places(marks: list[tuple[int, int, str]], most: int = 6) -> str:
    shown = "; ".join(f"case({seed}, {place}) {what}" for seed, place, what in marks[:most])
    return f"{len(marks)}: {shown}" + ("; ..." if len(marks) > most else "")
