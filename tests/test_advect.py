"""Paths of particles and fields: orders of accuracy, exactness where it can be had, and no particle left in a wall."""

import numba
import numpy as np
import pytest

from particle_twin import inside, interpolated, origin3, padded, random_field
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Sphere, sample
from unstick.liquid.advect import PATHS, advect_cells, advect_faces, move, push_out
from unstick.liquid.particles import solid_at
from unstick.liquid.state import MARGIN, Particles

ORDERS = {"rk2": 2, "rk3": 3}


def uniform(grid, *velocity):
    field = FaceField(grid)
    for values, speed in zip(field.components, velocity, strict=False):
        values[...] = speed
    return field


def points_of(grid, axis=None):
    """Cell centres, or centres of faces normal to `axis`, (..., 3)."""
    shape = grid.shape3 if axis is None else grid.face_shape(axis)
    index = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), axis=-1)
    return origin3(grid) + grid.spacing * (index + np.where(np.arange(3) == axis, 0.0, 0.5))


def particles_at(*points):
    return Particles(np.array(points, dtype=float), np.zeros((len(points), 3)), np.zeros((0, 3, 3)))


# --- paths


@pytest.mark.parametrize("name", list(PATHS))
def test_order_of_the_paths(name):
    """A rigid rotation is linear, hence exact on the grid: what is left is the error of the path."""
    grid = padded(20, 20, spacing=0.1, origin=(-1.0, -1.0))
    field = FaceField.from_function(grid, lambda x, y: (-y + 0.0 * x, x + 0.0 * y))
    steps, errors = (8, 16, 32, 64), []
    for count in steps:
        particles = particles_at((0.5, 0.2, 0.05))
        for _ in range(count):
            move(particles, field, 2.0 / count, PATHS[name])
        turned = np.array([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]]) @ [0.5, 0.2]
        errors.append(np.linalg.norm(particles.position[0, :2] - turned))
    assert -np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(ORDERS[name], abs=0.1)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("name", list(PATHS))
def test_one_step_is_the_runge_kutta_formula(dimension, name):
    grid = padded(*(6, 5, 4)[:dimension])
    field, particles, dt = random_field(grid), inside(grid, 200), 0.03
    x = particles.position.copy()
    move(particles, field, dt, PATHS[name])
    k1 = interpolated(grid, field, x)[0]
    k2 = interpolated(grid, field, x + 0.5 * dt * k1)[0]
    expected = x + dt * k2
    if name == "rk3":
        k3 = interpolated(grid, field, x + 0.75 * dt * k2)[0]
        expected = x + dt * (2 * k1 + 3 * k2 + 4 * k3) / 9
    np.testing.assert_allclose(particles.position, expected, atol=1e-14)


@pytest.mark.parametrize("name", list(PATHS))
def test_uniform_flow_moves_all_alike_and_far_points_hold_on(name):
    grid = padded(5, 5, 5)
    particles = inside(grid, 100)
    particles.position[0] = 50.0  # beyond the grid, where the velocity of its edge counts
    particles.position[1] = np.nan
    x = particles.position.copy()
    move(particles, uniform(grid, 1.0, -2.0, 0.5), 0.1, PATHS[name])
    np.testing.assert_allclose((particles.position - x)[np.arange(100) != 1], np.tile([0.1, -0.2, 0.05], (99, 1)), atol=1e-14)
    assert np.isnan(particles.position[1]).all()


# --- fields


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("order", ["linear", "cubic"])
def test_linear_fields_are_carried_exactly(dimension, order):
    grid = padded(*(8, 7, 6)[:dimension])
    speed = np.array([0.31, -0.22, 0.13 * (dimension - 2)])
    slope = np.array([1.0, -2.0, 0.7 * (dimension - 2)])
    values = points_of(grid) @ slope + 0.3
    inner = (slice(2, -2),) * dimension
    for path in PATHS.values():
        carried = advect_cells(values, uniform(grid, *speed), 0.3, path, order=order)
        np.testing.assert_allclose(carried[inner], (values - 0.3 * speed @ slope)[inner], atol=1e-13)


def test_cubics_are_carried_exactly_and_quadratics_are_not_by_lines():
    grid = padded(12, 4)
    x = points_of(grid)[..., 0]
    values = x**3 - 2 * x**2 + x
    speed, dt = 0.37, 0.2
    carried = advect_cells(values, uniform(grid, speed, 0.0), dt, PATHS["rk3"])
    y = x - speed * dt
    exact = y**3 - 2 * y**2 + y
    np.testing.assert_allclose(carried[3:-3], exact[3:-3], atol=1e-13)
    assert abs(advect_cells(values, uniform(grid, speed, 0.0), dt, PATHS["rk3"], order="linear") - exact)[3:-3].max() > 1e-4


def test_what_does_not_move_stays_to_the_last_bit():
    grid = padded(6, 5, 4)
    values = np.random.default_rng(1).normal(size=grid.shape3)
    for order in ("linear", "cubic"):
        np.testing.assert_array_equal(advect_cells(values, FaceField(grid), 0.1, PATHS["rk3"], order=order), values)
    field = random_field(grid)
    still = advect_faces(field, 0.0, PATHS["rk2"])
    for mine, theirs in zip(still.components, field.components, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_limited_values_stay_in_the_range_of_their_neighbours():
    grid = padded(20, 6)
    values = np.where(points_of(grid)[..., 0] < grid.origin[0] + 1.2, 1.0, 0.0)
    flow = uniform(grid, 0.23, 0.0)
    free = advect_cells(values, flow, 0.2, PATHS["rk2"])
    held = advect_cells(values, flow, 0.2, PATHS["rk2"], limited=True)
    assert free.max() > 1.01
    assert (held.min(), held.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(held[2:8], values[2:8])


@pytest.mark.parametrize("dimension", [2, 3])
def test_velocity_carried_by_itself(dimension):
    """u = a + b x in one direction: u at the foot of the path, which the path finds as well as its order."""
    grid = padded(*(10, 9, 8)[:dimension], spacing=0.05)
    field = FaceField(grid)
    for axis in range(dimension):
        field.components[axis][...] = 0.4 + 0.1 * points_of(grid, axis)[..., axis]
    dt = 0.08
    for name, order in ORDERS.items():
        carried = advect_faces(field, dt, PATHS[name])
        for axis in range(dimension):
            x = points_of(grid, axis)[..., axis]
            exact = 0.4 * np.exp(-0.1 * dt) + 0.1 * x * np.exp(-0.1 * dt)
            inner = (slice(3, -3),) * dimension
            assert abs(carried.components[axis] - exact)[inner].max() < 0.1 * (0.1 * dt) ** (order + 1)


def test_2d_equals_extruded_3d():
    flat, deep = padded(7, 6, origin=(0.0, 0.0)), padded(7, 6, 3, origin=(0.0, 0.0, 0.0))
    field, thick = random_field(flat), FaceField(deep)
    for axis in (0, 1):
        thick.components[axis][...] = field.components[axis]
    values = np.random.default_rng(5).normal(size=flat.shape3)
    many = np.repeat(values, deep.shape[2], axis=2)
    for order in ("linear", "cubic"):
        one = advect_cells(values, field, 0.05, PATHS["rk3"], order=order)
        two = advect_cells(many, thick, 0.05, PATHS["rk3"], order=order)
        np.testing.assert_allclose(two[:, :, 4], one[:, :, 0], atol=1e-14)
    carried, thick_carried = advect_faces(field, 0.05, PATHS["rk2"]), advect_faces(thick, 0.05, PATHS["rk2"])
    np.testing.assert_allclose(thick_carried.u[:, :, 4], carried.u[:, :, 0], atol=1e-14)
    np.testing.assert_allclose(thick_carried.v[:, :, 4], carried.v[:, :, 0], atol=1e-14)


def test_an_unknown_order_is_refused():
    grid = padded(4, 4)
    with pytest.raises(InvalidSystem, match="'linear' or 'cubic'"):
        advect_cells(np.zeros(grid.shape3), FaceField(grid), 0.1, PATHS["rk2"], order="quintic")


def test_threads_change_no_bit():
    grid, before, answers = padded(9, 8, 7), numba.get_num_threads(), []
    field, solid = random_field(grid), sample(Sphere((0.7, 0.2, 0.4), 0.2), grid)
    for threads in range(1, before + 1):
        numba.set_num_threads(threads)
        particles = inside(grid, 10_000)
        move(particles, field, 0.05, PATHS["rk3"])
        push_out(particles, grid, solid)
        answers.append((particles.position, *advect_faces(field, 0.05, PATHS["rk3"]).components))
    numba.set_num_threads(before)
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


# --- out of solids


def walls_of(grid, *solids):
    low = [o + MARGIN * grid.spacing for o in grid.origin]
    high = [o + (n - MARGIN) * grid.spacing for o, n in zip(grid.origin, grid.shape, strict=True)]
    phi = sample(~Box(tuple(low), tuple(high)), grid)
    for solid in solids:
        phi = np.minimum(phi, sample(solid, grid))
    return phi.reshape(grid.node_shape3)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["ball", "block", "bowl", "room"])
def test_no_particle_stays_in_a_solid(dimension, kind):
    grid = padded(*(16,) * dimension, spacing=1 / 16, origin=(0.0,) * dimension)
    solid = {
        "ball": [Sphere((0.5,) * dimension, 0.23)],
        "block": [Box((0.3,) * dimension, (0.71, 0.6, 0.8)[:dimension])],
        "bowl": [~Sphere((0.5,) * dimension, 0.4)],
        "room": [],
    }[kind]
    phi = walls_of(grid, *solid)
    rng = np.random.default_rng(1)
    particles = inside(grid, 4000)
    particles.position[:, :dimension] += 0.03 * rng.normal(size=(4000, dimension))
    old, open_before = particles.position.copy(), solid_at(particles.position, grid, phi)
    shallow = open_before > -1.5 * grid.spacing
    push_out(particles, grid, phi)
    after = solid_at(particles.position, grid, phi)
    assert (after[shallow] > 0).all()
    assert (open_before <= 0).sum() > 100
    free = open_before > 0
    np.testing.assert_array_equal(particles.position[free], old[free])
    pushed = shallow & ~free
    # Out the nearest way, and by half of the depth beyond the surface.
    moved = np.linalg.norm(particles.position - old, axis=1)
    assert (moved[pushed] < 2.2 * -open_before[pushed] + 0.1 * grid.spacing).all()


def test_the_push_is_one_and_a_half_depths_along_the_slope():
    grid = padded(8, 8, spacing=0.125, origin=(0.0, 0.0))
    phi = walls_of(grid)
    particles = particles_at((-0.04, 0.35, 0.0625), (1.03, 0.35, 0.0625), (0.35, -1e-5, 0.0625), (0.35, 0.0, 0.0625))
    push_out(particles, grid, phi)
    np.testing.assert_allclose(particles.position[:, 0], [0.02, 0.985, 0.35, 0.35], atol=1e-12)
    np.testing.assert_allclose(particles.position[:, 1], [0.35, 0.35, 0.00125, 0.00125], atol=1e-12)


def test_lost_particles_come_back_into_the_domain():
    grid = padded(8, 8, 8)
    particles = particles_at((50.0, 0.1, 0.2), (-50.0, 90.0, -70.0), (np.nan, np.nan, np.nan), (1e300, -1e300, np.inf))
    push_out(particles, grid, walls_of(grid))
    low = origin3(grid) + MARGIN * grid.spacing
    high = low + 8 * grid.spacing
    assert (particles.position > low).all()
    assert (particles.position < high).all()


def test_only_the_inward_part_of_the_velocity_is_taken_and_only_on_request():
    grid = padded(8, 8, spacing=0.1, origin=(0.0, 0.0))
    phi = walls_of(grid)
    start = np.array([[-1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [-1.0, 2.0, 0.0]])
    for halt, wall, expected in (
        (False, None, start),
        (True, None, [[0.0, 2.0, 0.0], [1.0, 2.0, 0.0], [-1.0, 2.0, 0.0]]),
        (True, uniform(grid, 0.5, 0.0), [[0.5, 2.0, 0.0], [1.0, 2.0, 0.0], [-1.0, 2.0, 0.0]]),
        (True, uniform(grid, -3.0, 0.0), start),
    ):
        particles = particles_at((-0.04, 0.35, 0.05), (-0.04, 0.35, 0.05), (0.4, 0.4, 0.05))  # two in the wall, one in the open
        particles.velocity[:] = start
        push_out(particles, grid, phi, halt=halt, solid_velocity=wall)
        np.testing.assert_allclose(particles.velocity, expected, atol=1e-13)
