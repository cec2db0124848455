"""Coarsening of a graph of face neighbours on a grid: blocks, connected components inside blocks, the coarse graph.

A graph is CSR-like: neighbours of dof i stand at ptr[i] : ptr[i+1], each with a way (0 1 2 3 4 5 = -x +x -y +y -z +z, SELF on the
diagonal) and the open area of the face. On coarse grids one block may hold several dofs (fas.md 2.1), so a way may occur twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]

SELF = 255


@njit(cache=True, error_model="numpy", parallel=True)
def face_ways(ptr: Array, idx: Array, val: Array, ijk: Array, way: Array, area: Array) -> None:
    """Way and area of every entry of a matrix that couples face neighbours; an entry that is not a link gets SELF and area 0."""
    for i in prange(ptr.size - 1):
        for k in range(ptr[i], ptr[i + 1]):
            j = idx[k]
            w = SELF
            for d in range(3):
                step = ijk[j, d] - ijk[i, d]
                if step == -1:
                    w = 2 * d
                elif step == 1:
                    w = 2 * d + 1
            linked = j != i and val[k] < 0.0
            way[k] = w if linked else SELF
            area[k] = -val[k] if linked else 0.0


@njit(cache=True, error_model="numpy", parallel=True)
def air_ways(ptr: Array, val: Array, way: Array, axes: Array, air: Array) -> None:
    """Bits of the ways that may lead to air: those without a face, in rows whose sum is above rounding."""
    for i in prange(ptr.size - 1):
        total = 0.0
        scale = 0.0
        open_ways = 0
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k]
            scale += abs(val[k])
            if way[k] != SELF:
                open_ways |= 1 << way[k]
        bits = 0
        if total > 1e-13 * scale:
            for d in range(3):
                if axes[d]:
                    bits |= (3 << (2 * d)) & ~open_ways
        air[i] = bits


@njit(cache=True, error_model="numpy", parallel=True)
def largest_area(ptr: Array, area: Array, largest: Array) -> None:
    for i in prange(ptr.size - 1):
        m = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            m = max(m, area[k])
        largest[i] = m


@njit(cache=True)
def sort_by_block(block: Array, start: Array, order: Array) -> None:
    """Counting sort: `order` lists the dofs by block, in rising order inside each. `start` (blocks + 1) is zero on entry."""
    for i in range(block.size):
        start[block[i] + 1] += 1
    for b in range(1, start.size):
        start[b] += start[b - 1]
    for i in range(block.size):
        order[start[block[i]]] = i
        start[block[i]] += 1


@njit(cache=True)
def _root(parent: Array, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def _join(parent: Array, i: int, j: int) -> None:
    a, b = _root(parent, i), _root(parent, j)
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@njit(cache=True, error_model="numpy")
def join_components(ptr: Array, idx: Array, way: Array, area: Array, largest: Array, block: Array, strength: float, parent: Array) -> None:
    """Union of dofs joined inside their block by faces that are strong for both ends.

    A dof without such a face (a sliver between two pieces, say) is then attached to the one neighbour that it depends on most,
    so that slivers do not survive as coarse unknowns and never join two pieces that are nearly closed to each other.
    """
    n = block.size
    for i in range(n):
        parent[i] = i
    single = np.ones(n, dtype=np.bool_)
    for i in range(n):
        for k in range(ptr[i], ptr[i + 1]):
            j = idx[k]
            if way[k] != SELF and block[j] == block[i] and area[k] >= strength * max(largest[i], largest[j]):
                single[i] = False
                if j < i:
                    _join(parent, i, j)
    for i in range(n):
        if single[i]:
            best, to = 0.0, i
            for k in range(ptr[i], ptr[i + 1]):
                j = idx[k]
                if way[k] != SELF and block[j] == block[i] and area[k] > best and area[k] >= strength * largest[i]:
                    best, to = area[k], j
            if to != i:
                _join(parent, i, to)


@njit(cache=True)
def join_blocks(block: Array, order: Array, parent: Array) -> None:
    """One coarse unknown per block, connected or not."""
    first = 0
    for s in range(order.size):
        if block[order[s]] != block[order[first]]:
            first = s
        parent[order[s]] = order[first]


@njit(cache=True)
def number_components(order: Array, parent: Array, largest: Array, keep_isolated: bool, part: Array) -> int:
    """Coarse numbers in the order of blocks; -1 for dofs without any face, which relaxation alone solves exactly."""
    count = 0
    number = np.full(parent.size, -1, dtype=np.int32)
    for s in range(order.size):
        i = order[s]
        if largest[i] == 0.0 and not keep_isolated:
            part[i] = -1
            continue
        r = _root(parent, i)
        if number[r] < 0:
            number[r] = count
            count += 1
        part[i] = number[r]
    return count


@njit(cache=True)
def list_members(part: Array, start: Array, member: Array) -> None:
    """Counting sort of the dofs by coarse number, as `sort_by_block` but skipping -1."""
    for i in range(part.size):
        if part[i] >= 0:
            start[part[i] + 1] += 1
    for c in range(1, start.size):
        start[c] += start[c - 1]
    for i in range(part.size):
        if part[i] >= 0:
            member[start[part[i]]] = i
            start[part[i]] += 1


@njit(cache=True, error_model="numpy")
def coarse_faces(
    ptr: Array,
    idx: Array,
    way: Array,
    area: Array,
    air: Array,
    ijk: Array,
    block: Array,
    part: Array,
    start: Array,
    member: Array,
    halved: Array,
    out_ptr: Array,
    out_idx: Array,
    out_way: Array,
    out_area: Array,
    out_air: Array,
    out_ijk: Array,
) -> int:
    """Faces between components of neighbouring blocks: the union of their open faces. Returns how many."""
    fill = 0
    out_ptr[0] = 0
    for c in range(out_ptr.size - 1):
        begin = fill
        bits = 0
        i = 0
        for s in range(start[c], start[c + 1]):
            i = member[s]
            for d in range(3):
                # Air counts for the block when it lies beyond the block's own side.
                for side in range(2):
                    outward = halved[d] == 0 or (ijk[i, d] & 1) == side
                    if outward and (air[i] >> (2 * d + side)) & 1:
                        bits |= 1 << (2 * d + side)
            for k in range(ptr[i], ptr[i + 1]):
                j = idx[k]
                if way[k] == SELF or block[j] == block[i] or part[j] < 0:
                    continue
                to, w = part[j], way[k]
                at = begin
                while at < fill and (out_idx[at] != to or out_way[at] != w):
                    at += 1
                if at == fill:
                    out_idx[at] = to
                    out_way[at] = w
                    out_area[at] = 0.0
                    fill += 1
                out_area[at] += area[k]
        out_ptr[c + 1] = fill
        out_air[c] = bits
        for d in range(3):
            out_ijk[c, d] = ijk[i, d] >> halved[d]
    return fill
