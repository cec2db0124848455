"""Repeating nonlinear cycles until the stopping test holds: what fas-mg, fas-literal and fmg share."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from unstick.kernels import reduce, sparse_relax
from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import Status, UnsupportedSystem
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Outcome, Problem, Solver

SLOW = 0.5  # a cycle's step is lengthened when the energy would still fall beyond 1.5 times its length
PATIENCE = 25  # cycles without progress after which the residual counts as stagnant


class Iteration(Protocol):
    """A nonlinear cycle on its finest level. x, r and lower are its own arrays, changed in place."""

    @property
    def x(self) -> Array: ...

    @property
    def r(self) -> Array:
        """f - A x, after `update_residual`."""

    @property
    def lower(self) -> Array:
        """The obstacle: 0 on contact rows, -inf elsewhere."""

    def advance(self) -> None:
        """One cycle."""

    def update_residual(self) -> None: ...


def refuse_without_grid(name: str, system: PressureSystem) -> None:
    if not isinstance(system.A, Stencil):
        raise UnsupportedSystem(
            f"{name} is a geometric multigrid and needs a grid: give from_matrix(..., shape=(nx, ny[, nz])), "
            "or take a solver for any matrix: 'default', 'pi-pcg', 'newton' or 'pgs'"
        )


def repeat(solver: Solver, cycle: Iteration, problem: Problem, ledger: Ledger, stretch: bool) -> Outcome:
    """Cycles until the stopping test holds, the residual stops falling, or the limit is reached. The best iterate is returned."""
    history: list[float] = []
    norm = _norm(cycle, problem)
    best, kept = norm, cycle.x.copy()
    mark, mark_at = np.inf, 0
    status = Status.ITERATION_LIMIT
    for count in range(solver.max_iterations + 1):
        if count:
            before, r_before = cycle.x.copy(), cycle.r.copy()
            cycle.advance()
            ledger.count("cycles")
            norm = _norm(cycle, problem)
            if stretch and norm > problem.goal and _stretch(cycle, before, r_before, ledger):
                norm = _norm(cycle, problem)
            history.append(norm)
            if solver.on_iteration is not None:
                solver.on_iteration(count, norm)
        if norm < best:
            best = norm
            np.copyto(kept, cycle.x)
        if not np.isfinite(norm):
            status = Status.DIVERGED
        elif norm <= problem.goal:
            status = Status.CONVERGED
        elif count - mark_at > PATIENCE:
            status = Status.STAGNATED
        if status is not Status.ITERATION_LIMIT:
            break
        if norm < 0.9 * mark:
            mark, mark_at = norm, count
    p = cycle.x.copy() if status is Status.DIVERGED else kept
    return Outcome(p, status, len(history), len(history), tuple(history))


def _stretch(cycle: Iteration, before: Array, r_before: Array, ledger: Ledger) -> bool:
    """Exact line search along the step of the whole cycle, when it pays.

    A nearly closed pocket leaves one slow mode behind; the cycle's step is then that mode, times one minus its rate.
    A step = r_before - r, so the search costs no product with A. The step is lengthened at most to where it stays feasible.
    """
    step = cycle.x - before
    slope, curvature = reduce.dot(cycle.r, step), reduce.dot(r_before, step) - reduce.dot(cycle.r, step)
    if not curvature > 0.0 or slope <= SLOW * curvature:
        return False
    falling = (step < 0) & np.isfinite(cycle.lower)
    room = float(np.min((cycle.lower[falling] - cycle.x[falling]) / step[falling], initial=np.inf))
    more = min(slope / curvature, room)
    if not more > 0.0:
        return False
    sparse_relax.add_scaled(cycle.x, more, step, cycle.lower)
    ledger.count("stretches")
    return True


def _norm(cycle: Iteration, problem: Problem) -> float:
    cycle.update_residual()
    natural = np.empty_like(cycle.r)
    sparse_relax.natural(problem.contact, problem.weight, cycle.x, cycle.r, natural)
    return reduce.max_abs(natural)
