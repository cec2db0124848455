import dataclasses
import math

import numpy as np
import pytest

from liquid_at_rest import at_rest, on_threads
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Plane, Sphere, sample
from unstick.geometry.solid import face_fractions
from unstick.grid import Grid
from unstick.liquid.extrapolate import mark_valid
from unstick.liquid.scene import Numerics
from unstick.liquid.state import MARGIN
from unstick.liquid.surface import KERNELS, SURFACES, FromParticles, LevelSet, make_surface
from unstick.liquid.volume import volume
from unstick.pressure.assemble import assemble
from unstick.pressure.project import project
from unstick.solvers.default import Default

BOTH = pytest.mark.parametrize("surface", [FromParticles(), LevelSet()], ids=["particles", "level-set"])
DENSITY, GRAVITY, DT = 1000.0, 9.81, 0.01


def pool(dimension, level):
    """All that lies below a height."""
    return Plane((0.0, level, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension])


def slope(dimension, degrees):
    """A floor that rises (positive) or a ceiling that comes down (negative) towards x = 0, and leans a little along z."""
    a = math.radians(abs(degrees))
    point = (0.4, 0.5, 0.5) if degrees > 0 else (0.3, 0.55, 0.5)
    return Plane(point[:dimension], (math.sin(a), math.copysign(math.cos(a), degrees), 0.15)[:dimension])


def inner(array, dimension):
    return array[(slice(MARGIN, -MARGIN),) * dimension]


def open_cells(grid, solid):
    """Cells with an open face."""
    fractions = face_fractions(grid, solid)
    out = np.zeros(grid.shape3, dtype=bool)
    for axis in range(grid.dimension):
        w = fractions.components[axis]
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        out |= (w[tuple(low)] > 0) | (w[tuple(high)] > 0)
    return out


def centres(grid):
    return tuple(np.broadcast_to(x, grid.shape).reshape(grid.shape3) for x in grid.points(grid.shape, (0.5, 0.5, 0.5)))


@pytest.mark.parametrize("degrees", [None, 20, 45, 70, -20, -45, -70])
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_pressure_at_rest_is_exact_with_a_level_set(dimension, degrees):
    n = 24 if dimension == 2 else 14
    domain = Grid((n,) * dimension, 1.0 / n)
    solid = None if degrees is None else slope(dimension, degrees)
    for part in (0.07, 0.55, 0.93):
        level = (n // 2 + part) / n
        state, index, walls = at_rest(domain, pool(dimension, level), solid, seed=round(100 * part))
        for _ in range(3):
            state.phi = LevelSet().locate(state, index, walls)
        grid, velocity = state.grid, FaceField(state.grid)
        velocity.v[...] = -GRAVITY * DT
        system = assemble(grid, state.phi, walls, velocity, DT, DENSITY)
        result = Default(tolerance=1e-12).solve(system)
        rows = system.expand(system.A.rows()).reshape(grid.shape3)
        expected = DENSITY * GRAVITY * (level - centres(grid)[1])
        scale = DENSITY * GRAVITY * level
        np.testing.assert_allclose(result.p.reshape(grid.shape3)[rows], expected[rows], rtol=0, atol=1e-9 * scale)
        after = project(grid, velocity, result.p, state.phi, walls, DT, DENSITY)
        valid = mark_valid(grid, state.phi, walls)
        for axis in range(dimension):
            assert np.abs(after.components[axis][valid[axis] != 0]).max() < 1e-10


@pytest.mark.parametrize("degrees", [None, 30, -30])
def test_a_level_set_at_rest_is_never_touched_next_to_its_surface(degrees):
    domain = Grid((16, 16, 14), 1.0 / 16)
    solid = None if degrees is None else slope(3, degrees)
    state, index, walls = at_rest(domain, pool(3, 0.53), solid)
    exact = state.phi.copy()
    for _ in range(10):
        state.phi = LevelSet().locate(state, index, walls)
    matter = open_cells(state.grid, walls) & (np.abs(exact) < 1.01 * domain.spacing)
    np.testing.assert_allclose(state.phi[matter], exact[matter], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(np.sign(state.phi[open_cells(state.grid, walls)]), np.sign(exact[open_cells(state.grid, walls)]))


@BOTH
@pytest.mark.parametrize("dimension", [2, 3])
def test_no_air_hides_behind_liquid_that_reaches_a_round_wall(surface, dimension):
    n = 30 if dimension == 2 else 22
    domain = Grid((n,) * dimension, 1.0 / n)
    vessel = ~Sphere((0.5, 0.5, 0.5)[:dimension], 0.41)
    level = 0.5 + 0.3 / n
    state, index, walls = at_rest(domain, pool(dimension, level), vessel, seed=3)
    phi = surface.locate(state, index, walls)
    cells = open_cells(state.grid, walls)
    y = centres(state.grid)[1]
    assert (phi[cells & (y < level - 0.7 / n)] < 0).all()
    assert (phi[cells & (y > level + 0.7 / n)] > 0).all()
    assert np.abs(volume(state.grid, phi, walls) / volume(state.grid, y - level, walls) - 1) < 0.02


@BOTH
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("vessel", [None, "round"])
def test_a_gap_opens_under_a_ceiling_that_liquid_has_left(surface, dimension, vessel):
    n = 24 if dimension == 2 else 18
    h = 1.0 / n
    domain = Grid((n,) * dimension, h)
    solid = None if vessel is None else ~Sphere((0.5, 0.5, 0.5)[:dimension], 0.45)
    block = Box((-1.0, 0.4, -1.0)[:dimension], (2.0, 2.0, 2.0)[:dimension])  # fills the upper part
    state, index, walls = at_rest(domain, block, solid, seed=4)
    full = surface.locate(state, index, walls)
    top = inner(full, dimension)[n // 2, -1 if vessel is None else -2]
    assert np.all(top[n // 2] < 0 if dimension == 3 else top < 0)
    fallen = state.particles.position.copy()
    fallen[:, 1] -= 1.9 * h
    state, index, walls = at_rest(domain, block, solid, position=fallen)  # phi still says that the ceiling is wet
    phi = inner(surface.locate(state, index, walls), dimension)
    middle = phi[n // 2, :, n // 2] if dimension == 3 else phi[n // 2, :, 0]
    ceiling = n if vessel is None else int(0.95 * n)
    assert middle[ceiling - 1] > 0 and middle[ceiling - 3] < 0


def test_a_surface_of_particles_sees_a_gap_of_a_cell():
    n = 20
    domain = Grid((n, n, n), 1.0 / n)
    for gap, dry in ((0.0, False), (1.1, True)):
        state, index, walls = at_rest(domain, Box((-1.0, 0.4, -1.0), (2.0, 1.0 - gap / n, 2.0)), seed=8)
        top = inner(FromParticles().locate(state, index, walls), 3)[:, -1, :]
        assert np.mean(top > 0) > 0.99 if dry else (top < 0).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_flat_surfaces_of_particles_are_where_they_should_be(dimension):
    n = 64 if dimension == 2 else 24
    domain = Grid((n,) * dimension, 1.0 / n)
    bumps = []
    for part in (0.05, 0.2, 0.3, 0.45, 0.6, 0.7, 0.85, 0.95):
        level = n // 2 + part
        state, index, walls = at_rest(domain, pool(dimension, level / n), seed=round(100 * part))
        phi = inner(FromParticles().locate(state, index, walls), dimension)
        wet = phi < 0
        cross = wet[:, :-1] & ~wet[:, 1:]
        assert (cross.sum(axis=1) == 1).all()
        below = np.broadcast_to(np.arange(n - 1).reshape(1, -1, 1), cross.shape)[cross]
        low, high = phi[:, :-1][cross], phi[:, 1:][cross]
        heights = below + 0.5 + low / (low - high)
        assert abs(heights.mean() - level) < 0.05
        bumps.append(heights.std())
    assert np.sqrt(np.mean(np.square(bumps))) < 0.1


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_sphere_of_particles_has_its_volume(dimension):
    n, radius = 28, 10.0
    domain = Grid((n,) * dimension, 1.0 / n)
    found = []
    for seed in range(3):
        centre = tuple(0.5 + np.random.default_rng(seed).uniform(-0.5, 0.5, dimension) / n)
        state, index, walls = at_rest(domain, Sphere(centre, radius / n), seed=seed)
        found.append(volume(state.grid, FromParticles().locate(state, index, walls), walls))
    exact = math.pi * (radius / n) ** 2 if dimension == 2 else 4.0 / 3.0 * math.pi * (radius / n) ** 3
    assert np.mean(found) == pytest.approx(exact, rel=0.01)


def by_plain_sums(position, x, h, rule, whole):
    """Offset of the mean and filled part of the neighbourhood of a point away from walls, in radii and 0 to 1."""
    apart = (position - x) / h
    weight = np.maximum(1.0 - (apart**2).sum(axis=1) / rule.radius**2, 0.0) ** 3
    mean = (weight[:, None] * apart).sum(axis=0) / weight.sum()
    return np.linalg.norm(mean) / rule.radius, weight.sum() / whole


@pytest.mark.parametrize("dimension", [2, 3])
def test_distances_equal_those_of_plain_sums(dimension):
    """The twin: for a half-space the offset and the filled part are integrals over z, found here by a sum."""
    n = 16
    domain = Grid((n,) * dimension, 1.0 / n)
    state, index, walls = at_rest(domain, pool(dimension, 0.517), seed=2)
    phi = FromParticles().locate(state, index, walls)
    rule, h = KERNELS[dimension], domain.spacing
    z = (np.arange(200000) + 0.5) / 100000 - 1.0
    across = (1.0 - z * z) ** (4.0 if dimension == 3 else 3.5)
    mass, moment = np.cumsum(across[::-1])[::-1], np.cumsum((z * across)[::-1])[::-1]
    ball = math.pi / 4 * rule.radius**2 if dimension == 2 else 64 * math.pi / 315 * rule.radius**3
    x = np.stack(centres(state.grid), axis=-1) if dimension == 3 else np.stack([*centres(state.grid), np.full(phi.shape, 0.5 * h)], axis=-1)
    away = np.zeros(phi.shape, dtype=bool)
    away[(slice(MARGIN + 3, -MARGIN - 3),) * dimension] = True
    wet = phi < 0
    surface = (wet != np.roll(wet, 1, axis=1)) | (wet != np.roll(wet, -1, axis=1))  # elsewhere distances come from redistancing
    cells = np.argwhere(away & surface)
    assert len(cells) > 10
    for cell in map(tuple, cells[:: max(1, len(cells) // 25)]):
        offset, filled = by_plain_sums(state.particles.position, x[cell], h, rule, ball * 2**dimension)
        by_offset = np.interp(offset, moment / mass, z)
        by_fill = -np.interp(-min(2.0 * filled, 1.0), -mass / mass[0], -z)
        assert phi[cell] / h == pytest.approx(max(by_offset, by_fill) * rule.radius + rule.level, abs=0.01)


@BOTH
@pytest.mark.parametrize("dimension", [2, 3])
def test_an_empty_cell_in_the_liquid_is_not_air(surface, dimension):
    n = 16
    domain = Grid((n,) * dimension, 1.0 / n)
    state, _, _ = at_rest(domain, pool(dimension, 0.8), seed=5)
    x = state.particles.position[:, :dimension] * n
    hole = (np.abs(x - 6.5) < 0.5).all(axis=1)
    assert hole.any()
    state, index, walls = at_rest(domain, pool(dimension, 0.8), position=state.particles.position[~hole])
    phi = inner(surface.locate(state, index, walls), dimension)
    assert (phi[:, :12] < 0).all()


def test_a_lone_particle_is_at_most_a_small_drop():
    domain = Grid((12, 12, 12), 0.1)
    for x in ((0.65, 0.65, 0.65), (0.6, 0.6, 0.6), (0.61, 0.68, 0.63)):
        state, index, walls = at_rest(domain, Sphere((9.0, 9.0, 9.0), 0.1), position=[x])
        phi = FromParticles().locate(state, index, walls)
        assert np.count_nonzero(phi < 0) <= 1
        assert np.isfinite(phi).all() and phi.min() > -0.1


@BOTH
def test_no_particles_no_liquid(surface):
    domain = Grid((9, 8, 7), 0.1)
    state, index, walls = at_rest(domain, Sphere((9.0, 9.0, 9.0), 0.1), position=np.zeros((0, 3)))
    assert (surface.locate(state, index, walls) > 0).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_level_set_takes_up_escaped_particles_and_drops_lost_liquid(dimension):
    n = 16
    domain = Grid((n,) * dimension, 1.0 / n)
    x = (np.array([[5.5, 12.5, 5.5]]) + np.random.default_rng(0).uniform(-0.4, 0.4, (8, 3))) / n
    if dimension == 2:
        x[:, 2] = 0.5 / n
    below, _, _ = at_rest(domain, pool(dimension, 0.4), seed=6)
    state, index, walls = at_rest(
        domain, pool(dimension, 0.4) | Sphere((0.7, 0.75, 0.7)[:dimension], 2.6 / n), position=np.concatenate([below.particles.position, x])
    )
    assert (state.phi < 0)[centres(state.grid)[1] > 0.6].any()
    phi = LevelSet().locate(state, index, walls)
    high = np.argwhere((phi < 0) & (centres(state.grid)[1] > 0.6))
    cell = [MARGIN + 5, MARGIN + 12, MARGIN + 5 if dimension == 3 else 0]
    assert phi[tuple(cell)] < 0
    assert (np.abs(high - cell) <= 1).all()  # the drop is there, the ball without particles is not


@BOTH
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_bits_do_not_depend_on_threads_and_mirror_images_stay_mirror_images(surface, dimension):
    n = 18
    domain = Grid((n, n + 2, n - 2)[:dimension], 1.0 / n)
    vessel = ~Sphere((0.5, 0.55, 0.45)[:dimension], 0.42)
    liquid = Sphere((0.4, 0.35, 0.4)[:dimension], 0.3)
    state, index, walls = at_rest(domain, liquid, vessel, seed=7)
    one, two = on_threads(lambda: surface.locate(state, index, walls))
    np.testing.assert_array_equal(one, two)
    position = state.particles.position.copy()
    position[:, 0] = 1.0 - position[:, 0]
    other, index, _ = at_rest(domain, liquid, vessel, position=position)
    other.phi = np.ascontiguousarray(state.phi[::-1])
    found = surface.locate(other, index, np.ascontiguousarray(walls[::-1]))
    matter = open_cells(state.grid, walls) & (np.abs(one) < 2.0 / n)
    np.testing.assert_allclose(found[::-1][matter], one[matter], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(np.sign(found[::-1]), np.sign(one))


@pytest.mark.parametrize("surface", [FromParticles(), LevelSet()], ids=["particles", "level-set"])
def test_locating_leaves_the_state_as_it_is(surface):
    state, index, walls = at_rest(Grid((10, 9), 0.1), pool(2, 0.43))
    before = (state.phi.copy(), state.particles.position.copy(), walls.copy())
    surface.locate(state, index, walls)
    for a, b in zip(before, (state.phi, state.particles.position, walls), strict=True):
        np.testing.assert_array_equal(a, b)


def test_surfaces_are_made_by_name():
    numerics = Numerics(particles_per_axis=3)
    assert make_surface(numerics) == FromParticles(3)
    assert make_surface(dataclasses.replace(numerics, surface="level-set")) == LevelSet()
    assert set(SURFACES) == {"particles", "level-set"}
    with pytest.raises(InvalidSystem, match="surface is 'cubes'; it must be one of particles, level-set"):
        make_surface(dataclasses.replace(numerics, surface="cubes"))


def test_sampled_shapes_and_states_agree():
    """The tests above stand on this: state.phi is the exact distance, also in walls."""
    state, _, _ = at_rest(Grid((6, 5), 0.1), pool(2, 0.23))
    np.testing.assert_array_equal(state.phi[:, :, 0], sample(pool(2, 0.23), state.grid, "cells"))
