"""Interpolation between grid levels as interchangeable values. Restriction is the transpose divided by 2^d (Lai section 5.3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from unstick.checks import InvalidSystem
from unstick.kernels import sparse_transfer as kernel
from unstick.problem import Array
from unstick.solvers.compact import Lattice
from unstick.solvers.multigrid.graph import Graph, Partition, coarsened, graph_of, partition

Kind = Literal["barycentric", "trilinear", "constant"]
_KINDS: dict[str, int] = {"constant": kernel.CONSTANT, "barycentric": kernel.BARYCENTRIC, "trilinear": kernel.TRILINEAR}


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """A sparse matrix as the kernels see it. Unsigned columns spare the loops the test for negative indices."""

    ptr: Array  # int32
    idx: Array  # uint32
    val: Array

    @property
    def nnz(self) -> int:
        return len(self.idx)

    @property
    def n(self) -> int:
        return len(self.ptr) - 1

    def to_scipy(self, columns: int) -> sp.csr_array:
        matrix = sp.csr_array((self.val, self.idx.view(np.int32), self.ptr), shape=(self.n, columns))
        matrix.sort_indices()
        return matrix

    @classmethod
    def from_scipy(cls, A: sp.csr_array) -> Csr:
        return cls(A.indptr.astype(np.int32, copy=False), A.indices.astype(np.int32, copy=False).view(np.uint32), A.data)

    def transposed(self, columns: int) -> Csr:
        ptr = np.zeros(columns + 1, dtype=np.int32)
        idx, val = np.empty(self.nnz, dtype=np.uint32), np.empty(self.nnz)
        kernel.transpose(self.ptr, self.idx, self.val, ptr, idx, val)
        return Csr(ptr, idx, val)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """How a fine value is interpolated from coarse ones.

    kind: barycentric (1/4 each in 3D; 1/2, 1/4, 1/4 in 2D), trilinear, or constant.
    one_sided: leave out coarse points that no open face leads to (Lai section 5.3.3); else take whatever stands in the next block.
    rescaled: scale the weights that are left to sum 1 (air keeps its weight, with the value 0).
    components: one coarse unknown per connected component of a block (fas.md 2.1) instead of one per block.
    strength: a face connects only if it is at least this part of the widest face of its cell, so that a leak joins nothing.
    leak: a direction whose face is narrower than this part of the widest one has its weight reduced in proportion; 0 never does.
    """

    kind: Kind = "barycentric"
    one_sided: bool = True
    rescaled: bool = True
    components: bool = True
    strength: float = 0.02
    leak: float = 0.25

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise InvalidSystem(f"the transfer's kind is {self.kind!r}; it must be one of {', '.join(_KINDS)}")
        if self.components and not self.one_sided:
            raise InvalidSystem("a transfer that is not one-sided has one unknown per block; give components=False as well")

    def coarsen(self, graph: Graph) -> tuple[Partition, Graph]:
        to = partition(graph, self.components, self.strength)
        return to, coarsened(graph, to)

    def matrix(self, graph: Graph, to: Partition, coarse: Graph) -> Csr:
        """P, from coarse unknowns to the dofs of `graph`."""
        at_place = np.full(1 if self.one_sided else int(np.prod(to.blocks)), -1, dtype=np.int32)
        if not self.one_sided:
            inside = to.part >= 0
            at_place[to.block[inside]] = to.part[inside]
        ptr = np.zeros(graph.n + 1, dtype=np.int32)
        blocks = np.array(to.blocks, dtype=np.int32)

        def rows(fill: bool, idx: Array, val: Array) -> None:
            kernel.interpolation_rows(
                fill, _KINDS[self.kind], self.one_sided, self.rescaled, self.leak, graph.ijk, graph.halved,
                graph.ptr, graph.idx, graph.way, graph.area, graph.air, graph.largest, to.part,
                coarse.ptr, coarse.idx, coarse.way, coarse.area, coarse.air, coarse.largest,
                at_place, blocks, ptr, idx, val,
            )  # fmt: skip

        rows(False, np.empty(0, dtype=np.uint32), np.empty(0))
        np.cumsum(ptr, out=ptr)
        idx, val = np.empty(ptr[-1], dtype=np.uint32), np.empty(ptr[-1])
        rows(True, idx, val)
        return Csr(ptr, idx, val)


def interpolation(A: sp.csr_array, lattice: Lattice, transfer: Transfer) -> sp.csr_array:
    """P of the first coarsening of A, as a scipy matrix (for tests, figures and the docs)."""
    graph = graph_of(A, lattice)
    to, coarse = transfer.coarsen(graph)
    return transfer.matrix(graph, to, coarse).to_scipy(to.count)
