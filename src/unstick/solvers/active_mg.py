"""pi-mg and pe-mg: policy iteration and the penalty method with linear multigrid inside (Lai sections 5.1 to 5.3)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod
from unstick.solvers.multigrid.linear import Multigrid, ReusedMultigrid
from unstick.solvers.penalty import Penalty
from unstick.solvers.policy import PolicyIteration
from unstick.solvers.protocol import Outcome, Problem, Start


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyMG(PolicyIteration):
    """Policy iteration with multigrid cycles inside; `inner` lets about one cycle be spent on a control that is still wrong."""

    inner: float = 0.3
    multigrid: Multigrid = field(default_factory=Multigrid)
    reused: ReusedMultigrid | None = field(default=None, repr=False)  # the run's own: leave it out

    name: ClassVar[str] = "pi-mg"

    def method(self) -> LinearMethod:
        return self.reused or self.multigrid

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        run = dataclasses.replace(self, reused=ReusedMultigrid(multigrid=self.multigrid))
        return PolicyIteration.iterate(run, problem, start, ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyMG(Penalty):
    """The penalty method with multigrid cycles inside."""

    inner: float = 0.3
    multigrid: Multigrid = field(default_factory=Multigrid)
    reused: ReusedMultigrid | None = field(default=None, repr=False)  # the run's own: leave it out

    name: ClassVar[str] = "pe-mg"

    def method(self) -> LinearMethod:
        return self.reused or self.multigrid

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        run = dataclasses.replace(self, reused=ReusedMultigrid(multigrid=self.multigrid))
        return Penalty.iterate(run, problem, start, ledger)
