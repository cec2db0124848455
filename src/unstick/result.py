"""What a solve gives back: the pressure, how it ended, and what it cost."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unstick.problem import Array, PressureSystem


class Status(enum.Enum):
    """How a solve ended; the value is the sentence for the user."""

    CONVERGED = "The residual is at or below the tolerance."
    ITERATION_LIMIT = "The iteration limit was reached before the tolerance; raise max_iterations, or take the solver 'default'."
    STAGNATED = "The residual stopped falling above the tolerance (the last entry of residuals is the floor reached); raise the tolerance."
    DIVERGED = "The iteration left finite numbers or grew without bound; take the solver 'default', or check A and b."
    INTERRUPTED = "The solve was interrupted; p is the last iterate."


class SolveError(RuntimeError):
    """A solve that was required to converge did not; `result` is what it reached."""

    def __init__(self, result: SolveResult) -> None:
        super().__init__(
            f"{result.solver}: {result.status.value} "
            f"({result.iterations} iterations, residual {result.residual:.3g}, goal {result.goal:.3g})"
        )
        self.result = result


class UnsupportedSystem(ValueError):
    """A solver cannot take this system; the message names one that can. Raised before any work."""


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Where a solve may start: a pressure and the rows held at zero, both of the system's shape. A result leaves it to the next step."""

    p: Array
    detached: Array  # bool


@dataclass(frozen=True, slots=True, eq=False)
class SolveResult:
    """`row_p` and `row_slack` stand on the rows of the system's A; `p` and `slack` have the system's shape."""

    system: PressureSystem
    row_p: Array
    row_slack: Array  # A p + b
    status: Status
    solver: str
    iterations: int
    outer_iterations: int
    residuals: tuple[float, ...]  # the norm of the stopping test, one for all solvers; the last one recomputed from p
    goal: float  # the value of that norm at which the solve is converged
    notes: tuple[str, ...] = ()
    work: dict[str, float] = field(default_factory=dict)  # machine-independent cost; see docs/solvers/work.md
    row_let_go: Array | None = None  # bool: the rows that let go of a wall, from a method that does not tell it by p and slack
    tolerated: bool = False  # whether to go on with what the iteration limit left

    @property
    def p(self) -> Array:
        return self.system.expand(self.row_p)

    @property
    def slack(self) -> Array:
        return self.system.expand(self.row_slack)

    @property
    def detached(self) -> Array:
        """Bool, the system's shape: contact rows from which the liquid lets go."""
        return self.system.expand(self.row_detached)

    @property
    def row_detached(self) -> Array:
        if self.row_let_go is not None:
            return self.row_let_go
        return np.asarray(self.system.row_contact & (self.row_p == 0) & (self.row_slack > 0))

    @property
    def converged(self) -> bool:
        return self.status is Status.CONVERGED

    @property
    def residual(self) -> float:
        return self.residuals[-1]

    def require(self) -> Array:
        """p, or a SolveError that carries this result."""
        if not (self.converged or (self.tolerated and self.status is Status.ITERATION_LIMIT)):
            raise SolveError(self)
        return self.p
