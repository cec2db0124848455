"""Particles to grid and back: against loops over the hat function, and by what each transfer must keep."""

import numba
import numpy as np
import pytest

from particle_twin import inside, interpolated, origin3, padded, random_field, to_grid
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.liquid.particles import CellIndex, sort
from unstick.liquid.scene import Numerics
from unstick.liquid.state import Particles
from unstick.liquid.transfer import TRANSFERS, Apic, Flip, Pic, make_transfer

GRIDS = {2: padded(6, 5), 3: padded(5, 4, 3)}


def face_points(grid, axis):
    """Centres of the faces normal to `axis`, (..., 3)."""
    shape = grid.face_shape(axis)
    index = np.stack(np.meshgrid(*[np.arange(n) for n in shape], indexing="ij"), axis=-1)
    return origin3(grid) + grid.spacing * (index + np.where(np.arange(3) == axis, 0.0, 0.5))


def linear_field(grid, A, b):
    field = FaceField(grid)
    for axis in range(grid.dimension):
        field.components[axis][...] = face_points(grid, axis) @ A[axis] + b[axis]
    return field


def some_affine(grid):
    A, b = np.random.default_rng(4).normal(size=(3, 3)), np.array([0.3, -0.7, 0.2])
    if grid.dimension == 2:
        A[2] = A[:, 2] = b[2] = 0.0
    return A, b


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("transfer", [Pic(), Flip(0.9), Apic()], ids=["pic", "flip", "apic"])
def test_particles_to_grid_is_the_weighted_mean(dimension, transfer):
    grid = GRIDS[dimension]
    particles = inside(grid, 60, affine=transfer.affine)
    index = sort(particles, grid)
    velocity, known = transfer.to_grid(particles, index, FaceField(grid))
    expected, weights = to_grid(grid, particles, transfer.affine)
    for axis in range(3):
        np.testing.assert_allclose(velocity.components[axis], expected.components[axis], atol=2e-13)
        np.testing.assert_array_equal(known[axis], weights.components[axis] > 0)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("with_index", [False, True])
def test_grid_to_particles_is_the_interpolation(dimension, with_index):
    grid = GRIDS[dimension]
    before, after = random_field(grid, 2), random_field(grid, 3)
    for transfer in (Pic(), Flip(0.9), Flip(1.0), Flip(0.0), Apic()):
        particles = inside(grid, 40, affine=transfer.affine)
        index = sort(particles, grid) if with_index else None
        old = particles.velocity.copy()
        transfer.to_particles(particles, before, after, index)
        new, slope = interpolated(grid, after, particles.position)
        part = transfer.flip if isinstance(transfer, Flip) else 0.0
        blend = (1.0 - part) * new + part * (old + new - interpolated(grid, before, particles.position)[0])  # Karlsson, eq. 22
        np.testing.assert_allclose(particles.velocity, blend, atol=1e-13)
        if transfer.affine:
            np.testing.assert_allclose(particles.affine, slope, atol=1e-12 / grid.spacing)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("transfer", [Pic(), Apic()], ids=["pic", "apic"])
def test_momentum_is_conserved_on_the_way_to_the_grid(dimension, transfer):
    """Weights of a particle sum to one, and so do, for APIC, the parts that its gradient adds to nothing."""
    grid = GRIDS[dimension]
    particles = inside(grid, 80, affine=transfer.affine)
    velocity, _ = transfer.to_grid(particles, sort(particles, grid), FaceField(grid))
    _, weights = to_grid(grid, particles, transfer.affine)
    for axis in range(dimension):
        assert weights.components[axis].sum() == pytest.approx(len(particles), rel=1e-14)
        found = float((weights.components[axis] * velocity.components[axis]).sum())
        assert found == pytest.approx(float(particles.velocity[:, axis].sum()), abs=1e-11)


@pytest.mark.parametrize("dimension", [2, 3])
def test_apic_keeps_an_affine_velocity_field(dimension):
    grid = GRIDS[dimension]
    A, b = some_affine(grid)
    particles = inside(grid, 300, affine=True)
    particles.velocity[:] = particles.position @ A.T + b
    particles.affine[:] = A
    velocity, known = Apic().to_grid(particles, sort(particles, grid), FaceField(grid))
    exact = linear_field(grid, A, b)
    for axis in range(dimension):
        there = known[axis] > 0
        assert there.sum() > 40
        np.testing.assert_allclose(velocity.components[axis][there], exact.components[axis][there], atol=1e-13)
    Apic().to_particles(particles, velocity, exact)
    np.testing.assert_allclose(particles.velocity, particles.position @ A.T + b, atol=1e-14)
    np.testing.assert_allclose(particles.affine, np.broadcast_to(A, particles.affine.shape), atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("transfer", [Pic(), Flip(), Apic()], ids=["pic", "flip", "apic"])
def test_what_moves_as_one_comes_back_as_one(dimension, transfer):
    grid = GRIDS[dimension]
    whole = np.array([0.1, -1.7, 0.3 * (dimension - 2)])
    particles = inside(grid, 500, affine=transfer.affine)
    particles.velocity[:] = whole
    particles.affine[:] = 0.0
    index = sort(particles, grid)
    velocity, known = transfer.to_grid(particles, index, FaceField(grid))
    for axis in range(dimension):
        assert (velocity.components[axis][known[axis] > 0] == whole[axis]).all()
        assert not velocity.components[axis][known[axis] == 0].any()
    uniform = FaceField(grid)
    for axis in range(dimension):
        uniform.components[axis][...] = whole[axis]
    transfer.to_particles(particles, uniform, uniform, index)
    np.testing.assert_allclose(particles.velocity, np.broadcast_to(whole, (500, 3)), rtol=5e-16)
    if transfer.affine:
        assert abs(particles.affine).max() == 0.0


@pytest.mark.parametrize("name", list(TRANSFERS))
def test_threads_change_no_bit(name):
    grid = padded(21, 9, 7)
    transfer = make_transfer(Numerics(transfer=name))
    field, answers = random_field(grid), []
    before = numba.get_num_threads()
    for threads in (1, min(2, before)):
        numba.set_num_threads(threads)
        particles = inside(grid, 20_000, affine=transfer.affine)
        index = sort(particles, grid)
        velocity, known = transfer.to_grid(particles, index, field)
        transfer.to_particles(particles, velocity, field, index)
        answers.append([*velocity.components, *known, particles.position, particles.velocity, particles.affine])
    numba.set_num_threads(before)
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", ["apic", "flip", "pic"])
def test_2d_equals_extruded_3d(name):
    flat, deep = padded(6, 5, spacing=0.1), padded(6, 5, 3, spacing=0.1, origin=(0.3, -0.2, 0.0))
    transfer = make_transfer(Numerics(transfer=name))
    one = inside(flat, 60, affine=transfer.affine)
    layers = deep.origin[2] + 0.1 * (np.arange(3, 6) + 0.5)
    many = Particles(*(np.tile(a, (3,) + (1,) * (a.ndim - 1)) for a in (one.position, one.velocity, one.affine)))
    many.position[:, 2] = np.repeat(layers, 60)
    index, deep_index = sort(one, flat), sort(many, deep)
    velocity, known = transfer.to_grid(one, index, FaceField(flat))
    deep_velocity, deep_known = transfer.to_grid(many, deep_index, FaceField(deep))
    for axis in (0, 1):
        np.testing.assert_array_equal(deep_known[axis][:, :, 4], known[axis][:, :, 0])
        np.testing.assert_allclose(deep_velocity.components[axis][:, :, 4], velocity.components[axis][:, :, 0], atol=1e-13)
    after, deep_after = random_field(flat), FaceField(deep)
    for axis in (0, 1):
        deep_after.components[axis][...] = after.components[axis]
    transfer.to_particles(one, velocity, after, index)
    transfer.to_particles(many, deep_velocity, deep_after, deep_index)
    layer = np.abs(many.position[:, 2] - layers[1]) < 0.01
    order = np.lexsort(many.position[layer].T), np.lexsort(one.position.T)
    np.testing.assert_allclose(many.velocity[layer][order[0]], one.velocity[order[1]], atol=1e-13)


def test_velocities_that_live_on_the_grid_stay_there():
    grid = GRIDS[3]
    transfer, field = make_transfer(Numerics(transfer="semi-lagrangian")), random_field(GRIDS[3])
    particles = inside(grid, 50)
    velocity, known = transfer.to_grid(particles, sort(particles, grid), field)
    assert not transfer.carries_velocity
    for axis in range(3):
        np.testing.assert_array_equal(velocity.components[axis], field.components[axis])
        assert known[axis].all()


@pytest.mark.parametrize("name", ["apic", "flip", "pic"])
def test_no_particles_give_no_velocity(name):
    grid = GRIDS[2]
    transfer = make_transfer(Numerics(transfer=name))
    particles = Particles.none(transfer.affine)
    velocity, known = transfer.to_grid(particles, sort(particles, grid), FaceField(grid))
    transfer.to_particles(particles, velocity, velocity)
    assert not any(k.any() for k in known)
    assert not any(c.any() for c in velocity.components)


@pytest.mark.parametrize("name", ["apic", "flip", "pic"])
def test_lost_particles_break_nothing(name):
    """A run that blew up must end in a sentence of the pressure solve, not in a crash."""
    grid = GRIDS[3]
    transfer = make_transfer(Numerics(transfer=name))
    particles = inside(grid, 50, affine=transfer.affine)
    particles.position[::7] = np.nan
    particles.position[1::7] = 1e300
    particles.position[2::7] = -np.inf
    index = sort(particles, grid)
    velocity, _ = transfer.to_grid(particles, index, FaceField(grid))
    transfer.to_particles(particles, velocity, random_field(grid), index)
    assert isinstance(index, CellIndex)


def test_wrong_options_are_refused_with_a_sentence():
    with pytest.raises(InvalidSystem, match="apic, flip, pic, semi-lagrangian"):
        make_transfer(Numerics(transfer="flap"))
    with pytest.raises(InvalidSystem, match="from 0"):
        make_transfer(Numerics(transfer="flip", flip=1.2))
