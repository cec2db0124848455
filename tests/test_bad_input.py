"""Bad input is refused before any work, in a sentence that says what was given and what is allowed."""

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us

A = sp.csr_array(np.array([[2.0, -1.0, 0.0, 0.0], [-1.0, 3.0, -1.0, 0.0], [0.0, -1.0, 2.0, -0.5], [0.0, 0.0, -0.5, 1.0]]))
B = np.array([1.0, -2.0, 0.5, 0.0])
S = np.array([True, False, True, False])


def changed(row, column, value, symmetric=True):
    matrix = A.toarray()
    matrix[row, column] = value
    if symmetric:
        matrix[column, row] = value
    return sp.csr_array(matrix)


def refused(sentence, A=A, b=B, contact=S, **more):
    with pytest.raises(us.InvalidSystem, match=sentence) as caught:
        us.PressureSystem.from_matrix(A, b, contact, **more)
    assert isinstance(caught.value, ValueError)


def test_good_input_is_taken():
    system = us.PressureSystem.from_matrix(A, B, S)
    assert system.unknowns == 4
    assert us.solve(system).converged
    assert us.solve(us.PressureSystem.from_matrix(sp.coo_matrix(A), B.tolist(), S.tolist(), (4, 1))).converged


def test_matrices():
    refused(r"A has shape \(3, 4\); it must be square", A=A[:3])
    refused(r"A is a ndarray; give a scipy.sparse matrix", A=A.toarray())
    refused(r"A is a NoneType; give", A=None)
    refused(r"A has entries of type complex128; they must be real", A=A.astype(complex))
    refused(r"A is not symmetric: the largest \|A - A\^T\| is 0.25", A=changed(0, 1, -0.75, symmetric=False))
    refused(r"A has 1 entries that are NaN or infinite.*nan.*must be finite", A=changed(2, 2, np.nan))
    refused(r"A has 2 entries that are NaN or infinite.*inf", A=changed(0, 1, -np.inf))
    refused(r"A has 2 positive off-diagonal entries \(the first in row 0, column 1: 0.5\).*Mind the sign", A=changed(0, 1, 0.5))
    refused(r"positive off-diagonal entries.*Mind the sign", A=sp.csr_array(-A + 10 * sp.eye_array(4)))
    refused(r"A has the diagonal entry -2 in row 0", A=changed(0, 0, -2.0))
    refused(r"A couples row 3 but has no diagonal entry", A=changed(3, 3, 0.0))
    refused(r"the coupling -9 of rows 0 and 1 is larger than their diagonal entries 2 and 3 allow", A=changed(0, 1, -9.0))
    loop = sp.csr_array(1.5 * np.eye(3) - (np.ones((3, 3)) - np.eye(3)))
    refused(r"the entries of the connected piece with row 0 sum to -1.5", A=loop, b=np.ones(3), contact=np.zeros(3, dtype=bool))


def test_right_hand_sides_and_contact_rows():
    refused(r"b has 3 entries but A has 4 rows", b=B[:3])
    refused(r"b has 1 entries that are NaN or infinite \(the first is entry 2: nan\)", b=np.array([0.0, 0.0, np.nan, 0.0]))
    refused(r"b has 1 entries that are NaN or infinite", b=np.array([0.0, -np.inf, 0.0, 0.0]))
    refused(r"b has entries of type .*; they must be real numbers", b=B.astype(complex))
    refused(r"b has entries of type .*; they must be real numbers", b=["a", "b", "c", "d"])
    refused(r"contact has 5 entries but A has 4 rows", contact=np.zeros(5, dtype=bool))
    refused(r"contact has entries of type int64; it must be a boolean array", contact=S.astype(np.int64))
    refused(r"contact has entries of type float64; it must be a boolean array", contact=S.astype(float))
    refused(r"contact has entries of type .*; it must be a boolean array", contact=np.array([0, 2]))


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 2, 1, 1), (-2, -2), (0, 4), 4, "ab", (2.5, 2), ()])
def test_shapes(shape):
    diagonal = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0]))
    refused(r"shape .*(it must be \(nx, ny\)|they must be the same)", A=diagonal, shape=shape)


def test_couplings_that_the_grid_does_not_have():
    refused(r"A couples row 2 with row 1, which are not face neighbours in a grid of shape \(2, 2, 1\); leave out shape", shape=(2, 2))
    diagonal_neighbours = changed(0, 3, -0.1)
    refused(r"A couples row 3 with row 0, which are not face neighbours", A=diagonal_neighbours, shape=(4, 1))


def test_cell_types():
    refused(r"cells were given without a shape", cells=np.ones(4, dtype=int))
    refused(r"cells has shape \(3,\); it must have shape \(4, 1\)", shape=(4, 1), cells=np.ones(3, dtype=int))
    refused(r"hold only unstick.SOLID \(0\), unstick.LIQUID \(1\) and unstick.AIR \(2\)", shape=(4, 1), cells=np.full(4, 3))
    system = us.PressureSystem.from_matrix(A, B, S, (4, 1), np.array([us.LIQUID, us.LIQUID, us.LIQUID, us.LIQUID]))
    assert system.cells is not None


def test_rounding_in_the_symmetry_is_forgiven():
    system = us.PressureSystem.from_matrix(changed(0, 1, -1.0 - 1e-16, symmetric=False), B, S)
    assert us.solve(system).converged


def test_duplicates_and_explicit_zeros_are_cleaned():
    coo = A.tocoo()
    row, column = np.concatenate([coo.row, coo.row, [0]]), np.concatenate([coo.col, coo.col, [3]])
    twice = sp.coo_array((np.concatenate([0.5 * coo.data, 0.5 * coo.data, [0.0]]), (row, column)), shape=(4, 4))
    one = us.solve(us.PressureSystem.from_matrix(A, B, S, (4, 1)), tolerance=1e-12)
    other = us.solve(us.PressureSystem.from_matrix(twice, B, S, (4, 1)), tolerance=1e-12)
    np.testing.assert_allclose(one.p, other.p, rtol=1e-14)


@pytest.mark.parametrize(
    ("solver", "options", "sentence"),
    [
        ("pi-pcg", {"inner": 0.0}, "inner is 0.0; it must be between 0 and 1"),
        ("pe-pcg", {"inner": 2}, "inner is 2; it must be between 0 and 1"),
        ("newton", {"krylov": "lu"}, "krylov is 'lu'; it must be one of pcg, cr, gmres, bicgstab"),
        ("newton", {"alpha": 1.0}, "alpha is 1.0; it must be between 0 and 1"),
        ("newton", {"gamma": -1}, "gamma is -1; it must be between 0 and 1"),
        ("newton", {"stagnation": np.nan}, "stagnation is nan; it must be a positive number"),
        ("newton", {"max_newton": 0}, "max_newton is 0; it must be a whole number of at least 1"),
        ("pcg", {"modification": 3.0}, "modification is 3.0; it must be between 0"),
        ("mprgp", {"proportion": 0.0}, "proportion is 0.0; it must be a positive number"),
    ],
)
def test_options(solver, options, sentence):
    known = {**us.SOLVERS, **us.LINEAR_SOLVERS}
    with pytest.raises(us.InvalidSystem, match=sentence):
        known[solver](**options)
