"""A run of a gas in memory: the liquid's, with another start and another step."""

from __future__ import annotations

import math

from unstick.checks import InvalidSystem
from unstick.grid import Array
from unstick.kernels.reduce import max_abs
from unstick.liquid.forces import impulse
from unstick.liquid.report import StepReport
from unstick.liquid.simulation import Simulation, max_speed
from unstick.liquid.state import State
from unstick.smoke.advect import open_parts
from unstick.smoke.forces import heaviness
from unstick.smoke.sources import apply_sources
from unstick.smoke.state import begin, gas_of, smoke_of
from unstick.smoke.step import step


class SmokeSimulation(Simulation):
    """What `Simulation(scene)` makes of a scene with `smoke`."""

    def begin(self) -> State:
        state = begin(self.scene)
        if self.bodies is not None:
            state.bodies = self.bodies.world.start()
            self.bodies.require_apart(state, self.walls.at(0.0).solid_phi, self.scene.grid)
        placed = None if self.bodies is None else self.bodies.placed(state)
        apply_sources(self.scene, state, open_parts(self.grid, self.walls.at(0.0, placed).solid_phi), 0.0)
        return state

    def step(self, dt: float) -> StepReport:
        return step(self.scene, self.method, self.state, dt)

    def fastest(self, dt: float) -> float:
        pull = math.hypot(*impulse(self.scene.gravity, self.state.time, dt, self.grid.dimension))
        fastest = max_speed(self.state, on_particles=False)
        if self.bodies is not None:
            fastest = max(fastest, self.bodies.fastest(self.state))
        return fastest + pull * max_abs(heaviness(smoke_of(self.scene), gas_of(self.state)))

    def surface_now(self) -> Array:
        raise InvalidSystem("a gas has no surface; record vtk, or leave mesh out")
