"""The reference and the referee must be right themselves: planted solutions, brute force, and answers spoiled on purpose."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us
from unstick.bench.direct import Plain, natural_residual, solve_exactly
from unstick.bench.exact import TOLERANCE, Tally, compare, judge, report, rescaled, run, without_contact
from unstick.bench.harness import Options
from unstick.bench.systems import KINDS, case, random_systems
from unstick.solvers.mprgp import MPRGP


def test_cases_come_back_and_cover_every_kind():
    first, again = list(random_systems(5, 2 * len(KINDS))), list(random_systems(5, 2 * len(KINDS)))
    assert {c.name for c in first} == set(KINDS)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.system.row_b, b.system.row_b)
        assert case(a.seed, a.place).system.unknowns == a.system.unknowns
    assert {len(c.system.shape) for c in random_systems(5, 60)} == {1, 2, 3}


def test_kinds_hold_what_they_promise():
    found = {name: [] for name in KINDS}
    for c in random_systems(6, 8 * len(KINDS)):
        found[c.name].append((c.system, solve_exactly(c.system)))
    for name, pairs in found.items():
        drifting = [bool(e.drifts.any()) for _, e in pairs]
        if name in ("pocket, compressed", "pocket, balanced"):
            assert all(drifting), name
        if name == "pocket, compressed":
            assert all(e.system.b.sum() > s.row_b.sum() for s, e in pairs)
        if name == "no contact":
            assert not any(e.system.contact.any() for _, e in pairs)
    spread = [s.A.wx[s.A.wx > 0].min() / s.A.wx.max() for s, _ in found["tiny fractions"]]
    assert min(spread) < 1e-7
    assert any((e.system.contact & (e.p == 0) & (e.slack > 0)).sum() > 20 for _, e in found["all contact"])


def planted(seed, n=60):
    """A random M-matrix on no grid, p and slack chosen, b from them."""
    rng = np.random.default_rng(seed)
    W = sp.random_array((n, n), density=0.08, rng=rng)
    W = sp.csr_array(W + W.T)
    W.setdiag(0.0)
    A = sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).reshape(-1) + 10.0 ** rng.uniform(-3, 0, n)) - W)
    contact = rng.random(n) < 0.6
    p, slack = rng.normal(size=n), np.zeros(n)
    p[contact] = np.abs(p[contact])
    away = contact & (rng.random(n) < 0.4)
    p[away], slack[away] = 0.0, np.abs(rng.normal(size=int(away.sum())))
    return us.PressureSystem.from_matrix(A, slack - A @ p, contact), p, slack


@pytest.mark.parametrize("seed", range(8))
def test_the_reference_finds_what_was_planted(seed):
    system, p, slack = planted(seed)
    exact = solve_exactly(system)
    np.testing.assert_allclose(exact.p.astype(float), p, atol=1e-13)
    np.testing.assert_allclose(exact.slack.astype(float), slack, atol=1e-13)
    assert exact.natural_residual() < 1e-15
    assert not exact.drifts.any()


@pytest.mark.parametrize("seed", range(6))
def test_the_reference_is_the_only_set_that_works(seed):
    """Brute force over all sets of held rows, on systems of nine rows."""
    rng = np.random.default_rng(seed)
    T = sp.diags_array([[-1.0] * 2, [2.0] * 3, [-1.0] * 2], offsets=[-1, 0, 1])
    A = sp.csr_array(sp.kronsum(T, T)).toarray()
    b, contact = rng.normal(size=9), rng.random(9) < 0.8
    rows = np.flatnonzero(contact)
    solutions = []
    for choice in itertools.product((False, True), repeat=rows.size):
        held = np.zeros(9, dtype=bool)
        held[rows] = choice
        p = np.zeros(9)
        p[~held] = np.linalg.solve(A[np.ix_(~held, ~held)], -b[~held])
        if (p[contact] >= 0).all() and ((A @ p + b)[held] >= 0).all():
            solutions.append(p)
    exact = solve_exactly(us.PressureSystem.from_matrix(sp.csr_array(A), b, contact, (3, 3)))
    assert len(solutions) == 1
    np.testing.assert_allclose(exact.p.astype(float), solutions[0], atol=1e-14)


def test_the_reference_solves_every_kind_to_rounding():
    for c in random_systems(7, 5 * len(KINDS)):
        exact = solve_exactly(c.system)
        assert exact.natural_residual() <= 1e-12 * max(exact.largest_b, 1e-300), (c.name, c.place)
        assert (exact.p[exact.system.contact] >= 0).all()


def good(place=0):
    made = case(9, place)
    return solve_exactly(made.system), us.solve(made.system, "pi-pcg", TOLERANCE)


def spoiled(result, p=None, status=None):
    row_p = result.row_p if p is None else p
    slack = result.system.apply(row_p) + result.system.row_b
    return dataclasses.replace(result, row_p=row_p, row_slack=slack, status=status or result.status)


def test_the_referee_sees_wrong_answers():
    exact, result = good()
    assert judge(exact, result).agrees
    assert not judge(exact, result).wrong_claim
    p = result.row_p.copy()
    at = np.unravel_index(np.argmax(p), p.shape)
    p[at] *= 1.0 + 1e-5
    wrong = judge(exact, spoiled(result, p))
    assert wrong.p_error == pytest.approx(1e-5, rel=1e-3)
    assert wrong.wrong_claim
    assert not judge(exact, spoiled(result, p, us.Status.STAGNATED)).wrong_claim  # wrong, but it says so
    stuck = result.row_p + 1e-9 * result.row_p.max() * result.row_detached
    assert judge(exact, spoiled(result, stuck)).set_errors > 0
    lost = np.full_like(result.row_p, np.nan)
    assert judge(exact, spoiled(result, lost)).wrong_claim
    assert not judge(exact, spoiled(result, lost)).agrees


def test_the_referee_forgives_a_shift_where_p_is_unique_up_to_one_only():
    place = list(KINDS).index("pocket, balanced")
    exact, result = good(place)
    assert exact.drifts.any()
    shifted = result.row_p + 0.5 * result.row_p.max() * exact.drifts.reshape(result.row_p.shape)
    assert judge(exact, spoiled(result, shifted)).agrees
    bent = shifted.copy()
    bent.reshape(-1)[np.flatnonzero(exact.drifts)[0]] += 1e-3 * np.abs(result.row_p).max()
    assert not judge(exact, spoiled(result, bent)).agrees


def test_other_units_are_the_same_problem():
    system = case(9, 0).system
    other = rescaled(system, 7.0, 3.0)
    a, b = solve_exactly(system), solve_exactly(other)
    np.testing.assert_allclose(b.p.astype(float), a.p.astype(float) * 3.0 / 7.0, rtol=1e-13)
    assert natural_residual(Plain.of(other), b.p) == pytest.approx(b.natural_residual(), abs=1e-12)


@pytest.mark.parametrize("place", [1, 20, 76, 114, 144])
def test_rows_that_stop_a_step_stand_on_their_bound_in_any_units(place):
    system = case(0, place).system
    other = rescaled(system, 10.0, 10.0)  # rounds, so a step that ends a rounding error beside a bound shows as one more or less
    here, there = MPRGP().solve(system), MPRGP().solve(other)
    assert abs(here.iterations - there.iterations) <= 1


def test_a_solver_that_lies_is_found_out():
    class Liar(us.SOLVERS["pi-pcg"]):
        """Gives back the linear solution, and says that it has converged."""

        def solve(self, system, guess=None):
            linear = us.solve(without_contact(system), "pcg", self.tolerance)
            return dataclasses.replace(linear, system=system, status=us.Status.CONVERGED)

    (tally,) = compare({"liar": Liar}, len(KINDS), units=False)
    assert len(tally.wrong_claims) > len(KINDS) // 2
    failures = report([tally], len(KINDS)).failures
    assert any("claims convergence wrongly" in f for f in failures)
    assert any("agrees with the reference on" in f for f in failures)


def test_a_crash_is_reported_and_no_end():
    class Broken(us.SOLVERS["pi-pcg"]):
        """Fails inside."""

        def solve(self, system, guess=None):
            raise RuntimeError("lost the thread")

    (tally,) = compare({"broken": Broken}, 3, units=False)
    assert len(tally.crashed) == 3
    assert any("crashes on 3: case(0, 0) smooth: RuntimeError: lost the thread" in f for f in report([tally], 3).failures)


def test_the_bench_runs_over_both_tables():
    found = run(Options(count=1))
    names = [row[0] for row in found.tables[0].rows]
    assert set(names) >= {*us.SOLVERS, *us.LINEAR_SOLVERS, "default, multigrid"}
    assert found.as_json()["bench"] == "exact"
    assert isinstance(Tally("x").share, float)
