"""The control of the papers: which rows are solved (free) and which are held at p = 0 (detached)."""

from __future__ import annotations

import numpy as np

from unstick.kernels import csr
from unstick.problem import Array
from unstick.solvers.krylov import csr_arrays
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Problem, Start


class Slack:
    """A p + b of a problem, booked as work."""

    def __init__(self, problem: Problem, ledger: Ledger) -> None:
        self.ptr, self.idx, self.val = csr_arrays(problem.A)
        self.b, self.ledger = problem.b, ledger

    def __call__(self, p: Array) -> Array:
        slack = np.empty_like(p)
        csr.affine(self.ptr, self.idx, self.val, self.b, p, slack)
        self.ledger.spend("matvecs", self.val.size)
        return slack


def unit_residual(problem: Problem, p: Array, slack: Array) -> float:
    """max |min(a_ii p_i, slack_i)|, |slack_i|: the natural residual whose branches have the same unit, whatever the stopping test."""
    return float(np.max(np.abs(np.where(problem.contact, np.minimum(problem.diagonal * p, slack), slack)))) if problem.n else 0.0


def first_control(problem: Problem, start: Start, slack: Array) -> Array:
    """The detached rows to begin with: those of the previous result, or the minimum in Lai eq. 5.7, its branches in the same unit."""
    if start.detached is not None:
        return start.detached.copy()
    return np.asarray(problem.contact & (problem.diagonal * start.p < slack))


def next_control(problem: Problem, detached: Array, p: Array, slack: Array) -> Array:
    """Lai eq. 5.7 after a solve: a free row has slack = 0, so the minimum is p where p < 0; a detached one has p = 0, so it is slack
    where slack < 0. Deciding by these signs alone keeps the rounding of the other branch (an inner residual) out of the choice."""
    return np.asarray(problem.contact & np.where(detached, slack >= 0.0, p < 0.0))


def finest_goal(problem: Problem) -> float:
    """How far an inner solve has to go at most. The slack of the row that pins a balanced pocket is the sum of what the inner solve
    leaves on all others there, so that pockets ask for more than half of the goal."""
    return (0.5 if problem.pocket is None else 0.02) * problem.goal


def pin_pockets(problem: Problem, detached: Array, p: Array) -> Array:
    """A closed pocket in which no row is detached is singular, and has no solution at all when it expands (sum of b > 0).
    One contact row is detached there, the one with the least pressure: where the liquid would cavitate first."""
    if problem.pocket is None:
        return detached
    label = problem.pocket
    count = int(label.max()) + 1
    held = np.bincount(label[detached & (label >= 0)], minlength=count) > 0
    candidates = np.flatnonzero((label >= 0) & problem.contact & ~held[np.maximum(label, 0)])
    if candidates.size == 0:
        return detached
    order = candidates[np.lexsort((p[candidates], label[candidates]))]
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = label[order][1:] != label[order][:-1]
    pinned = detached.copy()
    pinned[order[first]] = True
    return pinned
