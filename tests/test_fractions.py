import numpy as np
import pytest

from twin import clipped_area, square_fraction
from unstick.geometry.shapes import Plane, Sphere, sample
from unstick.geometry.solid import face_fractions
from unstick.grid import Grid
from unstick.kernels.fractions import face_open, triangle_open

CORNERS = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]


def test_a_triangle_equals_its_clipped_polygon():
    rng = np.random.default_rng(0)
    for values in rng.normal(size=(500, 3)):
        expected = clipped_area([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], list(values)) / 0.5
        assert triangle_open(*values) == pytest.approx(expected, abs=1e-13)


def test_a_face_is_exact_for_planes():
    """Against the whole square clipped once: another way of cutting than the kernel's."""
    rng = np.random.default_rng(1)
    cut = 0
    for a, b, c in rng.normal(size=(2000, 3)):
        values = [a + b * x + c * y for x, y in CORNERS]
        expected = clipped_area(CORNERS, values)
        cut += 0 < expected < 1
        assert face_open(*values) == pytest.approx(expected, abs=1e-13)
    assert cut > 500


def test_a_face_with_any_values_equals_its_twin_and_turns_with_the_same_bits():
    rng = np.random.default_rng(2)
    for values in rng.normal(size=(500, 4)):
        w = face_open(*values)
        assert 0.0 <= w <= 1.0
        assert w == pytest.approx(square_fraction(*values), abs=1e-13)
        assert w + face_open(*-values) == pytest.approx(1.0, abs=1e-13)
        for turn in range(4):
            turned = np.roll(values, turn)
            assert face_open(*turned) == w
            assert face_open(*turned[::-1]) == w


def test_zero_belongs_to_the_solid():
    assert face_open(0.0, 0.0, 0.0, 0.0) == 0.0
    assert face_open(0.0, 0.0, -1.0, -1.0) == 0.0
    assert face_open(0.0, 0.0, 1.0, 1.0) == 1.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_fractions_on_a_grid_are_exact_for_planes(dimension):
    rng = np.random.default_rng(3)
    shape = (5, 4, 3)[:dimension]
    grid = Grid(shape, 0.25, (0.1, -0.2, 0.3)[:dimension])
    for _ in range(20):
        normal = rng.normal(size=dimension)
        point = [o + rng.uniform(0.2, 0.8) * e for o, e in zip(grid.origin, grid.extent, strict=True)]
        solid = Plane(tuple(point), tuple(normal))
        w = face_fractions(grid, sample(solid, grid))
        for axis in range(dimension):
            values = w.components[axis].reshape(grid.face_shape(axis)[:dimension])
            others = [a for a in range(dimension) if a != axis]
            for face in np.ndindex(*values.shape):
                if face[axis] in (0, shape[axis]):
                    assert values[face] == 0.0
                    continue
                base = [o + f * grid.spacing for o, f in zip(grid.origin, face, strict=True)]
                corners = []
                for s, t in CORNERS:
                    at = list(base)
                    at[others[0]] += s * grid.spacing
                    if dimension == 3:
                        at[others[1]] += t * grid.spacing
                    corners.append(float(solid.distance(*(np.float64(x) for x in at))))
                # In 2D the edge stands for a strip of height one: the same polygon, with values that do not change across.
                assert values[face] == pytest.approx(clipped_area(CORNERS, corners), abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_open_faces_of_a_ball_add_up_to_its_volume_at_second_order(dimension):
    """Each family of faces slices the open ball; the sum of slice areas times h is its volume."""
    radius = 0.4
    exact = np.pi * radius**2 if dimension == 2 else 4.0 / 3.0 * np.pi * radius**3
    sizes, errors = (12, 24, 48), []
    for n in sizes:
        grid = Grid((n,) * dimension, 1.0 / n)
        w = face_fractions(grid, sample(~Sphere((0.51, 0.48, 0.5)[:dimension], radius), grid))
        sums = [float(c.sum()) / n**dimension for c in w.components[:dimension]]
        errors.append(max(abs(s - exact) for s in sums))
    order = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert errors[-1] < 2e-3 * exact
    assert order > 1.7


def test_a_wall_through_the_nodes_stays_there_whatever_its_rounding():
    grid = Grid((10, 10), 0.1)
    wall = sample(Plane((0.3, 0.0), (1.0, 0.0)), grid)
    column = np.flatnonzero(np.abs(wall[:, 0]) < 1e-12)[0]
    reference = face_fractions(grid, wall)
    for noise in (1e-17, -1e-17, 5e-16):
        shifted = wall.copy()
        shifted[column] = noise
        got = face_fractions(grid, shifted)
        np.testing.assert_array_equal(got.u, reference.u)
        np.testing.assert_array_equal(got.v, reference.v)
    assert not reference.u[column].any()
    assert (reference.v[column, 1:-1] == 1.0).all()
