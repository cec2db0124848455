"""Grid levels: matrices, transfers, and the rebuilding of coarse rows above what changed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from unstick.kernels import sparse_galerkin as kernel
from unstick.kernels import sparse_relax
from unstick.problem import Array
from unstick.solvers.compact import Lattice
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarse import CoarseMatrices, pattern, product
from unstick.solvers.multigrid.graph import graph_of
from unstick.solvers.multigrid.transfers import Csr, Transfer

COARSEST = 4  # cells along the longest side of the coarsest box (Lai section 6.1)


@dataclass(slots=True, eq=False)
class Down:
    """From a level to the next coarser one."""

    P: Csr
    T: Csr  # P^T
    Q: Csr  # of the coarse matrix; P itself for Galerkin products
    QT: Csr
    scale: float  # 1 / 2^d: R = scale P^T


@dataclass(slots=True, eq=False)
class Level:
    A: Csr
    inv: Array  # 1 / a_ii, 0 in frozen rows
    box: tuple[int, int, int]
    free: Array  # diagonal of Lambda: False drops the row from P and R
    down: Down | None = None
    stamp: int = 0  # counts changes of the matrix

    @property
    def n(self) -> int:
        return self.A.n


@dataclass(slots=True, eq=False)
class Hierarchy:
    levels: list[Level]
    coarse: CoarseMatrices
    ledger: Ledger
    filled: bool = False
    waiting: dict[int, Array] = field(default_factory=dict)  # rows of a level whose `free` changed since its product was formed

    @classmethod
    def build(
        cls, A: sp.csr_array, lattice: Lattice, transfer: Transfer, coarse: CoarseMatrices, ledger: Ledger, coarsest: int = COARSEST
    ) -> Hierarchy:
        """Patterns and transfers of all levels. Coarse matrices have no values yet: see `fill`."""
        matrix = Csr.from_scipy(A)
        inv = np.empty(matrix.n)
        sparse_relax.inverse_diagonal(matrix.ptr, matrix.idx, matrix.val, inv)
        graph = graph_of(A, lattice)
        levels = [Level(matrix, inv, graph.box, np.ones(matrix.n, dtype=np.bool_))]
        while max(graph.box) > coarsest:
            to, below = transfer.coarsen(graph)
            if to.count == 0:
                break
            P = transfer.matrix(graph, to, below)
            T = P.transposed(to.count)
            Q = coarse.product_transfer(P, to, transfer)
            QT = T if Q is P else Q.transposed(to.count)
            levels[-1].down = Down(P, T, Q, QT, 0.5 ** int(graph.halved.sum()))
            matrix = pattern(levels[-1].A, Q, QT)
            levels.append(Level(matrix, np.zeros(matrix.n), below.box, np.ones(matrix.n, dtype=np.bool_)))
            graph = below
        return cls(levels, coarse, ledger)

    def fill(self) -> None:
        """Compute all coarse matrices for the present `free` masks."""
        for at in range(len(self.levels) - 1):
            self._rows(at, np.arange(self.levels[at + 1].n, dtype=np.int32))
        self.filled = True
        self.waiting.clear()
        self.ledger.count("builds")

    def change(self, at: int, changed: Array) -> None:
        """Note that `free` of level `at` changed in the given rows."""
        if len(changed) == 0 or not self.coarse.truncated:
            return
        before = self.waiting.get(at)
        self.waiting[at] = changed if before is None else np.union1d(before, changed)

    def refresh(self) -> None:
        """Bring all coarse matrices up to date with what `change` noted, recomputing only the rows above it."""
        if not self.waiting:
            return
        none = np.empty(0, dtype=np.int32)
        rows = none
        for at in range(min(self.waiting), len(self.levels) - 1):
            changed = self.waiting.pop(at, none).astype(np.int32)
            if len(rows) == 0 and len(changed) == 0:
                continue
            level, down = self.levels[at], self.levels[at].down
            assert down is not None
            touched = np.zeros(down.QT.n, dtype=np.bool_)
            kernel.mark_above(rows, changed, level.A.ptr, level.A.idx, down.Q.ptr, down.Q.idx, touched)
            rows = np.flatnonzero(touched).astype(np.int32)
            self._rows(at, rows)
        self.waiting.clear()
        self.ledger.count("rebuilds")

    def _rows(self, at: int, rows: Array) -> None:
        level, below = self.levels[at], self.levels[at + 1]
        down = level.down
        assert down is not None
        free = level.free if self.coarse.truncated else np.ones_like(level.free)
        scale = down.scale * self.coarse.factor
        self.ledger.spend("setup", product(rows, scale, level.A, free, down.Q, down.QT, below.A, below.inv))
        below.stamp += 1

    @property
    def operator_complexity(self) -> float:
        """Nonzeros of all matrices over those of the finest."""
        return sum(level.A.nnz for level in self.levels) / max(self.levels[0].A.nnz, 1)

    def __str__(self) -> str:
        lines = [f"{'level':>5} {'box':>16} {'unknowns':>10} {'nonzeros':>11} {'per row':>8} {'P nonzeros':>11}"]
        for at, level in enumerate(self.levels):
            transfers = "" if level.down is None else str(level.down.P.nnz)
            box = "x".join(str(s) for s in level.box)
            lines.append(f"{at:>5} {box:>16} {level.n:>10} {level.A.nnz:>11} {level.A.nnz / max(level.n, 1):>8.2f} {transfers:>11}")
        lines.append(f"operator complexity {self.operator_complexity:.2f}")
        return "\n".join(lines)
