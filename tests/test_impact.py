"""Steps are shorter where liquid hits a wall: what a step carries into a wall must not come out with more energy than it brought."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unstick.bench.physics_keeping import energy_above_rest, sloshing
from unstick.bench.physics_rest import EXACT
from unstick.geometry.shapes import Box, Sphere, sample
from unstick.grid import Grid
from unstick.liquid.impact import steps_to_hit
from unstick.liquid.scene import Body, Gravity, Scene
from unstick.liquid.simulation import Simulation
from unstick.liquid.state import Particles


def linear(values, at):
    """Nodal values at a point, in cells from the first node; axes with one node are skipped."""
    total = 0.0
    low = [min(int(np.floor(c)), max(n - 2, 0)) for c, n in zip(at, values.shape, strict=True)]
    for corner in np.ndindex(*(1 if n == 1 else 2 for n in values.shape)):
        weight = 1.0
        for axis, c in enumerate(corner):
            if values.shape[axis] > 1:
                r = at[axis] - low[axis]
                weight *= r if c else 1.0 - r
        total += weight * values[tuple(i + c for i, c in zip(low, corner, strict=True))]
    return total


@pytest.mark.parametrize("dimension", [2, 3])
def test_approach_equals_a_plain_loop(dimension):
    rng = np.random.default_rng(7)
    grid = Grid((12,) * dimension, 0.05, (0.1,) * dimension)
    solid = sample(~Sphere((0.4,) * dimension, 0.22), grid)  # open inside of the sphere
    n = 300
    position = 0.4 + rng.uniform(-0.12, 0.12, (n, 3))
    velocity = rng.normal(0.0, 3.0, (n, 3))
    if dimension == 2:
        position[:, 2], velocity[:, 2] = 0.025, 0.0
    dt, reach = 0.03, 0.7
    origin = np.array([0.1, 0.1, 0.1 if dimension == 3 else 0.0])
    nodes = solid.reshape(grid.node_shape3)
    most = 0.0
    for x, v in zip(position, velocity, strict=True):
        before = linear(nodes, (x - origin) / grid.spacing)
        at = np.clip((x + dt * v - origin) / grid.spacing, 0.0, np.array(nodes.shape) - 1.0)
        after = linear(nodes, at)
        if after < 0:
            most = max(most, (before - after) / grid.spacing)
    particles = Particles(position, velocity, np.zeros((0, 3, 3)))
    assert most > 2 * reach
    assert steps_to_hit(particles, solid, grid, dt, reach) == int(np.ceil(most / reach))
    assert steps_to_hit(Particles.none(False), solid, grid, dt, reach) == 0


def test_liquid_thrown_at_a_wall_takes_more_steps_than_liquid_far_from_it():
    def steps(start: float) -> int:
        scene = Scene(
            name="throw",
            grid=Grid((40, 20), 0.025),
            liquid=(Body(shape=Box((start, 0.1), (start + 0.2, 0.4)), velocity=(7.0, 0.0)),),
            gravity=Gravity.constant(0.0, 0.0),
            numerics=EXACT,
        )
        simulation = Simulation(scene)
        return simulation.steps_left(scene.frame_time)

    assert steps(0.1) == 1  # 2.8 cells in a frame, allowed on the way
    assert steps(0.77) == 2  # but not into the wall


@pytest.mark.parametrize("cells", [64, 80])
def test_an_impact_brings_no_energy(cells):
    simulation = Simulation(sloshing(cells, replace(EXACT, tolerance=1e-6)))
    first, most = energy_above_rest(simulation.state, 1.0), 0.0
    for _ in range(45):  # the front hits the wall in frame 28
        simulation.advance_frame()
        most = max(most, energy_above_rest(simulation.state, 1.0))
    assert most <= 1.005 * first
