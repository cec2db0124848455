"""Conjugate gradients with walls inside: OrigPS, OrigPSSep and IOPSepBC (Eckert 2014, sections 3.1, 3.4 and 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unstick.kernels.reduce import max_abs
from unstick.pressure.splitting.answer import Answer
from unstick.pressure.splitting.base import Splitting, repaired, require_balance, require_one_of, status_of
from unstick.pressure.splitting.outer import Free
from unstick.pressure.splitting.walls import Classify, Parts, Rows, Setting, letting_go, list_parts, with_free_parts
from unstick.problem import Array
from unstick.solvers.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class OrigPS(Splitting):
    """One pressure solve with walls that stick (algorithm 1)."""

    name: ClassVar[str] = "origps"

    def find(self, setting: Setting, rows: Rows, ledger: Ledger, start: Array | None) -> Answer:
        parts = list_parts(setting, rows)
        free, notes = self.solve(setting, rows, ledger, start)
        return Answer(
            p=free.p,
            slack=free.r,
            parts=parts,
            velocity=parts.wall,
            free=np.zeros(len(parts), dtype=np.bool_),
            status=free.ending,
            iterations=free.iterations,
            outer=1,
            residuals=(max_abs(free.r),),
            goal=free.goal,
            notes=notes,
        )

    def solve(self, setting: Setting, rows: Rows, ledger: Ledger, start: Array | None) -> tuple[Free, tuple[str, ...]]:
        """Conjugate gradients on the equation with walls."""
        flow, A = setting.flow, setting.stencil
        lift, notes = repaired(A, rows.take(setting.system.row_b), rows)
        problem = rows.problem(A, setting.coupling)
        b = rows.take(setting.system.row_b) + lift
        p = np.zeros(len(b)) if start is None else start
        r = b.copy() if start is None else b + problem.A @ p
        inner = self.inner_solver.prepare(problem, ledger)
        free = Free(inner, p, r, self.divergence(flow, self.epsilon_CG), self.max_inner)
        free.settle()
        return free, notes


@dataclass(frozen=True, slots=True, kw_only=True)
class OrigPSSep(OrigPS):
    """The same solve; faces that then let go are updated as free surface, which leaves divergence there (algorithm 5)."""

    classify: Classify = "velocity"

    name: ClassVar[str] = "origps-sep"

    def __post_init__(self) -> None:
        Splitting.__post_init__(self)
        require_one_of("classify", self.classify, ("velocity", "pressure"))

    def find(self, setting: Setting, rows: Rows, ledger: Ledger, start: Array | None) -> Answer:
        parts = list_parts(setting, rows)
        solved, notes = self.solve(setting, rows, ledger, start)
        status, residual = solved.ending, max_abs(solved.r)
        velocity, loose = let_go(setting, rows, parts, solved, self.classify)
        return Answer(
            p=solved.p,
            slack=solved.r,
            parts=parts,
            velocity=velocity,
            free=loose,
            status=status,
            iterations=solved.iterations,
            outer=1,
            residuals=(residual,),
            goal=solved.goal,
            notes=notes,
        )


def let_go(setting: Setting, rows: Rows, parts: Parts, solved: Free, classify: Classify) -> tuple[Array, Array]:
    """Classify after a solve with walls, and update free parts: their velocities, and which they are. Adds their divergence to r."""
    passing = parts.start - parts.trace(solved.p, setting.gradient)
    loose = letting_go(setting, rows, parts, solved.p, passing, classify)
    velocity = np.where(loose, passing, parts.wall)
    parts.scatter(velocity - parts.wall, solved.r)
    return velocity, loose


@dataclass(frozen=True, slots=True, kw_only=True)
class IOPSepBC(OrigPSSep):
    """The same again until no divergence is left; solves after the first take free faces for surface (section 3.5)."""

    epsilon_IdivBC: float = 1e-2
    allow_unbalanced: bool = False

    name: ClassVar[str] = "iop-sep-bc"

    def __post_init__(self) -> None:
        OrigPSSep.__post_init__(self)
        if not self.allow_unbalanced:
            require_balance(self.name, "epsilon_IdivBC", self.epsilon_IdivBC, self.epsilon_CG)

    def find(self, setting: Setting, rows: Rows, ledger: Ledger, start: Array | None) -> Answer:
        goal = self.divergence(setting.flow, self.epsilon_IdivBC)
        parts = list_parts(setting, rows)
        first, notes = self.solve(setting, rows, ledger, start)
        _, loose = let_go(setting, rows, parts, first, self.classify)
        residuals = [self._tell(0, max_abs(first.r))]
        used, ending = first.iterations, first.ending
        p, r = first.p, first.r
        if residuals[-1] > goal and self.max_iterations > 1:
            freed = with_free_parts(setting, rows, parts.only(loose))
            lift, more = repaired(freed, r, rows)
            notes = (*notes, *more)
            inner = self.inner_solver.prepare(rows.problem(freed, setting.coupling), ledger)
            again = Free(inner, p, r + lift, first.goal, self.max_inner)
            while residuals[-1] > goal and len(residuals) < self.max_iterations and np.isfinite(residuals[-1]):
                again.project()
                residuals.append(self._tell(len(residuals), max_abs(again.r)))
            p, r, ending = again.p, again.r, again.ending
            used += again.iterations
        velocity = np.where(loose, parts.start - parts.trace(p, setting.gradient), parts.wall)
        return Answer(
            p=p,
            slack=r,
            parts=parts,
            velocity=velocity,
            free=loose,
            status=status_of(residuals[-1] <= goal, residuals[-1], ending),
            iterations=used,
            outer=len(residuals),
            residuals=tuple(residuals),
            goal=goal,
            notes=notes,
        )

    def _tell(self, before: int, residual: float) -> float:
        if self.on_iteration is not None:
            self.on_iteration(before + 1, residual)
        return residual
