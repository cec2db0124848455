import numba
import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

from twin import dense_system
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Plane, Sphere, sample
from unstick.grid import Grid
from unstick.pressure.assemble import assemble
from unstick.pressure.project import divergence, project
from unstick.problem import AIR, LIQUID, SOLID

SHAPES = [(7, 6), (5, 4, 6)]


def random_fields(shape, seed, dtype=np.float64, wetness=0.4):
    rng = np.random.default_rng(seed)
    grid = Grid(shape, 0.1, tuple(rng.normal(size=len(shape))))
    liquid = (rng.normal(size=grid.shape) - wetness).astype(dtype)
    solid = (rng.normal(size=grid.node_shape) + 0.6).astype(dtype)
    return grid, liquid, solid, random_faces(grid, rng, dtype), random_faces(grid, rng, dtype)


def random_faces(grid, rng, dtype=np.float64):
    faces = FaceField(grid, dtype)
    for axis in range(grid.dimension):
        faces.components[axis][...] = rng.normal(size=grid.face_shape(axis))
    return faces


def on_grid(system, grid):
    """Whole-grid dense A, b, contact of an assembled system."""
    rows = system.A.rows()
    number = np.arange(int(np.prod(grid.shape3))).reshape(grid.shape3)
    window = tuple(slice(c, c + n) for c, n in zip(system.A.corner, system.A.box, strict=True))
    index = number[window][rows]
    A = np.zeros((number.size, number.size))
    A[np.ix_(index, index)] = system.A.to_csr(rows).toarray()
    return A, system.b.reshape(-1), system.contact.reshape(-1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("moving", [False, True])
def test_assembly_equals_its_plain_twin(shape, seed, moving):
    grid, liquid, solid, velocity, wall = random_fields(shape, seed)
    wall = wall if moving else None
    system = assemble(grid, liquid, solid, velocity, 0.01, density=900.0, solid_velocity=wall)
    A, b, contact = dense_system(grid, liquid, solid, velocity, 0.01, 900.0, wall)
    got_A, got_b, got_contact = on_grid(system, grid)
    np.testing.assert_allclose(got_A, A, rtol=0, atol=1e-13 * np.abs(A).max())
    np.testing.assert_allclose(got_b, b, rtol=0, atol=1e-13 * np.abs(b).max())
    np.testing.assert_array_equal(got_contact, contact)
    assert contact.any()


@pytest.mark.parametrize("shape", [(13, 11), (9, 8, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_the_divergence_after_the_update_is_A_p_plus_b(shape, seed):
    grid, liquid, solid, velocity, wall = random_fields(shape, seed)
    system = assemble(grid, liquid, solid, velocity, 0.01, 900.0, wall)
    rows = system.expand(system.A.rows())
    p = np.where(rows, np.random.default_rng(seed).normal(size=grid.shape) * 1e3, 0.0)
    after = divergence(grid, project(grid, velocity, p, liquid, solid, 0.01, 900.0), solid, wall)
    slack = system.expand(system.apply(system.restrict(p)) + system.row_b)
    np.testing.assert_allclose(after[rows], slack[rows], rtol=0, atol=1e-12 * np.abs(slack).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_matrix_is_a_symmetric_M_matrix(shape):
    grid, liquid, solid, velocity, _ = random_fields(shape, 7)
    A = on_grid(assemble(grid, liquid, solid, velocity, 0.01), grid)[0]
    off = A - np.diag(np.diag(A))
    np.testing.assert_array_equal(A, A.T)
    assert (off <= 0).all()
    assert (A.sum(axis=1) >= -1e-12 * A.max()).all()
    live = np.diag(A) > 0
    assert live.any()
    assert np.linalg.eigvalsh(A[np.ix_(live, live)]).min() > -1e-9 * A.max()


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_box_is_the_tight_box_of_the_rows(dimension):
    grid = Grid((20, 17, 15)[:dimension], 0.05)
    centre = (0.6, 0.35, 0.4)[:dimension]
    liquid = sample(Sphere(centre, 0.22), grid, "cells")
    hiding = Plane((0.713, 0.0, 0.0)[:dimension], (1.0, 0.2173, 0.1311)[:dimension])  # covers a part of the ball
    solid = sample(hiding, grid)
    system = assemble(grid, liquid, solid, FaceField(grid), 0.01)
    A, _, _ = dense_system(grid, liquid, solid, FaceField(grid), 0.01)
    assert system.unknowns < (liquid < 0).sum()
    at = np.argwhere(np.diag(A).reshape(grid.shape3) > 0)
    assert system.A.corner == tuple(at.min(axis=0))
    assert system.A.box == tuple(at.max(axis=0) - at.min(axis=0) + 1)
    assert system.unknowns == len(at)
    assert system.shape == grid.shape


@pytest.mark.parametrize("margin", [1, 5])
def test_empty_space_around_changes_nothing_but_the_corner(margin):
    inner = Grid((12, 12, 12), 1 / 12)
    outer = Grid((12 + 2 * margin,) * 3, 1 / 12, (-margin / 12,) * 3)
    systems = []
    for grid in (inner, outer):
        liquid = sample(Plane((0.5, 0.5, 0.5), (1.0, 0.3, 0.2)) & Sphere((0.5,) * 3, 0.45), grid, "cells")
        solid = sample(~Sphere((0.5,) * 3, 0.4), grid)
        velocity = FaceField.from_function(grid, lambda x, y, z: (y * z, x - y, z * x))
        systems.append(assemble(grid, liquid, solid, velocity, 0.01))
    a, b = systems
    assert b.A.corner == tuple(c + margin for c in a.A.corner)
    for name in ("wx", "wy", "wz", "excess"):
        np.testing.assert_allclose(getattr(b.A, name), getattr(a.A, name), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b.row_b, a.row_b, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(b.row_contact, a.row_contact)


def test_2D_equals_extruded_3D():
    flat, liquid, solid, velocity, wall = random_fields((9, 8), 11)
    deep = Grid((9, 8, 4), 0.1, (*flat.origin, 0.0))
    extruded = []
    for faces in (velocity, wall):
        out = FaceField(deep)
        out.u[...], out.v[...] = faces.u, faces.v
        extruded.append(out)
    two = assemble(flat, liquid, solid, velocity, 0.01, 900.0, wall)
    three = assemble(
        deep, np.repeat(liquid[..., None], 4, axis=2), np.repeat(solid[..., None], 5, axis=2), extruded[0], 0.01, 900.0, extruded[1]
    )
    for k in range(4):
        for name in ("wx", "wy", "excess"):
            np.testing.assert_array_equal(getattr(three.A, name)[:, :, k], getattr(two.A, name)[:, :, 0])
        np.testing.assert_array_equal(three.row_b[:, :, k], two.row_b[:, :, 0])
    assert not two.A.wz.any()
    # Along z a face is open by the mean of two edges, so contact agrees where the walls are vertical: in all inner layers
    # except cells whose front or back is cut although their sides are not.
    sides = two.row_contact[:, :, 0]
    assert (three.row_contact[:, :, 1] >= sides).all()
    assert three.row_contact[:, :, 0].sum() == three.A.rows()[:, :, 0].sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_mirroring_and_turning_the_fields_turns_the_system(shape):
    grid, liquid, solid, velocity, wall = random_fields(shape, 3)
    d = grid.dimension
    A, b, contact = on_grid(assemble(grid, liquid, solid, velocity, 0.01, solid_velocity=wall), grid)
    number = np.arange(liquid.size).reshape(grid.shape)
    cases = [("mirror", axis) for axis in range(d)] + [("turn", 0)]
    for kind, axis in cases:
        if kind == "mirror":
            change = lambda a, axis=axis: np.flip(a, axis)  # noqa: E731
            order, signs = list(range(d)), [-1.0 if a == axis else 1.0 for a in range(d)]
        else:
            order, signs = [*range(1, d), 0], [1.0] * d
            change = lambda a, order=order: np.transpose(a, order)  # noqa: E731
        turned = Grid(change(liquid).shape, grid.spacing)
        faces = []
        for field in (velocity, wall):
            out = FaceField(turned)
            for to, (source, sign) in enumerate(zip(order, signs, strict=True)):
                values = field.components[source].reshape(grid.face_shape(source)[:d])
                out.components[to][...] = sign * change(values).reshape(turned.face_shape(to))
            faces.append(out)
        system = assemble(turned, change(liquid), change(solid), faces[0], 0.01, solid_velocity=faces[1])
        got_A, got_b, got_contact = on_grid(system, turned)
        at = change(number).reshape(-1)
        np.testing.assert_allclose(got_A, A[np.ix_(at, at)], rtol=1e-14, atol=1e-14 * A.max())
        np.testing.assert_allclose(got_b, b[at], rtol=0, atol=1e-13 * np.abs(b).max())
        np.testing.assert_array_equal(got_contact, contact[at])


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_fields_give_the_system_of_their_values(shape):
    grid, liquid, solid, velocity, wall = random_fields(shape, 5, np.float32)
    wide = []
    for faces in (velocity, wall):
        out = FaceField(grid)
        for mine, theirs in zip(out.components, faces.components, strict=True):
            mine[...] = theirs
        wide.append(out)
    single = assemble(grid, liquid, solid, velocity, 0.01, solid_velocity=wall)
    double = assemble(grid, liquid.astype(float), solid.astype(float), wide[0], 0.01, solid_velocity=wide[1])
    mixed = assemble(grid, liquid, solid.astype(float), velocity, 0.01, solid_velocity=wide[1])
    for other in (double, mixed):
        for name in ("wx", "wy", "wz", "excess"):
            assert getattr(single.A, name).dtype == np.float64
            np.testing.assert_array_equal(getattr(single.A, name), getattr(other.A, name))
        np.testing.assert_array_equal(single.row_b, other.row_b)
        np.testing.assert_array_equal(single.row_contact, other.row_contact)


@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_do_the_same_without_the_compiler(shape, monkeypatch):
    import unstick.pressure.assemble as module

    fields = random_fields(shape, 15)
    compiled = assemble(*fields[:4], 0.01, solid_velocity=fields[4])
    for name in ("liquid_extents", "fill_stencil"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = assemble(*fields[:4], 0.01, solid_velocity=fields[4])
    for name in ("wx", "wy", "wz", "excess"):
        np.testing.assert_allclose(getattr(plain.A, name), getattr(compiled.A, name), rtol=1e-14)
    np.testing.assert_allclose(plain.row_b, compiled.row_b, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(plain.row_contact, compiled.row_contact)


def test_one_and_two_threads_give_the_same_bits():
    grid, liquid, solid, velocity, wall = random_fields((30, 20, 25), 9)
    systems = []
    before = numba.get_num_threads()
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            systems.append(assemble(grid, liquid, solid, velocity, 0.01, solid_velocity=wall))
    finally:
        numba.set_num_threads(before)
    for name in ("wx", "wy", "wz", "excess"):
        np.testing.assert_array_equal(getattr(systems[0].A, name), getattr(systems[1].A, name))
    np.testing.assert_array_equal(systems[0].row_b, systems[1].row_b)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("level", [0.613, 0.7])
def test_still_water_has_hydrostatic_pressure_to_rounding(dimension, level):
    """Whatever the walls: a linear pressure below a flat surface is exact with the ghost fluid, and stops the fall."""
    grid = Grid((16, 18, 14)[:dimension], 1 / 16)
    rho, g, dt = 1000.0, 9.81, 0.01
    liquid = sample(Plane((0.0, level, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension]), grid, "cells")
    tank = Sphere((0.5, 0.55, 0.4)[:dimension], 0.41) - Box((0.4, 0.1, 0.0)[:dimension], (0.55, 0.32, 0.7)[:dimension]).rotate(0.2)
    solid = sample(~tank, grid)
    velocity = FaceField(grid)
    velocity.v[...] = -g * dt
    system = assemble(grid, liquid, solid, velocity, dt, rho)
    rows = system.A.rows()
    p = np.zeros(system.A.box)
    p[rows] = spsolve(system.A.to_csr(rows).tocsc(), -system.row_b[rows])
    whole = system.expand(p)
    wet = system.expand(rows)
    np.testing.assert_allclose(whole[wet], -rho * g * liquid[wet], rtol=0, atol=1e-10 * rho * g)
    still = project(grid, velocity, whole, liquid, solid, dt, rho)
    assert np.abs(divergence(grid, still, solid)[wet]).max() < 1e-12 * g / grid.spacing
    assert system.row_contact.any()


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_piston_pushes_the_liquid_at_its_own_speed(dimension):
    """Lai eq. 3.40: the solid part of a face brings the wall's velocity. A channel, closed by a piston, open to air at the other end."""
    grid = Grid((16, 5, 4)[:dimension], 0.1)
    speed, dt, rho = 0.7, 0.02, 500.0
    ends = [(0.33, 0.0, 0.0)[:dimension], (1.217, 0.0, 0.0)[:dimension]]
    along = (1.0, 0.0, 0.0)[:dimension]
    solid = sample(Plane(ends[0], along), grid)
    liquid = sample(Plane(ends[1], along), grid, "cells")
    for wall in (
        FaceField.from_function(grid, lambda *x: (speed, *[0.0] * (dimension - 1))),
        lambda *x: (speed, *[0.0] * (dimension - 1)),
    ):
        system = assemble(grid, liquid, solid, FaceField(grid), dt, rho, wall)
        section = np.prod(grid.extent[1:])
        inflow = system.b.sum() * grid.spacing**dimension
        assert inflow == pytest.approx(-speed * section, rel=1e-12)
        rows = system.A.rows()
        p = np.zeros(system.A.box)
        p[rows] = spsolve(system.A.to_csr(rows).tocsc(), -system.row_b[rows])
        assert p[rows].min() > 0  # a push compresses
        after = project(grid, FaceField(grid), system.expand(p), liquid, solid, dt, rho)
        open_faces = after.u[4:13]
        np.testing.assert_allclose(open_faces, speed, rtol=1e-11)
        assert np.abs(divergence(grid, after, solid, wall)[system.expand(rows)]).max() < 1e-11


def test_walls_say_which_rows_may_let_go():
    grid, liquid, solid, velocity, _ = random_fields((9, 8, 7), 13)
    everywhere = assemble(grid, liquid, solid, velocity, 0.01)
    nowhere = assemble(grid, liquid, solid, velocity, 0.01, walls="sticking")
    mask = np.zeros(grid.shape, dtype=bool)
    mask[:4] = True
    some = assemble(grid, liquid, solid, velocity, 0.01, walls=mask)
    assert everywhere.contact.any()
    assert not nowhere.contact.any()
    np.testing.assert_array_equal(some.contact, everywhere.contact & mask)
    np.testing.assert_array_equal(nowhere.A.wx, everywhere.A.wx)


def test_cells_know_what_they_are():
    grid, liquid, solid, velocity, _ = random_fields((9, 8, 7), 14, wetness=0.0)
    system = assemble(grid, liquid, solid - 1.2, velocity, 0.01)
    cells = system.cells
    assert cells.shape == grid.shape
    assert cells.dtype == np.int8
    np.testing.assert_array_equal(cells == LIQUID, system.expand(system.A.rows()))
    assert {SOLID, LIQUID, AIR} == set(np.unique(cells).tolist())
    assert (liquid[cells == AIR] >= 0).all()


def test_liquid_behind_closed_faces_has_no_row():
    grid = Grid((8, 8), 1.0)
    solid = np.ones(grid.node_shape)
    solid[3:5, 3:5] = -1.0
    system = assemble(grid, -np.ones(grid.shape), solid, FaceField(grid), 0.01)
    expected = np.ones(grid.shape, dtype=bool)
    expected[3, 3] = False
    np.testing.assert_array_equal(system.expand(system.A.rows()), expected)


def test_no_liquid_is_a_system_without_rows():
    grid = Grid((6, 5, 4), 1.0)
    system = assemble(grid, np.ones(grid.shape), np.ones(grid.node_shape), FaceField(grid), 0.01)
    assert system.unknowns == 0
    assert not system.contact.any()
    assert system.b.shape == grid.shape


def test_the_clamp_of_the_surface_is_an_option():
    grid = Grid((4, 4), 1.0)
    liquid = np.full(grid.shape, 1.0)
    liquid[1, 1] = -1e-6
    diagonal = {}
    for least in (0.01, 0.1):
        system = assemble(grid, liquid, np.ones(grid.node_shape), FaceField(grid), 1.0, theta_min=least)
        diagonal[least] = float(system.A.diagonal().max())
    assert diagonal[0.01] == pytest.approx(400.0)
    assert diagonal[0.1] == pytest.approx(40.0)


def test_closed_faces_may_hold_anything():
    grid = Grid((8, 8), 1.0)
    solid = sample(~Box((2.0, 2.0), (6.0, 6.0)), grid)
    clean, dirty = FaceField(grid), FaceField(grid)
    for axis in range(2):
        clean.components[axis][...] = 1.0
        dirty.components[axis][...] = np.nan
        inside = (slice(2, 7), slice(2, 6)) if axis == 0 else (slice(2, 6), slice(2, 7))
        dirty.components[axis][inside] = 1.0
        walls = (slice(2, 7, 4), slice(2, 6)) if axis == 0 else (slice(2, 6), slice(2, 7, 4))
        dirty.components[axis][walls] = np.nan
    liquid = -np.ones(grid.shape)
    np.testing.assert_array_equal(
        assemble(grid, liquid, solid, dirty, 0.01).b,
        assemble(grid, liquid, solid, clean, 0.01).b,
    )


def test_bad_input_gets_a_sentence():
    grid, liquid, solid, velocity, _ = random_fields((5, 4), 0)
    good = {"grid": grid, "liquid_phi": liquid, "solid_phi": solid, "velocity": velocity, "dt": 0.01}
    nan_liquid, nan_solid, nan_velocity = liquid.copy(), solid + 10.0, velocity.copy()
    nan_liquid[2, 2] = np.nan
    nan_solid[2, 2] = np.nan
    nan_velocity.u[...] = np.nan
    half = FaceField(grid, np.float16)
    for change, sentence in [
        ({"liquid_phi": liquid[1:]}, r"liquid_phi has shape \(4, 4\); .* shape \(5, 4\)"),
        ({"solid_phi": liquid}, r"solid_phi has shape \(5, 4\); .* shape \(6, 5\)"),
        ({"solid_phi": solid > 0}, "solid_phi has entries of type bool"),
        ({"liquid_phi": liquid + 1j}, "liquid_phi has entries of type complex128"),
        ({"velocity": velocity.u}, "velocity is a ndarray; give an unstick.FaceField"),
        ({"velocity": FaceField(Grid((4, 4), 0.1))}, r"velocity.u has shape \(5, 4, 1\)"),
        ({"velocity": half}, "type float16"),
        ({"dt": 0.0}, "dt is 0.0"),
        ({"dt": float("nan")}, "dt is nan"),
        ({"density": -1.0}, "density is -1.0"),
        ({"walls": "slippery"}, "walls is 'slippery'; give 'separating', 'sticking'"),
        ({"walls": np.ones((3, 3), dtype=bool)}, r"walls is an array of shape \(3, 3\)"),
        ({"theta_min": 0.0}, "theta_min is 0.0"),
        ({"theta_min": 2.0}, "at most 1"),
        ({"solid_velocity": 3.0}, "solid_velocity is a float"),
        ({"solid_velocity": lambda x, y: (x,)}, "gave 1 components; give 2"),
        ({"liquid_phi": nan_liquid}, "liquid_phi has 1 entries that are NaN or infinite"),
        ({"liquid_phi": -np.ones((5, 4)), "solid_phi": nan_solid}, "solid_phi or a velocity is NaN or infinite at 4 liquid cells"),
        ({"velocity": nan_velocity}, "solid_phi or a velocity is NaN"),
        ({"grid": 3}, "grid is a int"),
    ]:
        with pytest.raises(ValueError, match=sentence):  # noqa: PT012 - says which case did not raise
            assemble(**{**good, **change})
            pytest.fail(f"{change} was taken")
    with pytest.raises(InvalidSystem, match="p has shape"):
        project(grid, velocity, np.zeros(3), liquid, solid, 0.01)
