"""How coarse matrices are made, as interchangeable values.

All three are products factor / 2^d Q^T A Q on a fixed pattern; they differ in Q, in the factor, and in whether active rows are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from unstick.checks import InvalidSystem
from unstick.kernels import sparse_galerkin as kernel
from unstick.problem import Array
from unstick.solvers.multigrid.graph import Partition
from unstick.solvers.multigrid.transfers import Csr, Transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Galerkin:
    """A_H = R A P with R = P^T / 2^d (Lai eq. 5.24), active rows dropped from R and P when `truncated` (fas.md section 2)."""

    truncated: bool = True
    factor: ClassVar[float] = 1.0

    def product_transfer(self, P: Csr, to: Partition, transfer: Transfer) -> Csr:
        return P


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregated:
    """Constant transfers and half their Galerkin product: the over-correction that makes aggregation scale (numerics.md section 0)."""

    truncated: bool = True
    factor: float = 0.5

    def product_transfer(self, P: Csr, to: Partition, transfer: Transfer) -> Csr:
        if transfer.kind != "constant":
            raise InvalidSystem(f"aggregation needs constant transfers, not {transfer.kind}; give Transfer(kind='constant')")
        return P


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """Rediscretisation with averaged coefficients: couplings through a coarse face are the mean of those through its fine faces, over 4.

    It does not know which contact rows are active. The mean over 2^(d-1) faces, over h^2, equals half the aggregated sum over 2^d.
    """

    truncated: bool = False
    factor: ClassVar[float] = 0.5

    def product_transfer(self, P: Csr, to: Partition, transfer: Transfer) -> Csr:
        inside = to.part >= 0
        ptr = np.zeros(len(to.part) + 1, dtype=np.int32)
        np.cumsum(inside, out=ptr[1:])
        idx = to.part[inside].astype(np.uint32)
        return Csr(ptr, idx, np.ones(len(idx)))


CoarseMatrices = Galerkin | Aggregated | Direct


def pattern(A: Csr, Q: Csr, QT: Csr) -> Csr:
    """The pattern of Q^T A Q, with room for values."""
    n = QT.n
    chunks = numba.get_num_threads()
    ptr = np.zeros(n + 1, dtype=np.int32)
    empty = np.empty(0, dtype=np.uint32)
    kernel.pattern(False, chunks, QT.ptr, QT.idx, A.ptr, A.idx, Q.ptr, Q.idx, n, ptr, empty)
    np.cumsum(ptr, out=ptr)
    idx = np.empty(ptr[-1], dtype=np.uint32)
    kernel.pattern(True, chunks, QT.ptr, QT.idx, A.ptr, A.idx, Q.ptr, Q.idx, n, ptr, idx)
    return Csr(ptr, idx, np.zeros(len(idx)))


def product(rows: Array, scale: float, A: Csr, free: Array, Q: Csr, QT: Csr, into: Csr, inv: Array) -> int:
    """Compute the given rows of scale Q^T Lambda A Lambda Q and their inverse diagonals; returns the multiply-adds."""
    done = kernel.product(
        rows, numba.get_num_threads(), scale, QT.ptr, QT.idx, QT.val, free, A.ptr, A.idx, A.val, Q.ptr, Q.idx, Q.val,
        into.ptr, into.idx, into.val, inv,
    )  # fmt: skip
    return int(done)
