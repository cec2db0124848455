import numpy as np
import pytest

from unstick.fields import CellField, FaceField
from unstick.grid import CENTRES, NODES, Grid


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": (4,), "spacing": 1.0}, "shape is"),
        ({"shape": (4, 0), "spacing": 1.0}, "positive whole numbers"),
        ({"shape": (4, 4.5), "spacing": 1.0}, "positive whole numbers"),
        ({"shape": 4, "spacing": 1.0}, "shape is 4"),
        ({"shape": (4, 4), "spacing": 0.0}, "spacing is 0.0"),
        ({"shape": (4, 4), "spacing": float("nan")}, "positive number"),
        ({"shape": (4, 4), "spacing": (1.0, 2.0)}, "the side of a cell"),
        ({"shape": (4, 4), "spacing": 1.0, "origin": (0.0, 0.0, 0.0)}, "give 2 finite numbers"),
        ({"shape": (4, 4), "spacing": 1.0, "origin": (0.0, float("inf"))}, "finite"),
    ],
)
def test_bad_grids_are_refused_with_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Grid(**options)


def test_a_grid_says_where_things_are():
    grid = Grid((4, 3), 0.5, (1.0, 2.0))
    assert grid.shape3 == (4, 3, 1)
    assert grid.node_shape == (5, 4)
    assert grid.node_shape3 == (5, 4, 1)
    x, y = grid.points(grid.shape, CENTRES)
    np.testing.assert_allclose(x[:, 0], [1.25, 1.75, 2.25, 2.75])
    np.testing.assert_allclose(y[0], [2.25, 2.75, 3.25])
    x, y = grid.points(grid.node_shape, NODES, slice(1, 3))
    np.testing.assert_allclose(x[:, 0], [1.5, 2.0])
    assert x.shape == (2, 1)
    assert y.shape == (1, 4)


def test_slabs_cover_a_lattice_once():
    grid = Grid((37, 11, 13), 1.0)
    seen = np.zeros(37, dtype=int)
    for planes in grid.slabs(grid.shape, entries=1000):
        seen[planes] += 1
        assert (planes.stop - planes.start) * 11 * 13 <= 1000
    assert (seen == 1).all()


def test_fields_have_the_promised_shapes():
    flat, solid = Grid((4, 3), 1.0), Grid((4, 3, 2), 1.0)
    assert CellField(flat).values.shape == (4, 3, 1)
    faces = FaceField(flat, np.float32)
    assert [a.shape for a in faces.components] == [(5, 3, 1), (4, 4, 1), (4, 3, 2)]
    assert {a.dtype for a in faces.components} == {np.dtype(np.float32)}
    assert [a.shape for a in FaceField(solid).components] == [(5, 3, 2), (4, 4, 2), (4, 3, 3)]


def test_a_function_is_sampled_at_face_centres():
    grid = Grid((5, 4, 3), 0.5, (1.0, 0.0, -1.0))
    faces = FaceField.from_function(grid, lambda x, y, z: (x + 10 * y + 100 * z, x - y + 2 * z, x * y + z))
    assert faces.u[2, 1, 0] == pytest.approx(2.0 + 10 * 0.75 + 100 * -0.75)
    assert faces.v[2, 1, 0] == pytest.approx(2.25 - 0.5 + 2 * -0.75)
    assert faces.w[2, 1, 3] == pytest.approx(2.25 * 0.75 + 0.5)
    with pytest.raises(ValueError, match="gave 2 components; give 3"):
        FaceField.from_function(grid, lambda x, y, z: (x, y))


def test_a_copy_is_independent():
    faces = FaceField(Grid((3, 3), 1.0))
    other = faces.copy()
    other.u[...] = 1.0
    assert not faces.u.any()
