import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from unstick.bench.frames import FRAMES, frame
from unstick.checks import InvalidSystem


def exact_policy_iteration(system, tolerance=1e-6):
    """Lai's Algorithm 2 from p = 0 with direct solves and his absolute test: number of linear systems, p, slack, contact."""
    rows = system.A.rows()
    A = sp.csr_array(system.A.to_csr(rows))
    b, contact = system.row_b[rows], system.row_contact[rows]
    p, slack, solves = np.zeros(len(b)), b.copy(), 0
    while np.abs(np.where(contact, np.minimum(p, slack), slack)).max() > tolerance:
        held = ~(contact & (p < slack))
        p = np.zeros(len(b))
        p[held] = spsolve(A[held][:, held].tocsc(), -b[held])
        slack = A @ p + b
        solves += 1
        assert solves < 50
    return solves, p, slack, contact


def pieces_without_air(system):
    rows = system.A.rows()
    A = system.A.to_csr(rows)
    count, label = sp.csgraph.connected_components(A, directed=False)
    linked = np.bincount(label, system.A.excess[rows] > 0, count)
    return int((linked == 0).sum())


@pytest.mark.parametrize("name", FRAMES)
def test_frames_have_no_closed_pockets_and_are_partly_contact(name):
    for n in (32, 48, 64):
        system = FRAMES[name](n).system()
        assert pieces_without_air(system) == 0
        assert 0.02 < system.contact.sum() / system.unknowns < 0.7
        assert np.abs(system.b).max() > 1.0


@pytest.mark.parametrize(
    ("name", "n", "least"),
    [("sphere", 32, 6), ("sphere-box", 32, 6), ("maze", 64, 6), ("square", 256, 8), ("circle", 256, 8), ("maze", 256, 8)],
)
def test_frames_are_hard(name, n, least):
    solves, p, slack, contact = exact_policy_iteration(FRAMES[name](n).system())
    detached = contact & (p == 0) & (slack > 0)
    assert solves >= least
    assert 0.20 <= detached.sum() / contact.sum() <= 0.45


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sphere", "sphere-box", "double-sphere"])
def test_frames_in_3D_are_hard_at_64(name):
    solves, p, slack, contact = exact_policy_iteration(FRAMES[name](64).system())
    detached = contact & (p == 0) & (slack > 0)
    assert solves >= 8
    assert 0.20 <= detached.sum() / contact.sum() <= 0.45


@pytest.mark.parametrize("name", FRAMES)
def test_a_box_of_twice_the_side_holds_the_same_liquid(name):
    n = 32
    plain, wide = frame(name, n), frame(name, n, margin=n // 2)
    assert wide.grid.shape == tuple(2 * s for s in plain.grid.shape)
    a, b = plain.system(), wide.system()
    assert b.A.box == a.A.box
    d = len(plain.grid.shape)
    assert b.A.corner == tuple(c + (n // 2 if axis < d else 0) for axis, c in enumerate(a.A.corner))
    np.testing.assert_allclose(b.row_b, a.row_b, rtol=0, atol=1e-11)
    np.testing.assert_allclose(b.A.excess, a.A.excess, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(b.row_contact, a.row_contact)


def test_the_sphere_is_half_full():
    system = FRAMES["sphere"].system(64)
    ball = 4.0 / 3.0 * np.pi * 0.4**3 * 64**3
    assert 0.5 * ball == pytest.approx(system.unknowns, rel=0.1)


def test_single_precision_frames_are_the_same_frames():
    single, double = frame("sphere", 32, dtype=np.float32), frame("sphere", 32)
    assert {single.liquid_phi.dtype, single.solid_phi.dtype, single.velocity.u.dtype} == {np.dtype(np.float32)}
    a, b = single.system(), double.system()
    assert a.A.box == b.A.box
    assert np.abs(a.b - b.b).max() < 1e-4 * np.abs(b.b).max()


def test_sticking_walls_have_no_contact_rows():
    assert not FRAMES["circle"](32).system(walls="sticking").contact.any()


def test_unknown_frames_and_sizes_are_refused():
    with pytest.raises(InvalidSystem, match="there is no frame 'ball'; the frames are sphere, "):
        frame("ball", 32)
    with pytest.raises(InvalidSystem, match="n is 4"):
        FRAMES["sphere"](4)
    with pytest.raises(InvalidSystem, match="margin is -1"):
        FRAMES["sphere"](32, margin=-1)
