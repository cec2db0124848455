"""The default solver at sizes where it works on liquid rows."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

import unstick as us
from test_rows import random_stencil
from unstick.bench.frames import FRAMES
from unstick.solvers.default import Default, MultigridPCG
from unstick.solvers.policy import PolicyPCG


@pytest.fixture(scope="module")
def sphere():
    return FRAMES["sphere"](32).system()


@pytest.fixture(scope="module")
def solved(sphere):
    return Default(tolerance=1e-9).solve(sphere)


def natural(system, p, slack):
    return np.abs(np.where(system.contact, np.minimum(system.expand(system.A.diagonal()) * p, slack), slack)).max()


def test_agrees_with_policy_iteration(sphere, solved):
    exact = PolicyPCG(tolerance=1e-11).solve(sphere)
    assert exact.converged
    assert solved.converged
    assert solved.p == pytest.approx(exact.p, abs=1e-7 * np.abs(exact.p).max())
    sure = np.maximum(sphere.expand(sphere.A.diagonal()) * exact.p, exact.slack) > 1e-8 * np.abs(sphere.b).max()
    assert np.array_equal(solved.detached[sure], exact.detached[sure])


def test_reported_residual_is_that_of_p(sphere, solved):
    slack = sphere.expand(sphere.apply(solved.row_p) + sphere.row_b)
    assert solved.slack == pytest.approx(slack, abs=1e-12 * np.abs(sphere.b).max())
    assert solved.residual == pytest.approx(natural(sphere, solved.p, slack), rel=1e-3, abs=1e-13 * np.abs(sphere.b).max())
    assert solved.residual <= solved.goal


def test_liquid_in_a_larger_box_gives_the_same_bits(sphere, solved):
    n, margin = 32, 16
    wide = FRAMES["sphere"](n, margin=margin).system()
    assert wide.shape != sphere.shape
    again = Default(tolerance=1e-9).solve(wide)
    window = tuple(slice(at, at + n) for at in np.array(wide.A.corner) - np.array(sphere.A.corner))
    assert again.iterations == solved.iterations
    assert again.p[window] == pytest.approx(solved.p, abs=1e-9 * np.abs(solved.p).max())


@pytest.mark.parametrize("name", ["sphere", "sphere-box", "double-sphere"])
def test_counts_and_work_hardly_grow(name):
    work = []
    for n in (32, 64):
        system = FRAMES[name](n).system()
        result = Default(absolute=True).solve(system)
        linear = MultigridPCG(absolute=True).solve(system)
        assert result.converged
        assert linear.converged
        assert result.outer_iterations <= 8 if name == "double-sphere" else 6
        work.append(result.work["work_units"] + result.work["setup_units"])
        assert work[-1] <= 2.2 * (linear.work["work_units"] + linear.work["setup_units"])
    assert work[1] <= 1.25 * work[0]


def test_a_good_guess_saves_work(sphere, solved):
    again = Default(tolerance=1e-9).solve(sphere, solved)
    assert again.converged
    assert again.iterations == 0
    y = np.linspace(0, 1, sphere.shape[1])[None, :, None]
    changed = us.PressureSystem(
        sphere.A, sphere.row_b * sphere.restrict(1 + 0.01 * np.sin(3 * y) * np.ones(sphere.shape)), sphere.row_contact, sphere.shape
    )
    cold, warm = Default().solve(changed), Default().solve(changed, solved)
    assert warm.converged
    assert warm.iterations <= cold.iterations
    assert warm.work["work_units"] < cold.work["work_units"]


def test_threads_do_not_change_a_bit():
    """Also with more threads than cores, and with parallel coarse levels."""
    script = (
        "import numba, hashlib, sys; numba.set_num_threads(int(sys.argv[1]));"
        "from unstick.bench.frames import FRAMES; from unstick.solvers.default import Default;"
        "from unstick.solvers.structured import Tuning;"
        "r = Default(tuning=Tuning(parallel_cells=100)).solve(FRAMES['sphere-box'](32).system());"
        "print(hashlib.sha256(r.p.tobytes() + r.slack.tobytes()).hexdigest(), r.iterations)"
    )
    environment = {**os.environ, "NUMBA_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
    seen = {
        subprocess.run([sys.executable, "-c", script, str(n)], env=environment, capture_output=True, text=True, check=True).stdout
        for n in (1, 2, 4)
    }
    assert len(seen) == 1
    assert numba.config.THREADING_LAYER_PRIORITY[0] == "omp"


def test_mirrored_liquid_gives_the_mirrored_pressure():
    system = FRAMES["circle"](64).system()
    A = system.A
    flipped = us.problem.Stencil(np.roll(A.wx[::-1], 1, axis=0), A.wy[::-1].copy(), A.wz[::-1].copy(), A.excess[::-1].copy())
    mirror = us.PressureSystem(flipped, system.row_b[::-1].copy(), system.row_contact[::-1].copy(), A.box[:2])
    one, other = Default(tolerance=1e-10, small=0).solve(system), Default(tolerance=1e-10, small=0).solve(mirror)
    assert one.converged
    assert other.converged
    assert other.row_p[::-1] == pytest.approx(one.row_p, abs=1e-7 * np.abs(one.row_p).max())


def closed_box(inflow, contact=True):
    """A pocket without air beside a drop with air."""
    box = (16, 15, 14)
    w = [np.ones(box) for _ in range(3)]
    for axis in range(3):
        first = [slice(None)] * 3
        first[axis] = 0
        w[axis][tuple(first)] = 0
    w[0][8] = 0
    excess = np.zeros(box)
    excess[8:, -1] = 2.0
    b = np.random.default_rng(3).standard_normal(box)
    b[:8] += inflow - b[:8].mean()
    touching = np.zeros(box, dtype=bool)
    touching[:, 0] = touching[0] = contact
    return us.PressureSystem(us.problem.Stencil(*w, excess), b, touching, box)


@pytest.mark.parametrize("inflow", [-0.3, 0.0, 0.3])
@pytest.mark.parametrize("contact", [True, False])
def test_pockets_are_repaired_pinned_and_reported(inflow, contact):
    system = closed_box(inflow, contact)
    result = Default(tolerance=1e-9).solve(system)
    assert result.converged
    broken = inflow < 0 or (inflow > 0 and not contact)
    assert any("pocket" in note for note in result.notes) == broken
    assert (result.p[system.contact] >= 0).all()
    if not broken:
        slack = system.apply(result.row_p) + system.row_b
        assert natural(system, result.p, slack) <= 1e-8 * np.abs(system.b).max()
    if inflow > 0 and contact:
        assert result.slack[:8].sum() == pytest.approx(system.b[:8].sum(), rel=1e-6)  # the expansion opens a void at the wall


def test_what_multigrid_cannot_is_taken_over_and_said():
    """Two halves that hang together by a face of 1e-13, of which one has no air: too ill-conditioned for the cycles."""
    system = closed_box(-0.3)
    system.A.wx[8, 3, 3] = 1e-13
    result = Default(tolerance=1e-12).solve(system)
    if not result.converged:
        assert result.status is us.Status.STAGNATED
        assert any("went on" in note for note in result.notes)
    assert np.isfinite(result.p).all()


def test_random_boxes_with_holes_agree_with_policy_iteration():
    for seed in range(6):
        box = (19, 14, 17) if seed % 2 else (70, 65, 1)
        A, b, contact = random_stencil(box, seed)
        system = us.PressureSystem(A, b, contact, box)
        result, exact = Default(tolerance=1e-11, small=0).solve(system), PolicyPCG(tolerance=1e-11).solve(system)
        assert result.converged
        assert exact.converged
        # p itself is unique only up to a shift in pockets without contact rows
        assert result.row_slack == pytest.approx(exact.row_slack, abs=1e-9 * np.abs(b).max())
        sure = np.maximum(A.diagonal() * exact.row_p, exact.row_slack) > 1e-9 * np.abs(b).max()
        assert np.array_equal(result.row_detached[sure], exact.row_detached[sure])


def test_limits_and_nonsense_end_with_a_status(sphere):
    assert Default(tolerance=1e-12, max_iterations=1).solve(sphere).status is us.Status.ITERATION_LIMIT
    floor = Default(tolerance=1e-17).solve(sphere)
    assert floor.status is us.Status.STAGNATED
    assert floor.residual < 1e-12 * np.abs(sphere.b).max()
    huge = us.PressureSystem(sphere.A, sphere.row_b * 1e300, sphere.row_contact, sphere.shape)
    assert Default().solve(huge).status in (us.Status.CONVERGED, us.Status.DIVERGED)
    seen = []
    Default(on_iteration=lambda n, r: seen.append((n, r))).solve(sphere)
    assert [n for n, _ in seen] == list(range(len(seen)))
    assert seen[-1][1] < seen[0][1]
