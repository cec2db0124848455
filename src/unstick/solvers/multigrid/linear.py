"""Multigrid as a linear method: by itself, or as the preconditioner of conjugate gradients. Grids only."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from unstick.checks import InvalidSystem, require_count
from unstick.kernels import sparse_relax
from unstick.kernels.reduce import dot, max_abs
from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import UnsupportedSystem
from unstick.solvers.compact import Lattice
from unstick.solvers.krylov import FreeRows, Run, conjugate_gradients, refine
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod, LinearOutcome, LinearSolver, Prepared
from unstick.solvers.multigrid.coarse import CoarseMatrices, Galerkin
from unstick.solvers.multigrid.cycle import LinearCycle, Shape
from unstick.solvers.multigrid.hierarchy import Hierarchy
from unstick.solvers.multigrid.transfers import Csr, Transfer

DOMINANT = 1e5  # a diagonal this much larger than the couplings is a penalty: sweeps solve that row, coarse grids leave it out
SLOW = 0.5  # see fas.py
PATIENCE = 25  # cycles without progress after which the residual counts as stagnant


@dataclass(frozen=True, slots=True, kw_only=True)
class Multigrid(LinearMethod):
    """Stationary cycles. The exchangeable parts are those of `fas-mg`; Lai does not rescale the weights here (section 5.3.3)."""

    transfer: Transfer = field(default_factory=Transfer)
    coarse: CoarseMatrices = field(default_factory=Galerkin)
    shape: Shape = "V"
    pre: int = 2
    post: int = 2
    boundary_sweeps: int = 0  # extra sweeps over rows at walls and surface
    direct: bool = True

    def __post_init__(self) -> None:
        require_count("pre", self.pre, 0)
        require_count("post", self.post, 0)
        require_count("boundary_sweeps", self.boundary_sweeps, 0)
        if self.pre + self.post == 0:
            raise InvalidSystem("pre and post are both 0; a cycle needs at least one sweep")

    def refuse(self, system: PressureSystem) -> None:
        if not isinstance(system.A, Stencil):
            raise UnsupportedSystem(
                "geometric multigrid needs a grid: give from_matrix(..., shape=(nx, ny[, nz])), or take a solver for any matrix: "
                "'default', 'pi-pcg', 'newton' or 'pgs' (without separation: 'pcg')"
            )

    def prepare(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger, free: Array | None = None) -> Prepared:
        return PreparedMultigrid(*self._set_up(A, lattice, ledger, free))

    def _set_up(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger, free: Array | None) -> tuple[FreeRows, LinearCycle]:
        hierarchy = self.hierarchy(A, lattice, ledger)
        rows = FreeRows(A, free, ledger)
        hierarchy.levels[0].free[:] = rows.free & ~_penalised(A)
        hierarchy.fill()
        return rows, self.cycle(hierarchy, rows, ledger)

    def hierarchy(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger) -> Hierarchy:
        if lattice is None:
            raise UnsupportedSystem("geometric multigrid needs grid coordinates; take IncompleteCholesky for a matrix without a grid")
        return Hierarchy.build(A, lattice, self.transfer, self.coarse, ledger)

    def cycle(self, hierarchy: Hierarchy, rows: FreeRows, ledger: Ledger) -> LinearCycle:
        return LinearCycle(hierarchy, rows.free, ledger, self.shape, self.pre, self.post, self.boundary_sweeps, self.direct)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReusedMultigrid(LinearMethod):
    """Multigrid for a sequence of matrices that differ in which rows are free or penalised: coarse rows are recomputed only above those.

    It holds the hierarchy of the latest matrix, so one is made for each run of an outer method, and a `Prepared` is good until the next.
    """

    multigrid: Multigrid
    kept: list[tuple[sp.csr_array, Hierarchy]] = field(default_factory=list)

    def prepare(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger, free: Array | None = None) -> Prepared:
        rows = FreeRows(A, free, ledger)
        wanted = rows.free & ~_penalised(A)
        if not self.kept or not self._follows(A, wanted):
            hierarchy = self.multigrid.hierarchy(A, lattice, ledger)
            hierarchy.levels[0].free[:] = wanted
            hierarchy.fill()
        else:
            hierarchy = self.kept[0][1]
            finest = hierarchy.levels[0]
            changed = np.flatnonzero(finest.free != wanted)
            finest.A = Csr.from_scipy(A)
            sparse_relax.inverse_diagonal(finest.A.ptr, finest.A.idx, finest.A.val, finest.inv)
            finest.free[:] = wanted
            hierarchy.change(0, changed)
            hierarchy.refresh()
        self.kept[:] = [(A, hierarchy)]
        return PreparedMultigrid(rows, self.multigrid.cycle(hierarchy, rows, ledger))

    def _follows(self, A: sp.csr_array, wanted: Array) -> bool:
        """Whether A is the kept matrix, but for rows that are left out of coarse grids before or now."""
        before, hierarchy = self.kept[0]
        if A is before:
            return True
        if A.nnz != before.nnz or not (np.array_equal(A.indptr, before.indptr) and np.array_equal(A.indices, before.indices)):
            return False
        stays = np.repeat(hierarchy.levels[0].free & wanted, np.diff(A.indptr))
        return bool(np.array_equal(A.data[stays], before.data[stays]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MultigridCG(Multigrid):
    """Conjugate gradients with one cycle as the preconditioner."""

    def prepare(self, A: sp.csr_array, lattice: Lattice | None, ledger: Ledger, free: Array | None = None) -> Prepared:
        if self.pre != self.post:
            raise InvalidSystem(f"a symmetric preconditioner needs as many sweeps before as after, not {self.pre} and {self.post}")
        if self.shape == "full":
            raise InvalidSystem("a full cycle is not symmetric; give shape 'V', 'W' or 'F'")
        return PreparedMultigridCG(*self._set_up(A, lattice, ledger, free))


class PreparedMultigrid(Prepared):
    def __init__(self, rows: FreeRows, cycle: LinearCycle) -> None:
        self.rows, self.cycle = rows, cycle

    def solve(self, rhs: Array, x0: Array, goal: float, limit: int) -> LinearOutcome:
        return refine(self._cycles, self.rows, rhs, x0, goal, limit)

    def _cycles(self, r0: Array, goal: float, limit: int) -> Run:
        """Cycles for the residual r0; a slow cycle's correction is lengthened by exact line search, as in fas.py."""
        x, step = np.zeros_like(r0), np.empty_like(r0)
        r = r0
        history: list[float] = []
        best, best_at = np.inf, 0
        for count in range(1, limit + 1):
            self.cycle.correct(r, step)
            self.rows.ledger.count("cycles")
            before = r
            x += step
            r = self.rows.residual(r0, x)
            slope, curvature = dot(r, step), dot(before, step) - dot(r, step)
            if max_abs(r) > goal and curvature > 0.0 and slope > SLOW * curvature:
                x += (slope / curvature) * step
                r = self.rows.residual(r0, x)
            norm = max_abs(r)
            history.append(norm)
            if norm < 0.9 * best:
                best, best_at = norm, count
            if norm <= goal or not np.isfinite(norm) or count - best_at > PATIENCE:
                return Run(x, count, tuple(history))
        return Run(x, limit, tuple(history))


class PreparedMultigridCG(PreparedMultigrid):
    def solve(self, rhs: Array, x0: Array, goal: float, limit: int) -> LinearOutcome:
        return refine(partial(conjugate_gradients, self.rows.multiply, self._precondition), self.rows, rhs, x0, goal, limit)

    def _precondition(self, r: Array, out: Array) -> None:
        self.cycle.correct(r, out)
        self.rows.ledger.count("cycles")


def _penalised(A: sp.csr_array) -> Array:
    d = A.diagonal()
    couplings = np.asarray(abs(A).sum(axis=1)).reshape(-1) - d
    return np.asarray(d > DOMINANT * couplings)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultigridSolver(LinearSolver):
    """The pressure equation without separation, by multigrid cycles alone."""

    max_iterations: int = 300
    transfer: Transfer = field(default_factory=Transfer)
    coarse: CoarseMatrices = field(default_factory=Galerkin)
    shape: Shape = "V"
    pre: int = 2
    post: int = 2
    boundary_sweeps: int = 0

    name: ClassVar[str] = "mg"

    def method(self) -> LinearMethod:
        return Multigrid(
            transfer=self.transfer, coarse=self.coarse, shape=self.shape, pre=self.pre, post=self.post, boundary_sweeps=self.boundary_sweeps
        )
