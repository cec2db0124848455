"""The bodies' term on liquid rows: where its cells stand in the strips, and along which directions it is stiff."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from unstick.grid import Array
from unstick.kernels.rows_coupled import Term
from unstick.pressure.coupling.lowrank import CoupledSystem
from unstick.problem import Stencil
from unstick.solvers.rows import Layout

MOST, STORED = 48, 50_000_000  # deflated directions at most, and numbers that they may store; the stiffest come first
LEAST = 0.3  # estimated ratio to the plain matrix below which a direction is not worth deflating


def list_term(layout: Layout, system: CoupledSystem, A: Stencil, g: Array, mean: float) -> Term:
    """The term on strips, in the run's units."""
    term = system.term
    assert term is not None
    cells = np.stack(np.unravel_index(term.rows, A.box), axis=1).reshape(-1, 3)
    if A.box[2] == 1:
        cells = np.concatenate([np.zeros((len(cells), 1), dtype=cells.dtype), cells[:, :2]], axis=1)
    order = np.argsort(cells.sum(axis=1) & 1, kind="stable")
    cells, factor = cells[order], sp.csr_array(term.factor[order])
    at = with_neighbours(layout, cells)
    core = term.core / mean
    own = np.asarray((factor @ sp.csr_array(core)).multiply(factor).sum(axis=1)).reshape(-1)
    ptr, idx = factor.indptr.astype(np.int64), factor.indices.astype(np.int64)
    red = int(np.count_nonzero(cells.sum(axis=1) % 2 == 0))
    return Term(at, ptr, idx, factor.data, np.ascontiguousarray(core), own, g[at[0]].copy(), red)


def positions(layout: Layout, cells: Array, level: int = 0) -> Array:
    """Where cells (n, 3) of a level, along the axes the kernels see, stand in its strips; cells without storage share a zero."""
    first, last, null = int(layout.begin[level]), int(layout.begin[level + 1]), int(layout.begin[-1])
    place = layout.place[:2, first:last]
    number = np.full(place.max(axis=1) + 3, null, dtype=np.int64)
    number[place[0] + 1, place[1] + 1] = np.arange(first, last)
    i, j, k = np.minimum(cells.T, np.array([[number.shape[0] - 2], [number.shape[1] - 2], [np.iinfo(np.int64).max]]))
    row = number[i + 1, j + 1]
    inside = (row != null) & ((k >> 1) >= layout.span[0, row]) & ((k >> 1) < layout.span[2, row])
    return np.asarray(np.where(inside, layout.off[(i + j + k) & 1, row] + (k >> 1), 0))


def with_neighbours(layout: Layout, cells: Array, level: int = 0) -> Array:
    """(7, n): positions of cells and of their six neighbours, lower and upper by axis."""
    steps = np.concatenate([np.zeros((1, 3), dtype=np.int64), *(np.array([-e, e]) for e in np.eye(3, dtype=np.int64))])
    return np.stack([positions(layout, cells + step, level) for step in steps])


def stiff_columns(term: Term, deflate: bool, cells: int) -> Array:
    """Combinations of the columns of F, on the listed cells, along which the term is not small beside the plain matrix."""
    n, q = term.at.shape[1], len(term.core)
    none = np.zeros((0, n))
    if not deflate or n == 0:
        return none
    factor = sp.csr_array((term.val, term.idx, term.ptr), shape=(n, q))
    length = np.sqrt(np.asarray(factor.multiply(factor).sum(axis=0)).reshape(-1))
    values, vectors = np.linalg.eigh(length[:, None] * term.core * length)
    stiff = np.abs(values) * _reach(term)
    chosen = np.argsort(-stiff, kind="stable")[: min(MOST, max(6, STORED // cells))]
    chosen = chosen[stiff[chosen] > LEAST]
    if chosen.size == 0:
        return none
    return np.ascontiguousarray((factor @ (vectors[:, chosen] / length[:, None])).T)


def stiffness(term: Term) -> float:
    """About the largest ratio of the term's energy to the plain matrix's."""
    factor = sp.csr_array((term.val, term.idx, term.ptr), shape=(term.at.shape[1], len(term.core)))
    length = np.sqrt(np.asarray(factor.multiply(factor).sum(axis=0)).reshape(-1))
    values = np.linalg.eigvalsh(length[:, None] * term.core * length)
    return float(np.abs(values).max(initial=0.0)) * _reach(term)


def _reach(term: Term) -> float:
    """About f^T A^-1 f for a column f of unit length, a_ii = 1: a dipole of the body's radius in cells."""
    n = term.at.shape[1]
    flat = not (term.at[5:] > 0).any() or not (term.at[1:3] > 0).any()
    return 4.0 * max(n / 8, 1.0) if flat else 6.0 * max(math.sqrt(n / 24), 1.0)
