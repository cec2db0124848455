"""Policy iteration, penalty, Newton, MPRGP and PGS: what is particular to each. What all promise is in test_every_solver."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us
from unstick.bench.direct import solve_exactly
from unstick.bench.exact import judge
from unstick.bench.systems import case, random_systems
from unstick.kernels.reduce import max_abs
from unstick.solvers.compact import compact
from unstick.solvers.control import Slack, first_control, next_control, pin_pockets
from unstick.solvers.ledger import Ledger
from unstick.solvers.mprgp import MPRGP
from unstick.solvers.newton import Newton, _project
from unstick.solvers.penalty import PenaltyPCG, penalised
from unstick.solvers.policy import PolicyPCG
from unstick.solvers.protocol import Start, scaled


def smooth(place=0, seed=0):
    return case(seed, place * 12).system


def problem_of(system, tolerance=1e-10):
    return scaled(compact(system, system.row_contact), tolerance, False)[0]


def test_exact_policy_iteration_from_the_unconstrained_solve_is_monotone():
    """numerics: p only grows and the held set only shrinks, for an M-matrix. Violated, A or the inner solve is wrong."""
    problem = problem_of(smooth())
    A, ledger = problem.A.toarray(), Ledger(problem.A.nnz)
    held = np.zeros(problem.n, dtype=bool)
    p = np.linalg.solve(A, -problem.b)
    sizes = []
    for _ in range(30):
        new = next_control(problem, held, p, Slack(problem, ledger)(p))
        if (new == held).all():
            break
        assert not sizes or not (new & ~held).any()
        held = new
        sizes.append(int(held.sum()))
        before, p = p, np.zeros(problem.n)
        p[~held] = np.linalg.solve(A[np.ix_(~held, ~held)], -problem.b[~held])
        assert (p >= before - 1e-12 * max_abs(p)).all()
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) >= 3
    assert problem.natural_residual(p, Slack(problem, ledger)(p)) < 1e-12


def test_the_first_control_is_lais_minimum_or_the_previous_one():
    problem = problem_of(smooth(1))
    rng = np.random.default_rng(0)
    p, slack = rng.normal(size=(2, problem.n))
    chosen = first_control(problem, Start(p, None, True), slack)
    for i in range(problem.n):
        assert chosen[i] == (problem.contact[i] and problem.diagonal[i] * p[i] < slack[i])
    previous = problem.contact & (rng.random(problem.n) < 0.5)
    np.testing.assert_array_equal(first_control(problem, Start(p, previous, False), slack), previous)


def test_a_pocket_is_pinned_where_the_pressure_is_least():
    problem = problem_of(smooth())
    label = np.full(problem.n, -1)
    rows = np.flatnonzero(problem.contact)
    label[rows[:5]], label[rows[5:9]] = 0, 1
    pocketed = dataclasses.replace(problem, pocket=label)
    p = np.arange(problem.n, dtype=float)
    p[rows[2]], p[rows[6]] = -1.0, -2.0
    none = np.zeros(problem.n, dtype=bool)
    assert list(np.flatnonzero(pin_pockets(pocketed, none, p))) == [rows[2], rows[6]]
    one = none.copy()
    one[rows[8]] = True
    assert list(np.flatnonzero(pin_pockets(pocketed, one, p))) == sorted([rows[2], rows[8]])
    assert pin_pockets(problem, none, p) is none


@pytest.mark.parametrize("cls", [PolicyPCG, PenaltyPCG])
def test_loose_inner_solves_reach_the_same_set(cls):
    """The inner goal is tightened when the residual does not fall, so that even 0.9 cannot cycle for ever."""
    for place in range(0, 60, 7):
        system = case(11, place).system
        exact = solve_exactly(system)
        for inner in (0.9, 0.1, 1e-6):
            result = cls(tolerance=1e-11, inner=inner).solve(system)
            assert result.converged, (place, inner, result.status)
            assert judge(exact, result).agrees


def test_outer_iterations_are_linear_systems_and_iterations_their_sum():
    calls = []
    result = PolicyPCG(tolerance=1e-9, on_iteration=lambda k, r: calls.append((k, r))).solve(smooth())
    assert [k for k, _ in calls] == list(range(1, result.outer_iterations + 1))
    assert len(result.residuals) == result.outer_iterations + 2  # the first one, and the one recomputed at the end
    assert result.iterations > result.outer_iterations
    assert result.work["setup_units"] == pytest.approx(result.outer_iterations)


def test_the_previous_control_is_where_the_next_solve_starts():
    system = smooth(2)
    first = PolicyPCG(tolerance=1e-10).solve(system)
    near = dataclasses.replace(system, row_b=system.row_b * (1.0 + 1e-3 * np.cos(np.arange(system.row_b.size)).reshape(system.row_b.shape)))
    warm, cold = PolicyPCG(tolerance=1e-10).solve(near, first), PolicyPCG(tolerance=1e-10).solve(near)
    assert warm.converged
    assert warm.outer_iterations < cold.outer_iterations


def test_a_penalty_is_in_the_units_of_its_row():
    A = sp.csr_array(np.array([[2.0, -1.0], [-1.0, 5.0]]))
    rho = np.array([0.0, 7.0])
    np.testing.assert_array_equal(penalised(A, rho).toarray(), [[2.0, -1.0], [-1.0, 12.0]])
    np.testing.assert_array_equal(A.toarray(), [[2.0, -1.0], [-1.0, 5.0]])
    result = PenaltyPCG(tolerance=1e-8).solve(smooth())
    assert (result.p[result.system.contact] >= 0.0).all()
    assert result.detached.any()


def dense_newton(A, b, contact, x):
    """Eq. 29 on full arrays, with a = {y < x} or not in S."""
    y = A @ x + b
    solving = (y < x) | ~contact
    H = np.where(solving, y, x)
    BH = np.where(solving[:, None], A, np.eye(len(x)))
    return np.linalg.solve(BH, -H), H, solving


def test_newtons_direction_is_the_dense_one():
    problem = problem_of(smooth(1))
    solver, ledger = Newton(tolerance=1e-10), Ledger(problem.A.nnz)
    x = np.abs(np.random.default_rng(3).normal(size=problem.n))
    expected, H_dense, solving = dense_newton(problem.A.toarray(), problem.b, problem.contact, x)
    y = Slack(problem, ledger)(x)
    H, held = solver.minimum_map(problem, None, x, y)
    np.testing.assert_allclose(H, H_dense, atol=1e-13)
    np.testing.assert_array_equal(held, ~solving)
    found = solver.direction(problem, H, held, 1e-12, 5000, ledger)
    np.testing.assert_allclose(found.x, expected, atol=1e-8)
    np.testing.assert_allclose(found.x[held], -H[held], atol=0)


def test_the_line_search_satisfies_armijo_and_projects_contact_rows_only():
    problem = problem_of(smooth(1))
    solver, slack_of = Newton(), Slack(problem_of(smooth(1)), Ledger(1))
    x = np.abs(np.random.default_rng(4).normal(size=problem.n))
    H, held = solver.minimum_map(problem, None, x, slack_of(x))
    dx = solver.direction(problem, H, held, 1e-12, 5000, Ledger(1)).x
    theta = solver.merit(problem, x, slack_of(x))
    tau = solver.line_search(problem, slack_of, x, dx, theta, -2.0 * theta)
    assert tau is not None
    moved = np.where(problem.contact, np.maximum(x + tau * dx, 0.0), x + tau * dx)
    assert solver.merit(problem, moved, slack_of(moved)) <= theta * (1.0 - 2.0 * solver.alpha * tau)
    # Rows outside S may be negative.
    np.testing.assert_array_equal(_project(problem, -x), np.where(problem.contact, 0.0, -x))
    uphill = dataclasses.replace(solver, max_line_search=3)
    assert uphill.line_search(problem, slack_of, x, -dx, theta, -2.0 * theta) is None


@pytest.mark.parametrize("krylov", ["pcg", "cr", "gmres", "bicgstab"])
@pytest.mark.parametrize("preconditioner", ["none", "diagonal", "cholesky"])
def test_newton_with_every_inner_method(krylov, preconditioner):
    agreed = 0
    for made in random_systems(21, 24):
        result = Newton(tolerance=1e-10, krylov=krylov, preconditioner=preconditioner).solve(made.system)
        verdict = judge(solve_exactly(made.system), result, 1e-10)
        assert not verdict.wrong_claim
        agreed += result.converged and verdict.agrees
    assert agreed >= 23


def test_counts_of_the_slow_ones_grow_as_they_should():
    """A closed square with one open side: PGS with the square of the resolution, MPRGP with the resolution."""
    counts = {}
    for n in (8, 16):
        T = sp.diags_array([[-1.0] * (n - 1), [2.0] * n, [-1.0] * (n - 1)], offsets=[-1, 0, 1])
        contact = np.zeros((n, n), dtype=bool)
        contact[0] = contact[:, 0] = True
        b = np.cos(3.0 * np.linspace(0, 1, n))[:, None] * np.ones(n)
        system = us.PressureSystem.from_matrix(sp.csr_array(sp.kronsum(T, T)), b.reshape(-1), contact.reshape(-1), (n, n))
        counts[n] = [us.solve(system, name, 1e-8).iterations for name in ("pgs", "mprgp")]
    assert 2.5 < counts[16][0] / counts[8][0] < 5.5
    assert 1.4 < counts[16][1] / counts[8][1] < 3.0


def test_mprgp_never_leaves_the_feasible_set():
    for made in random_systems(31, 12):
        result = MPRGP(tolerance=1e-10, max_iterations=7).solve(made.system)
        assert (result.p[made.system.contact] >= 0.0).all()
