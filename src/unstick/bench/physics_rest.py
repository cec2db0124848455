"""Exact states: a block that falls off its ceiling, and water that stands still."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unstick.geometry.shapes import Box, Plane
from unstick.grid import Array, Grid
from unstick.liquid.scene import Body, Numerics, Scene, Solid, Walls
from unstick.liquid.simulation import Simulation

GRAVITY = 9.81
WATER = 1000.0
EXACT = Numerics(tolerance=1e-10, reseed=False, volume_source=False)


def box_scene(
    n: int, dimension: int, liquid: Body, numerics: Numerics, walls: Walls = "separating", solids: tuple[Solid, ...] = ()
) -> Scene:
    """A closed box of side 1 with n cells along x and y (and 8 along z in 3D)."""
    shape = (n, n) if dimension == 2 else (n, n, 8)
    return Scene(
        name="box", grid=Grid(shape, 1.0 / n), liquid=(liquid,), solids=solids, sides=(walls,) * 6, density=WATER, numerics=numerics
    )


@dataclass(frozen=True, slots=True)
class Fall:
    """A block that reaches from wall to wall under the ceiling, on its way down."""

    first_pressure: float  # largest |p| of the first step
    pressure: float  # largest |p| of all steps before it meets the floor, over rho g H
    velocity: float  # largest difference of a particle's velocity from g t, over g t
    fallen: float  # of the centre of mass, over g t^2 / 2


def fall(n: int, dimension: int, walls: Walls = "separating", numerics: Numerics = EXACT, until: float = 0.9) -> Fall:
    """`until`: the part of the time to the floor that is looked at."""
    height = 0.4
    liquid = Body(shape=Box((-1.0,) * dimension, (2.0,) * dimension) & _above(1.0 - height, dimension))
    simulation = Simulation(box_scene(n, dimension, liquid, numerics, walls))
    end = until * np.sqrt(2.0 * (1.0 - height) / GRAVITY)
    start = float(simulation.state.particles.position[:, 1].mean())
    first, most, off = None, 0.0, 0.0
    while simulation.state.time + simulation.scene.frame_time < end:
        simulation.advance_frame()
        assert simulation.last_pressure is not None
        p = float(np.max(np.abs(simulation.last_pressure)))
        first = p if first is None else first
        most = max(most, p)
        state = simulation.state
        wanted = np.array([0.0, -GRAVITY * state.time, 0.0])
        off = max(off, float(np.max(np.abs(state.particles.velocity - wanted))) / (GRAVITY * state.time))
    dropped = start - float(simulation.state.particles.position[:, 1].mean())
    return Fall(first or 0.0, most / (WATER * GRAVITY * height), off, dropped / (0.5 * GRAVITY * simulation.state.time**2))


def _above(y: float, dimension: int) -> Plane:
    """All points above a height."""
    up = (0.0, -1.0, 0.0)[:dimension]
    return Plane((0.0, y, 0.0)[:dimension], up)


@dataclass(frozen=True, slots=True)
class Rest:
    """Water that stands still in a tank."""

    pressure: float  # largest difference of p from rho g depth, over rho g H
    speed: float  # largest speed on the grid, m/s
    rms: float  # largest root mean square of the particles' speeds over the second half, over sqrt(g H)


def rest(n: int, dimension: int, height: float, slant: float, steps: int, numerics: Numerics) -> Rest:
    """`height` in cells, `slant` the slope of the floor."""
    h = 1.0 / n
    level = height * h
    liquid = Body(shape=Plane((0.0, level, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension]))
    solids: tuple[Solid, ...] = ()
    if slant:
        floor = Plane((0.5, 0.15, 0.0)[:dimension], (-slant, 1.0, 0.3 * slant)[:dimension])
        solids = (Solid(name="floor", shape=floor),)
    simulation = Simulation(box_scene(n, dimension, liquid, numerics, solids=solids))
    speed, rms = 0.0, 0.0
    for step in range(steps):
        simulation.advance_frame()
        if 2 * step >= steps:
            velocity = simulation.state.particles.velocity
            rms = max(rms, float(np.sqrt(np.mean(np.sum(velocity**2, axis=1)))))
        speed = max(speed, grid_speed(simulation))
    return Rest(hydrostatic_error(simulation, level), speed, rms / np.sqrt(GRAVITY * level))


def grid_speed(simulation: Simulation) -> float:
    return max(float(np.max(np.abs(component))) for component in simulation.state.velocity.components)


def hydrostatic_error(simulation: Simulation, level: float) -> float:
    """Largest difference of p from rho g depth in liquid cells, over rho g H."""
    grid, p = simulation.grid, simulation.last_pressure
    assert p is not None
    y = (grid.origin[1] + (np.arange(grid.shape[1]) + 0.5) * grid.spacing)[None, :, None]
    exact = np.broadcast_to(WATER * GRAVITY * (level - y), p.shape)
    rows: Array = p != 0
    return float(np.max(np.abs(p - exact)[rows])) / (WATER * GRAVITY * level)


def still(surface: str, **changes: object) -> Numerics:
    return replace(EXACT, surface=surface, **changes)  # type: ignore[arg-type]
