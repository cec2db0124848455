import numpy as np
import pytest

from liquid_at_rest import on_threads, walls_of
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.shapes import Plane, Sphere, sample
from unstick.geometry.solid import face_fractions
from unstick.grid import Grid
from unstick.kernels.extrapolate import SLIVER
from unstick.liquid.extrapolate import DEEP, constrain, extrapolate, mark_valid
from unstick.liquid.solids import WallState
from unstick.liquid.state import MARGIN, with_margin

SHAPES = [(13, 11), (8, 7, 9)]


def random_faces(grid, seed):
    rng = np.random.default_rng(seed)
    faces = FaceField(grid)
    for axis in range(grid.dimension):
        faces.components[axis][...] = rng.normal(size=grid.face_shape(axis))
    return faces


def copied(field):
    return [c.copy() for c in field.components]


def layered(values, valid, layers):
    """The twin: each layer is the mean of the neighbours that earlier layers gave a value."""
    out, level = np.where(valid, values, 0.0), np.where(valid, 0, 10**6)
    for layer in range(1, layers + 1):
        new = {}
        for cell in np.ndindex(*values.shape):
            if level[cell] < layer:
                continue
            near = []
            for axis in range(3):
                for step in (-1, 1):
                    other = list(cell)
                    other[axis] += step
                    if 0 <= other[axis] < values.shape[axis] and level[tuple(other)] < layer:
                        near.append(out[tuple(other)])
            if near:
                new[cell] = np.mean(near)
        for cell, value in new.items():
            out[cell], level[cell] = value, layer
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layers", [0, 1, 3])
def test_layers_equal_their_plain_twin(shape, layers):
    grid = Grid(shape, 0.1)
    velocity = random_faces(grid, 1)
    rng = np.random.default_rng(2)
    valid = tuple((rng.random(grid.face_shape(axis)) < 0.05).astype(np.uint8) for axis in range(3))
    given = copied(velocity)
    extrapolate(velocity, valid, layers)
    for axis in range(grid.dimension):
        expected = layered(given[axis], valid[axis] != 0, layers)
        np.testing.assert_allclose(velocity.components[axis], expected, rtol=0, atol=1e-14)
        assert layers == 0 or np.count_nonzero(expected == 0) < expected.size
        np.testing.assert_array_equal(velocity.components[axis][valid[axis] != 0], given[axis][valid[axis] != 0])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_mean_of_equal_values_is_that_value_to_the_bit(shape):
    grid = Grid(shape, 0.1)
    velocity = FaceField(grid)
    valid = tuple(np.zeros(grid.face_shape(axis), dtype=np.uint8) for axis in range(3))
    for axis, value in enumerate((0.1, -9.81 * 0.01, 1e-7)[: grid.dimension]):
        velocity.components[axis][...] = value
        valid[axis][3, 3, 0] = 1
    extrapolate(velocity, valid, 40)
    for axis, value in enumerate((0.1, -9.81 * 0.01, 1e-7)[: grid.dimension]):
        assert (velocity.components[axis] == value).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_valid_faces_are_open_by_more_than_a_sliver_and_touch_liquid(dimension):
    grid = Grid((14, 12, 10)[:dimension], 0.1)
    phi = sample(Plane((0.0, 0.55, 0.0)[:dimension], (0.2, 1.0, 0.1)[:dimension]), grid, "cells")
    solid = -sample(Sphere((0.7, 0.6, 0.5)[:dimension], 0.43), grid)
    valid = mark_valid(grid, phi, solid)
    fractions = face_fractions(grid, solid)
    wet = (phi < 0).reshape(grid.shape3)
    for axis in range(3):
        touches = np.zeros(grid.face_shape(axis), dtype=bool)
        inner = [slice(None)] * 3
        inner[axis] = slice(1, -1)
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        touches[tuple(inner)] = wet[tuple(low)] | wet[tuple(high)]
        expected = touches & (fractions.components[axis] > SLIVER) if axis < dimension else np.zeros_like(touches)
        np.testing.assert_array_equal(valid[axis] != 0, expected)
        assert axis >= dimension or expected.any()


def constrained(grid, velocity, solid, loose, wall=None, valid=None):
    """The twin: face by face, all three components at its middle, and the gradient of the distance there."""
    d = grid.dimension
    fractions = face_fractions(grid, solid)
    node = solid if d == 3 else np.repeat(solid.reshape(*grid.node_shape, 1), 2, axis=2)
    nodes = (*grid.node_shape3[:2], grid.shape3[2] + 1)
    out = [c.copy() for c in velocity.components]
    for axis in range(d):
        others = [a for a in range(3) if a != axis]

        def middle(face, others=others):
            return np.mean([node[tuple(np.add(face, s * np.eye(3, dtype=int)[others[0]] + t * np.eye(3, dtype=int)[others[1]]))]
                            for s in (0, 1) for t in (0, 1)])  # fmt: skip

        for face in np.ndindex(*grid.face_shape(axis)):
            closed = fractions.components[axis][face] == 0 if valid is None else (middle(face) <= 0 and not valid[axis][face])
            if not closed or middle(face) > 0 or middle(face) < -DEEP * grid.spacing:
                continue
            n, u = np.zeros(3), np.zeros(3)
            unit = np.eye(3, dtype=int)
            up, down = np.minimum(face + unit[axis], np.subtract(nodes, 1)), np.maximum(face - unit[axis], 0)
            n[axis] = (middle(up) - middle(down)) / (up - down)[axis]
            for a, b in (others, others[::-1]):
                corner = [[node[tuple(np.add(face, s * unit[a] + t * unit[b]))] for t in (0, 1)] for s in (0, 1)]
                n[a] = np.mean(corner[1]) - np.mean(corner[0])
            n = n / np.linalg.norm(n) if np.linalg.norm(n) > 0 else n
            for a in range(3):
                values = velocity.components[a] - (0 if wall is None else wall.components[a])
                if a == axis:
                    u[a] = values[face]
                    continue
                around = [np.add(face, -s * unit[axis] + t * unit[a]) for s in (0, 1) for t in (0, 1)]
                u[a] = np.mean([values[tuple(np.clip(f, 0, np.subtract(values.shape, 1)))] for f in around])
            cells = [tuple(np.clip(np.subtract(face, s * unit[axis]), 0, np.subtract(grid.shape3, 1))) for s in (0, 1)]
            if u @ n < 0 or not (loose[cells[0]] and loose[cells[1]]):
                out[axis][face] -= (u @ n) * n[axis]
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("by_face", [False, True])
def test_the_constraint_equals_its_plain_twin(shape, moving, by_face):
    d = len(shape)
    grid = Grid(shape, 0.1)
    solid = -sample(Sphere(tuple(0.5 * e + 0.01 for e in grid.extent), 0.33), grid).reshape(grid.node_shape3)
    phi = sample(Plane(tuple(0.5 * e for e in grid.extent), (0.3, 1.0, 0.2)[:d]), grid, "cells")
    velocity, wall = random_faces(grid, 3), random_faces(grid, 4) if moving else None
    loose = np.random.default_rng(5).random(grid.shape3) < 0.7
    valid = mark_valid(grid, phi, solid) if by_face else None
    expected = constrained(grid, velocity, solid, loose, wall, valid)
    given = copied(velocity)
    constrain(velocity, grid, WallState(solid, wall, loose), valid)
    deep = []
    for axis in range(d):
        np.testing.assert_allclose(velocity.components[axis], expected[axis], rtol=0, atol=1e-13)
        deep.append((expected[axis] != given[axis]).sum())
    assert min(deep) > 10


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_fall_away_from_the_ceiling_stays_uniform_and_the_floor_stops_it(dimension):
    domain = Grid((8, 9, 7)[:dimension], 0.1, (0.3, 0.2, 0.1)[:dimension])
    grid = with_margin(domain)
    solid, velocity = walls_of(domain), FaceField(grid)
    velocity.v[...] = -0.0981
    constrain(velocity, grid, WallState(solid, None, "separating"))
    inside = (slice(MARGIN, -MARGIN),) * 2 + ((slice(MARGIN, -MARGIN),) if dimension == 3 else (slice(None),))
    v = velocity.v[inside]
    assert (v[:, 1:] == -0.0981).all()  # also on the ceiling, and on faces beside the walls
    assert (v[:, 0] == 0.0).all()
    assert not velocity.u[inside].any() and not velocity.w[inside].any()
    beside = velocity.v[MARGIN - 1, MARGIN + 1 : -MARGIN, MARGIN if dimension == 3 else 0]
    assert (beside == -0.0981).all()


def test_a_sticking_ceiling_holds_and_a_rising_floor_pushes():
    domain = Grid((8, 9), 0.1)
    grid = with_margin(domain)
    solid, velocity, wall = walls_of(domain), FaceField(grid), FaceField(grid)
    velocity.v[...] = -0.5
    constrain(velocity, grid, WallState(solid, None, "sticking"))
    assert (velocity.v[MARGIN:-MARGIN, -MARGIN - 1] == 0.0).all()
    wall.v[...] = 0.25
    velocity.v[...] = 0.1
    constrain(velocity, grid, WallState(solid, wall, "separating"))
    assert (velocity.v[MARGIN:-MARGIN, MARGIN] == 0.25).all()  # slower than the floor below it
    assert (velocity.v[MARGIN:-MARGIN, -MARGIN - 1] == 0.1).all()  # the ceiling leaves faster than the liquid follows


@pytest.mark.parametrize("shape", SHAPES)
def test_the_bits_do_not_depend_on_threads(shape):
    grid = Grid(shape, 0.1)
    solid = -sample(Sphere(tuple(0.5 * e for e in grid.extent), 0.33), grid).reshape(grid.node_shape3)
    phi = sample(Plane(tuple(0.5 * e for e in grid.extent), (0.3, 1.0, 0.2)[: len(shape)]), grid, "cells")

    def work():
        velocity = random_faces(grid, 6)
        extrapolate(velocity, mark_valid(grid, phi, solid), 4)
        constrain(velocity, grid, WallState(solid, None, "separating"))
        return copied(velocity)

    one, two = on_threads(work)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bad_input_is_refused_in_a_sentence():
    grid = Grid((5, 5), 0.1)
    none = tuple(np.zeros(grid.face_shape(axis), dtype=np.uint8) for axis in range(3))
    with pytest.raises(InvalidSystem, match="layers is -1; it must be a whole number of at least 0"):
        extrapolate(FaceField(grid), none, -1)
    with pytest.raises(InvalidSystem, match="valid has shape"):
        extrapolate(FaceField(grid), none[::-1], 3)
