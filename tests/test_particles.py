"""Seeding, sorting and reseeding: counts, order, chance that is none, and what must not be touched."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from particle_twin import inside, origin3, padded, random_field
from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Plane, Sphere, sample
from unstick.kernels.particles_seed import draw
from unstick.liquid.particles import order_by_cell, reseed, seed, solid_at, sort
from unstick.liquid.scene import Body, Numerics
from unstick.liquid.state import MARGIN, Particles, State
from unstick.liquid.transfer import sample as interpolate

FULL = {2: Body(shape=Box((-9.0, -9.0), (9.0, 9.0))), 3: Body(shape=Box((-9.0,) * 3, (9.0,) * 3))}
SHAPES = {2: (7, 6), 3: (6, 5, 4)}


def cells_of(grid, position):
    index = np.floor((position - origin3(grid)) / grid.spacing).astype(int)
    if grid.dimension == 2:
        index[:, 2] = 0
    return np.ravel_multi_index(tuple(index.T), grid.shape3)


def box_walls(grid):
    """Nodal distance of the domain's sides, positive inside the domain."""
    low = [o + MARGIN * grid.spacing for o in grid.origin]
    high = [o + (n - MARGIN) * grid.spacing for o, n in zip(grid.origin, grid.shape, strict=True)]
    return sample(~Box(tuple(low), tuple(high)), grid).reshape(grid.node_shape3)


def domain_cells(grid):
    inner = np.zeros(grid.shape, dtype=bool)
    inner[(slice(MARGIN, -MARGIN),) * grid.dimension] = True
    return inner.reshape(grid.shape3)


# --- sorting


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("affine", [False, True])
def test_sort_is_stable_and_complete(dimension, affine):
    grid = padded(*SHAPES[dimension])
    particles = inside(grid, 3000, affine=affine)
    cells = cells_of(grid, particles.position)
    order = np.lexsort((np.arange(len(cells)), cells))
    expected = [particles.position[order], particles.velocity[order], particles.affine[order] if affine else particles.affine]
    index = sort(particles, grid)
    for mine, theirs in zip((particles.position, particles.velocity, particles.affine), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    counts = np.bincount(cells, minlength=int(np.prod(grid.shape3)))
    np.testing.assert_array_equal(np.diff(index.start), counts)
    assert (index.start[0], index.start[-1], index.start.dtype) == (0, 3000, np.int64)
    np.testing.assert_array_equal(index.counts.ravel(), counts)


def test_sort_takes_many_chunks_and_any_number_of_threads():
    grid = padded(*SHAPES[3])
    position = inside(grid, 70_000).position
    cells, before, found = cells_of(grid, position), numba.get_num_threads(), []
    for threads in range(1, before + 1):
        numba.set_num_threads(threads)
        found.append(order_by_cell(position, grid)[0])
    numba.set_num_threads(before)
    for order in found:
        np.testing.assert_array_equal(order, np.argsort(cells, kind="stable"))


def test_sorting_nothing_gives_empty_cells():
    index = sort(Particles.none(False), padded(3, 3))
    assert not index.start.any()


# --- chance


def splitmix(value):
    mask = (1 << 64) - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def test_draws_are_splitmix_of_what_they_are_for():
    for key in ((1, 0, 0, 0, 0, 0), (7, 3, 100, 2, 5, 11), (2**40, 1, 2, 3, 4, 5)):
        h = 0
        for number in key:
            h = splitmix(h ^ number)
        assert draw(*key) == ((h >> 32) + 0.5) * 2.0**-32


def test_draws_are_spread_evenly_and_do_not_follow_each_other():
    x = np.array([draw(1, 0, i, j, 0, m) for i in range(40) for j in range(40) for m in range(4)]).reshape(40, 40, 4)
    counts = np.histogram(x, bins=16, range=(0, 1))[0]
    expected = x.size / 16
    assert ((counts - expected) ** 2 / expected).sum() < 37.7  # chi squared, 15 degrees of freedom, one in a thousand
    centred = x - x.mean()
    for axis in range(3):
        neighbours = np.moveaxis(centred, axis, 0)
        assert abs((neighbours[1:] * neighbours[:-1]).mean()) < 4 / 12 / np.sqrt(x.size)


# --- seeding


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("per_axis", [1, 2, 3])
def test_every_sub_cell_of_a_full_domain_gets_one_particle(dimension, per_axis):
    grid = padded(*SHAPES[dimension])
    particles = seed((FULL[dimension],), grid, box_walls(grid), Numerics(particles_per_axis=per_axis))
    sub = np.floor((particles.position - origin3(grid)) / grid.spacing * per_axis).astype(int)[:, :dimension]
    assert len(np.unique(sub, axis=0)) == len(sub) == domain_cells(grid).sum() * per_axis**dimension
    assert sub.min() == MARGIN * per_axis
    assert (sub.max(axis=0) == (np.array(grid.shape) - MARGIN) * per_axis - 1).all()
    if dimension == 2:
        assert (particles.position[:, 2] == 0.5 * grid.spacing).all()


def test_without_jitter_the_lattice_is_regular():
    grid = padded(4, 4)
    particles = seed((FULL[2],), grid, box_walls(grid), Numerics(jitter=0.0))
    part = (particles.position - origin3(grid))[:, :2] / grid.spacing % 1.0
    np.testing.assert_allclose(np.abs(part - 0.5), 0.25, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_particles_stand_in_liquid_and_outside_solids(dimension):
    grid = padded(*(20,) * dimension, spacing=0.05, origin=(0.0,) * dimension)
    wall = ~Sphere((0.5,) * dimension, 0.4)
    surface = Plane((0.5,) * dimension, (0.3, 1.0, 0.2)[:dimension])
    solid = np.minimum(sample(wall, grid).reshape(grid.node_shape3), box_walls(grid))
    particles = seed((Body(shape=surface),), grid, solid, Numerics())
    points = tuple(particles.position[:, :dimension].T)
    assert (surface.distance(*points) < 0).all()
    assert (solid_at(particles.position, grid, solid) > 0).all()
    exact = (np.pi * 0.4**2, 4 / 3 * np.pi * 0.4**3)[dimension - 2] / 2
    assert len(particles) * (0.05 / 2) ** dimension == pytest.approx(exact, rel=0.02)


def test_a_particle_depends_on_the_seed_and_its_cell_only():
    small, large = padded(5, 5, origin=(0.0, 0.0)), padded(9, 7, origin=(0.0, 0.0))
    body = Body(shape=Box((-1.0, -1.0), (0.4, 0.5)))
    one, two = (seed((body,), g, box_walls(g), Numerics()) for g in (small, large))
    np.testing.assert_allclose(np.sort(one.position[:, 0]), np.sort(two.position[:, 0]), rtol=1e-14)
    other = seed((body,), small, box_walls(small), Numerics(seed=2))
    assert len(other) == len(one)
    assert not np.isin(other.position[:, 0], one.position[:, 0]).any()


@pytest.mark.parametrize("cells", [(8, 5), (7, 5), (6, 4, 3)])
@pytest.mark.parametrize("per_axis", [2, 3])
def test_mirrored_particles_are_mirror_images(cells, per_axis):
    grid = padded(*cells, spacing=0.125, origin=(0.25,) * len(cells))
    d = len(cells)
    body = Body(shape=Sphere((0.25 + 0.0625 * cells[0], *(0.5,) * (d - 1)), 0.3))
    particles = seed((body,), grid, box_walls(grid), Numerics(mirror="x", particles_per_axis=per_axis))
    middle = 0.25 + 0.0625 * cells[0]
    image = particles.position.copy()
    image[:, 0] = 2 * middle - image[:, 0]
    assert len(particles) > 10
    mine, theirs = (np.unique(np.round(x, 14 if per_axis == 3 else 40), axis=0) for x in (image, particles.position))
    np.testing.assert_array_equal(mine, theirs)  # to the last bit where halves of cells are numbers without rounding
    assert len(mine) == len(image)


def test_bodies_move_and_turn():
    grid = padded(8, 8, 8, spacing=0.125, origin=(0.0,) * 3)
    still = Body(shape=Box((-1.0,) * 3, (0.5, 2.0, 2.0)))
    turning = Body(shape=FULL[3].shape, velocity=(1.0, 2.0, 3.0), spin=(0.1, 0.2, 0.3))
    particles = seed((still, turning), grid, box_walls(grid), Numerics(transfer="apic"))
    left = particles.position[:, 0] < 0.5
    assert not particles.velocity[left].any()
    assert not particles.affine[left].any()
    away = particles.position[~left] - 0.5
    expected = np.cross([0.1, 0.2, 0.3], away) + np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(particles.velocity[~left], expected, atol=1e-14)
    turned = np.einsum("qab,qb->qa", particles.affine[~left], away)
    np.testing.assert_allclose(turned + np.array([1.0, 2.0, 3.0]), expected, atol=1e-14)
    flat = padded(8, 8, spacing=0.125, origin=(0.0, 0.0))
    disc = seed((Body(shape=FULL[2].shape, spin=(2.0,)),), flat, box_walls(flat), Numerics(transfer="flip"))
    assert not disc.carries_affine
    away = disc.position - 0.5
    np.testing.assert_allclose(disc.velocity[:, :2], 2.0 * np.stack([-away[:, 1], away[:, 0]], axis=1), atol=1e-14)


def test_a_scene_without_liquid_has_no_particles():
    grid = padded(4, 4)
    assert len(seed((), grid, box_walls(grid), Numerics())) == 0


# --- reseeding


def full_state(dimension, affine=False, depth=-1.0):
    """A domain full of liquid, deep everywhere, with a velocity field."""
    grid = padded(*{2: (9, 8), 3: (7, 6, 5)}[dimension])
    numerics = Numerics(transfer="apic" if affine else "flip")
    particles = seed((FULL[dimension],), grid, box_walls(grid), numerics)
    phi = np.full(grid.shape3, depth)
    return State(grid, particles, phi, random_field(grid), step=5), box_walls(grid), numerics


def emptied(particles, gone):
    return Particles(*(a[~gone] if len(a) == len(gone) else a for a in (particles.position, particles.velocity, particles.affine)))


def centre_of(grid, *cell):
    """The number of a cell of the domain."""
    return np.ravel_multi_index((*(c + MARGIN for c in cell[: grid.dimension]), *([0] if grid.dimension == 2 else [])), grid.shape3)


@pytest.mark.parametrize("dimension", [2, 3])
def test_reseeding_leaves_even_particles_alone(dimension):
    state, solid, numerics = full_state(dimension)
    particles = state.particles
    nominal = 2**dimension
    cells = cells_of(state.grid, particles.position)
    chosen = centre_of(state.grid, 3, 3, 2)
    keep = ~((cells == chosen) & (np.cumsum(cells == chosen) > nominal // 2))  # half is enough
    particles = emptied(particles, ~keep)
    extra = np.flatnonzero(cells_of(state.grid, particles.position) == centre_of(state.grid, 4, 4, 2))
    particles.position = np.concatenate([particles.position, particles.position[extra]])  # and twice is not too much
    particles.velocity = np.concatenate([particles.velocity, particles.velocity[extra]])
    arrays = particles.position, particles.velocity
    copies = [a.copy() for a in arrays]
    reseed(particles, state, solid, numerics)
    for array, copy, now in zip(arrays, copies, (particles.position, particles.velocity), strict=True):
        assert now is array
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("affine", [False, True])
def test_a_void_is_filled_with_the_velocity_around(dimension, affine):
    state, solid, numerics = full_state(dimension, affine)
    grid, nominal = state.grid, 2**dimension
    cells = cells_of(grid, state.particles.position)
    voids = [centre_of(grid, 3, 3, 2), centre_of(grid, 0, 4, 2)]  # one in the middle, one at a wall
    few = np.cumsum(cells == voids[0]) > 1
    particles = emptied(state.particles, ((cells == voids[0]) & few) | (cells == voids[1]))
    n = len(particles)
    reseed(particles, state, solid, numerics)
    counts = np.bincount(cells_of(grid, particles.position), minlength=int(np.prod(grid.shape3)))
    assert counts[voids[0]] == counts[voids[1]] == nominal
    assert len(particles) == n + 2 * nominal - 1
    assert particles.carries_affine == affine
    new = Particles(particles.position[n:], np.zeros((len(particles) - n, 3)), np.zeros((0, 3, 3)))
    interpolate(new, state.velocity)
    np.testing.assert_allclose(new.velocity, particles.velocity[n:], atol=1e-15)
    sub = np.floor((particles.position[n:, :dimension] - origin3(grid)[:dimension]) / grid.spacing * 2)
    assert len(np.unique(sub, axis=0)) == len(sub)  # one in each sub-cell that was empty


@pytest.mark.parametrize("per_axis", [1, 2, 3, 4])
def test_a_void_beside_clumps_is_half_filled(per_axis):
    """Particles that clump leave voids; filling those to the brim would add particles for ever."""
    grid, numerics = padded(9, 8), Numerics(particles_per_axis=per_axis, transfer="flip")
    particles = seed((FULL[2],), grid, box_walls(grid), numerics)
    void, beside = centre_of(grid, 3, 3), [centre_of(grid, *c) for c in ((2, 3), (4, 3), (3, 2), (3, 4))]
    cells = cells_of(grid, particles.position)
    particles.position[cells == void, 0] += grid.spacing * np.resize([1.0, -1.0], per_axis**2)
    state = State(grid, particles, np.full(grid.shape3, -1.0), random_field(grid), step=1)
    n = len(particles)
    reseed(particles, state, box_walls(grid), numerics)
    counts = np.bincount(cells_of(grid, particles.position), minlength=int(np.prod(grid.shape3)))
    assert counts[void] == (per_axis**2 + 1) // 2
    assert len(particles) == n + counts[void]
    assert counts[beside].sum() == 5 * per_axis**2


@pytest.mark.parametrize("axis", [0, 1])
def test_liquid_that_leaves_a_wall_is_not_held_there(axis):
    """All cells along a wall run empty together in one step: that is a gap, though the distance of the last step calls it deep."""
    state, solid, numerics = full_state(2)
    for shift in (0.6, 0.8, 1.0, 2.5):
        particles = Particles(state.particles.position.copy(), state.particles.velocity.copy(), state.particles.affine)
        particles.position[:, axis] += shift * state.grid.spacing
        inner = particles.position[:, axis] < (state.grid.origin[axis] + (state.grid.shape[axis] - MARGIN) * state.grid.spacing)
        particles = emptied(particles, ~inner)
        n = len(particles)
        reseed(particles, state, solid, numerics)
        assert len(particles) == n


def test_air_and_shallow_liquid_are_not_filled():
    for depth in (0.5, -0.05, -0.0999):
        state, solid, numerics = full_state(2, depth=depth)
        particles = emptied(state.particles, cells_of(state.grid, state.particles.position) == centre_of(state.grid, 3, 3))
        n = len(particles)
        reseed(particles, state, solid, numerics)
        assert len(particles) == n


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_crowd_is_thinned_and_keeps_its_momentum(dimension):
    state, solid, numerics = full_state(dimension, affine=True)
    grid, nominal, rng = state.grid, 2**dimension, np.random.default_rng(3)
    crowd = centre_of(grid, 2, 3, 1)
    corner = origin3(grid) + grid.spacing * np.array(np.unravel_index(crowd, grid.shape3))
    extra = np.full((3 * nominal, 3), 0.5 * grid.spacing)
    extra[:, :dimension] = (corner + grid.spacing * rng.random((3 * nominal, 3)))[:, :dimension]
    old = state.particles
    particles = Particles(
        np.concatenate([extra, old.position]),
        rng.normal(size=(len(extra) + len(old), 3)),
        rng.normal(size=(len(extra) + len(old), 3, 3)),
    )
    mine = cells_of(grid, particles.position) == crowd
    mean, others = particles.velocity[mine].mean(axis=0), particles.velocity[~mine].copy()
    reseed(particles, state, solid, numerics)
    left = cells_of(grid, particles.position) == crowd
    assert left.sum() == 2 * nominal
    np.testing.assert_allclose(particles.velocity[left].mean(axis=0), mean, atol=1e-14)
    np.testing.assert_array_equal(np.sort(particles.velocity[~left, 0]), np.sort(others[:, 0]))
    assert len(particles.affine) == len(particles)
    # The fullest sub-cells gave.
    sub = np.floor((particles.position[left] - corner)[:, :dimension] / grid.spacing * 2).astype(int)
    counts = np.unique(sub, axis=0, return_counts=True)[1]
    assert counts.max() <= np.ceil(2 * nominal / len(counts)) + 1


def test_reseeding_many_cells_is_the_same_for_any_number_of_threads():
    before, answers = numba.get_num_threads(), []
    for threads in range(1, before + 1):
        numba.set_num_threads(threads)
        state, solid, numerics = full_state(3, affine=True)
        rng = np.random.default_rng(8)
        particles = emptied(state.particles, rng.random(len(state.particles)) < 0.3)
        twice = rng.integers(0, 200, size=1500)
        for name in ("position", "velocity", "affine"):
            values = getattr(particles, name)
            setattr(particles, name, np.concatenate([values, values[twice]]))
        reseed(particles, state, solid, numerics)
        answers.append((particles.position, particles.velocity, particles.affine))
        counts = np.bincount(cells_of(state.grid, particles.position), minlength=int(np.prod(state.grid.shape3)))
        assert counts.max() <= 16
        assert (np.sum(counts[domain_cells(state.grid).ravel()] < 4)) < 10
    numba.set_num_threads(before)
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_new_points_differ_from_step_to_step_and_seed_to_seed():
    found = set()
    for step, number in ((5, 1), (6, 1), (5, 2)):
        state, solid, numerics = full_state(2)
        state.step = step
        particles = emptied(state.particles, cells_of(state.grid, state.particles.position) == centre_of(state.grid, 3, 3))
        n = len(particles)
        reseed(particles, state, solid, replace(numerics, seed=number))
        found |= set(particles.position[n:, 0].tolist())
    assert len(found) == 12
    assert isinstance(state.velocity, FaceField)
