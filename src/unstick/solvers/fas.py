"""fas-mg: full-approximation multigrid for the pressure problem, made to converge at every size.

The cycle is that of Lai's Algorithm 6 with three differences that it needs (docs/solvers/fas-mg.md): rows that the policy
holds at p = 0 are dropped before the Galerkin product, coarse unknowns are connected components, and it starts on the coarsest grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.kernels import sparse_transfer
from unstick.problem import PressureSystem
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarse import CoarseMatrices, Galerkin
from unstick.solvers.multigrid.drive import refuse_without_grid, repeat
from unstick.solvers.multigrid.hierarchy import Hierarchy
from unstick.solvers.multigrid.nonlinear import NonlinearCycle, Shape
from unstick.solvers.multigrid.transfers import Transfer
from unstick.solvers.protocol import Outcome, Problem, Solver, Start


@dataclass(frozen=True, slots=True, kw_only=True)
class FasMg(Solver):
    """`start`: "full" solves the coarse problems first when no guess is given, "none" begins with the guess or p = 0."""

    max_iterations: int = 300
    transfer: Transfer = field(default_factory=Transfer)
    coarse: CoarseMatrices = field(default_factory=Galerkin)
    shape: Shape = "V"
    pre: int = 2
    post: int = 2
    boundary_sweeps: int = 0  # extra sweeps over contact rows before and after the correction
    start: Literal["full", "none"] = "full"
    line_search: bool = True
    direct: bool = True  # solve the coarsest grid's free rows directly between its sweeps

    name: ClassVar[str] = "fas-mg"

    def __post_init__(self) -> None:
        super(FasMg, self).__post_init__()
        require_count("pre", self.pre, 0)
        require_count("post", self.post, 0)
        require_count("boundary_sweeps", self.boundary_sweeps, 0)
        if self.pre + self.post == 0:
            raise InvalidSystem("pre and post are both 0; a cycle needs at least one sweep")

    def refuse(self, system: PressureSystem) -> None:
        refuse_without_grid(self.name, system)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        assert problem.lattice is not None
        hierarchy = Hierarchy.build(problem.A, problem.lattice, self.transfer, self.coarse, ledger)
        cycle = NonlinearCycle(hierarchy, ledger, self.shape, self.pre, self.post, self.boundary_sweeps, self.line_search, self.direct)
        finest = cycle.fields[0]
        finest.f[:] = -problem.b
        finest.contact[:] = problem.contact
        finest.lower[problem.contact] = 0.0
        if start.cold and self.start == "full":
            nested_start(cycle, ledger)
        else:
            finest.x[:] = start.p
            if start.detached is not None:
                finest.x[start.detached] = 0.0
        return repeat(self, cycle, problem, ledger, stretch=self.line_search)


def nested_start(cycle: NonlinearCycle, ledger: Ledger) -> None:
    """Full-multigrid start (Lai section 5.3): solve the coarsest problem, then one cycle on each finer one (fas.md 2.3)."""
    hierarchy = cycle.hierarchy
    hierarchy.fill()
    last = len(hierarchy.levels) - 1
    for at in range(last):
        level, v, w = hierarchy.levels[at], cycle.fields[at], cycle.fields[at + 1]
        assert level.down is not None
        T = level.down.T
        sparse_transfer.restrict(T.ptr, T.idx, T.val, level.down.scale, level.free, v.f, w.f)
        sparse_transfer.any_child(T.ptr, T.idx, v.contact, w.contact)
        w.lower[:] = np.where(w.contact, 0.0, -np.inf)
        ledger.spend("transfers" if at == 0 else "coarse", T.nnz)
    v = cycle.fields[last]
    v.x[:] = 0.0
    cycle.coarsest.solve(v.f, v.lower, v.x)
    for at in range(last - 1, -1, -1):
        cycle.interpolate(at)
        if at > 0:
            cycle.run(at)
            cycle.release(at)
