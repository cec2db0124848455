"""pi-mg and pe-mg: policy iteration and the penalty method with linear multigrid inside (Lai sections 5.1 to 5.3)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from unstick.problem import Array
from unstick.solvers.control import first_control
from unstick.solvers.fas import nested_start
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod
from unstick.solvers.multigrid.linear import Multigrid, ReusedMultigrid
from unstick.solvers.multigrid.nonlinear import NonlinearCycle
from unstick.solvers.penalty import Penalty
from unstick.solvers.policy import PolicyIteration
from unstick.solvers.protocol import Outcome, Problem, Start

# Where rows have just changed sides the error is rough: two sweeps more at walls and surface save a cycle or two for the
# same work.
SMOOTHED = Multigrid(boundary_sweeps=2)


def nested(problem: Problem, start: Start, reused: ReusedMultigrid, ledger: Ledger) -> Start:
    """A cold start replaced by the interpolated solution of the next coarser problem, found from the coarsest up (as in fas-mg)."""
    if not start.cold or problem.lattice is None:
        return start
    hierarchy = reused.multigrid.hierarchy(problem.A, problem.lattice, ledger)
    cycle = NonlinearCycle(hierarchy, ledger, "V", 2, 2, 0, True, True)
    finest = cycle.fields[0]
    finest.f[:] = -problem.b
    finest.contact[:] = problem.contact
    nested_start(cycle, ledger)
    reused.kept[:] = [(problem.A, hierarchy)]
    p = finest.x.copy()
    p[problem.contact] = np.maximum(p[problem.contact], 0.0)
    return Start(p, None, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyMG(PolicyIteration):
    """Policy iteration with multigrid cycles inside; `inner` lets about one cycle be spent on a control that is still wrong."""

    inner: float = 0.1
    start: Literal["full", "none"] = "full"  # without a guess: the coarse problems' solution, or p = 0
    multigrid: Multigrid = SMOOTHED
    reused: ReusedMultigrid | None = field(default=None, repr=False)  # the run's own: leave it out

    name: ClassVar[str] = "pi-mg"

    def method(self) -> LinearMethod:
        return self.reused or self.multigrid

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        reused = ReusedMultigrid(multigrid=self.multigrid)
        begin = nested(problem, start, reused, ledger) if self.start == "full" else start
        return PolicyIteration.iterate(dataclasses.replace(self, reused=reused), problem, begin, ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyMG(Penalty):
    """The penalty method with multigrid cycles inside."""

    inner: float = 0.3
    start: Literal["full", "none"] = "full"  # without a guess: the coarse problems' solution, or p = 0
    multigrid: Multigrid = SMOOTHED
    reused: ReusedMultigrid | None = field(default=None, repr=False)  # the run's own: leave it out

    name: ClassVar[str] = "pe-mg"

    def method(self) -> LinearMethod:
        return self.reused or self.multigrid

    def first(self, problem: Problem, start: Start, slack: Array) -> Array:
        """From p = 0 as the thesis has it; a nested start or a guess holds rows at zero already, which p < 0 would not find."""
        return Penalty.first(self, problem, start, slack) if start.cold else first_control(problem, start, slack)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        reused = ReusedMultigrid(multigrid=self.multigrid)
        begin = nested(problem, start, reused, ledger) if self.start == "full" else start
        return Penalty.iterate(dataclasses.replace(self, reused=reused), problem, begin, ledger)
