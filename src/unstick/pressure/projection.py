"""From a velocity that is not yet divergence-free to one that is: the seam between the time step and every way to find a pressure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from unstick.fields import FaceField
from unstick.geometry.liquid import THETA_MIN
from unstick.grid import Array, Grid
from unstick.pressure.assemble import assemble
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.project import project
from unstick.problem import PressureSystem, Stencil
from unstick.result import Guess, SolveResult, UnsupportedSystem
from unstick.solvers.default import Default
from unstick.solvers.protocol import Solver


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """What the pressure stage of a time step is given."""

    grid: Grid
    liquid_phi: Array  # at cell centres
    solid_phi: Array  # at nodes
    velocity: FaceField
    dt: float
    density: float = 1.0
    solid_velocity: FaceField | None = None
    walls: Any = "separating"  # as for `assemble`
    expansion: Array | float = 0.0  # wanted divergence in 1/s, by cell: a source that corrects volume
    theta_min: float = THETA_MIN
    bodies: Bodies | None = None  # what moves with the liquid; `solid_phi` contains them, `solid_velocity` does not


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """The velocity after the pressure, and the solve it came from."""

    velocity: FaceField
    result: SolveResult
    bodies: Array | None = None  # (m,) generalised velocity of the flow's bodies after the pressure
    impulse: Array | None = None  # (m,) generalised impulse of the pressure on them: mass times the change of velocity
    given: tuple[Array, Array, Array] | None = None  # uint8 by face: closed ones too that the projection has given a velocity

    @property
    def guess(self) -> Guess:
        """What the next step starts from."""
        return Guess(self.result.p, self.result.detached)


class Projection(Protocol):
    """Velocity in, velocity out."""

    @property
    def name(self) -> str: ...

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected: ...


@dataclass(frozen=True, slots=True)
class PressureProjection:
    """Assemble the pressure system, solve it with `solver`, and subtract the gradient."""

    solver: Solver = field(default_factory=Default)

    @property
    def name(self) -> str:
        return self.solver.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        if flow.bodies is not None:
            raise UnsupportedSystem("PressureProjection takes no bodies that move with the liquid; take CoupledProjection")
        result = self.solver.solve(system_of(flow), guess)
        velocity = project(flow.grid, flow.velocity, result.p, flow.liquid_phi, flow.solid_phi, flow.dt, flow.density, flow.theta_min)
        return Projected(velocity, result)


def system_of(flow: Flow) -> PressureSystem:
    """The pressure system of a flow: A p + b is the divergence after the step less the wanted expansion."""
    system = assemble(
        flow.grid, flow.liquid_phi, flow.solid_phi, flow.velocity, flow.dt, flow.density, flow.solid_velocity, flow.walls, flow.theta_min
    )
    return replace(system, row_b=system.row_b - expansion_of(flow, system))


def expansion_of(flow: Flow, system: PressureSystem) -> Array | float:
    """The wanted divergence on the rows of a flow's system."""
    if np.ndim(flow.expansion) == 0 and not np.any(flow.expansion):
        return 0.0
    assert isinstance(system.A, Stencil)
    wanted = system.restrict(np.broadcast_to(flow.expansion, flow.grid.shape3).reshape(system.shape))
    # Contact rows are left out: where liquid may leave its wall, a source would only hold a gap open.
    chosen = system.A.rows() & ~system.row_contact
    return np.where(chosen, wanted, 0.0)
