"""The penalty method (Lai 2021, Algorithm 3): rows that would pull get a large diagonal instead of being taken out.

The linear system of eq. 5.13 is (A + rho Pi) p = -b with Pi = 1 where a contact row had p < 0. The thesis takes rho = 1e9, which means
something else in every system of units; here rho_i = (1e3 / tolerance) a_ii. The pressure that a penalty leaves on a detached row,
-slack_i / rho_i, is far below the tolerance; it is set to zero, so that the detached rows can be told from p. Inner goals,
stopping and pockets are those of policy iteration (policy.py).
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from unstick.problem import Array
from unstick.solvers.ledger import Ledger
from unstick.solvers.linear import LinearMethod, LinearOutcome
from unstick.solvers.pcg import IncompleteCholesky
from unstick.solvers.policy import ActiveSet
from unstick.solvers.protocol import Problem, Start


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalty(ActiveSet, abc.ABC):
    """Lai's Algorithm 3."""

    def first(self, problem: Problem, start: Start, slack: Array) -> Array:
        if start.detached is not None:
            return start.detached.copy()
        return np.asarray(problem.contact & (start.p < 0.0))  # eq. 5.11

    def evaluate(self, problem: Problem, detached: Array, p: Array, goal: float, limit: int, ledger: Ledger) -> LinearOutcome:
        rho = np.where(detached, 1e3 / problem.goal * problem.diagonal, 0.0)
        prepared = self.method().prepare(penalised(problem.A, rho), problem.lattice, ledger)
        return prepared.solve(-problem.b, np.where(detached, 0.0, p), goal, limit)


def penalised(A: sp.csr_array, rho: Array) -> sp.csr_array:
    """A + diag(rho), the pattern shared with A."""
    row = np.repeat(np.arange(A.shape[0], dtype=A.indices.dtype), np.diff(A.indptr))
    data = A.data.copy()
    data[row == A.indices] += rho
    return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class PenaltyPCG(Penalty):
    """The penalty method with incomplete-Cholesky PCG inside."""

    modification: float | None = None  # see pcg.IncompleteCholesky

    name: ClassVar[str] = "pe-pcg"

    def method(self) -> LinearMethod:
        return IncompleteCholesky(modification=self.modification)
