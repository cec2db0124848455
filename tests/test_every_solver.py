"""What every solver promises, asked of all in the tables: a new line there is tested here without further ado."""

import dataclasses
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us
from unstick.bench.direct import solve_exactly
from unstick.bench.exact import SHARE, compare, judge, without_contact
from unstick.bench.systems import random_systems

SOLVERS = {**us.SOLVERS, **us.LINEAR_SOLVERS}
NAMES = [n for n in SOLVERS if n != "fft"]  # which takes full boxes only, see test_fft
every = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def one_thread():
    """Small systems on a busy machine: threads would only wait for each other."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def laplacian(shape, air=True):
    """Liquid in the left three quarters of a closed box; air (p = 0 one cell beyond) on its right, or a wall."""
    axes = [sp.diags_array([[-1.0] * (n - 1), [2.0] * n, [-1.0] * (n - 1)], offsets=[-1, 0, 1]).tolil() for n in shape]
    for axis, T in enumerate(axes):
        T[0, 0] = 1.0
        if not (air and axis == 0):
            T[-1, -1] = 1.0
    total = sp.csr_array(axes[0])
    for T in axes[1:]:
        total = sp.kronsum(T, total, format="csr")
    return sp.csr_array(total)


def walls(shape):
    mask = np.zeros(shape, dtype=bool)
    for axis in range(len(shape)):
        at = [slice(None)] * len(shape)
        at[axis] = 0
        mask[tuple(at)] = True
        if axis:
            at[axis] = -1
            mask[tuple(at)] = True
    return mask


def grid_system(shape=(12, 10), seed=0):
    b = np.random.default_rng(seed).normal(size=shape)
    return us.PressureSystem.from_matrix(laplacian(shape), b.reshape(-1), walls(shape).reshape(-1), shape)


def solve(name, system, **options):
    return SOLVERS[name](**options).solve(system)


def refusing(name, system):
    """Skips a solver that says it cannot take a system; the sentence must name one that can."""
    said = ""
    try:
        SOLVERS[name]().refuse(system)
    except us.UnsupportedSystem as refusal:
        said = str(refusal)
    if said:
        assert any(f"'{other}'" in said for other in SOLVERS if other != name), said
        pytest.skip(said)


@every
def test_agrees_with_the_direct_reference_and_never_claims_wrongly(name):
    (tally,) = compare({name: SOLVERS[name]}, 44, seed=3)
    assert not tally.crashed
    assert not tally.wrong_claims
    assert not tally.moved_by_units
    # One in 44 is more than two per cent: the share itself is for the long run, `unstick bench exact --count 500`.
    assert name == "pgs" or len(tally.disagreed) <= 1, tally.disagreed


@pytest.mark.slow
@every
def test_agrees_on_98_per_cent_of_500_systems(name):
    (tally,) = compare({name: SOLVERS[name]}, 500, units=False)
    assert not tally.crashed
    assert not tally.wrong_claims
    assert name == "pgs" or tally.share >= SHARE, tally.disagreed


@every
def test_shapes_slack_and_residual_of_the_result(name):
    system = grid_system()
    result = solve(name, system, tolerance=1e-9)
    assert result.converged
    assert result.p.shape == result.slack.shape == system.shape == (12, 10)
    dense = laplacian((12, 10)).toarray() @ result.p.reshape(-1) + system.b.reshape(-1)
    np.testing.assert_allclose(result.slack.reshape(-1), dense, atol=1e-12)
    contact = system.contact if name in us.SOLVERS else np.zeros_like(system.contact)
    natural = np.where(contact, np.minimum(laplacian((12, 10)).diagonal().reshape(12, 10) * result.p, result.slack), result.slack)
    assert result.residual == pytest.approx(np.abs(natural).max(), abs=1e-15)
    assert result.residual <= 1e-9 * np.abs(system.b).max()
    assert result.solver == name
    assert result.require() is not None


@every
def test_absolute_tolerance_is_lais(name):
    system = grid_system(seed=5)
    result = solve(name, system, tolerance=1e-8, absolute=True)
    assert result.converged
    assert result.goal == pytest.approx(1e-8)
    reference = system if name in us.SOLVERS else without_contact(system)
    assert np.abs(reference.residual(result.p)).max() <= 1e-8


@every
def test_zero_right_hand_side_gives_zero_pressure(name):
    system = dataclasses.replace(grid_system(), row_b=np.zeros((12, 10, 1)))
    for guess in (None, np.ones((12, 10))):
        result = SOLVERS[name]().solve(system, guess)
        assert result.converged
        assert not result.p.any()
        assert result.residual == 0.0


@every
@pytest.mark.parametrize("shape", [None, (2, 3)])
def test_a_system_without_coupled_rows(name, shape):
    A = sp.csr_array(np.diag([0.0, 0.0, 2.0, 1.0, 4.0, 0.0]))
    b = np.array([0.0, 0.0, -4.0, 3.0, 8.0, 0.0])
    system = us.PressureSystem.from_matrix(A, b, np.array([False, True, True, True, False, False]), shape)
    refusing(name, system)
    result = solve(name, system)
    assert result.converged
    expected = [0.0, 0.0, 2.0, 0.0, -2.0, 0.0] if name in us.SOLVERS else [0.0, 0.0, 2.0, -3.0, -2.0, 0.0]
    np.testing.assert_allclose(result.p.reshape(-1), expected, rtol=1e-14)


@every
def test_a_system_without_rows(name):
    system = us.PressureSystem.from_matrix(sp.csr_array((0, 0)), np.zeros(0), np.zeros(0, dtype=bool))
    refusing(name, system)
    result = solve(name, system)
    assert result.converged
    assert result.p.shape == (0,)


@every
def test_identity_rows_outside_the_liquid_change_nothing(name):
    """Rows of other programs hold 1 where there is no liquid; the scaling must not see them."""
    shape = (12, 10)
    inside = grid_system(shape)
    A = laplacian(shape).tocoo()
    wide = (24, 10)
    many = 1e-4  # so small a matrix that the ones would dominate its mean
    keep = sp.csr_array((many * A.data, (A.row, A.col)), shape=(240, 240))
    plain = us.PressureSystem.from_matrix(keep, _pad(inside.b), _pad(inside.contact), wide)
    ones = sp.csr_array(keep + sp.diags_array(np.where(np.arange(240) < 120, 0.0, 1.0)))
    marked = us.PressureSystem.from_matrix(ones, _pad(inside.b), _pad(inside.contact), wide)
    first, second = solve(name, plain), solve(name, marked)
    assert first.converged
    assert second.converged
    assert (first.iterations, first.outer_iterations) == (second.iterations, second.outer_iterations)
    assert not second.p[12:].any()
    np.testing.assert_array_equal(first.p, second.p)


def _pad(values):
    return np.concatenate([values.reshape(-1), np.zeros(120, dtype=values.dtype)])


@every
def test_rows_on_the_boundary_between_the_branches(name):
    """p = 0 and slack = 0 at once, planted on half of the contact rows: any choice of the set is right, p is not."""
    shape = (9, 8)
    rng = np.random.default_rng(8)
    A, contact = laplacian(shape), walls(shape).reshape(-1)
    p = rng.normal(size=72)
    p[contact] = np.abs(p[contact])
    both = contact & (rng.random(72) < 0.5)
    p[both] = 0.0
    system = us.PressureSystem.from_matrix(A, -(A @ p), contact, shape)
    result = solve(name, system, tolerance=1e-10)
    assert result.converged
    np.testing.assert_allclose(result.p.reshape(-1), p, atol=1e-7)


@every
def test_a_tolerance_below_rounding_ends_stagnated_with_the_floor(name):
    system = grid_system(seed=2)
    result = solve(name, system, tolerance=1e-30)
    assert result.status is us.Status.STAGNATED
    floor = np.finfo(float).eps * np.abs(laplacian((12, 10)).diagonal()).max() * np.abs(result.p).max()
    assert 0.0 < result.residual < 100 * floor
    with pytest.raises(us.SolveError, match="floor reached"):
        result.require()


@every
@pytest.mark.parametrize("where", ["b", "coupling", "excess"])
def test_nan_ends_a_solve_as_diverged_at_once(name, where):
    system = grid_system()
    A, b = system.A, system.row_b.copy()
    if where == "b":
        b[3, 4, 0] = np.nan
    elif where == "coupling":
        wx = A.wx.copy()
        wx[3, 4, 0] = np.nan
        A = dataclasses.replace(A, wx=wx)
    else:
        excess = A.excess.copy()
        excess[3, 4, 0] = np.nan
        A = dataclasses.replace(A, excess=excess)
    result = solve(name, us.PressureSystem(A, b, system.row_contact, system.shape))
    assert result.status is us.Status.DIVERGED
    assert result.iterations <= 2


@every
def test_an_iteration_limit_is_reported(name):
    if name == "mgpcg":
        pytest.skip("below the size where multigrid pays, mgpcg is pcg with a limit of its own")
    result = solve(name, grid_system((20, 20)), tolerance=1e-12, max_iterations=1)
    assert result.status is us.Status.ITERATION_LIMIT
    assert result.residual > result.goal
    with pytest.raises(us.SolveError) as caught:
        result.require()
    assert caught.value.result is result


@every
def test_a_guess_helps_and_does_no_harm(name):
    system = grid_system((20, 16))
    cold = solve(name, system)
    assert cold.converged
    again = SOLVERS[name]().solve(system, cold)
    assert again.converged
    assert again.iterations <= max(1, cold.iterations // 4)
    from_p = SOLVERS[name]().solve(system, cold.p)
    assert from_p.converged
    wrong = SOLVERS[name](tolerance=1e-10).solve(system, np.full(system.shape, -7.0))
    assert wrong.converged
    np.testing.assert_allclose(wrong.p, solve(name, system, tolerance=1e-10).p, atol=1e-7)


@every
@pytest.mark.parametrize(
    ("guess", "sentence"),
    [
        (np.zeros(7), r"the guess has shape \(7,\).*shape \(12, 10\)"),
        (np.zeros((12, 10), dtype=complex), "the guess has .*complex"),
        (np.full((12, 10), np.nan), "the guess holds NaN or infinite"),
        (np.full((12, 10), np.inf), "the guess holds NaN or infinite"),
        (np.array(["p"] * 120), "the guess has"),
    ],
)
def test_a_bad_guess_is_refused(name, guess, sentence):
    with pytest.raises(us.InvalidSystem, match=sentence):
        SOLVERS[name]().solve(grid_system(), guess)


@pytest.mark.parametrize("name", list(SOLVERS))
@pytest.mark.parametrize("tolerance", [-1e-6, 0.0, np.nan, np.inf, "1e-6", None, True])
def test_a_bad_tolerance_is_refused(name, tolerance):
    with pytest.raises(us.InvalidSystem, match=r"tolerance is .*; it must be a positive number"):
        SOLVERS[name](tolerance=tolerance)


@pytest.mark.parametrize("name", list(SOLVERS))
@pytest.mark.parametrize("limit", [0, -3, 2.5, True, None])
def test_a_bad_limit_is_refused(name, limit):
    with pytest.raises(us.InvalidSystem, match=r"max_iterations is .*; it must be a whole number of at least 1"):
        SOLVERS[name](max_iterations=limit)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_options_are_immutable_values(name):
    solver = SOLVERS[name]()
    assert SOLVERS[name].name == name
    assert solver == SOLVERS[name]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        solver.tolerance = 1.0


@every
def test_pockets_are_repaired_and_reported(name):
    shape = (6, 5)
    A = laplacian(shape, air=False)
    b = np.random.default_rng(1).normal(size=30)
    contact = walls(shape).reshape(-1)
    compressed = us.PressureSystem.from_matrix(A, b - b.mean() - 0.1, contact, shape)
    result = solve(name, compressed, tolerance=1e-10)
    assert result.converged
    assert any("pocket" in note for note in result.notes), result.notes
    reference = solve_exactly(compressed if name in us.SOLVERS else without_contact(compressed))
    assert judge(reference, result, 1e-10).agrees
    expanding = us.PressureSystem.from_matrix(A, b - b.mean() + 0.1, contact, shape)
    result = solve(name, expanding, tolerance=1e-10)
    assert result.converged
    if name in us.SOLVERS:
        assert result.detached.any()
        assert result.slack.sum() == pytest.approx(3.0, rel=1e-7)  # the expansion is let in where the liquid comes off
    else:
        assert any("removed evenly" in note for note in result.notes), result.notes


@every
def test_free_fall_from_a_ceiling_is_exact(name):
    """Everything pulls off: p = 0 to the last bit."""
    if name in us.LINEAR_SOLVERS:
        pytest.skip("a linear solver sticks")
    shape = (8, 8)
    system = us.PressureSystem.from_matrix(laplacian(shape), np.where(walls(shape), 1.0, 0.0).reshape(-1), walls(shape).reshape(-1), shape)
    result = solve(name, system)
    assert result.converged
    assert (result.p == 0.0).all()
    assert result.detached[walls(shape)].all()


@every
def test_matrices_without_a_grid(name):
    system = next(made.system for made in random_systems(0, 40) if made.name == "unstructured")
    assert len(system.shape) == 1
    refusing(name, system)
    result = solve(name, system, tolerance=1e-10)
    assert result.converged or name == "pgs"
    if name != "pgs":
        assert judge(solve_exactly(system if name in us.SOLVERS else without_contact(system)), result, 1e-10).agrees


def test_solve_takes_names_of_both_tables():
    system = grid_system()
    assert us.solve(system).solver == "default"
    assert us.solve(system, "pcg", tolerance=1e-8).solver == "pcg"
    with pytest.raises(us.InvalidSystem, match=r"there is no solver 'magic'; choose one of default, "):
        us.solve(system, "magic")


BITS = """
import hashlib, numba, numpy as np, unstick as us
from unstick.bench.frames import frame
system = frame("sphere", 44).system()
assert numba.config.NUMBA_NUM_THREADS >= 4
for name, cls in {**us.SOLVERS, **us.LINEAR_SOLVERS}.items():
    if name in ("fft", "pgs", "mprgp"):
        continue
    for threads in (1, 2, 4):
        numba.set_num_threads(threads)
        result = cls(max_iterations=300).solve(system)
        print(name, threads, result.iterations, result.status.name, hashlib.sha256(result.p.tobytes()).hexdigest())
"""


def test_one_two_and_four_threads_give_the_same_bits():
    """44^3: more liquid rows than one chunk of a sum holds, so that the sums are really shared out."""
    env = {**os.environ, "NUMBA_NUM_THREADS": "4"}
    done = subprocess.run([sys.executable, "-c", BITS], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        name, _, *rest = line.split()
        found.setdefault(name, set()).add(" ".join(rest))
    assert "default" in found
    assert {name: len(bits) for name, bits in found.items()} == dict.fromkeys(found, 1), found
