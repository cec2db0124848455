"""One time step, from top to bottom as the papers tell it; each stage is a line here and a page elsewhere.

Lai 2021, algorithm 1; Karlsson 2014, chapter 3. The names of the stages are the names in the log, the timings and the statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unstick.liquid.advect import PATHS, advect_faces, move, push_out
from unstick.liquid.contact import after_solve
from unstick.liquid.extrapolate import constrain, extrapolate, mark_valid
from unstick.liquid.forces import add_gravity
from unstick.liquid.keep import wanted_expansion
from unstick.liquid.particles import reseed, sort
from unstick.liquid.report import Clock, StepReport, report
from unstick.liquid.sources import apply_sources
from unstick.liquid.volume import volume
from unstick.pressure.projection import Flow, Projection

if TYPE_CHECKING:
    from unstick.liquid.bodies import BodyStage
    from unstick.liquid.scene import Scene
    from unstick.liquid.solids import Walls
    from unstick.liquid.state import State
    from unstick.liquid.surface import Surface
    from unstick.liquid.transfer import Transfer

STAGES = (
    "particles_to_grid",
    "body_forces",
    "liquid_surface",
    "cut_cells",
    "pressure",
    "extrapolate",
    "grid_to_particles",
    "advect",
)
RIM = 2  # layers of faces around those that particles reached, which the surface may touch nevertheless
LAYERS = 3  # of faces beyond those that liquid can cross in a step, which keep a velocity


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """How a scene is computed: one value for each choice that a scene may make."""

    transfer: Transfer
    surface: Surface
    walls: Walls
    projection: Projection
    bodies: BodyStage | None = None


def step(scene: Scene, method: Method, state: State, dt: float) -> StepReport:
    """Advance the state by dt."""
    numerics, grid, particles = scene.numerics, state.grid, state.particles
    bodies, clock = method.bodies, Clock()

    with clock("particles_to_grid"):
        index = sort(particles, grid)
        before, known = method.transfer.to_grid(particles, index, state.velocity)
        extrapolate(before, known, RIM)

    with clock("body_forces"):
        velocity = add_gravity(before, scene.gravity, state.time, dt)
        free = None if bodies is None else bodies.free(scene, state, dt)

    with clock("liquid_surface"):
        immersed = None if bodies is None else bodies.placed(state)
        old_walls = method.walls.at(state.time, immersed)
        phi = method.surface.locate(state, index, old_walls.solid_phi)
        found = volume(grid, phi, old_walls.solid_phi)

    with clock("cut_cells"):
        walls = method.walls.at(state.time + dt, immersed)

    with clock("pressure"):
        told = None if bodies is None or free is None else bodies.coupled(scene, state, free, phi, walls, dt)
        flow = Flow(
            grid=grid,
            liquid_phi=phi,
            solid_phi=walls.solid_phi,
            velocity=velocity,
            dt=dt,
            density=scene.density,
            solid_velocity=walls.velocity,
            walls=walls.separating,
            expansion=wanted_expansion(state.volume, found) if numerics.volume_source else 0.0,
            theta_min=numerics.theta_min,
            bodies=told,
        )
        projected = method.projection(flow, state.guess)
        projected.result.require()  # a step that failed leaves the state as it was

    with clock("extrapolate"):
        if immersed is not None and projected.bodies is not None:
            walls = method.walls.carried(state.time + dt, immersed, immersed.moving(projected.bodies))
        velocity = projected.velocity
        reach = int(numerics.cfl) + LAYERS
        valid = mark_valid(grid, phi, walls.solid_phi)
        if projected.given is not None:
            for mine, given in zip(valid, projected.given, strict=True):
                np.maximum(mine, given, out=mine)
        extrapolate(velocity, valid, reach)
        constrain(velocity, grid, after_solve(grid, walls, projected.result), valid)

    with clock("grid_to_particles"):
        method.transfer.to_particles(particles, before, velocity, index)

    state.phi, state.guess, state.found = phi, projected.guess, found
    state.volume = found if state.volume is None else state.volume

    with clock("advect"):
        path = PATHS[numerics.paths]
        move(particles, velocity, dt, path)
        if bodies is not None and free is not None and projected.bodies is not None:
            state.bodies = bodies.advance(scene, state, free, projected.bodies, dt)
            walls = method.walls.at(state.time + dt, bodies.placed(state))
        push_out(particles, grid, walls.solid_phi)
        method.surface.advance(state, velocity, dt, path)
        state.velocity = velocity if method.transfer.carries_velocity else advect_faces(velocity, dt, path)
        state.volume += apply_sources(scene, state, walls, dt)
        if numerics.reseed:
            reseed(particles, state, walls.solid_phi, numerics)

    state.time += dt
    state.step += 1
    return report(scene, state, projected.result, dt, clock, bodies)
