"""Eckert's projections: his algorithms as printed give the same, tight thresholds agree, and what is exact is exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numba
import numpy as np
import pytest

import unstick as us
from splitting_cases import TIGHT, Thesis, difference, flow
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.grid import Array
from unstick.pressure.project import divergence
from unstick.pressure.projection import Flow, PressureProjection, Projected
from unstick.pressure.splitting.alternating import ADMMSep, ADMMStick, IOPSep, IOPStick
from unstick.pressure.splitting.answer import _beside_liquid
from unstick.pressure.splitting.corrected import IOPSepBC, OrigPS, OrigPSSep
from unstick.pressure.splitting.inners import INNERS
from unstick.pressure.splitting.walls import Setting
from unstick.result import SolveError, Status
from unstick.solvers.default import Default

ADMM_TIGHT = {**TIGHT, "epsilon_Aabs": 1e-9, "epsilon_Arel": 1e-10}
IOP_TIGHT = {**TIGHT, "epsilon_Idiv": 1e-9}
ORDER = {"flags": 1e-7, "fractions": 1e-5}  # thin slivers of faces make 1e-9 of divergence a larger velocity


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small arrays are not worth waking threads for."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def seen(problem: Flow, walls_from: str = "fractions") -> tuple[Array, ...]:
    """The open faces beside liquid."""
    setting = Setting.of(problem, walls_from)  # type: ignore[arg-type]
    return tuple(_beside_liquid(setting.liquid, opened, axis) for axis, opened in enumerate(setting.opened))


def same_as_printed(problem: Flow, found: Projected, printed: list[Array]) -> float:
    """The largest difference on open faces beside liquid, and on walls that let go."""
    assert found.given is not None
    worst = 0.0
    for axis, (look, theirs) in enumerate(zip(seen(problem, "flags"), printed, strict=False)):
        mine = found.velocity.components[axis]
        free = (found.given[axis] > 0) & (mine != 0.0)
        worst = max(worst, float(np.abs((mine[:, :, 0] - theirs) * ((look > 0) | free)[:, :, 0]).max()))
    return worst


@pytest.mark.parametrize("classify", ["velocity", "pressure"])
@pytest.mark.parametrize("method", [IOPSep, IOPStick])
def test_iop_is_algorithm_4(method: type[IOPSep], classify: str) -> None:
    problem = flow()
    printed = Thesis(problem)
    u = printed.iop(1e-3, method.separating, classify)
    found = method(epsilon_CG=1e-12, epsilon_Idiv=1e-3, walls_from="flags", classify=classify, allow_unbalanced=True)(problem)
    np.testing.assert_allclose(found.result.residuals, printed.residuals, rtol=1e-7)
    assert same_as_printed(problem, found, u) < 1e-9
    assert found.result.detached.any() == method.separating


@pytest.mark.parametrize("residual", ["velocity", "divergence"])
@pytest.mark.parametrize("method", [ADMMSep, ADMMStick])
def test_admm_is_algorithm_2(method: type[ADMMSep], residual: str) -> None:
    problem = flow(seed=2)
    printed = Thesis(problem)
    u = printed.admm(2e-3, method.separating, residual)
    options = {"epsilon_Aabs": 2e-3, "epsilon_Arel": 1e-12, "epsilon_Adiv": 2e-3}
    found = method(epsilon_CG=1e-12, walls_from="flags", residual=residual, **options)(problem)
    np.testing.assert_allclose(found.result.residuals, printed.residuals, rtol=1e-7)
    assert same_as_printed(problem, found, u) < 1e-9


def test_iop_sep_bc_is_algorithm_5_in_a_loop() -> None:
    problem = flow(seed=3)
    printed = Thesis(problem)
    u = printed.corrected(1e-9)
    found = IOPSepBC(epsilon_CG=1e-12, epsilon_IdivBC=1e-9, walls_from="flags")(problem)
    assert found.result.outer_iterations == len(printed.residuals) == 2
    np.testing.assert_allclose(found.result.residuals[0], printed.residuals[0], rtol=1e-9)
    assert same_as_printed(problem, found, u) < 1e-9
    once = OrigPSSep(epsilon_CG=1e-12, walls_from="flags")(problem)
    assert np.abs(once.result.slack).max() == pytest.approx(printed.residuals[0])  # the divergence that OrigPSSep leaves
    assert printed.residuals[0] > 0.1


CASES = {
    "flags": ({}, "flags"),
    "flags, moving": ({"moving": True, "seed": 4}, "flags"),
    "cut cells, box": ({"seed": 5}, "fractions"),
    "cut cells, round": ({"round_walls": True, "shape": (16, 15), "seed": 6}, "fractions"),
    "cut cells, round, moving": ({"round_walls": True, "shape": (15, 16), "moving": True, "seed": 7}, "fractions"),
    "cut cells, 3D": ({"round_walls": True, "shape": (9, 10, 8), "seed": 8}, "fractions"),
    "flags, 3D": ({"shape": (9, 9, 9), "seed": 9}, "flags"),
    "expansion": ({"round_walls": True, "expansion": 0.01, "seed": 10}, "fractions"),
    "thin gas": ({"round_walls": True, "density": 3.0, "spacing": 0.25, "seed": 11}, "fractions"),
}


@pytest.mark.parametrize("case", CASES)
def test_sticking_ones_agree_with_origps(case: str) -> None:
    options, walls_from = CASES[case]
    problem = flow(**options)
    look = seen(problem, walls_from)
    unit = problem.grid.spacing  # epsilon h step / dt
    exact = OrigPS(epsilon_CG=1e-12, walls_from=walls_from)(problem)
    assert exact.result.converged
    for method in (
        ADMMStick(**ADMM_TIGHT, walls_from=walls_from),
        IOPStick(**IOP_TIGHT, walls_from=walls_from),
        ADMMStick(**ADMM_TIGHT, walls_from=walls_from, accelerate="adaptive"),
        ADMMStick(**ADMM_TIGHT, walls_from=walls_from, accelerate="over-relaxation"),
        ADMMStick(**ADMM_TIGHT, walls_from=walls_from, accelerate="anderson"),
        IOPStick(**IOP_TIGHT, walls_from=walls_from, accelerate="anderson"),
        IOPStick(**IOP_TIGHT, walls_from=walls_from, accelerate="nesterov"),
        IOPStick(**IOP_TIGHT, walls_from=walls_from, accelerate="over-relaxation"),
    ):
        found = method(problem)
        assert found.result.converged
        assert not found.result.detached.any()
        assert difference(found.velocity, exact.velocity, look) < ORDER[walls_from] * unit


@pytest.mark.parametrize("case", CASES)
def test_separating_ones_agree_with_each_other(case: str) -> None:
    options, walls_from = CASES[case]
    problem = flow(**options)
    look = seen(problem, walls_from)
    iop = IOPSep(**IOP_TIGHT, walls_from=walls_from)(problem)
    assert iop.result.detached.any()
    for method in (
        ADMMSep(**ADMM_TIGHT, walls_from=walls_from),
        ADMMSep(**TIGHT, epsilon_Adiv=1e-9, residual="divergence", walls_from=walls_from),
        ADMMSep(**ADMM_TIGHT, walls_from=walls_from, accelerate="adaptive"),
        IOPSep(**IOP_TIGHT, walls_from=walls_from, accelerate="anderson"),
    ):
        found = method(problem)
        assert found.result.converged
        np.testing.assert_array_equal(found.result.detached, iop.result.detached)
        assert difference(found.velocity, iop.velocity, look) < ORDER[walls_from] * problem.grid.spacing
    assert np.abs(iop.result.slack).max() <= 1e-9 * 0.5 / problem.dt
    stick = OrigPS(epsilon_CG=1e-12, walls_from=walls_from)(problem)
    assert difference(stick.velocity, iop.velocity, look) > 1e-2 * problem.grid.spacing


def test_where_nothing_detaches_all_are_the_exact_projection() -> None:
    """Liquid that is pressed against all of its walls."""
    problem = flow(round_walls=True, surface=0.5)
    for component in problem.velocity.components:
        component[...] = 0.0
    problem.velocity.v[...] = -1.0
    exact = PressureProjection(Default(tolerance=1e-12))(problem)
    for method in (IOPSep(**IOP_TIGHT), ADMMSep(**ADMM_TIGHT), IOPSepBC(epsilon_CG=1e-12), OrigPSSep(epsilon_CG=1e-12)):
        found = method(problem)
        held = ~(found.result.detached | exact.result.detached)
        if not found.result.detached.any() and not exact.result.detached.any():
            assert difference(found.velocity, exact.velocity, seen(problem)) < 1e-8
        assert np.abs(found.result.slack[held]).max() < 1e-8


def test_only_rows_that_let_go_keep_divergence_on_cut_cells() -> None:
    """The true divergence, walls at rest: zero but where the wall lets go, where liquid leaves it."""
    problem = flow((18, 17), round_walls=True, seed=12)
    found = IOPSep(**IOP_TIGHT)(problem)
    true = divergence(problem.grid, found.velocity, problem.solid_phi)
    rows = found.result.system.expand(found.result.system.A.rows())  # type: ignore[union-attr]
    assert np.abs(true[rows & ~found.result.detached]).max() < 1e-8
    assert np.abs(true[found.result.detached]).max() > 1e-2


def test_a_block_at_the_ceiling_falls_freely() -> None:
    """Liquid at rest that fills the vessel's upper half: nothing but gravity acts, and it lets go of the ceiling at once."""
    problem = flow((14, 16), surface=0.5)
    nodes_y = np.arange(17.0)
    solid = np.minimum(nodes_y - 1.0, 15.0 - nodes_y)[None, :, None] + np.zeros((15, 1, 1))
    liquid = np.where((np.arange(16) >= 8)[None, :, None], -0.5, 0.5) + np.zeros((14, 1, 1))
    velocity = FaceField(problem.grid)
    velocity.v[...] = -0.1
    block = replace(problem, solid_phi=solid, liquid_phi=liquid, velocity=velocity)
    held = OrigPS(epsilon_CG=1e-12)(block)
    assert np.abs(held.velocity.v[3, 9:14, 0] + 0.1).max() > 0.05  # it sticks
    for method in (IOPSep(), ADMMSep(), IOPSep(walls_from="flags"), ADMMSep(walls_from="flags"), IOPSep(classify="pressure")):
        found = method(block)
        assert found.result.detached[3:-3, 14].all()
        assert np.abs(found.velocity.v[3:-3, 8:15] + 0.1).max() < 1e-12


def test_origps_sep_leaves_divergence_and_the_loop_removes_it() -> None:
    problem = flow(round_walls=True, seed=13)
    once = OrigPSSep(epsilon_CG=1e-10)(problem)
    assert once.result.detached.any()
    worst = np.abs(once.result.slack)
    assert worst[once.result.detached].max() > 0.1
    assert worst[~once.result.detached].max() < 1e-8 * 0.5 / problem.dt
    again = IOPSepBC(epsilon_CG=1e-10)(problem)
    assert again.result.outer_iterations <= 3
    assert np.abs(again.result.slack).max() <= 1e-2
    np.testing.assert_array_equal(again.result.detached, once.result.detached)
    assert again.result.iterations > once.result.iterations


@pytest.mark.parametrize("inner", sorted(INNERS))
def test_every_inner_solver_gives_the_same(inner: str) -> None:
    problem = flow((10, 11, 6), seed=14)
    look = seen(problem)
    for method in (IOPSep(**IOP_TIGHT, accelerate="anderson"), IOPSepBC(epsilon_CG=1e-12, epsilon_IdivBC=1e-10)):
        expected, found = method(problem), replace(method, inner=inner)(problem)
        assert found.result.converged
        assert difference(found.velocity, expected.velocity, look) < ORDER["flags"]


def test_a_full_closed_vessel_has_a_solution_too() -> None:
    """No surface at all: the equation with walls is singular, that without is not."""
    problem = flow(surface=3.0, seed=15, expansion=0.0)
    exact = OrigPS(epsilon_CG=1e-11)(problem)
    assert exact.result.converged
    found = IOPStick(**IOP_TIGHT, accelerate="anderson")(problem)
    assert difference(found.velocity, exact.velocity, seen(problem)) < 1e-8
    pressed = replace(problem, solid_velocity=_inward(problem))
    for method in (OrigPS(), IOPStick(), IOPSep()):
        found = method(pressed)
        assert found.result.converged
    assert any("closed pockets" in note for note in OrigPS()(pressed).result.notes)


def _inward(problem: Flow) -> FaceField:
    wall = FaceField(problem.grid)
    wall.v[:, 1] = 0.3
    return wall


def test_thresholds_that_cannot_work_together_are_refused() -> None:
    for make in (
        lambda **more: IOPSep(epsilon_CG=1e-2, epsilon_Idiv=1e-3, **more),
        lambda **more: IOPSepBC(epsilon_CG=1e-2, epsilon_IdivBC=1e-3, **more),
        lambda **more: ADMMStick(epsilon_CG=1e-2, epsilon_Adiv=1e-3, residual="divergence", **more),
    ):
        with pytest.raises(InvalidSystem, match=r"stricter than the inner one.*allow_unbalanced=True"):
            make()
        make(allow_unbalanced=True)
    ADMMSep(epsilon_CG=1e-1, epsilon_Aabs=1e-4, epsilon_Arel=1e-4)  # the residual of velocities takes any


def test_unbalanced_thresholds_still_do_one_inner_iteration_each() -> None:
    problem = flow((30, 30), seed=16)
    found = IOPSep(epsilon_CG=1.0, epsilon_Idiv=1e-6, allow_unbalanced=True, max_iterations=4000)(problem)
    balanced = IOPSep(epsilon_CG=1e-6, epsilon_Idiv=1e-6)(problem)
    assert found.result.converged
    assert found.result.iterations >= found.result.outer_iterations > balanced.result.outer_iterations


def test_the_iteration_limit_is_told() -> None:
    problem = flow(seed=17)
    for method in (IOPSep(max_iterations=3), ADMMSep(max_iterations=3), IOPSepBC(max_iterations=1, epsilon_IdivBC=1e-3)):
        result = method(problem).result
        assert result.status is Status.ITERATION_LIMIT
        assert result.outer_iterations == method.max_iterations == len(result.residuals)
        result.require()  # a run goes on
        with pytest.raises(SolveError, match="iteration limit"):
            replace(method, at_limit="stop")(problem).result.require()


BAD = {
    "epsilon_CG": (lambda: OrigPS(epsilon_CG=0.0), "epsilon_CG"),
    "walls_from": (lambda: OrigPS(walls_from="cells"), "'fractions', 'flags'"),
    "classify": (lambda: IOPSep(classify="speed"), "'velocity', 'pressure'"),
    "residual": (lambda: ADMMSep(residual="speed"), "'velocity', 'divergence'"),
    "inner": (lambda: IOPSep(inner="pcgg"), "Did you mean pcg?"),
    "accelerate": (lambda: ADMMSep(accelerate="nesterov"), "'adaptive'"),
    "relaxation": (lambda: IOPSep(relaxation=2.0), "between 0 and 2"),
    "penalty": (lambda: ADMMSep(penalty=0.0), "positive"),
    "at_limit": (lambda: IOPSep(at_limit="no"), "'go on', 'stop'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused_in_a_sentence(case: str) -> None:
    make, said = BAD[case]
    with pytest.raises(InvalidSystem, match=said):
        make()  # type: ignore[no-untyped-call]


def test_no_liquid_is_no_work() -> None:
    problem = flow(surface=-3.0)
    for name, method in us.PROJECTIONS.items():
        found = method()(problem)
        assert found.result.converged
        assert found.result.solver == name
        assert found.result.iterations == 0
        assert not found.result.p.any()


def test_threads_do_not_change_a_bit() -> None:
    problem = flow((24, 24, 24), round_walls=True, seed=18)
    answers = []
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        answers.append([m(problem) for m in (ADMMSep(accelerate="adaptive"), IOPSep(accelerate="anderson"), IOPSepBC())])
    for a, b in zip(*answers, strict=True):
        assert a.result.residuals == b.result.residuals
        for x, y in zip(a.velocity.components, b.velocity.components, strict=True):
            np.testing.assert_array_equal(x, y)


def test_starting_from_the_last_pressure_changes_nothing_but_the_counts() -> None:
    problem = flow((16, 15), round_walls=True, seed=19)
    first = IOPSep(**IOP_TIGHT)(problem)
    later = replace(problem, velocity=problem.velocity.copy())
    later.velocity.v[...] *= 1.01
    cold, warm = (IOPSep(epsilon_CG=1e-6, epsilon_Idiv=1e-4, warm_start=w)(later, first.guess) for w in (False, True))
    assert warm.result.outer_iterations < cold.result.outer_iterations
    assert difference(cold.velocity, warm.velocity, seen(problem)) < 1e-3
    np.testing.assert_array_equal(cold.result.detached, warm.result.detached)
