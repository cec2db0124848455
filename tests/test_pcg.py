"""Incomplete Cholesky and the conjugate gradients around it, against dense twins."""

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us
from unstick.bench.systems import case
from unstick.kernels import cholesky, csr
from unstick.solvers.krylov import FreeRows, bicgstab, conjugate_gradients, conjugate_residuals, csr_arrays, gmres, refine
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import eliminated
from unstick.solvers.pcg import PCG, Factor, IncompleteCholesky, eisenstat


def grid(nx, ny, nz=1, seed=0):
    """A seven-point M-matrix with random couplings; some rows meet air."""
    rng = np.random.default_rng(seed)
    number = np.arange(nx * ny * nz).reshape(nx, ny, nz)
    i, j = [], []
    for axis in range(3):
        i.append(np.delete(number, -1, axis).reshape(-1))
        j.append(np.delete(number, 0, axis).reshape(-1))
    i, j = np.concatenate(i), np.concatenate(j)
    w = 10.0 ** rng.uniform(-2, 1, i.size)
    W = sp.csr_array((w, (i, j)), shape=(number.size, number.size))
    excess = np.where(rng.random(number.size) < 0.1, 1.0, 0.0)
    excess[0] = 1.0
    W = W + W.T
    return sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).reshape(-1) + excess) - W)


def graph(seed=0):
    system = next(c for c in (case(seed, place) for place in range(40)) if c.name == "unstructured").system
    return system.A


def dense_factor(A, tau):
    """IC(0) for tau = 0, MIC(0) for 1: M = (D + U^T) D^-1 (D + U), eliminated column by column on full arrays."""
    A = A.toarray().copy()
    n = len(A)
    pattern = A != 0
    d, U = A.diagonal().copy(), np.triu(A, 1)
    for j in range(n):
        rows = [i for i in range(j + 1, n) if U[j, i] != 0]
        for a, i in enumerate(rows):
            d[i] -= U[j, i] ** 2 / d[j]
            for k in rows[a + 1 :]:
                fill = U[j, i] * U[j, k] / d[j]
                if pattern[i, k]:
                    U[i, k] -= fill
                else:
                    d[i] -= tau * fill
                    d[k] -= tau * fill
    D = np.diag(d)
    return (D + U.T) @ np.linalg.inv(D) @ (D + U)


@pytest.mark.parametrize("tau", [0.0, 0.5, 0.97])
@pytest.mark.parametrize("A", [grid(5, 6), grid(4, 3, 5), graph()], ids=["plane", "space", "triangles"])
def test_the_factor_is_the_dense_one(A, tau):
    factor = Factor(A, np.ones(A.shape[0], dtype=bool), tau, 1e-6)
    assert factor.same is not _has_triangles(A)
    M = dense_factor(A, tau)
    r = np.random.default_rng(2).normal(size=A.shape[0])
    out = np.empty_like(r)
    factor.apply(r, out)
    np.testing.assert_allclose(M @ out, r, rtol=1e-8, atol=1e-9)


def _has_triangles(A):
    P = (A - sp.diags_array(A.diagonal())) != 0
    P = P.astype(int)
    return bool((P @ P @ P).diagonal().sum() > 0)


def test_mic_keeps_row_sums_and_ic_matches_the_pattern():
    A = grid(6, 5)
    full = dense_factor(A, 1.0)
    np.testing.assert_allclose(full.sum(axis=1), np.asarray(A.sum(axis=1)).reshape(-1), atol=1e-12)
    plain = dense_factor(A, 0.0)
    where = A.toarray() != 0
    np.testing.assert_allclose(plain[where], A.toarray()[where], atol=1e-12)


def test_eisenstats_form_is_plain_pcg():
    A = grid(7, 6, 5)
    b = np.random.default_rng(3).normal(size=A.shape[0])
    rows = FreeRows(A, None, Ledger(A.nnz))
    factor = Factor(A, rows.free, 0.97, 0.01)
    for limit in (1, 3, 8):
        ours = eisenstat(factor, rows.ledger, b, 0.0, limit)
        plain = conjugate_gradients(rows.multiply, factor.apply, b, 0.0, limit)
        assert ours.iterations == plain.iterations == limit
        np.testing.assert_allclose(ours.x, plain.x, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("A", [grid(9, 8, 3), graph()], ids=["grid", "triangles"])
def test_rows_taken_out_by_a_mask_are_lais_system(A):
    n = A.shape[0]
    rng = np.random.default_rng(4)
    free, b, x0 = rng.random(n) < 0.7, rng.normal(size=n), rng.normal(size=n)
    keep = (x0.copy(), b.copy())
    found = IncompleteCholesky().prepare(A, None, Ledger(A.nnz), free).solve(b, x0, 1e-10, 1000)
    exact = np.linalg.solve(eliminated(A, free).toarray(), np.where(free, b, 0.0))
    assert found.status is us.Status.CONVERGED
    np.testing.assert_allclose(found.x, exact, atol=1e-7)
    assert not found.x[~free].any()
    assert found.residual == pytest.approx(np.abs((b - A @ found.x)[free]).max(), abs=1e-15)
    assert (keep[0] == x0).all()
    assert (keep[1] == b).all()


def test_elimination_is_symmetric_and_has_ones():
    A = grid(4, 4)
    free = np.arange(16) % 3 != 0
    M = eliminated(A, free).toarray()
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_array_equal(M[~free], np.eye(16)[~free])
    np.testing.assert_array_equal(M[np.ix_(free, free)], A.toarray()[np.ix_(free, free)])


@pytest.mark.parametrize("tau", [0.0, 0.97, 1.0])
def test_closed_pockets_do_not_break_the_factor(tau):
    """Two closed pieces and an open one; with tau = 1 the last pivots of the closed ones are zero."""
    pocket = grid(5, 5)
    pocket = sp.csr_array(pocket - sp.diags_array(np.asarray(pocket.sum(axis=1)).reshape(-1)))
    A = sp.csr_array(sp.block_diag([pocket, grid(4, 4), pocket]))
    A.sort_indices()
    b = np.random.default_rng(5).normal(size=66)
    b[:25] -= b[:25].mean()
    b[41:] -= b[41:].mean()
    found = IncompleteCholesky(modification=tau).prepare(A, None, Ledger(A.nnz)).solve(b, np.zeros(66), 1e-11, 500)
    assert found.status is us.Status.CONVERGED
    assert np.abs(b - A @ found.x).max() <= 1e-11


def test_an_inconsistent_pocket_is_not_called_converged():
    pocket = grid(5, 5)
    pocket = sp.csr_array(pocket - sp.diags_array(np.asarray(pocket.sum(axis=1)).reshape(-1)))
    found = IncompleteCholesky().prepare(pocket, None, Ledger(pocket.nnz)).solve(np.ones(25), np.zeros(25), 1e-8, 5000)
    assert found.status is not us.Status.CONVERGED
    assert np.abs(1.0 - pocket @ found.x).max() >= 1.0 - 1e-12


@pytest.mark.parametrize("method", [conjugate_gradients, conjugate_residuals, bicgstab, gmres])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_krylov_methods_solve(method, preconditioned):
    A = grid(8, 7)
    b = np.random.default_rng(6).normal(size=56)
    rows = FreeRows(A, np.arange(56) % 5 > 0, Ledger(A.nnz))
    factor = Factor(A, rows.free, 0.0, 0.01)

    def run(r, goal, limit):
        return method(rows.multiply, factor.apply if preconditioned else None, r, goal, limit)

    found = refine(run, rows, b, np.zeros(56), 1e-9, 2000)
    assert found.status is us.Status.CONVERGED
    assert np.abs((b - A @ found.x)[rows.free]).max() <= 1e-9
    assert found.iterations < (60 if preconditioned else 600)


def test_loops_are_their_numpy_twins():
    A = graph(1)
    n = A.shape[0]
    rng = np.random.default_rng(7)
    x, b, free = rng.normal(size=n), rng.normal(size=n), rng.random(n) < 0.5
    arrays, out = csr_arrays(A), np.empty(n)
    csr.multiply(*arrays, x, out)
    np.testing.assert_allclose(out, A @ x, atol=1e-12)
    csr.affine(*arrays, b, x, out)
    np.testing.assert_allclose(out, A @ x + b, atol=1e-12)
    csr.residual(*arrays, b, x, out)
    np.testing.assert_allclose(out, b - A @ x, atol=1e-12)
    csr.multiply_masked(*arrays, free, x, out)
    np.testing.assert_allclose(out, np.where(free, A @ x, 0.0), atol=1e-12)
    p = x.copy()
    csr.sweep_forward(*arrays, b, free, p)
    csr.sweep_backward(*arrays, b, free, p)
    q = x.copy()
    dense = A.toarray()
    for i in [*range(n), *range(n - 1, -1, -1)]:
        v = -(b[i] + dense[i] @ q - dense[i, i] * q[i]) / dense[i, i]
        q[i] = max(v, 0.0) if free[i] else v
    np.testing.assert_allclose(p, q, atol=1e-11)


def test_forward_and_backward_are_triangular_solves():
    A = grid(6, 5, 4)
    n = A.shape[0]
    factor = Factor(A, np.ones(n, dtype=bool), 0.97, 0.01)
    V = sp.csr_array((factor.v, factor.to, factor.at), shape=(n, n)).toarray()
    upper, lower = np.eye(n) - V, np.eye(n) - V.T
    r, p, t, z = (np.random.default_rng(8).normal(size=n) for _ in range(4))
    z = np.zeros(n)
    before = p.copy()
    cholesky.backward(factor.at, factor.to, factor.v, r, 0.3, p, t)
    np.testing.assert_allclose(p, r + 0.3 * before, atol=1e-14)
    np.testing.assert_allclose(upper @ t, p, atol=1e-11)
    curvature = cholesky.forward(factor.at, factor.to, factor.v, factor.E, p, t, z)
    np.testing.assert_allclose(lower @ z, p + factor.E * t, atol=1e-10)
    assert curvature == pytest.approx(p @ (t + z), rel=1e-10)
    scaled = np.diag(factor.s) @ A.toarray() @ np.diag(factor.s)
    np.testing.assert_allclose(t + z, np.linalg.solve(lower, scaled @ np.linalg.solve(upper, p)), atol=1e-9)
    out = np.empty(n)
    cholesky.forward_multiply(factor.at, factor.to, factor.v, r, out)
    np.testing.assert_allclose(out, lower @ r, atol=1e-12)


def test_counts_double_with_the_resolution_and_mic_is_better():
    counts = {}
    for n in (16, 32, 64):
        T = sp.diags_array([[-1.0] * (n - 1), [2.0] * n, [-1.0] * (n - 1)], offsets=[-1, 0, 1])
        A = sp.csr_array(sp.kronsum(T, T))
        system = us.PressureSystem.from_matrix(A, np.ones(n * n), np.zeros(n * n, dtype=bool), (n, n))
        counts[n] = [PCG(modification=tau).solve(system).iterations for tau in (0.0, 0.97)]
    assert counts[64][1] < 0.8 * counts[64][0]
    assert 1.6 < counts[64][0] / counts[32][0] < 2.4
    assert counts[64][1] / counts[32][1] < 2.0


@pytest.mark.parametrize("modification", [-0.1, 1.5, np.nan])
def test_a_bad_modification_is_refused(modification):
    with pytest.raises(us.InvalidSystem, match=r"modification is .* between 0 .* and 1"):
        IncompleteCholesky(modification=modification)
