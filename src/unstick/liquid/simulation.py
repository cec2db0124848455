"""A run in memory: a scene, how it is computed, and the state as it goes from frame to frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from unstick.fields import FaceField
from unstick.geometry.shapes import Shape, sample
from unstick.grid import Array
from unstick.kernels.reduce_points import energy_and_speed
from unstick.liquid.bodies import BodyStage
from unstick.liquid.forces import impulse
from unstick.liquid.impact import steps_to_hit
from unstick.liquid.particles import seed, sort
from unstick.liquid.report import StepReport
from unstick.liquid.scene import Body, Scene
from unstick.liquid.solids import Walls, WallState
from unstick.liquid.state import Particles, State, with_margin
from unstick.liquid.step import Method, step
from unstick.liquid.surface import make_surface
from unstick.liquid.transfer import make_transfer
from unstick.pressure.coupling.projection import CoupledProjection
from unstick.pressure.coupling.solver import Coupled
from unstick.pressure.projection import PressureProjection, Projection
from unstick.pressure.splitting.table import make_projection
from unstick.result import UnsupportedSystem

LEAST_STEPS = 1
MOST_STEPS = 200  # in a frame; a liquid that asks for more has been blown up by something


class Recorder(Protocol):
    """Something that looks at a simulation after frame 0 and after every complete frame."""

    def record(self, simulation: Simulation) -> None: ...

    def close(self) -> None: ...


class StepsExceeded(RuntimeError):
    """The liquid is too fast for any sensible step."""


class Simulation:
    """`Simulation(scene).run()` computes all frames; `state` is all that is carried from step to step.

    A scene of smoke makes a `SmokeSimulation`, which differs in its step alone.
    """

    def __new__(cls, scene: Scene, *_: Any, **__: Any) -> Simulation:
        if cls is Simulation and scene.smoke is not None:
            from unstick.smoke.simulation import SmokeSimulation

            return super().__new__(SmokeSimulation)
        return super().__new__(cls)

    def __init__(
        self, scene: Scene, projection: Projection | None = None, recorders: Sequence[Recorder] = (), state: State | None = None
    ) -> None:
        self.scene = scene
        self.grid = with_margin(scene.grid)
        numerics = scene.numerics
        self.bodies = BodyStage.of(scene, self.grid)
        self.walls = Walls.of(scene, self.grid, () if self.bodies is None else self.bodies.world.still)
        self.method = Method(
            transfer=make_transfer(numerics),
            surface=make_surface(numerics),
            walls=self.walls,
            projection=projection or choose_projection(scene),
            bodies=self.bodies,
        )
        self.state = self.begin() if state is None else state
        self.recorders = tuple(recorders)
        self.last_report: StepReport | None = None

    def begin(self) -> State:
        """The state at t = 0."""
        return start(self.scene, self.method)

    def step(self, dt: float) -> StepReport:
        """Advance the state by dt."""
        return step(self.scene, self.method, self.state, dt)

    def fastest(self, dt: float) -> float:
        """How fast anything may be within the next dt, m/s."""
        fall = math.hypot(*impulse(self.scene.gravity, self.state.time, dt, self.grid.dimension))
        fastest = max_speed(self.state, self.method.transfer.carries_velocity)
        if self.bodies is not None:
            fastest = max(fastest, self.bodies.fastest(self.state))
        return fastest + fall

    @property
    def last_pressure(self) -> Array | None:
        """p of the last step at cell centres, with margin."""
        return None if self.state.guess is None else self.state.guess.p.reshape(self.grid.shape3)

    @property
    def last_detached(self) -> Array | None:
        """Bool by cell, with margin: where the liquid let go of a wall in the last step."""
        return None if self.state.guess is None else self.state.guess.detached.reshape(self.grid.shape3)

    def walls_at(self, t: float) -> WallState:
        """With bodies that move with the liquid where they are now."""
        return self.walls.at(t, None if self.bodies is None else self.bodies.placed(self.state))

    def surface_now(self) -> Array:
        """The liquid's distance at cell centres for the particles as they stand; the state stays as it is."""
        index = sort(self.state.particles, self.grid)
        return self.method.surface.locate(self.state, index, self.walls_at(self.state.time).solid_phi)

    def run(self, frames: int | None = None, on_step: Callable[[StepReport], None] | None = None) -> None:
        """Compute until `frames` frames are complete (the scene's own number if not given)."""
        last = self.scene.frames if frames is None else frames
        try:
            if self.state.step == 0:
                self._record()
            while self.state.frame < last:
                self.advance_frame(on_step)
                self._record()
        finally:
            for recorder in self.recorders:
                recorder.close()

    def advance_frame(self, on_step: Callable[[StepReport], None] | None = None) -> None:
        """Steps to the end of the present frame."""
        state = self.state
        end = (state.frame + 1) * self.scene.frame_time
        while True:
            remaining = end - state.time
            steps = self.steps_left(remaining)
            self.last_report = self.step(remaining / steps)
            if steps == 1:
                state.time = end
            if on_step is not None:
                on_step(self.last_report)
            if steps == 1:
                break
        state.frame += 1

    def steps_left(self, remaining: float) -> int:
        """How many equal steps lead to the end of the frame: none takes liquid farther than cfl cells (Lai eq. 3.27), nor too far at once
        towards a wall that it hits."""
        state, scene = self.state, self.scene
        fastest = self.fastest(remaining)
        steps = math.ceil(remaining * fastest / (scene.numerics.cfl * self.grid.spacing))
        if not steps <= MOST_STEPS:
            raise StepsExceeded(
                f"the fastest liquid or body moves at {fastest:.3g} m/s after {state.time:.4g} s, which would take {steps} steps to the "
                f"end of the frame (at most {MOST_STEPS} are allowed); look at the last frames, raise the resolution, or raise numerics.cfl"
            )
        hits = 0
        if len(state.particles) > 0 and self.method.transfer.carries_velocity:
            hits = steps_to_hit(state.particles, self.walls_at(state.time).solid_phi, self.grid, remaining, scene.numerics.impact)
        return max(LEAST_STEPS, steps, hits)

    def _record(self) -> None:
        for recorder in self.recorders:
            recorder.record(self)


def choose_projection(scene: Scene) -> Projection:
    """The one that the scene's numerics ask for; bodies that move with the liquid are solved for together with it."""
    numerics = scene.numerics
    plain = make_projection(numerics.solver, numerics.tolerance)
    if not scene.has_bodies:
        return plain
    if not isinstance(plain, PressureProjection):
        raise UnsupportedSystem(f"{plain.name} knows no bodies that move with the liquid; the solver 'default' takes them")
    return CoupledProjection(Coupled(tolerance=numerics.tolerance), plain)


def max_speed(state: State, on_particles: bool) -> float:
    """Of the particles, or of the grid where these carry no velocity. Faces are left out otherwise: slivers at walls are fast and thin."""
    if on_particles:
        return energy_and_speed(state.particles.velocity)[1]
    return math.sqrt(sum(float(np.max(np.abs(c), initial=0.0)) ** 2 for c in state.velocity.components))


def start(scene: Scene, method: Method) -> State:
    """The state at t = 0: particles in the liquid bodies, and the distance to them."""
    grid = with_margin(scene.grid)
    out = State(grid, Particles.none(False), liquid_phi(scene), initial_velocity(scene))
    walls = method.walls.at(0.0)
    if method.bodies is not None:
        out.bodies = method.bodies.world.start()
        method.bodies.require_apart(out, walls.solid_phi, scene.grid)
        walls = method.walls.at(0.0, method.bodies.placed(out))
    particles = seed(scene.liquid, grid, walls.solid_phi, scene.numerics)
    if not method.transfer.affine:
        particles.affine = np.zeros((0, 3, 3))
    out.particles = particles
    return out


def liquid_phi(scene: Scene) -> Array:
    """Distance to the liquid bodies at cell centres; far away in air when there are none."""
    grid = with_margin(scene.grid)
    if not scene.liquid:
        return np.full(grid.shape3, max(grid.extent))
    union: Shape = scene.liquid[0].shape
    for body in scene.liquid[1:]:
        union = union | body.shape
    return sample(union, grid, "cells").reshape(grid.shape3)


def initial_velocity(scene: Scene) -> FaceField:
    """On every face the velocity of the nearest liquid body."""
    grid = with_margin(scene.grid)
    if not any(any(body.velocity) or any(body.spin) for body in scene.liquid):
        return FaceField(grid)

    def velocity(*x: Array) -> list[Array]:
        shape = np.broadcast_shapes(*(line.shape for line in x))
        nearest, best = [np.zeros(shape) for _ in x], np.full(shape, np.inf)
        for body in scene.liquid:
            distance = body.shape.distance(*x)
            closer = distance < best
            best = np.where(closer, distance, best)
            for axis, value in enumerate(body_velocity(scene, body, *x)):
                nearest[axis] = np.where(closer, value, nearest[axis])
        return nearest

    return FaceField.from_function(grid, velocity)


def body_velocity(scene: Scene, body: Body, *x: Array) -> list[Array | float]:
    """Velocity of a body's points: its own, and its spin about the centre of the domain."""
    domain, d = scene.grid, scene.grid.dimension
    out: list[Array | float] = list(body.velocity) or [0.0] * d
    if not any(body.spin):
        return out
    r = [x[a] - (domain.origin[a] + 0.5 * domain.extent[a]) for a in range(d)]
    if d == 2:
        return [out[0] - body.spin[0] * r[1], out[1] + body.spin[0] * r[0]]
    p, q, s = body.spin
    return [out[0] + q * r[2] - s * r[1], out[1] + s * r[0] - p * r[2], out[2] + p * r[1] - q * r[0]]
