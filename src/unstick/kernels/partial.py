"""Faces that a wall leaves partly open: what flows through them is right for the volume of their cells, how fast it does is not."""

from __future__ import annotations

from numba import njit, prange

from unstick.kernels.fractions import face_from_nodes


@njit(cache=True)
def _more_open(own, valid, solid, snap, i, j, k, axis, kz, least):
    """(excess of the open part over `least`, times the velocity; the excess) of a neighbour of face (i, j, k), zero if it is not valid."""
    if not (0 <= i < own.shape[0] and 0 <= j < own.shape[1] and 0 <= k < own.shape[2]) or valid[i, j, k] == 0:
        return 0.0, 0.0
    more = max(face_from_nodes(solid, snap, i, j, k, axis, kz) - least, 0.0)
    return more * own[i, j, k], more


@njit(cache=True, parallel=True)
def find_partial(axis, own, valid, solid, snap, kz, wide, planes, cells, change, count):
    """List the valid faces normal to `axis` that are open in part, and what turns their velocity u into f u + (1 - f) m: f is the open
    part, m the mean over the neighbours beside it, weighted by how much more open they are. `wide` is at least a face's diagonal.

    Neighbours as open as the face itself count nothing, so that a 2D flow and the same one extruded give the same.
    """
    _, ny, nz = own.shape
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        for j in range(ny):
            for k in range(nz):
                # A distance changes by no more than the way: far from walls one corner tells all.
                if valid[i, j, k] == 0 or solid[i, j, k] > wide:
                    continue
                f = face_from_nodes(solid, snap, i, j, k, axis, kz)
                if f >= 1.0:
                    continue
                total, weight = 0.0, 0.0
                for other in range(2 + kz):
                    if other == axis:
                        continue
                    di, dj, dk = other == 0, other == 1, other == 2
                    before = _more_open(own, valid, solid, snap, i - di, j - dj, k - dk, axis, kz, f)
                    after = _more_open(own, valid, solid, snap, i + di, j + dj, k + dk, axis, kz, f)
                    total += before[0] + after[0]
                    weight += before[1] + after[1]
                if weight > 0.0:
                    cells[i, n] = j * nz + k
                    change[i, n] = (1.0 - f) * (total / weight - own[i, j, k])
                    n += 1
        count[i] = n
