"""Eckert's benches: what they call is what they say, and their figures are those of the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unstick.bench import eckert_convergence, eckert_dam, eckert_fft, eckert_growth, eckert_identical, eckert_similarity
from unstick.bench.eckert_flows import Moment, moments
from unstick.bench.eckert_identical import Call, Study
from unstick.bench.eckert_methods import (
    EXACT,
    EXACT_STICKING,
    METHODS,
    PRACTICAL,
    TIGHT,
    Thresholds,
    Units,
    call,
    largest_difference,
    leftover,
    make,
)
from unstick.bench.eckert_thresholds import SETTINGS
from unstick.bench.harness import Options
from unstick.bench.published_eckert import DAM_3D, EPSILON_CG, EPSILON_OUTER, THRESHOLDS, TIGHTEST
from unstick.pressure.project import divergence
from unstick.pressure.splitting.table import PROJECTIONS
from unstick.result import Status


@pytest.fixture(scope="module")
def found() -> list[Moment]:
    """Two flows of the dam: falling, and up the wall."""
    out, ended = moments("dam-2d", 24, (10, 60), make(EXACT_STICKING))
    assert not ended
    return out


def test_moments_are_the_first_steps_of_their_frames(found: list[Moment]) -> None:
    assert [m.frame for m in found] == [10, 60]
    assert found[0].guess is not None
    assert all(m.flow.dt <= 0.01 + 1e-12 for m in found)


def test_thresholds_go_to_the_fields_of_each_method() -> None:
    assert {name for name, _ in METHODS.values()} == set(PROJECTIONS)
    fine = Thresholds(1e-4, 2e-3, 3e-3)
    made = make("ADMMVelSep", fine)
    assert (made.epsilon_CG, made.epsilon_Aabs, made.epsilon_Arel, made.residual) == (1e-4, 2e-3, 2e-3, "velocity")  # type: ignore[attr-defined]
    made = make("ADMMDivStick", fine)
    assert (made.name, made.epsilon_Adiv, made.residual) == ("admm-stick", 3e-3, "divergence")  # type: ignore[attr-defined]
    assert make("IOPDivSep", fine).epsilon_Idiv == make("IOPDivSepBC", fine).epsilon_IdivBC == 3e-3  # type: ignore[attr-defined]


def test_units_of_the_thesis(found: list[Moment]) -> None:
    flow = found[0].flow
    units = Units.of(flow)
    assert units.rate(1.0) == pytest.approx(2.0 * flow.dt)
    assert units.speed(flow.grid.spacing / flow.dt) == pytest.approx(2.0)  # a cell per step is two per unit of time
    done = call(make("OrigPS"), flow)
    assert done.projected.result.converged
    assert leftover(flow, done)[1] <= PRACTICAL.cg


def test_what_is_left_is_the_divergence(found: list[Moment]) -> None:
    flow = found[1].flow
    done = call(make(EXACT_STICKING, tolerance=1e-10), flow)
    liquid = flow.liquid_phi < 0
    whole = np.abs(divergence(flow.grid, done.projected.velocity, flow.solid_phi)).reshape(liquid.shape)
    assert Units.of(flow).rate(float(whole[liquid].max())) < 1e-6 + 2 * Units.of(flow).rate(float(np.max(np.abs(flow.expansion))))


def test_differences_are_over_faces_beside_liquid(found: list[Moment]) -> None:
    flow = found[0].flow
    a, b = flow.velocity.copy(), flow.velocity.copy()
    b.u[0, 0, 0] += 5.0  # in the margin, inside the wall
    assert largest_difference(flow, a, b) == 0.0
    i, j, _ = np.unravel_index(np.argmin(np.where(flow.solid_phi[:-1, :-1] > 0.1, flow.liquid_phi, np.inf)), flow.liquid_phi.shape)
    b.v[i, j, 0] += 0.25
    assert largest_difference(flow, a, b) == pytest.approx(Units.of(flow).speed(0.25))


def test_tight_answers_agree_where_nothing_lets_go(found: list[Moment]) -> None:
    flow = found[0].flow
    thresholds = Thresholds(1e-9, 1e-7, 1e-7)
    sticking = call(make(EXACT_STICKING, tolerance=1e-11), flow).projected.velocity
    for name in ("OrigPS", "ADMMVelStick", "IOPDivStick"):
        done = call(make(name, thresholds, max_iterations=5000), flow)
        assert done.projected.result.status is Status.CONVERGED
        assert largest_difference(flow, done.projected.velocity, sticking) < 1e-5


def test_published_grids_hold_all_settings() -> None:
    assert all(set(grid) == set(SETTINGS) for grid in THRESHOLDS.values())
    assert len(SETTINGS) == 21
    assert THRESHOLDS["ADMMVelSep"][1e-2, 5e-4] == 3927
    assert THRESHOLDS["IOPDivSep"][1e-1, 1e-4] == 16_743
    assert THRESHOLDS["IOPDivSepBC"][TIGHTEST] == 305
    assert THRESHOLDS["ADMMDivSep"][EPSILON_CG[1], EPSILON_OUTER[2]] == 10_950
    assert DAM_3D["IOPDivSepBC"].outer == 2.75


def test_periods_and_powers_are_found() -> None:
    t = np.arange(120)
    wave = np.exp(-0.02 * t) * np.abs(np.cos(np.pi * t / 17.0)) + 1e-9
    assert eckert_convergence.period(list(wave)) == pytest.approx(17.0, abs=1.0)
    assert eckert_convergence.period([3.0, 2.0, 1.0]) is None
    assert eckert_growth.power((16, 32, 64), (3.0, 12.0, 48.0)) == pytest.approx(2.0)


def test_claims_say_what_does_not_hold() -> None:
    made = Study("dam-2d", 8, 10)
    made.calls["OrigPSSepLow"] = {5: Call(1, 1, 0.0, "converged", 0.5, 0.0)}
    made.differences["ADMMVelSepHigh|IOPDivSepHigh"] = {5: 1e-9, 10: 2e-9}
    assert eckert_similarity.missed(made) == []
    made.differences["ADMMVelSepHigh|IOPDivSepHigh"][10] = 1.0
    made.calls["OrigPSSepLow"][5] = Call(1, 1, 0.0, "converged", 0.0, 0.0)
    assert len(eckert_similarity.missed(made)) == 2

    costs = eckert_dam.Costs("dam", 8)

    def one(seconds: float) -> list[eckert_dam.Call]:
        return [eckert_dam.Call(5, 10, 2, seconds, "converged", 0.0, 5e-4)]

    costs.calls = {eckert_dam.EQUAL: one(1.0), "OrigPS": one(1.0), "ADMMVelSep": one(30.0), "IOPDivSep": one(20.0), "IOPDivSepBC": one(1.0)}
    assert eckert_dam.missed(costs) == []
    costs.calls["IOPDivSep"] = one(10.0)
    assert [text for text in eckert_dam.missed(costs) if "IOPDivSep, as published: 10" in text]


def test_equal_residuals_are_equal(found: list[Moment]) -> None:
    for m in found:
        exact = call(make(EXACT, tolerance=eckert_dam.tolerance(m, PRACTICAL)), m.flow)
        assert leftover(m.flow, exact)[1] <= PRACTICAL.cg * (1 + 1e-9)


def test_a_study_is_kept_and_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(sizes=(16,), frames=3, plots=tmp_path)
    monkeypatch.setattr(eckert_identical, "_made", {})
    made = eckert_identical.study(16, 3, options)
    assert made.calls["ADMMVelSepHigh"][3].status == "converged"
    assert set(made.gap("ADMMVelSepLow", EXACT)) == {3}
    monkeypatch.setattr(eckert_identical, "_made", {})
    monkeypatch.setattr(eckert_identical, "_make", lambda *args: pytest.fail("made again"))
    again = eckert_identical.study(16, 3, options)
    assert again.calls["OrigPSLow"][3].cg == made.calls["OrigPSLow"][3].cg
    assert again.largest("IOPDivSepHigh", "ADMMVelSepHigh") == pytest.approx(made.largest("ADMMVelSepHigh", "IOPDivSepHigh"), rel=1e-3)
    assert TIGHT.velocity < 1e-8


def test_a_full_box_needs_one_transform(found: list[Moment]) -> None:
    problem, r = eckert_fft.full_box(12, 3)
    assert abs(r.sum()) < 1e-9  # what its walls stop does not leave
    solved = eckert_fft.solve("fft", problem, r, 1e-8)
    assert (solved.iterations, solved.converged, solved.transforms) == (1, True, 2.0)
    problem, r, goal = eckert_fft.inner_problem(found[1])
    results = {name: eckert_fft.solve(name, problem, r, goal) for name in eckert_fft.NAMES}
    assert all(one.converged for one in results.values())
    assert results["fft"].transforms == 2 * results["fft"].iterations > 2
