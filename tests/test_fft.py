"""Cosine and sine transforms on full boxes: every pair of ends, and what is refused."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us
from unstick.solvers.fft import CENTRE, CLOSED, FACE, TRANSFORMS

EXTRA = {CLOSED: 0.0, FACE: 2.0, CENTRE: 1.0}


def box(shape, ends, w=(1.0, 2.0, 0.3)):
    couplings = [np.zeros(shape) for _ in range(3)]
    excess = np.zeros(shape)
    for axis, n in enumerate(shape):
        if n > 1:
            at = [slice(None)] * 3
            at[axis] = slice(1, None)
            couplings[axis][tuple(at)] = w[axis]
            for end, place in zip(ends[axis], (0, n - 1), strict=True):
                at[axis] = place
                excess[tuple(at)] += EXTRA[end] * w[axis]
    return us.Stencil(*couplings, excess)


def system(A, b, shape=None):
    return us.PressureSystem(A, b, np.zeros(b.shape, dtype=bool), shape or b.shape)


@pytest.mark.parametrize("ends", list(itertools.product(TRANSFORMS, repeat=2)))
@pytest.mark.parametrize("shape", [(5, 8, 7), (9, 4, 1)])
def test_every_pair_of_ends(ends, shape):
    A = box(shape, (*ends, (CLOSED, CLOSED)))
    b = np.random.default_rng(0).normal(size=shape)
    result = us.LINEAR_SOLVERS["fft"](tolerance=1e-11).solve(system(A, b))
    assert result.converged
    assert result.iterations <= 2
    M = A.to_csr(np.ones(shape, dtype=bool)).toarray()
    if all(pair == (CLOSED, CLOSED) for pair in ends):
        assert any("removed evenly" in note for note in result.notes)
        b = b - b.mean()
        assert abs(result.p.mean()) < 1e-12
    exact = np.linalg.lstsq(M, -b.reshape(-1), rcond=None)[0]
    np.testing.assert_allclose(result.p.reshape(-1), exact, atol=1e-9)


def test_a_matrix_from_elsewhere():
    n = 12
    T = sp.diags_array([[-1.0] * (n - 1), [2.0] * n, [-1.0] * (n - 1)], offsets=[-1, 0, 1])
    A = sp.csr_array(sp.kronsum(T, 3.0 * T)) * 17.0
    b = np.random.default_rng(1).normal(size=n * n)
    given = us.PressureSystem.from_matrix(A, b, np.zeros(n * n, dtype=bool), (n, n))
    result = us.solve(given, "fft", tolerance=1e-10)
    assert result.converged
    np.testing.assert_allclose(A @ result.p.reshape(-1), -b, atol=1e-8)


def test_what_it_cannot_take_is_refused_before_any_work():
    A = box((6, 5, 4), [(CLOSED, FACE), (CLOSED, CLOSED), (CLOSED, CLOSED)])
    b = np.ones((6, 5, 4))
    rough = A.wx * np.random.default_rng(2).uniform(0.5, 1.0, A.box)
    hole = A.wy.copy()
    hole[2, 2, 2] = 0.0
    bump = A.excess.copy()
    bump[3, 2, 2] = 0.1
    half = A.excess * 0.7
    solver = us.LINEAR_SOLVERS["fft"]()
    for bad in (
        dataclasses.replace(A, wx=rough),
        dataclasses.replace(A, wy=hole),
        dataclasses.replace(A, excess=bump),
        dataclasses.replace(A, excess=half),
    ):
        with pytest.raises(us.UnsupportedSystem, match=r"fft needs .*; 'mgpcg' takes every grid"):
            solver.solve(system(bad, b))
    mixed = box((6, 5, 4), [(CLOSED, CENTRE), (CLOSED, CLOSED), (CLOSED, CLOSED)])
    with pytest.raises(us.UnsupportedSystem, match="fft has no transform for an axis that ends in 'closed' and 'p = 0 beyond it'"):
        solver.solve(system(mixed, b))
    flat = us.PressureSystem.from_matrix(sp.eye_array(4, format="csr"), np.ones(4), np.zeros(4, dtype=bool))
    with pytest.raises(us.UnsupportedSystem, match="fft needs a grid, and this system has none; 'pcg' takes it"):
        solver.solve(flat)
