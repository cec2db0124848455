"""Loops of the gas against plain NumPy: rays and what they carry, vorticity and its confinement, open parts of cells, light."""

import numpy as np
import pytest

from particle_twin import interpolated, origin3, padded, random_field
from unstick.fields import FaceField
from unstick.geometry.shapes import Plane, Sphere, sample
from unstick.kernels import confine, gas, march
from unstick.liquid.advect import PATHS
from unstick.smoke.advect import Passage, centre_open, keep, open_parts

CENTRES = (0.5, 0.5, 0.5)


def far(grid):
    """No solid anywhere near."""
    return np.full(grid.node_shape3, 50.0)


def passage(grid, velocity, dt, scheme, old, new=None):
    return Passage(velocity, dt, PATHS["rk2"], scheme, old, old if new is None else new)


def foot(grid, velocity, x, dt):
    """Where points come from (dt > 0) or go to (dt < 0), midpoint rule."""
    k = interpolated(grid, velocity, x)[0]
    return x - dt * interpolated(grid, velocity, x - 0.5 * dt * k)[0]


def boxes(grid, values, points):
    """(linear value, least, most) of the boxes of cell centres around points."""
    d = grid.dimension
    f = (points - origin3(grid)) / grid.spacing - 0.5
    low = np.floor(f).astype(int)
    if d == 2:
        low[:, 2] = 0
    value, least, most = np.zeros(len(points)), np.full(len(points), np.inf), np.full(len(points), -np.inf)
    for step in np.ndindex(*(2,) * d):
        corner = low.copy()
        corner[:, :d] += step
        weight = np.prod(1.0 - np.abs(corner - f)[:, :d], axis=1)
        here = values[tuple(corner.T)]
        value += weight * here
        least, most = np.minimum(least, here), np.maximum(most, here)
    return value, least, most


@pytest.mark.parametrize("dimension", [2, 3])
def test_maccormacks_scheme_in_the_open_is_its_formula(dimension):
    grid = padded(*(6, 5, 4)[:dimension])
    velocity, rng, dt = random_field(grid), np.random.default_rng(0), 0.04
    values = rng.normal(size=grid.shape3)
    first, least, most = passage(grid, velocity, dt, "linear", far(grid)).carry_cells(values)
    better, _, _ = passage(grid, velocity, dt, "maccormack", far(grid)).carry_cells(values)
    # Deep enough in the margin that no path of these leaves the arrays.
    inner = np.argwhere(np.ones(grid.shape3, dtype=bool))
    inner = inner[((inner[:, :dimension] >= 2) & (inner[:, :dimension] < np.array(grid.shape) - 2)).all(axis=1)]
    at, x = tuple(inner.T), origin3(grid) + grid.spacing * (inner + 0.5)
    expected, low, high = boxes(grid, values, foot(grid, velocity, x, dt))
    np.testing.assert_allclose(first[0][at], expected, atol=1e-12)
    np.testing.assert_allclose((least[0][at], most[0][at]), (low, high), atol=0)
    back, _, _ = boxes(grid, first[0], foot(grid, velocity, x, -dt))
    np.testing.assert_allclose(better[0][at], np.clip(expected + 0.5 * (values[at] - back), low, high), atol=1e-12)


def test_order_of_the_schemes_on_a_smooth_field():
    """A rotation by half a radian in steps of fixed length in cells: linear is of first order, the others are better by far."""
    errors = {}
    for scheme in ("linear", "maccormack", "cubic"):
        errors[scheme] = []
        for n in (32, 64):
            grid = padded(n, n, spacing=2.0 / n, origin=(-1.0, -1.0))
            velocity = FaceField.from_function(grid, lambda x, y: (-y + 0.0 * x, x + 0.0 * y))
            x, y = grid.points(grid.shape, CENTRES)
            values, steps = np.exp(-25 * ((x - 0.4) ** 2 + y**2))[:, :, None], n // 4
            for _ in range(steps):
                values = passage(grid, velocity, 0.5 / steps, scheme, far(grid)).carry_cells(values)[0][0]
            turned = np.exp(-25 * ((x - 0.4 * np.cos(0.5)) ** 2 + (y - 0.4 * np.sin(0.5)) ** 2))
            errors[scheme].append(np.abs(values[:, :, 0] - turned).sum() * grid.spacing**2)
    assert errors["linear"][0] / errors["linear"][1] == pytest.approx(2.0, abs=0.4)
    assert errors["maccormack"][0] / errors["maccormack"][1] > 3.0
    assert errors["cubic"][0] / errors["cubic"][1] > 6.0
    assert errors["cubic"][1] < 0.25 * errors["maccormack"][1] < 0.05 * errors["linear"][1]


@pytest.mark.parametrize("dimension", [2, 3])
def test_rays_end_just_before_the_first_solid(dimension):
    grid = padded(*(12, 12, 12)[:dimension], spacing=1.0, origin=(0.0,) * dimension)
    ball = Sphere((6.3, 5.8, 6.1)[:dimension], 2.6)
    solid, rng, kz = sample(ball, grid).reshape(grid.node_shape3), np.random.default_rng(1), dimension - 2
    met = 0
    for _ in range(300):
        x, way = rng.uniform(4.0, 14.0, size=3), rng.uniform(-6.0, 6.0, size=3)
        if dimension == 2:
            x[2], way[2] = 0.5, 0.0
        if gas.wall_distance(solid, *x, np.uint64(kz)) < 0.05:
            continue
        part = gas.open_way(solid, solid, False, 1.0, *x, *way, np.uint64(kz))
        t = np.linspace(0.0, 1.0, 4001)
        inside = np.array([gas.wall_distance(solid, *(x + s * way), np.uint64(kz)) <= 0.0 for s in t[:: 1 if part < 1 else 20]])
        if part == 1.0:
            assert not inside[-1] and inside.sum() * np.linalg.norm(way) / len(inside) < 0.5  # at most a corner is cut
            continue
        met += 1
        first = t[np.argmax(inside)] if inside.any() else 1.0
        assert -0.2 < (part - first) * np.linalg.norm(way) <= 0.01
    assert met > 20


def test_a_wall_that_moves_off_leaves_its_place_to_what_was_before_it():
    """Gas in front of a wall that comes with it was in the open all the time, though the wall is now where it was."""
    grid = padded(8, 4, spacing=1.0, origin=(0.0, 0.0))
    old, new = (sample(Plane((a, 0.0), (1.0, 0.0)), grid).reshape(grid.node_shape3) for a in (2.0, 4.0))
    x, way = (4.7, 3.5, 0.5), (-2.0, 0.0, 0.0)  # from the grid's corner, three cells before the domain's
    x = (x[0] + 3.0, *x[1:])
    assert gas.open_way(new, old, True, 1.0, *x, *way, np.uint64(0)) == 1.0
    assert gas.open_way(new, new, False, 1.0, *x, *way, np.uint64(0)) < 0.4


def test_nothing_comes_out_of_a_solid_and_nothing_new_comes_up():
    grid = padded(10, 10)
    solid = sample(Sphere((0.8, 0.3), 0.25), grid).reshape(grid.node_shape3)
    values = np.where(centre_open(grid, solid) == 1, 1.0, 7.0)  # rays that went in would bring more than 1 out
    values[:4] = 0.0
    velocity = random_field(grid)
    for scheme in ("linear", "cubic", "maccormack"):
        out, least, most = passage(grid, velocity, 0.05, scheme, solid).carry_cells(values)
        assert (out >= least).all() and (out <= most).all()
        deep = sample(Sphere((0.8, 0.3), 0.25), grid, "cells").reshape(grid.shape3)
        assert out[0][deep > 1.5 * grid.spacing].max() <= 1.0
        np.testing.assert_array_equal(out[0][centre_open(grid, solid) == 0], values[centre_open(grid, solid) == 0])


def test_what_was_lost_is_given_back_within_bounds():
    rng = np.random.default_rng(2)
    least, most = np.sort(rng.normal(size=(2, 6, 5, 4)), axis=0)
    most[0], free = least[0], np.ones((6, 5, 4), dtype=np.uint8)
    free[1] = 0
    parts = rng.uniform(size=(6, 5, 4))
    for share in (0.3, -0.3, 5.0):
        values = 0.5 * (least + most)
        before, room = values.copy(), float(((most - least) * 0.5 * parts * free).sum())
        wanted = float((before * parts).sum()) + share * room
        missing = keep(values, least, most, parts, free, wanted)
        assert missing == pytest.approx(max(share - 1.0, 0.0) * room, abs=1e-12)
        assert float((values * parts).sum()) == pytest.approx(wanted - missing, abs=1e-12)
        assert (values >= least - 1e-15).all() and (values <= most + 1e-15).all()
        np.testing.assert_array_equal(values[:2], before[:2])
    flat = np.ones((3, 3, 1))
    assert keep(flat, flat, flat, flat, np.ones((3, 3, 1), dtype=np.uint8), 10.0) == pytest.approx(1.0)


# --- vorticity


def curl(grid, velocity):
    """By np.gradient, of the velocity at centres."""
    u, v, w = velocity.components
    c = [0.5 * (u[1:] + u[:-1]), 0.5 * (v[:, 1:] + v[:, :-1]), 0.5 * (w[:, :, 1:] + w[:, :, :-1])]

    def slope(a, along):
        return np.gradient(c[a], grid.spacing, axis=along) if along < grid.dimension else np.zeros(grid.shape3)

    return np.stack([slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1)], axis=-1)


@pytest.mark.parametrize("dimension", [2, 3])
def test_vorticity_and_its_confinement_are_their_formulas(dimension):
    grid = padded(*(6, 5, 4)[:dimension])
    velocity, solid, kz, h = random_field(grid), far(grid), dimension - 2, grid.spacing
    if dimension == 2:
        velocity.w[...] = 0.0
    omega, size, force = np.zeros((*grid.shape3, 3)), np.zeros(grid.shape3), np.zeros((*grid.shape3, 3))
    confine.fill_vorticity(*velocity.components, solid, 1 / h, kz, omega, size)
    inner = tuple(slice(1, -1) if a < dimension else slice(None) for a in range(3))
    expected = curl(grid, velocity)
    np.testing.assert_allclose(omega[inner], expected[inner], atol=1e-12)
    np.testing.assert_allclose(size[inner], np.linalg.norm(expected, axis=-1)[inner], atol=1e-12)
    confine.fill_confinement(omega, size, size.max(), solid, 0.3, kz, force)
    steep = np.stack([np.gradient(size, axis=a) if a < dimension else np.zeros(grid.shape3) for a in range(3)], axis=-1)
    n = steep / (np.linalg.norm(steep, axis=-1, keepdims=True) + 1e-4 * size.max())
    np.testing.assert_allclose(force[inner], 0.3 * np.cross(n, omega)[inner], atol=1e-12)


def test_confinement_spins_a_vortex_up_and_leaves_still_gas_and_solids_alone():
    grid = padded(16, 16, spacing=0.125, origin=(-1.0, -1.0))
    velocity = FaceField.from_function(grid, lambda x, y: tuple(s * np.exp(-4 * (x * x + y * y)) for s in (-y + 0 * x, x + 0 * y)))
    solid = sample(Plane((0.0, -0.5), (0.0, 1.0)), grid).reshape(grid.node_shape3)
    omega, size, force = np.zeros((*grid.shape3, 3)), np.zeros(grid.shape3), np.zeros((*grid.shape3, 3))
    confine.fill_vorticity(*velocity.components, solid, 8.0, 0, omega, size)
    confine.fill_confinement(omega, size, size.max(), solid, 1.0, 0, force)
    x, y = np.broadcast_arrays(*grid.points(grid.shape, CENTRES))
    turning = (x * force[:, :, 0, 1] - y * force[:, :, 0, 0]) / np.hypot(x, y)
    near = (np.hypot(x, y) < 0.4) & (y > -0.4)
    assert turning[near].min() > 0.5
    assert not force[:, :, 0][y < -0.5].any() and not force[..., 2].any()
    still = np.zeros_like(force)
    confine.fill_confinement(0 * omega, 0 * size, 0.0, solid, 1.0, 0, still)
    assert not still.any()


# --- open parts, light


@pytest.mark.parametrize("dimension", [2, 3])
def test_open_parts_of_cells(dimension):
    grid = padded(*(6, 5, 4)[:dimension])
    wall = Plane((0.55,) * dimension, (1.0, 0.7, 0.4)[:dimension])
    solid = sample(wall, grid).reshape(grid.node_shape3)
    fine, count = 12, 0.0
    for step in np.ndindex(*(fine,) * dimension):
        shift = tuple((s + 0.5) / fine for s in step)
        count = count + (wall.distance(*grid.points(grid.shape, shift)) > 0)
    np.testing.assert_allclose(open_parts(grid, solid).reshape(grid.shape), count / fine**dimension, atol=0.03)
    distance = sample(wall, grid, "cells")
    assert (centre_open(grid, solid).reshape(grid.shape) == (distance > 0))[np.abs(distance) > 1e-12].all()


def test_light_through_a_slab_of_smoke_is_beers_law():
    density, light = np.zeros((12, 12, 12)), np.full((12, 12, 12), 0.6)
    density[:, :, 3:9] = 0.5
    solid = np.full((13, 13, 13), 5.0)
    solid[:, :9, :] = np.arange(13.0) - 1.5  # below y = 8 all behind z = 1.5 is solid
    corner, right, down = np.array([-0.2, 0.2, -1.0]), np.array([0.05, 0.0, 0.0]), np.array([0.0, -0.05, 0.0])
    out, hit = np.zeros((9, 9, 2)), np.zeros((9, 9))
    low, high = np.zeros(3), np.full(3, 12.0)
    eye = np.array([6.0, 9.6, 30.0])
    march.march(density, light, solid, 0.2, 0.1, eye, corner, right, down, low, high, out, hit)
    for row, column in np.ndindex(9, 9):
        way = corner + column * right + row * down
        slant = np.linalg.norm(way) / abs(way[2])
        # The slab is six cells thick; its faces are blurred between centres, which keeps the sum.
        inside = np.clip(eye + way * ((30.0 - np.array([3.0, 9.0])) / abs(way[2]))[:, None], 0, 12)
        if (inside[:, :2] <= 1).any() or (inside[:, :2] >= 11).any():
            continue
        passes = np.exp(-0.2 * 0.5 * 6.0 * slant)
        assert out[row, column, 1] == pytest.approx(passes, rel=0.02)
        assert out[row, column, 0] == pytest.approx((1 - out[row, column, 1]) * 0.7, rel=1e-9)
        if hit[row, column] > 0:
            point = eye + hit[row, column] * way / np.linalg.norm(way)
            assert march.at(solid, *point) == pytest.approx(0.0, abs=2e-3)
    assert (hit > 0).any() and (hit == 0).any()
