"""The pressure stage of a simulation with bodies: velocity in, velocity and the bodies' motion out."""

from __future__ import annotations

from dataclasses import dataclass, field

from unstick.pressure.coupling.solver import Coupled
from unstick.pressure.coupling.system import Coupling
from unstick.pressure.project import project
from unstick.pressure.projection import Flow, PressureProjection, Projected
from unstick.result import Guess


@dataclass(frozen=True, slots=True)
class CoupledProjection:
    """Pressure and body velocities in one solve. A flow without bodies goes to `plain`."""

    solver: Coupled = field(default_factory=Coupled)
    plain: PressureProjection = field(default_factory=PressureProjection)

    @property
    def name(self) -> str:
        return self.solver.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        if flow.bodies is None or flow.bodies.count == 0:
            return self.plain(flow, guess)
        coupling = Coupling.of(flow)
        result = self.solver.solve(coupling.system, guess)
        velocity = project(flow.grid, flow.velocity, result.p, flow.liquid_phi, flow.solid_phi, flow.dt, flow.density, flow.theta_min)
        return Projected(velocity, result, coupling.velocity(result.row_p), coupling.impulse(result.row_p))
