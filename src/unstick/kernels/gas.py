"""Fields of a gas carried along its paths, with rays that end at solids, and how much of each cell is open.

Points are in cells, and `s` is dt over the spacing. `values` holds several fields on one lattice, (fields, nx, ny, nz), whose first
point lies at `shift`. Solids enter as the distance at nodes, positive in the
open: `old` when the step begins, `new` when it ends, the same array where they do not move. 2D grids have one layer: `kz` is 0, else 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import FUSED, ZERO, corners, cubic, linear, place, top_of, tops
from unstick.kernels.paths import trace
from unstick.kernels.volume import open_part
from unstick.kernels.walls import cell_mean

NEAREST = 0.02  # cells before a wall at which a ray ends
STRIDE = 0.05  # cells that a ray goes on at least
MOST_STRIDES = 200


@njit(cache=True, fastmath=FUSED)
def wall_distance(solid, x, y, z, kz):
    """The solid's distance at a point, trilinear between nodes."""
    i, r = place(x, top_of(solid.shape[0]))
    j, q = place(y, top_of(solid.shape[1]))
    k, t = place(z, top_of(solid.shape[2]))
    return linear(solid, i, j, k, kz, r, q, t if kz > ZERO else 0.0)


@njit(cache=True, fastmath=FUSED)
def wall_ahead(near, far, moving, part, x, y, z, dx, dy, dz, kz):
    """Distance to the solid at a part of the way: there when the way begins is `near`, when it ends `far`."""
    px, py, pz = x + part * dx, y + part * dy, z + part * dz
    here = wall_distance(near, px, py, pz, kz)
    return (1.0 - part) * here + part * wall_distance(far, px, py, pz, kz) if moving else here


@njit(cache=True, fastmath=FUSED)
def open_way(near, far, moving, inverse_h, x, y, z, dx, dy, dz, kz):
    """The part of the way (dx, dy, dz) from a point in the open that leads through no solid; 1 if all of it does.

    No wall is nearer than the distance says, so a ray may go on by it (Hart 1996, sphere tracing).
    """
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    ahead = wall_ahead(near, far, moving, 0.0, x, y, z, dx, dy, dz, kz) * inverse_h
    gone = 0.0
    for _ in range(MOST_STRIDES):
        stride = max(ahead - NEAREST, STRIDE)
        if gone + stride >= length:
            if wall_ahead(near, far, moving, 1.0, x, y, z, dx, dy, dz, kz) > 0.0:
                return 1.0
            stride = 0.5 * (length - gone)
            if stride < STRIDE:
                break
        ahead = wall_ahead(near, far, moving, (gone + stride) / length, x, y, z, dx, dy, dz, kz) * inverse_h
        if ahead <= 0.0:
            break
        gone += stride
    return gone / length


@njit(cache=True, fastmath=FUSED)
def ray(flow, x, y, z, s, near, far, moving, inverse_h):
    """(way, part): how far a point moves, in cells, ended at solids; and how much of its whole way that is, -1 in a solid.

    `flow` is (u, v, w, path, full, half, kz) as `trace` takes them."""
    u, v, w, path, full, half, kz = flow
    if not wall_distance(near, x, y, z, kz) > 0.0:
        return 0.0, 0.0, 0.0, -1.0
    dx, dy, dz = trace(u, v, w, x, y, z, s, path, full, half, kz)
    if dx == 0.0 and dy == 0.0 and dz == 0.0:
        return 0.0, 0.0, 0.0, 1.0
    part = open_way(near, far, moving, inverse_h, x, y, z, dx, dy, dz, kz)
    return part * dx, part * dy, part * dz, part


@njit(cache=True, parallel=True, fastmath=FUSED)
def carry_open(values, shift, u, v, w, s, path, shape, kz, old, new, moving, inverse_h, high, out, least, most, whole):
    """Semi-Lagrangian in the open: each point takes what was where it came from, cubic if `high`, else linear, in the range of the
    corners around, which `least` and `most` keep. `whole` says whether the ray met no solid; points in solids stay as they are."""
    hx, hy, hz = shift
    full, half = tops(shape)
    step = np.uint64(kz)
    fields, nx, ny, nz = values.shape
    tx, ty, tz = top_of(nx), top_of(ny), top_of(nz)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                flow = (u, v, w, path, full, half, step)
                dx, dy, dz, part = ray(flow, i + hx, j + hy, k + hz, -s, new, old, moving, inverse_h)
                whole[i, j, k] = part == 1.0
                ii, r = place(i + dx, tx)
                jj, q = place(j + dy, ty)
                kk, t = place(k + dz, tz)
                for f in range(fields):
                    if part < 0.0:
                        here = values[f, i, j, k]
                        out[f, i, j, k], least[f, i, j, k], most[f, i, j, k] = here, here, here
                        continue
                    low, top = corners(values[f], ii, jj, kk, step)
                    value = cubic(values[f], ii, jj, kk, r, q, t, False) if high else linear(values[f], ii, jj, kk, step, r, q, t)
                    out[f, i, j, k] = min(max(value, low), top)
                    least[f, i, j, k] = low
                    most[f, i, j, k] = top


@njit(cache=True, parallel=True, fastmath=FUSED)
def correct(values, first, shift, u, v, w, s, path, shape, kz, old, new, moving, inverse_h, least, most, whole, out):
    """The second half of MacCormack's scheme (Selle et al. 2008, eq. 3 to 5): `first` is carried back, and half of what came back wrong is
    added, in the range that `carry_open` found. Where a ray met a solid, the first half stands."""
    hx, hy, hz = shift
    full, half = tops(shape)
    step = np.uint64(kz)
    fields, nx, ny, nz = values.shape
    tx, ty, tz = top_of(nx), top_of(ny), top_of(nz)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                back = whole[i, j, k]
                dx, dy, dz, part = 0.0, 0.0, 0.0, 1.0
                if back:
                    flow = (u, v, w, path, full, half, step)
                    dx, dy, dz, part = ray(flow, i + hx, j + hy, k + hz, s, old, new, moving, inverse_h)
                    back = part == 1.0
                ii, r = place(i + dx, tx)
                jj, q = place(j + dy, ty)
                kk, t = place(k + dz, tz)
                for f in range(fields):
                    value = first[f, i, j, k]
                    if back:
                        value += 0.5 * (values[f, i, j, k] - linear(first[f], ii, jj, kk, step, r, q, t))
                    out[f, i, j, k] = min(max(value, least[f, i, j, k]), most[f, i, j, k])


@njit(cache=True, parallel=True)
def fill_open_parts(out, solid, snap, kz, inverse_h):
    """The part of each cell outside the solid."""
    nx, ny, nz = out.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = open_part(solid, snap, i, j, k, kz, inverse_h)


@njit(cache=True, parallel=True)
def mark_open(out, solid, kz):
    """1 in cells with their centre in the open, else 0."""
    nx, ny, nz = out.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = 1 if cell_mean(solid, i, j, k, kz) > 0.0 else 0
