import math

import numpy as np
import pytest

from unstick.geometry.shapes import Box, Capsule, Plane, Shell, Sphere, sample
from unstick.grid import CENTRES, NODES, Grid


def at(shape, *point):
    return float(shape.distance(*(np.float64(v) for v in point)))


def test_distances_at_known_points():
    assert at(Sphere((1.0, 2.0), 0.5), 1.0, 3.0) == pytest.approx(0.5)
    assert at(Sphere((1.0, 2.0, 3.0), 2.0), 1.0, 2.0, 3.0) == pytest.approx(-2.0)
    box = Box((0.0, 0.0, 0.0), (1.0, 2.0, 3.0))
    assert at(box, 0.5, 1.0, 1.5) == pytest.approx(-0.5)
    assert at(box, 4.0, 6.0, 1.0) == pytest.approx(5.0)
    assert at(box, -2.0, 1.0, 1.0) == pytest.approx(2.0)
    capsule = Capsule((0.0, 0.0), (2.0, 0.0), 0.25)
    assert at(capsule, 1.0, 1.0) == pytest.approx(0.75)
    assert at(capsule, 5.0, 4.0) == pytest.approx(4.75)
    plane = Plane((0.0, 1.0), (0.0, 2.0))
    assert at(plane, 7.0, 4.0) == pytest.approx(3.0)
    assert at(plane, 7.0, 0.0) == pytest.approx(-1.0)
    assert at(Shell(Sphere((0.0, 0.0), 1.0), 0.2), 0.0, 0.5) == pytest.approx(0.4)
    assert at(Shell(Sphere((0.0, 0.0), 1.0), 0.2), 0.0, 1.05) == pytest.approx(-0.05)


def test_set_operations():
    a, b = Sphere((0.0, 0.0), 1.0), Sphere((1.0, 0.0), 1.0)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-2.0, 3.0, (2, 1000))
    in_a, in_b = a.distance(x, y) < 0, b.distance(x, y) < 0
    assert ((a | b).distance(x, y) < 0).tolist() == (in_a | in_b).tolist()
    assert ((a & b).distance(x, y) < 0).tolist() == (in_a & in_b).tolist()
    assert ((a - b).distance(x, y) < 0).tolist() == (in_a & ~in_b).tolist()
    assert ((~a).distance(x, y) > 0).tolist() == in_a.tolist()


@pytest.mark.parametrize(
    "shape",
    [
        Sphere((0.2, 0.1, 0.0), 0.7),
        Box((-0.5, -0.4, -0.3), (0.5, 0.6, 0.7)),
        Capsule((-0.5, 0.0, 0.1), (0.4, 0.3, 0.0), 0.2),
        Plane((0.0, 0.1, 0.0), (1.0, 2.0, -0.5)),
        Shell(Box((-0.5, -0.4, -0.3), (0.5, 0.6, 0.7)), 0.1),
        Box((-0.5, -0.4, -0.3), (0.5, 0.6, 0.7)).rotate(0.7, (1.0, 2.0, 3.0)).translate((0.1, 0.2, 0.3)).scale(1.3),
    ],
)
def test_distances_have_slope_one(shape):
    """An exact distance has a gradient of length one almost everywhere; a transform that forgot to scale has not."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2.0, 2.0, (3, 2000))
    step = 1e-6
    slope = np.zeros(2000)
    for axis in range(3):
        moved = x.copy()
        moved[axis] += step
        back = x.copy()
        back[axis] -= step
        slope += ((shape.distance(*moved) - shape.distance(*back)) / (2 * step)) ** 2
    kinks = np.abs(slope - 1.0) > 1e-6
    assert kinks.mean() < 0.005


def test_transforms_move_points_as_they_say():
    tip = Sphere((1.0, 0.0), 0.1)
    assert at(tip.rotate(math.pi / 2), 0.0, 1.0) == pytest.approx(-0.1)
    assert at(tip.rotate(math.pi, centre=(2.0, 0.0)), 3.0, 0.0) == pytest.approx(-0.1)
    assert at(tip.translate((0.0, 2.0)), 1.0, 2.0) == pytest.approx(-0.1)
    assert at(tip.scale(3.0), 3.0, 0.0) == pytest.approx(-0.3)
    point = Sphere((1.0, 0.0, 0.0), 0.1)
    assert at(point.rotate(math.pi / 2, (0.0, 1.0, 0.0)), 0.0, 0.0, -1.0) == pytest.approx(-0.1)


@pytest.mark.parametrize(("where", "shift", "extra"), [("cells", CENTRES, 0), ("nodes", NODES, 1)])
def test_sampling_by_slabs_equals_sampling_at_once(where, shift, extra):
    grid = Grid((90, 80, 85), 0.01, (0.1, 0.0, 0.0))  # more than one slab
    shape = Sphere((0.5, 0.4, 0.4), 0.3) - Box((0.3, 0.3, 0.3), (0.6, 0.5, 0.4)).rotate(0.3)
    size = tuple(n + extra for n in grid.shape)
    assert len(list(grid.slabs(size))) > 1
    whole = shape.distance(*grid.points(size, shift))
    values = sample(shape, grid, where)
    assert values.shape == size
    np.testing.assert_array_equal(values, whole)
    np.testing.assert_array_equal(sample(shape, grid, where, np.float32), whole.astype(np.float32))


def test_bad_shapes_are_refused_with_a_sentence():
    with pytest.raises(ValueError, match="radius is -1"):
        Sphere((0.0, 0.0), -1.0)
    with pytest.raises(ValueError, match="must exceed"):
        Box((0.0, 1.0), (1.0, 1.0))
    with pytest.raises(ValueError, match="two different points"):
        Capsule((0.0, 0.0), (0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match="normal"):
        Plane((0.0, 0.0), (0.0, 0.0))
    with pytest.raises(ValueError, match="thickness"):
        Shell(Sphere((0.0, 0.0), 1.0), 0.0)
    with pytest.raises(ValueError, match="3 coordinates but the points have 2"):
        sample(Sphere((0.0, 0.0, 0.0), 1.0), Grid((4, 4), 1.0))
    with pytest.raises(ValueError, match="sample at 'nodes' or at 'cells'"):
        sample(Sphere((0.0, 0.0), 1.0), Grid((4, 4), 1.0), "faces")
