"""The exact reference: an active-set method with sparse direct solves, refined in extended precision.

It shares nothing with the solvers but the data. Every connected piece is solved by itself. A piece that meets air starts from the
unconstrained solve, from which the iteration is monotone (M-matrix: p only grows, the held set only shrinks); a closed
one starts with all contact rows held. A closed piece is repaired as documented: net inflow, and any imbalance where no
row may detach, is removed evenly; round-off of the balance counts as balance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from unstick.problem import Array, PressureSystem, Stencil

Long = np.longdouble


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """A system as flat arrays over all its cells or rows."""

    A: sp.csr_array
    b: Array
    contact: Array

    @classmethod
    def of(cls, system: PressureSystem) -> Plain:
        if not isinstance(system.A, Stencil):
            return cls(system.A, system.row_b.astype(float), system.row_contact)
        everywhere = np.ones(system.A.box, dtype=bool)
        return cls(system.A.to_csr(everywhere), system.row_b.reshape(-1).astype(float), system.row_contact.reshape(-1))

    def slack(self, p: Array) -> Array:
        """A p + b in extended precision."""
        return _multiply(self.A, p) + self.b


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    system: Plain  # with b as repaired
    p: Array  # extended precision
    slack: Array
    drifts: Array  # rows of pieces whose p is unique up to a shift only
    piece: Array  # label of the connected piece of each row
    outer: int

    @property
    def largest_b(self) -> float:
        return float(np.max(np.abs(self.system.b), initial=0.0))

    def natural_residual(self) -> float:
        return natural_residual(self.system, self.p)


def natural_residual(system: Plain, p: Array) -> float:
    """max |min(a_ii p_i, slack_i)| on contact rows, |slack_i| elsewhere, in extended precision."""
    p = np.asarray(p, dtype=Long)
    slack = system.slack(p)
    rows = np.where(system.contact, np.minimum(system.A.diagonal() * p, slack), slack)
    return float(np.max(np.abs(rows), initial=0.0))


def rounding(system: Plain, p: Array) -> float:
    """How far a residual computed in double precision may be from the true one."""
    sizes = abs(system.A) @ np.abs(np.asarray(p, dtype=float)) + np.abs(system.b)
    return 8 * np.finfo(float).eps * float(np.max(sizes, initial=0.0))


def solve_exactly(system: PressureSystem) -> Exact:
    plain = Plain.of(system)
    n = plain.b.size
    count, piece = sp.csgraph.connected_components(plain.A, directed=False)
    d = plain.A.diagonal()
    excess = np.asarray(plain.A.sum(axis=1)).reshape(-1)
    b, p = plain.b.copy(), np.zeros(n, dtype=Long)
    drifts = np.zeros(n, dtype=bool)
    order = np.argsort(piece, kind="stable")
    bounds = np.searchsorted(piece[order], np.arange(count + 1))
    outer = 0
    for label in range(count):
        rows = order[bounds[label] : bounds[label + 1]]
        if d[rows[0]] == 0.0:  # a null row: no pressure acts on it
            if b[rows[0]] < 0.0 or not plain.contact[rows[0]]:
                b[rows[0]] = 0.0
            continue
        A = sp.csr_array(plain.A[rows][:, rows])
        contact = plain.contact[rows]
        closed = bool((np.abs(excess[rows]) <= 32 * np.finfo(float).eps * d[rows]).all())
        if closed:
            total = float(b[rows].sum())
            balanced = abs(total) <= 64 * np.finfo(float).eps * float(np.abs(b[rows]).sum())
            if balanced or total < 0.0 or not contact.any():
                b[rows] -= total / rows.size
                p[rows] = _floating(A, b[rows], contact)
                drifts[rows] = True
                continue
        p[rows], steps = _active_set(A, b[rows], contact, closed)
        outer = max(outer, steps)
    repaired = Plain(plain.A, b, plain.contact)
    return Exact(repaired, p, repaired.slack(p), drifts, piece, outer)


def _active_set(A: sp.csr_array, b: Array, contact: Array, closed: bool) -> tuple[Array, int]:
    n = b.size
    held = contact.copy() if closed else np.zeros(n, dtype=bool)
    for steps in range(1, 200):
        p = np.zeros(n, dtype=Long)
        free = ~held
        p[free] = _refined(sp.csr_array(A[free][:, free]), -b[free])
        slack = _multiply(A, p) + b
        new = contact & np.where(held, slack >= 0, p < 0)
        if closed and not new.any():
            new = held  # only rounding says so: the slacks of a closed piece sum to its expansion, which is positive
        if (new == held).all():
            return p, steps
        held = new
    raise ArithmeticError("the exact active-set method did not end; its decisions are at the level of rounding")


def _floating(A: sp.csr_array, b: Array, contact: Array) -> Array:
    """A closed and balanced piece: p up to a shift, chosen so that the least p of its contact rows is zero."""
    p = np.zeros(b.size, dtype=Long)
    if b.size > 1:
        p[1:] = _refined(sp.csr_array(A[1:][:, 1:]), -b[1:])
    return np.asarray(p - (p[contact].min() if contact.any() else p.mean()))


def _refined(A: sp.csr_array, rhs: Array) -> Array:
    """A direct solve with iterative refinement, the residual in extended precision."""
    x = np.zeros(rhs.size, dtype=Long)
    if rhs.size == 0:
        return x
    # Rows differ by nine orders of magnitude; the factorisation sees them scaled.
    s = 1.0 / np.sqrt(A.diagonal())
    factor = splu(sp.csc_array(sp.diags_array(s) @ A @ sp.diags_array(s)), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    for _ in range(6):
        r = np.asarray(rhs - _multiply(A, x), dtype=float)
        x += s * factor.solve(s * r)
    return x


def _multiply(A: sp.csr_array, x: Array) -> Array:
    """A x in extended precision."""
    products = A.data.astype(Long) * np.asarray(x, dtype=Long)[A.indices]
    out = np.zeros(A.shape[0], dtype=Long)
    filled = np.diff(A.indptr) > 0
    if products.size:
        out[filled] = np.add.reduceat(products, A.indptr[:-1][filled])
    return out
