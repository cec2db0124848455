"""What a system must be, found before any work; each refusal says what was given and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[Any]


class InvalidSystem(ValueError):
    """The system, a guess or an option cannot be used; the message says what is allowed."""


def require_square(A: Any) -> sp.csr_array:
    if not sp.issparse(A):
        raise InvalidSystem(f"A is a {type(A).__name__}; give a scipy.sparse matrix, for example scipy.sparse.csr_array(A)")
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InvalidSystem(f"A has shape {A.shape}; it must be square")
    if np.iscomplexobj(A.data) or A.dtype.kind not in "fiub":
        raise InvalidSystem(f"A has entries of type {A.dtype}; they must be real numbers")
    matrix = sp.csr_array(A, dtype=np.float64)
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def require_finite(name: str, values: Array) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InvalidSystem(
            f"{name} has {int(bad.sum())} entries that are NaN or infinite (the first is entry {at}: {values.flat[at]}); "
            "all must be finite numbers"
        )


def require_symmetric(matrix: sp.csr_array) -> None:
    skew = abs(matrix - matrix.T)
    largest = float(abs(matrix).max()) if matrix.nnz else 0.0
    gap = float(skew.max()) if skew.nnz else 0.0
    if gap > 1e-12 * largest:
        raise InvalidSystem(f"A is not symmetric: the largest |A - A^T| is {gap:.3g}; scale its rows so that A equals its transpose")


def require_m_matrix(matrix: sp.csr_array) -> None:
    d = matrix.diagonal()
    if (d < 0).any():
        at = int(np.argmin(d))
        raise InvalidSystem(f"A has the diagonal entry {d[at]:.3g} in row {at}; diagonal entries of an M-matrix are not negative")
    off = matrix.tocoo()
    outside = off.row != off.col
    positive = outside & (off.data > 0)
    if positive.any():
        at = int(np.flatnonzero(positive)[0])
        raise InvalidSystem(
            f"A has {int(positive.sum())} positive off-diagonal entries (the first in row {off.row[at]}, column {off.col[at]}: "
            f"{off.data[at]:.3g}); an M-matrix has none. Mind the sign: unstick solves A p + b with A the negative Laplacian"
        )
    loose = outside & (off.data != 0) & (d[off.row] == 0)
    if loose.any():
        at = int(off.row[np.flatnonzero(loose)[0]])
        raise InvalidSystem(f"A couples row {at} but has no diagonal entry there; give one that is at least the sum of the couplings")
    # Two cheap signs of an indefinite matrix: a 2 x 2 minor, and 1^T A 1 of a connected piece.
    strong = outside & (off.data**2 > (1 + 1e-12) * d[off.row] * d[off.col])
    if strong.any():
        at = int(np.flatnonzero(strong)[0])
        raise InvalidSystem(
            f"A is no M-matrix: the coupling {off.data[at]:.3g} of rows {off.row[at]} and {off.col[at]} is larger than their "
            f"diagonal entries {d[off.row[at]]:.3g} and {d[off.col[at]]:.3g} allow; a diagonal entry is at least the sum of its couplings"
        )
    _, piece = sp.csgraph.connected_components(matrix, directed=False)
    total = np.bincount(piece, np.asarray(matrix.sum(axis=1)).reshape(-1))
    slack = 1e-12 * np.bincount(piece, d)
    if (total < -slack).any():
        at = int(np.flatnonzero(piece == np.argmin(total + slack))[0])
        raise InvalidSystem(
            f"A is no M-matrix: the entries of the connected piece with row {at} sum to {total[piece[at]]:.3g}; "
            "a diagonal entry is at least the sum of its couplings"
        )


def require_vector(name: str, values: Any, n: int) -> Array:
    vector = np.asarray(values)
    if vector.dtype.kind not in "fiub":
        raise InvalidSystem(f"{name} has entries of type {vector.dtype}; they must be real numbers")
    if vector.size != n:
        raise InvalidSystem(f"{name} has {vector.size} entries but A has {n} rows; they must be the same")
    flat = vector.reshape(-1).astype(np.float64)
    require_finite(name, flat)
    return flat


def require_contact(contact: Any, n: int) -> Array:
    mask = np.asarray(contact)
    if mask.dtype != np.bool_:
        raise InvalidSystem(f"contact has entries of type {mask.dtype}; it must be a boolean array, True on rows that touch a solid")
    if mask.size != n:
        raise InvalidSystem(f"contact has {mask.size} entries but A has {n} rows; they must be the same")
    return mask.reshape(-1)


def require_positive(name: str, value: float) -> None:
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (real and np.isfinite(value) and value > 0):
        raise InvalidSystem(f"{name} is {value!r}; it must be a positive number")


def require_count(name: str, value: int, least: int = 1) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InvalidSystem(f"{name} is {value!r}; it must be a whole number of at least {least}")


def require_known(kind: str, name: str, known: Collection[str]) -> str:
    """The name if it is known; else a sentence with the nearest known one."""
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise InvalidSystem(f"There is no {kind} {name!r}.{hint} Known: {', '.join(known)}.")
