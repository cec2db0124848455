"""The fast Poisson solver inside a splitting: exact on full boxes, a symmetric positive definite preconditioner elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from unstick.checks import InvalidSystem
from unstick.pressure.splitting import fast
from unstick.pressure.splitting.fast import Axis, Box, FastInner, Preconditioner, is_exact
from unstick.pressure.splitting.inner import FreeProblem
from unstick.pressure.splitting.inners import INNERS
from unstick.problem import Array, Stencil
from unstick.result import Status
from unstick.solvers.compact import Lattice
from unstick.solvers.ledger import Ledger


def problem(liquid: Array, coupling: float = 3.0, closed: tuple[int, ...] = (), theta: float = 1.0) -> FreeProblem:
    """Liquid cells, and p = 0 in all others; `closed` axes end in walls instead, and the air above stands at theta of a cell."""
    w, excess = [], np.zeros(liquid.shape)
    for axis in range(3):
        lower = np.zeros_like(liquid)
        upper = np.zeros_like(liquid)
        head, tail = [slice(None)] * 3, [slice(None)] * 3
        head[axis], tail[axis] = slice(1, None), slice(None, -1)
        lower[tuple(head)] = liquid[tuple(tail)]
        upper[tuple(tail)] = liquid[tuple(head)]
        w.append(coupling * (lower & liquid))
        if liquid.shape[axis] > 1 and axis not in closed:
            excess += coupling * ((liquid & ~lower).astype(float) + (liquid & ~upper) / (theta if axis == 1 else 1.0))
    A = Stencil(*w, excess).to_csr(liquid)
    return FreeProblem(A, Lattice(liquid.shape, np.argwhere(liquid).astype(np.int32)), coupling)


def blob(shape: tuple[int, int, int]) -> Array:
    """Liquid with a slanted surface and a hole."""
    i, j, k = np.indices(shape)
    return (j < 0.3 * shape[1] + 0.4 * i + 0.1 * k) & ~((i == shape[0] // 2) & (j < 3))


@pytest.mark.parametrize("shape", [(7, 9, 5), (12, 4, 1), (96, 22, 1), (3, 5, 4)])
@pytest.mark.parametrize(("closed", "theta"), [((), 1.0), ((0, 2), 1.0), ((0, 1, 2), 1.0), ((0,), 0.5), ((2,), 0.3)])
def test_full_boxes_are_solved_directly(shape: tuple[int, int, int], closed: tuple[int, ...], theta: float) -> None:
    p = problem(np.ones(shape, dtype=bool), closed=closed, theta=theta)
    r = np.random.default_rng(1).standard_normal(p.A.shape[0])
    if len(closed) == 3 or (shape[2] == 1 and closed == (0, 1, 2)):
        r -= r.mean()
    assert is_exact(p)
    found = INNERS["fft"].prepare(p, Ledger(p.A.nnz))(r, 1e-10, 10)
    assert found.status is Status.CONVERGED
    assert 1 <= found.iterations <= 2
    np.testing.assert_allclose(r - p.A @ found.x, found.residual, atol=1e-12)
    assert np.abs(found.residual).max() == found.norm <= 1e-10


def test_transforms_and_matrices_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).standard_normal((8, 9, 11))
    for first, last in ((0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (0.0, 2.0), (2.0, 0.0)):
        for at, n in enumerate(x.shape):
            quick = Axis.of(n, first, last)
            with monkeypatch.context() as m:
                m.setattr(fast, "_smooth", lambda n: False)
                m.setattr(fast, "PIECE", 100)
                dense = Axis.of(n, first, last)
            assert quick.kind
            assert not dense.kind
            np.testing.assert_allclose(quick.eigenvalues, dense.eigenvalues, atol=1e-13)
            line = [-1 if a == at else 1 for a in range(3)]
            results = [
                a.back(a.forward(x.copy(), at) * np.exp(-a.eigenvalues).reshape(line), at)  # a function of the matrix: the basis is free
                for a in (quick, dense)
            ]
            np.testing.assert_allclose(results[0], results[1], atol=1e-12)


@pytest.mark.parametrize("shape", [(14, 12, 6), (20, 18, 1)])
@pytest.mark.parametrize("theta", [1.0, 0.05])
def test_with_a_surface_it_preconditions(shape: tuple[int, int, int], theta: float) -> None:
    p = problem(blob(shape), theta=theta)
    assert not is_exact(p)
    r = np.random.default_rng(3).standard_normal(p.A.shape[0])
    found = FastInner().prepare(p, Ledger(p.A.nnz))(r, 1e-9, 60)
    assert found.status is Status.CONVERGED
    exact = np.linalg.solve(p.A.toarray(), r)
    np.testing.assert_allclose(found.x, exact, atol=1e-8)
    limited = FastInner().prepare(p, Ledger(p.A.nnz))(r, 1e-9, 2)
    assert limited.status is Status.ITERATION_LIMIT
    assert limited.norm > 1e-9


def test_the_preconditioner_is_symmetric_and_positive_definite() -> None:
    p = problem(blob((8, 7, 4)))
    method = FastInner()
    M = Preconditioner(p, Box.around(p), Ledger(p.A.nnz), method)
    n = p.A.shape[0]
    matrix = np.empty((n, n))
    for i, column in enumerate(np.eye(n)):
        out = np.empty(n)
        M(column, out)
        matrix[:, i] = out
    np.testing.assert_allclose(matrix, matrix.T, atol=2e-6 * np.abs(matrix).max())
    assert np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min() > 0.0


def test_sweeps_at_the_surface_save_transforms() -> None:
    p = problem(blob((40, 40, 1)))
    r = np.ones(p.A.shape[0])
    counts = []
    for method in (FastInner(sweeps=0), FastInner()):
        ledger = Ledger(p.A.nnz)
        found = method.prepare(p, ledger)(r, 1e-5, 100)
        counts.append(found.iterations)
        assert ledger.totals()["transforms"] == 2 * found.iterations
    assert counts[1] < 0.8 * counts[0]


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidSystem, match="layers"):
        FastInner(layers=-1)
