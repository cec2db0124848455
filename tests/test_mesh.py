"""Triangle meshes as signed distances: exact beside the surface, the right sign everywhere, holes refused."""

import math

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from unstick.checks import InvalidSystem
from unstick.geometry.mesh import MeshShape, read_mesh, sample_mesh
from unstick.geometry.shapes import Box
from unstick.kernels.mesh import fill_band, interpolate, side_of_edge, sign_rows, square_to_triangle, winding_number

trimesh = pytest.importorskip("trimesh")


def write(tmp_path, mesh, name="mesh.stl"):
    path = tmp_path / name
    mesh.export(path)
    return str(path)


def by_projection(point, a, b, c):
    """Distance to a triangle another way: the foot on its plane if that lies inside, else the nearest point of its three edges."""
    n = np.cross(b - a, c - a)
    n = n / np.linalg.norm(n)
    foot = point - n * ((point - a) @ n)
    inside = all(np.cross(q - p, foot - p) @ n >= 0 for p, q in ((a, b), (b, c), (c, a)))
    if inside:
        return abs((point - a) @ n)
    best = math.inf
    for p, q in ((a, b), (b, c), (c, a)):
        t = np.clip((point - p) @ (q - p) / ((q - p) @ (q - p)), 0.0, 1.0)
        best = min(best, float(np.linalg.norm(point - p - t * (q - p))))
    return best


def test_the_distance_to_a_triangle_equals_that_by_projection():
    rng = np.random.default_rng(0)
    for _ in range(300):
        corner = rng.normal(size=(1, 3, 3))
        for point in rng.normal(size=(5, 3)) * 2.0:
            assert math.sqrt(square_to_triangle(corner, 0, *point)) == pytest.approx(by_projection(point, *corner[0]), abs=1e-12)


def test_a_band_holds_all_points_near_a_triangle_and_no_others():
    rng = np.random.default_rng(1)
    corner = rng.uniform(3.0, 9.0, (4, 3, 3))
    out = np.full((13, 12, 11), np.inf)
    fill_band(out, corner, 2.0, 4)
    for i, j, k in np.ndindex(out.shape):
        exact = min(by_projection(np.array([i, j, k], dtype=float), *c) for c in corner)
        if abs(exact - 2.0) > 1e-9:
            assert out[i, j, k] == (pytest.approx(exact, abs=1e-12) if exact < 2.0 else np.inf)


def test_the_two_triangles_at_an_edge_disagree_about_a_point():
    rng = np.random.default_rng(2)
    for _ in range(500):
        a, b, x = rng.integers(0, 4, (3, 2)).astype(float)
        if (a != b).any():
            assert side_of_edge(*a, *b, *x) == -side_of_edge(*b, *a, *x)


def test_a_sphere_of_triangles_has_the_distances_of_a_sphere(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.3)
    shape = MeshShape(write(tmp_path, ball), 1.0, (0.5, 0.6, 0.4), spacing=0.03)
    x = np.random.default_rng(3).uniform(-0.2, 1.2, (3, 4000))
    exact = np.linalg.norm(x - np.array([[0.5], [0.6], [0.4]]), axis=0) - 0.3
    found = shape.distance(*x)
    near = np.abs(exact) < 0.025
    assert np.abs(found - exact)[near].max() < 0.0015  # triangles cut corners by 0.0006, interpolation by 0.0001
    assert np.abs(found - exact)[exact < 0.06].max() < 0.02
    assert found[exact > 0.06].min() > 0.05
    assert (found - exact).max() < 0.015  # far off it is a lower bound, but for a spacing
    assert ((found > 0) == (exact > 0))[np.abs(exact) > 0.001].all()


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply"])
def test_a_box_of_triangles_is_a_box(tmp_path, suffix):
    """Corners and edges lie on simple coordinates: rows through them count each crossing once."""
    box = trimesh.creation.box(extents=(1.0, 0.5, 0.75))
    shape = MeshShape(write(tmp_path, box, f"box.{suffix}"), 0.5, spacing=1 / 32)
    exact = Box((-0.25, -0.125, -0.1875), (0.25, 0.125, 0.1875))
    x = np.random.default_rng(4).uniform(-0.28, 0.28, (3, 3000))
    wanted, found = exact.distance(*x), shape.distance(*x)
    flat = np.abs(wanted) < 0.03
    assert np.abs(found - wanted)[flat].max() < 0.008  # at edges, between points half a cell apart
    assert np.median(np.abs(found - wanted)[flat]) < 1e-12
    assert ((found > 0) == (wanted > 0))[np.abs(wanted) > 0.008].all()


def test_signs_agree_with_winding_numbers_and_igl(tmp_path):
    ring = trimesh.creation.torus(0.4, 0.15)
    corner = read_mesh(write(tmp_path, ring))
    lattice = sample_mesh(corner, 0.05)
    local = (corner - lattice.origin) / lattice.spacing
    again = np.abs(lattice.values)
    rows = np.array([(i, j) for i in range(0, again.shape[0], 5) for j in range(0, again.shape[1], 5)])
    sign_rows(again, local, rows)
    assert (again[rows[:, 0], rows[:, 1]] == lattice.values[rows[:, 0], rows[:, 1]]).all()
    assert (lattice.values < 0).sum() * lattice.spacing**3 == pytest.approx(ring.volume, rel=0.04)
    igl = pytest.importorskip("igl")
    points = lattice.origin + lattice.spacing * np.argwhere(np.ones(lattice.values.shape))[::17]
    v, f = corner.reshape(-1, 3), np.arange(corner.shape[0] * 3).reshape(-1, 3)
    wanted = igl.signed_distance(points, v, f)[0]
    found = lattice.spacing * lattice.values.reshape(-1)[::17]
    band = np.abs(wanted) < 2.5 * lattice.spacing
    assert found[band] == pytest.approx(wanted[band], abs=1e-9)
    assert np.abs(found - wanted).max() < lattice.spacing


def test_a_mesh_in_a_mesh_keeps_its_hollow(tmp_path):
    outer, inner = trimesh.creation.icosphere(3, 0.4), trimesh.creation.icosphere(3, 0.2)
    inner.invert()
    shape = MeshShape(write(tmp_path, trimesh.util.concatenate([outer, inner])), spacing=0.05)
    assert shape.distance(*np.array([[0.0], [0.0], [0.0]]))[0] == pytest.approx(0.2, abs=0.02)
    assert shape.distance(*np.array([[0.3], [0.0], [0.0]]))[0] == pytest.approx(-0.1, abs=0.02)  # on the ridge between both


def test_the_winding_number_counts_turns():
    corner = np.ascontiguousarray(trimesh.creation.icosphere(2, 1.0).triangles)
    assert winding_number(corner, 0.1, 0.2, 0.3) == pytest.approx(1.0)
    assert winding_number(corner, 1.5, 0.2, 0.3) == pytest.approx(0.0, abs=1e-12)


def test_meshes_that_are_not_closed_are_refused(tmp_path):
    ball = trimesh.creation.icosphere(2, 1.0)
    holed = trimesh.Trimesh(ball.vertices, ball.faces[3:], process=False)
    with pytest.raises(InvalidSystem, match=r"has holes: \d+ of its \d+ edges"):
        read_mesh(write(tmp_path, holed, "holed.stl"))
    turned = trimesh.Trimesh(ball.vertices, np.concatenate([ball.faces[:1, ::-1], ball.faces[1:]]), process=False)
    with pytest.raises(InvalidSystem, match="turned differently"):
        read_mesh(write(tmp_path, turned, "turned.stl"))
    twice = trimesh.Trimesh(ball.vertices, np.concatenate([ball.faces, ball.faces]), process=False)
    with pytest.raises(InvalidSystem, match="more than two"):
        read_mesh(write(tmp_path, twice, "twice.stl"))
    inside_out = ball.copy()
    inside_out.invert()
    out = MeshShape(write(tmp_path, inside_out, "out.ply"), spacing=0.2)
    assert out.distance(*np.zeros((3, 1)))[0] < -0.9  # turned back


def test_what_is_no_mesh_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(InvalidSystem, match="no mesh file"):
        read_mesh(str(tmp_path / "none.stl"))
    with pytest.raises(InvalidSystem, match="none of"):
        read_mesh(str(tmp_path / "none.blend"))
    for name, text in {"a.stl": "solid\nfacet", "b.obj": "hello", "c.ply": "ply\n", "d.stl": ""}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidSystem, match="mesh"):
            read_mesh(str(tmp_path / name))
    with pytest.raises(ValueError, match="3D"):
        MeshShape("x.stl").distance(np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match="scale"):
        MeshShape("x.stl", -1.0)


def test_interpolation_equals_its_twin_and_bounds_from_below_beyond_the_lattice():
    rng = np.random.default_rng(6)
    values = np.abs(rng.normal(size=(6, 5, 7)))
    x = rng.uniform(-3.0, 9.0, (3, 500))
    foot = np.clip(x, 0.0, np.array([[5.0], [4.0], [6.0]]))
    out = np.empty(500)
    interpolate(out, values, *np.ascontiguousarray(x))
    beyond = np.linalg.norm(x - foot, axis=0)
    assert out == pytest.approx(np.hypot(beyond, map_coordinates(values, foot, order=1)), abs=1e-13)
    assert 20 < (beyond == 0).sum() < 480
