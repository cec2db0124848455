"""Sums and maxima in fixed chunks, against NumPy and against themselves with other numbers of threads."""

import numba
import numpy as np
import pytest

from unstick.kernels.reduce import CHUNK, dot, max_abs

SIZES = [0, 1, 7, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3]


@pytest.mark.parametrize("n", SIZES)
def test_dot_and_max_are_numpys(n):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=(2, n))
    assert dot(x, y) == pytest.approx(float(np.dot(x.astype(np.longdouble), y)), rel=1e-12, abs=1e-12)
    assert max_abs(x) == float(np.max(np.abs(x), initial=0.0))


@pytest.mark.parametrize("n", SIZES[1:])
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_no_number_comes_out(n, bad):
    for at in {0, n // 2, n - 1}:
        x = np.linspace(-3.0, 2.0, n)
        x[at] = bad
        assert np.isnan(max_abs(x)) if np.isnan(bad) else max_abs(x) == np.inf
        assert not np.isfinite(dot(x, x))


def test_threads_change_no_bit():
    x, y = np.random.default_rng(1).normal(size=(2, 40 * CHUNK + 11))
    before = numba.get_num_threads()
    found = set()
    for threads in range(1, before + 1):
        numba.set_num_threads(threads)
        found.add((dot(x, y), max_abs(x)))
    numba.set_num_threads(before)
    assert len(found) == 1
