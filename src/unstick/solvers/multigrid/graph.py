"""The graph of face neighbours on each grid level, and its coarsening to one unknown per connected component of a 2^d block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unstick.kernels import sparse_graph as kernel
from unstick.problem import Array
from unstick.solvers.compact import Lattice


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    box: tuple[int, int, int]
    ijk: Array  # int32 (n, 3); several dofs may share a place
    ptr: Array
    idx: Array
    way: Array  # uint8: 0..5 = -x +x -y +y -z +z, kernel.SELF for entries that are not faces
    area: Array
    air: Array  # uint8: bit of each way that leads to air
    largest: Array  # largest area of a dof's faces

    @property
    def n(self) -> int:
        return len(self.ptr) - 1

    @property
    def halved(self) -> Array:
        """Which axes the next level halves: all along which the box is more than one cell thick."""
        return np.array([1 if size > 1 else 0 for size in self.box], dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Fine dofs to coarse unknowns."""

    block: Array  # number of the 2^d block of each fine dof
    part: Array  # coarse unknown of each fine dof, -1 for none
    count: int
    blocks: tuple[int, int, int]


def graph_of(A: sp.csr_array, lattice: Lattice) -> Graph:
    n = A.shape[0]
    ptr, idx = A.indptr.astype(np.int32, copy=False), A.indices.astype(np.int32, copy=False)
    ijk = np.ascontiguousarray(lattice.ijk, dtype=np.int32)
    way, area = np.empty(len(idx), dtype=np.uint8), np.empty(len(idx))
    kernel.face_ways(ptr, idx, A.data, ijk, way, area)
    axes = np.array([size > 1 for size in lattice.box])
    air = np.empty(n, dtype=np.uint8)
    kernel.air_ways(ptr, A.data, way, axes, air)
    return Graph(lattice.box, ijk, ptr, idx, way, area, air, _largest(ptr, area))


def partition(graph: Graph, components: bool, strength: float) -> Partition:
    """Coarse unknowns: connected components inside the blocks (`components`), or whole blocks."""
    n, halved = graph.n, graph.halved
    blocks = tuple(int((size - 1) >> h) + 1 for size, h in zip(graph.box, halved, strict=True))
    at = graph.ijk >> halved
    block = ((at[:, 0].astype(np.int64) * blocks[1] + at[:, 1]) * blocks[2] + at[:, 2]).astype(np.int64)
    order = np.empty(n, dtype=np.int32)
    kernel.sort_by_block(block, np.zeros(blocks[0] * blocks[1] * blocks[2] + 1, dtype=np.int32), order)
    parent = np.empty(n, dtype=np.int32)
    if components:
        kernel.join_components(graph.ptr, graph.idx, graph.way, graph.area, graph.largest, block, strength, parent)
    else:
        kernel.join_blocks(block, order, parent)
    part = np.empty(n, dtype=np.int32)
    count = kernel.number_components(order, parent, graph.largest, not components, part)
    return Partition(block, part, count, (blocks[0], blocks[1], blocks[2]))


def coarsened(graph: Graph, to: Partition) -> Graph:
    start = np.zeros(to.count + 1, dtype=np.int32)
    member = np.empty(graph.n, dtype=np.int32)
    kernel.list_members(to.part, start, member)
    start[1:], start[0] = start[:-1].copy(), 0  # the sort leaves the ends of the lists
    most = len(graph.idx)
    ptr = np.empty(to.count + 1, dtype=np.int32)
    idx, way, area = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint8), np.empty(most)
    air, ijk = np.empty(to.count, dtype=np.uint8), np.empty((to.count, 3), dtype=np.int32)
    faces = kernel.coarse_faces(
        graph.ptr, graph.idx, graph.way, graph.area, graph.air, graph.ijk, to.block, to.part, start, member, graph.halved,
        ptr, idx, way, area, air, ijk,
    )  # fmt: skip
    area = area[:faces].copy()
    return Graph(to.blocks, ijk, ptr, idx[:faces].copy(), way[:faces].copy(), area, air, _largest(ptr, area))


def _largest(ptr: Array, area: Array) -> Array:
    largest = np.empty(len(ptr) - 1)
    kernel.largest_area(ptr, area, largest)
    return largest
