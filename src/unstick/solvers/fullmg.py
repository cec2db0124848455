"""fmg: the full multigrid of Chentanez and Mueller (2012), as Lai describes it (sections 2 and 6.3).

Each iteration is a full cycle on the residual: restrict it to the coarsest grid, then solve for the correction grid by grid, a V-cycle
of 4 + 4 projected sweeps on each. Coarse matrices average the coefficients; the constraint acts on the finest three levels only, where a
coarse correction may not fall below the largest of -p over the contact cells it covers.

That cycle, taken literally, stalls: a row held at p = 0 has a residual of its own at the solution, and restricting it moves the coarse
grids away from there. `globalised` (the default) makes three changes: active rows are left out of coarse matrices and residuals,
transfers do not reach through walls, and the step is scaled by an exact line search, so that the energy falls in every cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unstick.checks import require_count
from unstick.kernels import csr, reduce, sparse_relax, sparse_transfer
from unstick.problem import Array, PressureSystem
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarse import Direct
from unstick.solvers.multigrid.coarsest import Coarsest
from unstick.solvers.multigrid.drive import refuse_without_grid, repeat
from unstick.solvers.multigrid.hierarchy import Hierarchy
from unstick.solvers.multigrid.transfers import Transfer
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

PLAIN = Transfer(kind="trilinear", one_sided=False, rescaled=False, components=False)
SAME_SIDE = Transfer(kind="trilinear")


@dataclass(frozen=True, slots=True, kw_only=True)
class FullMultigrid(Solver):
    """`globalised=False` is the literal cycle, which stalls. It is here to be compared with; `fas-mg` and `default` are the ones to use."""

    max_iterations: int = 1000
    transfer: Transfer | None = None  # None: trilinear, on the same side of solids only when globalised
    pre: int = 4
    post: int = 4
    constrained_levels: int = 3
    globalised: bool = True

    name: ClassVar[str] = "fmg"

    def __post_init__(self) -> None:
        super(FullMultigrid, self).__post_init__()
        require_count("pre", self.pre, 1)
        require_count("post", self.post, 1)
        require_count("constrained_levels", self.constrained_levels, 1)

    def refuse(self, system: PressureSystem) -> None:
        refuse_without_grid(self.name, system)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        assert problem.lattice is not None
        transfer = self.transfer or (SAME_SIDE if self.globalised else PLAIN)
        hierarchy = Hierarchy.build(problem.A, problem.lattice, transfer, Direct(truncated=self.globalised), ledger)
        hierarchy.fill()
        cycle = FullCycle(hierarchy, problem, start.p, ledger, self)
        return repeat(self, cycle, problem, ledger, stretch=self.globalised)


class FullCycle:
    """Full cycles for the correction e of p on all levels: A e = r with e >= -p on contact rows."""

    def __init__(self, hierarchy: Hierarchy, problem: Problem, p: Array, ledger: Ledger, options: FullMultigrid) -> None:
        self.hierarchy, self.ledger, self.options = hierarchy, ledger, options
        self.problem = problem
        self._x, self._r = p.copy(), np.zeros(problem.n)
        self._lower = np.where(problem.contact, 0.0, -np.inf)
        sizes = [level.n for level in hierarchy.levels]
        self.e = [np.zeros(n) for n in sizes]
        self.f = [np.zeros(n) for n in sizes]
        self.scratch = [np.zeros(n) for n in sizes]
        self.floor = [np.full(n, -np.inf) for n in sizes]
        self.contact = [problem.contact]
        for at, n in enumerate(sizes[1:]):
            down = hierarchy.levels[at].down
            assert down is not None
            touching = np.zeros(n, dtype=np.bool_)
            if at + 1 < options.constrained_levels:
                sparse_transfer.any_child(down.QT.ptr, down.QT.idx, self.contact[at], touching)
            self.contact.append(touching)
        self.coarsest = Coarsest(hierarchy.levels[-1], ledger, direct=options.globalised)

    @property
    def x(self) -> Array:
        return self._x

    @property
    def r(self) -> Array:
        return self._r

    @property
    def lower(self) -> Array:
        return self._lower

    def update_residual(self) -> None:
        A = self.hierarchy.levels[0].A
        csr.residual(A.ptr, A.idx, A.val, -self.problem.b, self._x, self._r)
        self._spend(0, "matvecs", A.nnz)

    def advance(self) -> None:
        if self.options.globalised:
            self._update_policy()
        np.copyto(self.f[0], self._r)
        self.floor[0][:] = np.where(self.problem.contact, -self._x, -np.inf)
        last = len(self.e) - 1
        for at in range(last):
            self._restrict(at, self._complementary(at, self.f[at], self.floor[at]), self.floor[at])
        kept = [(f.copy(), floor.copy()) for f, floor in zip(self.f, self.floor, strict=True)]
        self.e[last][:] = 0.0
        self._cycle(last)
        for at in range(last - 1, -1, -1):
            self.f[at][:], self.floor[at][:] = kept[at]
            self.e[at][:] = 0.0
            self._prolong(at)
            self._cycle(at)
        alpha = 1.0
        if self.options.globalised:
            alpha = self._exact_step()
            if alpha == 0.0:  # no descent: projected sweeps from zero always are one
                self.f[0][:], self.floor[0][:] = kept[0]
                self.e[0][:] = 0.0
                self._smooth(0, self.options.pre + self.options.post)
                alpha = 1.0
        sparse_relax.add_scaled(self._x, alpha, self.e[0], self._lower)

    def _update_policy(self) -> None:
        finest = self.hierarchy.levels[0]
        changed = np.empty(finest.n, dtype=np.bool_)
        if sparse_relax.policy(self.problem.contact, self._x, self._r, finest.free, changed):
            self.hierarchy.change(0, np.flatnonzero(changed))
            self.hierarchy.refresh()

    def _exact_step(self) -> float:
        """The minimiser of the energy along the correction, at most 1: the correction itself is feasible."""
        A, step, image = self.hierarchy.levels[0].A, self.e[0], self.scratch[0]
        csr.multiply(A.ptr, A.idx, A.val, step, image)
        self._spend(0, "matvecs", A.nnz)
        slope, curvature = reduce.dot(self._r, step), reduce.dot(step, image)
        if not slope > 0.0:
            return 0.0
        return min(1.0, slope / curvature) if curvature > 0.0 else 1.0

    def _cycle(self, at: int) -> None:
        """A V-cycle for A e = f, e >= floor, from the present e."""
        if at == len(self.e) - 1:
            self.coarsest.solve(self.f[at], self.floor[at], self.e[at])
            return
        level, r = self.hierarchy.levels[at], self.scratch[at]
        self._smooth(at, self.options.pre)
        csr.residual(level.A.ptr, level.A.idx, level.A.val, self.f[at], self.e[at], r)
        self._spend(at, "matvecs", level.A.nnz)
        room = self.floor[at] - self.e[at]
        self._restrict(at, self._complementary(at, r, room), room)
        self.e[at + 1][:] = 0.0
        self._cycle(at + 1)
        self._prolong(at)
        self._smooth(at, self.options.post)

    def _smooth(self, at: int, sweeps: int) -> None:
        level = self.hierarchy.levels[at]
        A = level.A
        sparse_relax.forward(A.ptr, A.idx, A.val, level.inv, self.f[at], self.floor[at], self.e[at], sweeps)
        self._spend(at, "sweeps", A.nnz * sweeps)

    def _complementary(self, at: int, r: Array, room: Array) -> Array:
        """The residual without that of active rows: e at its floor (no room below) and pulled further down."""
        if not self.options.globalised or at >= self.options.constrained_levels:
            return r
        return np.where(self.contact[at] & (room >= 0.0) & (r <= 0.0), 0.0, r)

    def _restrict(self, at: int, r: Array, floor: Array) -> None:
        level = self.hierarchy.levels[at]
        down = level.down
        assert down is not None
        sparse_transfer.restrict(down.T.ptr, down.T.idx, down.T.val, down.scale, level.free, r, self.f[at + 1])
        if at + 1 < self.options.constrained_levels:
            sparse_transfer.largest_child(down.QT.ptr, down.QT.idx, self.contact[at], floor, self.floor[at + 1])
        self._spend(at, "transfers", down.T.nnz)

    def _prolong(self, at: int) -> None:
        level = self.hierarchy.levels[at]
        assert level.down is not None
        P = level.down.P
        sparse_transfer.prolong(P.ptr, P.idx, P.val, level.free, self.e[at + 1], self.scratch[at])
        self.e[at] += self.scratch[at]
        np.maximum(self.e[at], self.floor[at], out=self.e[at])
        self._spend(at, "transfers", P.nnz)

    def _spend(self, at: int, kind: str, entries: float) -> None:
        self.ledger.spend(kind if at == 0 else "coarse", float(entries))
