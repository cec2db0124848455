"""One time step of a gas. Stages have the names of the liquid's step (liquid/step.py), and are the same ones but for `advect`.

There are no particles and no free surface, so that particles_to_grid, liquid_surface and grid_to_particles are left out. Walls stick: a
gas fills what it is given, and cannot let go.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unstick.liquid.advect import PATHS
from unstick.liquid.extrapolate import constrain, extend, extrapolate, mark_valid
from unstick.liquid.report import Clock
from unstick.liquid.step import LAYERS, Method
from unstick.pressure.projection import Flow
from unstick.smoke.advect import Passage, centre_open, keep, open_parts
from unstick.smoke.forces import add_confinement, add_weight
from unstick.smoke.report import Motion, SmokeReport, report
from unstick.smoke.sources import apply_sources
from unstick.smoke.state import gas_of, has_open_side, smoke_of

if TYPE_CHECKING:
    from unstick.grid import Array
    from unstick.liquid.scene import Scene
    from unstick.liquid.solids import WallState
    from unstick.liquid.state import State

STAGES = ("body_forces", "cut_cells", "pressure", "extrapolate", "advect")


def step(scene: Scene, method: Method, state: State, dt: float) -> SmokeReport:
    """Advance the state by dt."""
    smoke, numerics, grid = smoke_of(scene), scene.numerics, state.grid
    bodies, clock = method.bodies, Clock()

    with clock("body_forces"):
        free = None if bodies is None else bodies.free(scene, state, dt)
        immersed = None if bodies is None else bodies.placed(state)
        before = method.walls.at(state.time, immersed)
        velocity = state.velocity.copy()
        add_weight(velocity, scene, state, dt)
        add_confinement(velocity, smoke, before.solid_phi, dt)

    with clock("cut_cells"):
        walls = stuck(method.walls.at(state.time + dt, immersed))

    with clock("pressure"):
        told = None if bodies is None or free is None else bodies.coupled(scene, state, free, state.phi, walls, dt)
        flow = Flow(
            grid=grid,
            liquid_phi=state.phi,
            solid_phi=walls.solid_phi,
            velocity=velocity,
            dt=dt,
            density=scene.density,
            solid_velocity=walls.velocity,
            walls=walls.separating,
            theta_min=numerics.theta_min,
            bodies=told,
        )
        projected = method.projection(flow, state.guess)
        projected.result.require()  # a step that failed leaves the state as it was

    with clock("extrapolate"):
        if immersed is not None and projected.bodies is not None:
            walls = stuck(method.walls.carried(state.time + dt, immersed, immersed.moving(projected.bodies)))
        velocity = projected.velocity
        valid = mark_valid(grid, state.phi, walls.solid_phi)
        if projected.given is not None:
            for mine, given in zip(valid, projected.given, strict=True):
                np.maximum(mine, given, out=mine)
        motion = Motion.of(velocity, valid, scene.density)
        extrapolate(velocity, valid, int(numerics.cfl) + LAYERS)
        constrain(velocity, grid, walls, valid)

    with clock("advect"):
        if bodies is not None and free is not None and projected.bodies is not None:
            state.bodies = bodies.advance(scene, state, free, projected.bodies, dt)
            walls = method.walls.at(state.time + dt, bodies.placed(state))
        passage = Passage(velocity, dt, PATHS[numerics.paths], smoke.advection, before.solid_phi, walls.solid_phi)
        parts = open_parts(grid, walls.solid_phi)
        lost = carry_gas(scene, state, passage, parts)
        state.velocity = passage.carry_velocity()
        leave(scene, state, parts, dt)
        apply_sources(scene, state, parts, state.time + dt)

    state.guess = projected.guess
    state.time += dt
    state.step += 1
    return report(state, projected, motion, parts, lost, dt, clock, bodies)


def stuck(walls: WallState) -> WallState:
    """The walls, none of which lets go of a gas."""
    return replace(walls, separating="sticking")


def carry_gas(scene: Scene, state: State, passage: Passage, parts: Array) -> float:
    """Smoke and heat along their paths; returns how much smoke was lost."""
    gas, grid = gas_of(state), state.grid
    old_parts = parts if passage.old is passage.new else open_parts(grid, passage.old)
    wanted = [float(np.sum(field * old_parts)) for field in (gas.density, gas.excess)]
    values, least, most = passage.carry_cells(gas.density, gas.excess)
    free = centre_open(grid, passage.new)
    for field in values:
        extend(field, free, int(scene.numerics.cfl) + LAYERS)
    missing = [total - float(np.sum(field * parts)) for field, total in zip(values, wanted, strict=True)]
    if smoke_of(scene).conserve:
        for m, total in enumerate(wanted):
            missing[m] = keep(values[m], least[m], most[m], parts, free, total)
    gas.density, gas.excess = values
    return missing[0] * grid.spacing**grid.dimension


def leave(scene: Scene, state: State, parts: Array, dt: float) -> None:
    """What is beyond open sides is gone; what is inside fades and cools."""
    smoke, gas = smoke_of(scene), gas_of(state)
    cell = state.grid.spacing**state.grid.dimension
    before = float(np.sum(gas.density * parts))
    if has_open_side(scene):
        inside = state.phi < 0.0
        gas.density *= inside
        gas.excess *= inside
    if smoke.fading:
        gas.density *= math.exp(-smoke.fading * dt)
    if smoke.cooling:
        gas.excess *= math.exp(-smoke.cooling * dt)
    gas.left += (before - float(np.sum(gas.density * parts))) * cell
