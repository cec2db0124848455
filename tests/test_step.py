"""The time step as a whole: the grid stages in 2D and in 3D, walls that hold what is pushed against them, states that stay as they are."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from unstick.bench.physics_rest import EXACT, box_scene
from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Plane, Sphere
from unstick.grid import Grid
from unstick.liquid.advect import PATHS, advect_cells, advect_faces
from unstick.liquid.contact import after_solve
from unstick.liquid.extrapolate import constrain, extrapolate, mark_valid
from unstick.liquid.forces import add_gravity, impulse
from unstick.liquid.keep import BOUND, wanted_expansion
from unstick.liquid.redistance import redistance
from unstick.liquid.scene import Body, Gravity, Scene, Solid
from unstick.liquid.simulation import Simulation, StepsExceeded, liquid_phi
from unstick.liquid.solids import Walls, WallState
from unstick.liquid.state import MARGIN, with_margin
from unstick.liquid.step import STAGES
from unstick.pressure.projection import Flow, PressureProjection, system_of
from unstick.result import SolveError
from unstick.solvers.default import Default

DEPTH = 5  # cells along z of what is extruded


def tilted(n: int = 20) -> Scene:
    """A tilted body of liquid in a round vessel."""
    return Scene(
        name="tilted",
        grid=Grid((n, n), 1.0 / n),
        liquid=(Body(shape=Plane((0.5, 0.5), (0.9, 0.3))),),
        solids=(Solid(name="vessel", shape=~Sphere((0.5, 0.5), 0.4)),),
        numerics=EXACT,
    )


def grid_stages(scene: Scene, steps: int, depth: int | None) -> tuple[FaceField, np.ndarray, list[np.ndarray]]:
    """body_forces, cut_cells, pressure, extrapolate, and the advection of what stands on the grid; in 3D between two walls."""
    flat, dt, path = with_margin(scene.grid), 0.01, PATHS["rk3"]
    walls, phi, grid = Walls.of(scene, flat).at(0.0), liquid_phi(scene), flat
    if depth is not None:
        grid = Grid((*flat.shape, depth), flat.spacing, (*flat.origin, 0.0))
        solid = np.ascontiguousarray(np.repeat(walls.solid_phi.reshape(flat.node_shape3), depth + 1, axis=2))
        walls, phi = WallState(solid, None, walls.separating), np.ascontiguousarray(np.repeat(phi, depth, axis=2))
    projection = PressureProjection(Default(tolerance=1e-13))
    velocity, pressures, guess = FaceField(grid), [], None
    for step in range(steps):
        velocity = add_gravity(velocity, scene.gravity, step * dt, dt)
        done = projection(Flow(grid, phi, walls.solid_phi, velocity, dt, 1000.0, walls=walls.separating), guess)
        guess, velocity = done.guess, done.velocity
        pressures.append(done.result.require().reshape(grid.shape3))
        extrapolate(velocity, mark_valid(grid, phi, walls.solid_phi), 8)
        constrain(velocity, grid, after_solve(grid, walls, done.result))
        phi = redistance(advect_cells(phi, velocity, dt, path), grid, 5.0)
        velocity = advect_faces(velocity, dt, path)
    return velocity, phi, pressures


def test_the_grid_stages_of_a_2d_scene_equal_those_of_the_same_scene_extruded() -> None:
    flat, phi, p = grid_stages(tilted(), 6, None)
    deep, phi3, p3 = grid_stages(tilted(), 6, DEPTH)
    scale = max(float(np.abs(a).max()) for a in p)
    for one, other in zip(p, p3, strict=True):
        assert np.abs(other - one).max() < 1e-9 * scale
    assert np.abs(phi3 - phi).max() < 1e-9
    for name in "uv":
        assert np.abs(getattr(deep, name) - getattr(flat, name)).max() < 1e-9
    assert np.abs(deep.w).max() < 1e-9
    assert float(np.abs(flat.v).max()) > 0.1


def test_a_wall_holds_the_liquid_that_is_pushed_against_it() -> None:
    """On the floor of a tank in which the liquid rises, the floor's faces do not take the velocity of the faces above."""
    simulation = Simulation(box_scene(16, 2, Body(shape=Plane((0.0, 0.5), (0.0, 1.0))), EXACT))
    grid, state = simulation.grid, simulation.state
    walls = simulation.walls_at(0.0)
    phi = simulation.surface_now()
    velocity = FaceField.from_function(grid, lambda x, y: (0.0 * x, -0.3 + 0.0 * y))
    done = PressureProjection(Default(tolerance=1e-12))(Flow(grid, phi, walls.solid_phi, velocity, 0.01, 1000.0))
    held = after_solve(grid, walls, done.result)
    assert not held.separating[MARGIN : MARGIN + 16, MARGIN, 0].any()  # pushed against the floor
    assert held.separating[MARGIN + 4 : MARGIN + 12, MARGIN + 12, 0].all()  # air
    lifted = FaceField.from_function(grid, lambda x, y: (0.0 * x, 0.2 + 0.0 * y))
    constrain(lifted, grid, held)
    assert np.abs(lifted.v[MARGIN : MARGIN + 16, MARGIN, 0]).max() < 1e-12
    free = FaceField.from_function(grid, lambda x, y: (0.0 * x, 0.2 + 0.0 * y))
    constrain(free, grid, walls)
    assert np.allclose(free.v[MARGIN + 1 : MARGIN + 15, MARGIN, 0], 0.2)
    assert state.step == 0


@pytest.mark.parametrize("dimension", [2, 3])
def test_which_walls_hold_equals_its_twin(dimension: int) -> None:
    lid = Solid(name="lid", shape=Sphere((0.5, 0.9, 0.3)[:dimension], 0.3))
    liquid = Body(shape=Plane((0.0, 0.75, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension]))
    simulation = Simulation(box_scene(12, dimension, liquid, EXACT, solids=(lid,)))
    simulation.advance_frame()
    grid, walls = simulation.grid, simulation.walls_at(0.0)
    flow = Flow(grid, simulation.surface_now(), walls.solid_phi, simulation.state.velocity, 0.01, 1000.0)
    result = PressureProjection()(flow).result
    contact, p = result.system.contact.reshape(grid.shape3), result.p.reshape(grid.shape3)
    solid = walls.solid_phi.reshape(grid.node_shape3)
    expected = np.ones(grid.shape3, dtype=bool)
    for cell in np.ndindex(*grid.shape3):
        if contact[cell]:
            expected[cell] = not p[cell] > 0
        elif abs(solid[cell]) < 4.0 * grid.spacing:
            around = tuple(slice(max(c - 1, 0), c + 2) for c in cell)
            pushed = p[around] > 0
            expected[cell] = pushed.sum() <= (contact[around] & ~pushed).sum()
    assert np.array_equal(after_solve(grid, walls, result).separating, expected)
    assert expected.any() and not expected.all()


def test_stages_are_timed_under_their_names() -> None:
    simulation = Simulation(box_scene(16, 2, Body(shape=Box((-1.0, -1.0), (0.5, 0.5))), EXACT))
    simulation.advance_frame()
    assert simulation.last_report is not None
    assert tuple(simulation.last_report.seconds) == STAGES


def test_a_solve_that_fails_leaves_the_state_as_it_was() -> None:
    simulation = Simulation(
        box_scene(24, 2, Body(shape=Box((-1.0, -1.0), (0.5, 0.5))), replace(EXACT, surface="level-set")),
        PressureProjection(Default(tolerance=1e-10, max_iterations=1, small=10**9)),
    )
    before = copy.deepcopy(simulation.state)
    with pytest.raises(SolveError, match="iteration"):
        simulation.advance_frame()
    after = simulation.state
    assert np.array_equal(after.phi, before.phi)
    assert after.time == before.time and after.step == 0 and after.guess is None
    assert np.array_equal(np.sort(after.particles.position, axis=0), np.sort(before.particles.position, axis=0))


def test_gravity_changes_in_time() -> None:
    turning = Gravity((0.0, 1.0), ((0.0, -10.0), (10.0, 0.0)))
    assert impulse(turning, 0.25, 0.5, 2) == pytest.approx((2.5, -2.5))
    assert impulse(turning, 5.0, 0.1, 2) == pytest.approx((1.0, 0.0))


def test_a_drift_of_volume_is_corrected_within_bounds() -> None:
    assert wanted_expansion(None, 1.0) == 0.0
    assert 0 < wanted_expansion(1.0, 0.99) < BOUND
    assert wanted_expansion(1.0, 0.5) == BOUND and wanted_expansion(1.0, 2.0) == -BOUND


def test_a_source_asks_for_divergence_away_from_walls_only() -> None:
    simulation = Simulation(box_scene(12, 2, Body(shape=Plane((0.0, 0.5), (0.0, 1.0))), EXACT))
    grid, walls = simulation.grid, simulation.walls_at(0.0)
    flow = Flow(grid, simulation.surface_now(), walls.solid_phi, FaceField(grid), 0.01)
    plain, spread = system_of(flow), system_of(replace(flow, expansion=0.25))
    rows = plain.A.rows() & ~plain.row_contact
    assert np.allclose((plain.row_b - spread.row_b)[rows], 0.25)
    assert np.array_equal(plain.row_b[~rows], spread.row_b[~rows])


def test_liquid_that_is_too_fast_is_refused_with_a_sentence() -> None:
    simulation = Simulation(box_scene(12, 2, Body(shape=Box((-1.0, -1.0), (0.5, 0.5))), EXACT))
    simulation.state.particles.velocity[0, 0] = 1e9
    with pytest.raises(StepsExceeded, match=r"m/s.*steps.*resolution"):
        simulation.advance_frame()
