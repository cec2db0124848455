"""Policy iteration ends where exact policy iteration does, however slowly the front of detached rows moves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us


@pytest.mark.parametrize("name", ["default", "pi-pcg", "pe-pcg"])
def test_a_front_that_moves_one_row_an_iteration_is_no_stagnation(name: str) -> None:
    """A chain, pressed on one half and pulled on the other: p is a parabola, so the front can be worked out."""
    n, load = 100, 1e-3
    A = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    b = np.where(np.arange(n) < n // 2, -load, load)
    result = us.SOLVERS[name](tolerance=1e-10).solve(us.PressureSystem.from_matrix(A, b, np.ones(n, dtype=bool)))
    p = result.require()
    assert result.outer_iterations > 12
    # Rows 0..m-1 are free; the least m at which the next row does not push any more.
    for m in range(n // 2, n):
        free = np.linalg.solve(A.toarray()[:m, :m], -b[:m])
        if free.min() >= 0 and -free[-1] + b[m] >= 0:
            break
    assert np.array_equal(result.detached, np.arange(n) >= m)
    assert np.max(np.abs(p[:m] - free)) < 1e-9 * free.max()
