"""The partitioned scheme, for comparison: the liquid is solved with the bodies as walls of known velocity, then the bodies with the
liquid's pressure as a known force, in turns.

One turn is what most simulators do. It lags behind by the liquid that a body carries: with that added mass m_a, a turn maps an error e of
the body's velocity to -(m_a / m) e, so turns converge only for bodies heavier than their added mass (a sphere of half the liquid's density
is the limit), and one turn a step, from step to step, is unstable for the same bodies, however short the step. Under-relaxation moves
the limit and costs turns; the coupled solve has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.grid import Array
from unstick.pressure.coupling.system import Coupling
from unstick.pressure.project import project
from unstick.pressure.projection import Flow, PressureProjection, Projected
from unstick.problem import PressureSystem
from unstick.result import Guess, SolveResult
from unstick.solvers.default import Default
from unstick.solvers.protocol import Solver


@dataclass(frozen=True, slots=True)
class PartitionedProjection:
    """So many turns, each relaxed: v <- (1 - relaxation) v + relaxation (v* + impulse of the last pressure)."""

    turns: int = 1
    relaxation: float = 1.0
    solver: Solver = field(default_factory=Default)

    def __post_init__(self) -> None:
        require_count("turns", self.turns)
        if not 0.0 < self.relaxation <= 1.0:
            raise InvalidSystem(f"relaxation is {self.relaxation!r}; it must be above 0 and at most 1")

    @property
    def name(self) -> str:
        return "partitioned"

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        if flow.bodies is None or flow.bodies.count == 0:
            return PressureProjection(self.solver)(flow, guess)
        coupling = Coupling.of(flow)
        found, v, after = self.take_turns(coupling, guess)
        velocity = project(flow.grid, flow.velocity, found.p, flow.liquid_phi, flow.solid_phi, flow.dt, flow.density, flow.theta_min)
        gap = float(np.max(np.abs(after - v), initial=0.0))
        note = f"the bodies leave the step with velocities that differ by {gap:.3g} from those the liquid saw"
        result = replace(found, solver=self.name, notes=(*found.notes, note))
        return Projected(velocity, result, after, coupling.impulse(found.row_p))

    def take_turns(self, coupling: Coupling, guess: Guess | None) -> tuple[SolveResult, Array, Array]:
        """The last solve, the velocity of the bodies that it saw, and the one that its pressure gives them."""
        system, start = coupling.system, coupling.bodies.velocity
        v, found = start, None
        after = start
        for turn in range(self.turns):
            b = system.row_b.copy()
            coupling.factor.add_to(b, coupling.bodies.jacobian.reshape(-1, start.size) @ (v - start))
            plain = PressureSystem(system.A, b, system.row_contact, system.shape, system.cell_types)
            found = self.solver.solve(plain, guess if found is None else found)
            after = coupling.velocity(found.row_p)
            if turn + 1 < self.turns:
                v = (1.0 - self.relaxation) * v + self.relaxation * after
        assert found is not None
        return found, v, after
