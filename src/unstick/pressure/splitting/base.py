"""What Eckert's projections share: thresholds in the thesis' units, the way from a flow to rows, and from an answer to a velocity.

Lengths are in cells, and time so that a step lasts `step` units (0.5 in all scenes of the thesis). A divergence epsilon is then
epsilon step / dt in 1/s, a velocity epsilon h step / dt in m/s.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from unstick.checks import InvalidSystem, require_count, require_known, require_positive
from unstick.kernels import warm
from unstick.pressure.projection import Flow, Projected
from unstick.pressure.splitting.answer import Answer, nothing, velocity_of
from unstick.pressure.splitting.inner import Inner
from unstick.pressure.splitting.inners import INNERS
from unstick.pressure.splitting.walls import Rows, Setting, WallsFrom
from unstick.problem import Array, Stencil
from unstick.result import Guess, SolveResult, Status, UnsupportedSystem
from unstick.solvers.ledger import Ledger
from unstick.solvers.pockets import find_pockets
from unstick.solvers.rows import scan

AtLimit = Literal["go on", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting(abc.ABC):
    """What all of them share. `epsilon_CG` ends an inner solve."""

    epsilon_CG: float = 1e-3  # noqa: N815 - the thesis' name
    max_iterations: int = 1000  # of the outer iteration
    max_inner: int = 10_000  # iterations of one inner solve
    walls_from: WallsFrom = "fractions"
    inner: str = "pcg"
    warm_start: bool = False  # begin with the pressure of the step before; the thesis begins with none
    step: float = 0.5  # what a time step lasts in the units of the thresholds
    at_limit: AtLimit = "go on"  # what a run does after a step that the iteration limit ended
    on_iteration: Callable[[int, float], None] | None = field(default=None, repr=False)  # called with (outer iteration, residual)

    name: ClassVar[str] = "splitting"

    def __post_init__(self) -> None:
        warm.announce()
        for key in (k for k in self.__dataclass_fields__ if k.startswith("epsilon")):
            require_positive(key, getattr(self, key))
        require_positive("step", self.step)
        require_count("max_iterations", self.max_iterations)
        require_count("max_inner", self.max_inner)
        require_one_of("walls_from", self.walls_from, ("fractions", "flags"))
        require_one_of("at_limit", self.at_limit, ("go on", "stop"))
        require_known("inner solver", self.inner, INNERS)

    def divergence(self, flow: Flow, epsilon: float) -> float:
        """A threshold of the divergence, in 1/s."""
        return epsilon * self.step / flow.dt

    def speed(self, flow: Flow, epsilon: float) -> float:
        """A threshold of the velocity, in m/s."""
        return epsilon * flow.grid.spacing * self.step / flow.dt

    @property
    def inner_solver(self) -> Inner:
        return INNERS[self.inner]

    @abc.abstractmethod
    def find(self, setting: Setting, rows: Rows, ledger: Ledger, start: Array | None) -> Answer:
        """The method itself."""

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        if flow.bodies is not None:
            raise UnsupportedSystem(f"{self.name} knows no bodies that move with the liquid; the solver 'default' takes them")
        setting = Setting.of(flow, self.walls_from)
        rows = Rows.of(setting.stencil)
        ledger = Ledger(max(1, 7 * len(rows.index)))
        start = None
        if self.warm_start and guess is not None:
            start = rows.take(setting.system.restrict(guess.p)).astype(np.float64)
        if len(rows.index) == 0:
            return Projected(flow.velocity.copy(), nothing(self.name, setting))
        answer = self.find(setting, rows, ledger, start)
        return self._projected(setting, rows, answer, ledger)

    def _projected(self, setting: Setting, rows: Rows, answer: Answer, ledger: Ledger) -> Projected:
        loose = np.zeros(len(answer.p) + 1, dtype=np.bool_)  # the last stands for cells without a row
        loose[answer.parts.low[answer.free]] = True
        loose[answer.parts.high[answer.free]] = True
        result = SolveResult(
            system=setting.system,
            row_p=rows.spread(answer.p),
            row_slack=rows.spread(answer.slack),
            status=answer.status,
            solver=self.name,
            iterations=answer.iterations,
            outer_iterations=answer.outer,
            residuals=answer.residuals,
            goal=answer.goal,
            notes=answer.notes,
            work=ledger.totals(),
            row_let_go=rows.spread(loose[:-1]),
            tolerated=self.at_limit == "go on",
        )
        velocity, given = velocity_of(setting, result.p, answer)
        return Projected(velocity, result, given=given)


def repaired(A: Stencil, b: Array, rows: Rows) -> tuple[Array, tuple[str, ...]]:
    """What to add to b so that closed pockets of liquid have a solution, and the notes about it; walls hold."""
    box_b = rows.spread(b)
    _, k0, k1 = scan(A, box_b)
    pockets = find_pockets(A, box_b, np.zeros(A.box, dtype=np.bool_), k0, k1)
    if pockets is None:
        return np.zeros(len(b)), ()
    return rows.take(pockets.lift), tuple(pockets.notes)


def status_of(converged: bool, residual: float, inner: Status) -> Status:
    if converged:
        return Status.CONVERGED
    if not np.isfinite(residual) or inner is Status.DIVERGED:
        return Status.DIVERGED
    return Status.ITERATION_LIMIT


def require_balance(name: str, outer: str, epsilon: float, inner: float) -> None:
    if epsilon < inner:
        raise InvalidSystem(
            f"{name}: {outer} is {epsilon:g} and epsilon_CG {inner:g}; an outer threshold stricter than the inner one leaves each "
            "inner solve its least number of iterations, and the divergence falls very slowly if at all (Eckert 2014, section 4.1): make "
            f"epsilon_CG at most {outer}, or say allow_unbalanced=True"
        )


def require_one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidSystem(f"{name} is {value!r}; allowed: {', '.join(map(repr, known))}")


def require_between(name: str, value: float) -> None:
    if not 0.0 < value < 2.0:
        raise InvalidSystem(f"{name} is {value!r}; it must be between 0 and 2")
