"""The coupled complementarity problem on sparse rows: for small systems, and where multigrid stalls.

A + F C F^T is symmetric positive semidefinite but no M-matrix: policy iteration loses its proof, since a pressure may fall when a row
is let go of. What carries instead is the energy E = p (A + F C F^T) p / 2 + b p on p >= 0, which every part of an outer iteration lowers:
projected Gauss-Seidel with the whole diagonal, then the Newton step on the rows that are not detached, projected and searched exactly
(Graeser and Sander's truncated nonsmooth Newton method, for which positive definiteness is enough). Once the detached set is right, the
Newton step is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unstick.grid import Array
from unstick.kernels import coupled_sweep
from unstick.kernels.reduce import max_abs
from unstick.pressure.coupling.lowrank import CoupledSystem
from unstick.pressure.coupling.pockets import Closed
from unstick.problem import Stencil
from unstick.result import Status
from unstick.solvers.krylov import FreeRows, conjugate_gradients, csr_arrays, refine
from unstick.solvers.ledger import Ledger
from unstick.solvers.pcg import Factor

DENSE = 900  # free rows up to which a dense factor is used
GIVE_UP = 12
HOLDS = 8  # times that clipped rows are held and the others follow
HALF = 0.5
MODIFICATION = 0.97  # part of the dropped fill that the incomplete factor keeps on its diagonal


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The coupled rows of a system, scaled to mean a_ii = 1 and max|b| = 1."""

    A: sp.csr_array
    F: sp.csr_array
    core: Array
    b: Array
    contact: Array
    diagonal: Array  # of A
    whole: Array  # of A + F C F^T
    index: Array  # flat position of each row on the box
    null: Array  # (n, null vectors) of A + F C F^T
    unit_p: float
    unit_b: float

    @classmethod
    def of(cls, system: CoupledSystem, b: Array, contact: Array, closed: Closed | None) -> Rows:
        assert isinstance(system.A, Stencil)
        used = system.A.rows()
        if system.term is not None:
            used.reshape(-1)[system.term.rows] = True
        index = np.flatnonzero(used.reshape(-1))
        A = system.A.to_csr(used)
        term = system.term
        factor = term.on(index) if term is not None else sp.csr_array((len(index), 0))
        core = term.core if term is not None else np.zeros((0, 0))
        diagonal = A.diagonal()
        mean = float(diagonal.mean()) or 1.0
        largest = max_abs(b.reshape(-1)[index])
        whole = diagonal + np.asarray((factor @ sp.csr_array(core)).multiply(factor).sum(axis=1)).reshape(-1)
        null = np.zeros((len(index), 0))
        if closed is not None:
            label = closed.label.reshape(-1)[index]
            null = np.where(label[:, None] >= 0, closed.null[np.maximum(label, 0)], 0.0)
        flat = b.reshape(-1)[index]
        return cls(
            A / mean, factor, core / mean, flat / largest, contact.reshape(-1)[index], diagonal / mean, whole / mean, index, null,
            largest / mean, largest,
        )  # fmt: skip

    def slack(self, p: Array) -> Array:
        return np.asarray(self.A @ p + self.F @ (self.core @ (self.F.T @ p)) + self.b)

    def natural(self, p: Array, slack: Array, weight: Array) -> float:
        return float(np.max(np.abs(np.where(self.contact, np.minimum(weight * p, slack), slack)), initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    p: Array
    status: Status
    steps: int
    outer: int
    residuals: tuple[float, ...]


class CoupledRows(FreeRows):
    """Products with the free part of A + F C F^T."""

    def __init__(self, rows: Rows, free: Array, ledger: Ledger) -> None:
        FreeRows.__init__(self, rows.A, free, ledger)
        self.rows = rows
        self.F = sp.csr_array(sp.diags_array(free.astype(float)) @ rows.F)

    def multiply(self, x: Array, out: Array) -> None:
        FreeRows.multiply(self, x, out)
        out += self.F @ (self.rows.core @ (self.F.T @ x))

    def residual(self, rhs: Array, x: Array) -> Array:
        out = FreeRows.residual(self, rhs, x)
        out -= self.F @ (self.rows.core @ (self.F.T @ x))
        return out


def iterate(
    rows: Rows, start: Array, goal: float, weight: Array, limit: int, ledger: Ledger, report: Callable[[int, float], None] | None = None
) -> Ended:
    """Outer iterations from `start` until the natural residual is at most `goal`, in scaled units."""
    p = np.where(rows.contact, np.maximum(start, 0.0), start)
    slack = rows.slack(p)
    residuals = [rows.natural(p, slack, weight)]
    best, idle, steps = (p, residuals[0]), 0, 0
    for outer in range(limit + 1):
        if residuals[-1] <= goal:
            return Ended(p, Status.CONVERGED, steps, outer, tuple(residuals))
        if outer == limit or idle > GIVE_UP:
            status = Status.ITERATION_LIMIT if idle <= GIVE_UP else Status.STAGNATED
            return Ended(best[0], status, steps, outer, tuple(residuals))
        if rows.contact.any():
            p = relax(rows, p, ledger)
        slack = rows.slack(p)
        free = ~(rows.contact & (p <= 0.0) & (slack >= 0.0))
        target, used = newton_target(rows, p, free, slack, 0.05 * goal, ledger)
        steps += used
        p = shift(rows, advance(rows, p, target, slack))
        slack = rows.slack(p)
        ledger.spend("matvecs", 2 * rows.A.nnz)
        residuals.append(rows.natural(p, slack, weight))
        if report is not None:
            report(outer + 1, residuals[-1])
        if not math.isfinite(residuals[-1]):
            return Ended(p, Status.DIVERGED, steps, outer + 1, tuple(residuals))
        idle = 0 if residuals[-1] < 0.9 * best[1] else idle + 1
        if residuals[-1] < best[1]:
            best = (p, residuals[-1])
    raise AssertionError("the loop returns")


def relax(rows: Rows, p: Array, ledger: Ledger) -> Array:
    """A projected sweep up and one down."""
    p = p.copy()
    t = rows.core @ (rows.F.T @ p)
    for upwards in (True, False):
        coupled_sweep.sweep(*csr_arrays(rows.A), *csr_arrays(rows.F), rows.core, rows.whole, rows.b, rows.contact, p, t, upwards)
    ledger.spend("sweeps", 2 * rows.A.nnz)
    return p


def newton_step(rows: Rows, free: Array, r: Array, goal: float, ledger: Ledger) -> tuple[Array, int]:
    """v with (A + F C F^T) v = r on free rows, 0 elsewhere, and the number of inner steps."""
    at = np.flatnonzero(free)
    v = np.zeros(len(r))
    if at.size == 0:
        return v, 0
    if at.size <= DENSE:
        v[at] = dense_solve(rows, free, r[at])
        ledger.spend("setup", at.size**3 / 3)
        return v, 1
    operator = CoupledRows(rows, free, ledger)
    factor = Factor(rows.A, free, MODIFICATION, 0.01)
    ledger.spend("setup", rows.A.nnz)

    def precondition(x: Array, out: Array) -> None:
        factor.apply(x, out)
        ledger.spend("sweeps", 2 * factor.v.size + x.size)

    found = refine(
        lambda *given: conjugate_gradients(operator.multiply, precondition, *given), operator, np.where(free, r, 0.0), v, goal, 20_000
    )
    return found.x, found.iterations


def dense_solve(rows: Rows, free: Array, r: Array) -> Array:
    """A direct solve on the free rows, refined once; null vectors among them are held at zero."""
    A = rows.A[free][:, free].toarray()
    columns = rows.F[free].toarray()
    S = A + columns @ rows.core @ columns.T
    held = [n[free] for n in rows.null.T if not n[~free].any()]
    for n in held:
        S += np.outer(n, n) / float(n @ n)
    scale = 1.0 / np.sqrt(np.maximum(np.diag(S), 1e-300))
    try:
        factor = scipy.linalg.cho_factor(scale[:, None] * S * scale, lower=True)
    except np.linalg.LinAlgError:
        return np.asarray(scipy.linalg.lstsq(S, r)[0])
    x = np.zeros(len(r))
    for _ in range(3):
        x += scale * scipy.linalg.cho_solve(factor, scale * (r - S @ x))
    return x


def newton_target(rows: Rows, p: Array, free: Array, slack: Array, goal: float, ledger: Ledger) -> tuple[Array, int]:
    """Where the Newton step leads, projected onto p >= 0, and the number of inner steps.

    Clipping a few pressures beside a light body leaves a force that throws it away, and the search along the way there would hardly
    move. So where it would not go half the way, the clipped rows are held at zero and the others follow, a few times.
    """
    v, used = newton_step(rows, free, -slack, goal, ledger)
    target = p + v
    for _ in range(HOLDS):
        clipped = rows.contact & (target < 0.0)
        if not clipped.any():
            break
        target[clipped] = 0.0
        if step_length(rows, target - p, slack) >= HALF:
            break
        free = free & ~clipped
        v, more = newton_step(rows, free, -rows.slack(target), goal, ledger)
        target, used = target + v, used + more
    return np.where(rows.contact, np.maximum(target, 0.0), target), used


def step_length(rows: Rows, d: Array, slack: Array) -> float:
    """The exact minimum of the energy along d, at most 1; 0 where it rises."""
    up, curve = -float(d @ slack), float(d @ (rows.slack(d) - rows.b))
    if up <= 0.0:
        return 0.0
    return min(1.0, up / curve) if curve > 0.0 else 1.0


def advance(rows: Rows, p: Array, target: Array, slack: Array) -> Array:
    """From p towards the target as far as the energy falls."""
    if not (rows.contact & (target == 0.0)).any():
        return target
    alpha = step_length(rows, target - p, slack)
    if alpha > 1.0 - 1e-6:
        return target
    step = p + alpha * (target - p)
    step[rows.contact & (step < 0.0)] = 0.0
    return step


def shift(rows: Rows, p: Array) -> Array:
    """Along a null vector that pushes one way only, the least pressure of the contact rows is set to zero: where it would cavitate."""
    for n in rows.null.T:
        touching = rows.contact & (np.abs(n) > 0.0)
        if not touching.any() or (p[touching] == 0.0).any() or n[touching].min() * n[touching].max() < 0.0:
            continue
        ratio = p[touching] / np.abs(n[touching])
        p = p - np.sign(n[touching][0]) * ratio.min() * n
        p[np.flatnonzero(touching)[ratio.argmin()]] = 0.0
    return p
