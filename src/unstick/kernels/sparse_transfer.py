"""Interpolation rows on grids whose coarse unknowns are components of blocks, and the passes that use them.

Barycentric and trilinear weights: Lai 2021, section 5.3.2; one-sided at solids: section 5.3.3; by components: fas.md section 2.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]

CONSTANT, BARYCENTRIC, TRILINEAR = 0, 1, 2
SOLID, AIR = -1, -2  # what lies in a direction instead of a coarse unknown
CHUNK = 2048


@njit(cache=True, error_model="numpy")
def _widest(ptr: Array, idx: Array, way: Array, area: Array, largest: Array, c: int, w: int) -> tuple[int, float]:
    """The neighbour of dof c in way w through the widest face, SOLID if there is none, and that face relative to c's widest of all."""
    best, to = 0.0, SOLID
    for k in range(ptr[c], ptr[c + 1]):
        if way[k] == w and area[k] > best:
            best, to = area[k], idx[k]
    return to, best / largest[c] if to != SOLID else 0.0


@njit(cache=True)
def _geometric(i: int, mask: int, axes: int, axis: Array, ijk: Array, halved: Array, at_place: Array, blocks: Array) -> int:
    """The coarse unknown of the block that lies from i's in the directions of `mask`, whatever stands between."""
    place = 0
    for d in range(3):
        c = ijk[i, d] >> halved[d]
        for a in range(axes):
            if axis[a] == d and (mask >> a) & 1:
                c += 2 * (ijk[i, d] & 1) - 1
        if c < 0 or c >= blocks[d]:
            return SOLID
        place = place * blocks[d] + c
    return at_place[place] if at_place[place] >= 0 else SOLID


@njit(cache=True, error_model="numpy")
def _row(
    i: int, kind: int, one_sided: bool, rescaled: bool, leak: float, ijk: Array, halved: Array,
    ptr: Array, idx: Array, way: Array, area: Array, air: Array, largest: Array, part: Array,
    cptr: Array, cidx: Array, cway: Array, carea: Array, cair: Array, clargest: Array,
    at_place: Array, blocks: Array, found: Array, open_to: Array, axis: Array, cols: Array, weights: Array,
) -> int:  # fmt: skip
    """The row of P for dof i, into cols and weights; returns its length.

    found[mask]: the coarse unknown that lies from i's block in the directions of `mask`, away from the block's centre.
    """
    own = part[i]
    if own < 0:
        return 0
    cols[0] = own
    weights[0] = 1.0
    if kind == CONSTANT:
        return 1
    axes = 0
    for d in range(3):
        if halved[d]:
            axis[axes] = d
            axes += 1
    found[0] = own
    open_to[0] = 1.0
    length, kept = 0, 0.0
    for mask in range(1 << axes):
        bits = 0
        last = 0
        for a in range(axes):
            if (mask >> a) & 1:
                bits += 1
                last = a
        if kind == BARYCENTRIC:
            if bits > 1:
                continue
            share = 1.0 - 0.25 * axes if bits == 0 else 0.25
        else:
            share = 0.75 ** (axes - bits) * 0.25**bits
        if bits > 0:
            to = SOLID
            width = 1.0
            if not one_sided:
                to = _geometric(i, mask, axes, axis, ijk, halved, at_place, blocks)
            elif bits == 1:
                d = axis[last]
                w = 2 * d + (ijk[i, d] & 1)
                near, near_width = _widest(ptr, idx, way, area, largest, i, w)
                if near != SOLID and part[near] >= 0:
                    to, width = part[near], near_width
                far, far_width = _widest(cptr, cidx, cway, carea, clargest, own, w)
                if far != SOLID and (to == SOLID or (width < leak and far_width > width)):
                    to, width = far, far_width
                if to == SOLID and ((air[i] >> w) & 1 or (cair[own] >> w) & 1):
                    to, width = AIR, 1.0
            else:
                for a in range(axes):
                    if (mask >> a) & 1 and to < 0:
                        before = found[mask & ~(1 << a)]
                        w = 2 * axis[a] + (ijk[i, axis[a]] & 1)
                        if before == AIR:
                            to = AIR
                        elif before >= 0:
                            far, far_width = _widest(cptr, cidx, cway, carea, clargest, before, w)
                            if far != SOLID:
                                to, width = far, far_width * open_to[mask & ~(1 << a)]
                            elif (cair[before] >> w) & 1:
                                to = AIR
            found[mask] = to
            open_to[mask] = min(1.0, width / leak) if leak > 0.0 else 1.0
        if found[mask] == SOLID:
            continue
        share *= open_to[mask]
        kept += share
        if found[mask] >= 0:
            at = 0
            while at < length and cols[at] != found[mask]:
                at += 1
            if at == length:
                cols[at] = found[mask]
                weights[at] = 0.0
                length += 1
            weights[at] += share
    if rescaled and one_sided:
        for q in range(length):
            weights[q] /= kept
    return length


@njit(cache=True, error_model="numpy", parallel=True)
def interpolation_rows(
    fill: bool, kind: int, one_sided: bool, rescaled: bool, leak: float, ijk: Array, halved: Array,
    ptr: Array, idx: Array, way: Array, area: Array, air: Array, largest: Array, part: Array,
    cptr: Array, cidx: Array, cway: Array, carea: Array, cair: Array, clargest: Array,
    at_place: Array, blocks: Array, out_ptr: Array, out_idx: Array, out_val: Array,
) -> None:  # fmt: skip
    """All rows of P: their lengths into out_ptr[1:] (`fill` False), or their entries at out_ptr (`fill` True)."""
    n = part.size
    chunks = (n + CHUNK - 1) // CHUNK
    for c in prange(chunks):
        found = np.empty(8, dtype=np.int64)
        open_to = np.empty(8)
        axis = np.empty(3, dtype=np.int64)
        cols = np.empty(8, dtype=np.int64)
        weights = np.empty(8)
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            length = _row(
                i, kind, one_sided, rescaled, leak, ijk, halved, ptr, idx, way, area, air, largest, part,
                cptr, cidx, cway, carea, cair, clargest, at_place, blocks, found, open_to, axis, cols, weights,
            )  # fmt: skip
            if fill:
                for q in range(length):
                    out_idx[out_ptr[i] + q] = cols[q]
                    out_val[out_ptr[i] + q] = weights[q]
            else:
                out_ptr[i + 1] = length


@njit(cache=True)
def transpose(ptr: Array, idx: Array, val: Array, out_ptr: Array, out_idx: Array, out_val: Array) -> None:
    """CSR of the transpose, columns rising; out_ptr is zero on entry."""
    for k in range(idx.size):
        out_ptr[idx[k] + 1] += 1
    for c in range(1, out_ptr.size):
        out_ptr[c] += out_ptr[c - 1]
    for i in range(ptr.size - 1):
        for k in range(ptr[i], ptr[i + 1]):
            at = out_ptr[idx[k]]
            out_idx[at] = i
            out_val[at] = val[k]
            out_ptr[idx[k]] = at + 1
    for c in range(out_ptr.size - 1, 0, -1):
        out_ptr[c] = out_ptr[c - 1]
    out_ptr[0] = 0


@njit(cache=True, error_model="numpy", parallel=True)
def restrict(tptr: Array, tidx: Array, tval: Array, scale: float, free: Array, r: Array, out: Array) -> None:
    """out = scale P^T Lambda r"""
    for c in prange(out.size):
        s = 0.0
        for k in range(tptr[c], tptr[c + 1]):
            i = tidx[k]
            s += tval[k] * r[i] if free[i] else 0.0
        out[c] = scale * s


@njit(cache=True, error_model="numpy", parallel=True)
def restrict_full(
    tptr: Array, tidx: Array, tval: Array, scale: float, free: Array, contact: Array, r: Array, x: Array,
    out_r: Array, out_x: Array, out_contact: Array,
) -> None:  # fmt: skip
    """R r, the weighted mean of x over free children, and whether one of them may detach (fas.md 2.2, step 4)."""
    for c in prange(out_r.size):
        s = 0.0
        mean = 0.0
        whole = 0.0
        touching = False
        for k in range(tptr[c], tptr[c + 1]):
            i = tidx[k]
            w = tval[k] if free[i] else 0.0
            s += w * r[i]
            mean += w * x[i]
            whole += w
            touching |= free[i] and contact[i]
        out_r[c] = scale * s
        out_x[c] = mean / whole if whole > 0.0 else 0.0
        out_contact[c] = touching


@njit(cache=True, error_model="numpy", parallel=True)
def any_child(tptr: Array, tidx: Array, flag: Array, out: Array) -> None:
    for c in prange(out.size):
        hit = False
        for k in range(tptr[c], tptr[c + 1]):
            hit |= flag[tidx[k]]
        out[c] = hit


@njit(cache=True, error_model="numpy", parallel=True)
def largest_child(tptr: Array, tidx: Array, flag: Array, value: Array, out: Array) -> None:
    """The largest value among flagged children, -inf where there is none."""
    for c in prange(out.size):
        m = -np.inf
        for k in range(tptr[c], tptr[c + 1]):
            i = tidx[k]
            m = max(m, value[i]) if flag[i] else m
        out[c] = m


@njit(cache=True, error_model="numpy", parallel=True)
def prolong(ptr: Array, idx: Array, val: Array, free: Array, coarse: Array, out: Array) -> None:
    """out = Lambda P coarse"""
    for i in prange(out.size):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * coarse[idx[k]]
        out[i] = s if free[i] else 0.0


@njit(cache=True, error_model="numpy", parallel=True)
def prolong_step(ptr: Array, idx: Array, val: Array, free: Array, coarse: Array, before: Array, x: Array, lower: Array, step: Array) -> int:
    """step = max(x + Lambda P (coarse - before), lower) - x; returns in how many rows the obstacle cut it."""
    cut = 0
    for i in prange(x.size):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * (coarse[idx[k]] - before[idx[k]])
        s = s if free[i] else 0.0
        low = lower[i] - x[i]
        cut += 1 if s < low else 0
        step[i] = low if s < low else s
    return cut
