"""The pressure stencil and the velocity update, straight from the distances: face fractions are computed where liquid is, never stored.

2D grids come as one layer of cells (nz = 1) on one layer of nodes: `kz` is 0 for them and 1 in 3D.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from unstick.kernels.fractions import face_from_nodes, face_open, snapped, theta

Array = npt.NDArray[Any]


@njit(cache=True, parallel=True)
def liquid_extents(liquid: Array, solid: Array, snap: float, kz: int, first: Array, last: Array, broken: Array) -> None:
    """For each (i, j) the range of k in which rows may lie: centre in the liquid, a corner of the cell in the open.

    `broken[i]` counts entries of plane i that are not finite.
    """
    nx, ny, nz = liquid.shape
    for i in prange(nx):
        wrong = 0
        for j in range(ny):
            negative = 0
            for k in range(nz):
                v = liquid[i, j, k]
                negative += v < 0
                wrong += v - v != 0  # NaN or infinite
            lo, hi = 0, 0
            if negative > 0:
                hi = nz
                while not liquid[i, j, lo] < 0:
                    lo += 1
                while not liquid[i, j, hi - 1] < 0:
                    hi -= 1
                while lo < hi and not _reaches_open(solid, snap, i, j, lo, kz):
                    lo += 1
                while lo < hi and not _reaches_open(solid, snap, i, j, hi - 1, kz):
                    hi -= 1
            first[i, j] = lo
            last[i, j] = hi
        broken[i] = wrong


@njit(cache=True)
def _reaches_open(solid: Array, snap: float, i: int, j: int, k: int, kz: int) -> bool:
    """Whether some corner of a cell is not in the solid; NaN counts as open, to be refused later."""
    shut = (solid[i, j, k] <= snap) & (solid[i + 1, j, k] <= snap)
    shut &= (solid[i, j + 1, k] <= snap) & (solid[i + 1, j + 1, k] <= snap)
    shut &= (solid[i, j, k + kz] <= snap) & (solid[i + 1, j, k + kz] <= snap)
    shut &= (solid[i, j + 1, k + kz] <= snap) & (solid[i + 1, j + 1, k + kz] <= snap)
    return not shut


@njit(cache=True)
def flux(w: float, inner: float, wall: float) -> float:
    """What a face lets through: liquid through its open part, the moving solid with the rest (Lai eq. 3.40)."""
    # A closed face may hold anything, also NaN, as its liquid velocity.
    return (w * inner if w > 0.0 else 0.0) + ((1.0 - w) * wall if w < 1.0 else 0.0)


@njit(cache=True, parallel=True)
def fill_stencil(
    liquid: Array,
    solid: Array,
    snap: float,
    kz: int,
    first: Array,
    last: Array,
    corner: tuple[int, int, int],
    scale: float,
    inverse_h: float,
    theta_min: float,
    u: Array,
    v: Array,
    w: Array,
    us: Array,
    vs: Array,
    ws: Array,
    moving: bool,
    separating: Array,
    wx: Array,
    wy: Array,
    wz: Array,
    excess: Array,
    b: Array,
    contact: Array,
    broken: Array,
) -> None:
    """Couplings, right-hand side and contact of all rows in the box at `corner`; scale = dt / (density h^2).

    `us, vs, ws` start at `corner` (one entry when nothing moves), `separating` covers the grid (one entry when all cells agree).
    `broken[i]` counts rows of plane i whose numbers are not finite.
    """
    nx, ny, nz = liquid.shape
    bx, by, _ = wx.shape
    ci, cj, ck = corner
    by_cell = separating.size > 1
    everywhere = separating[0, 0, 0]
    for bi in prange(bx):
        i = bi + ci
        im, ip = max(i - 1, 0), min(i + 1, nx - 1)
        wrong = 0
        for bj in range(by):
            j = bj + cj
            jm, jp = max(j - 1, 0), min(j + 1, ny - 1)
            inner_ij = i > 0 and i < nx - 1 and j > 0 and j < ny - 1
            for k in range(first[i, j], last[i, j]):
                here = np.float64(liquid[i, j, k])
                if not here < 0.0:
                    continue
                n000, n100 = solid[i, j, k], solid[i + 1, j, k]
                n010, n110 = solid[i, j + 1, k], solid[i + 1, j + 1, k]
                n001, n101 = solid[i, j, k + kz], solid[i + 1, j, k + kz]
                n011, n111 = solid[i, j + 1, k + kz], solid[i + 1, j + 1, k + kz]
                free = (n000 > snap) & (n100 > snap) & (n010 > snap) & (n110 > snap)
                free &= (n001 > snap) & (n101 > snap) & (n011 > snap) & (n111 > snap)
                x0, x1, y0, y1, z0, z1 = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
                if not (free and inner_ij and (kz == 0 or (k > 0 and k < nz - 1))):
                    a000, a100, a010, a110 = snapped(n000, snap), snapped(n100, snap), snapped(n010, snap), snapped(n110, snap)
                    a001, a101, a011, a111 = snapped(n001, snap), snapped(n101, snap), snapped(n011, snap), snapped(n111, snap)
                    total = ((a000 + a100) + (a010 + a110)) + ((a001 + a101) + (a011 + a111))
                    if total - total != 0.0:
                        wrong += 1
                        continue
                    x0 = face_open(a000, a010, a011, a001) if i > 0 else 0.0
                    x1 = face_open(a100, a110, a111, a101) if i < nx - 1 else 0.0
                    y0 = face_open(a000, a100, a101, a001) if j > 0 else 0.0
                    y1 = face_open(a010, a110, a111, a011) if j < ny - 1 else 0.0
                    z0 = face_open(a000, a100, a110, a010) if k > 0 else 0.0
                    z1 = face_open(a001, a101, a111, a011) if k < nz - 1 else 0.0
                if not max(max(max(x0, x1), max(y0, y1)), max(z0, z1)) > 0.0:
                    continue
                px0, px1 = np.float64(liquid[im, j, k]), np.float64(liquid[ip, j, k])
                py0, py1 = np.float64(liquid[i, jm, k]), np.float64(liquid[i, jp, k])
                pz0, pz1 = np.float64(liquid[i, j, max(k - 1, 0)]), np.float64(liquid[i, j, min(k + 1, nz - 1)])
                air = 0.0
                if max(max(max(px0, px1), max(py0, py1)), max(pz0, pz1)) >= 0.0:
                    air += x0 / theta(here, px0, theta_min) if px0 >= 0.0 else 0.0
                    air += x1 / theta(here, px1, theta_min) if px1 >= 0.0 else 0.0
                    air += y0 / theta(here, py0, theta_min) if py0 >= 0.0 else 0.0
                    air += y1 / theta(here, py1, theta_min) if py1 >= 0.0 else 0.0
                    air += z0 / theta(here, pz0, theta_min) if pz0 >= 0.0 else 0.0
                    air += z1 / theta(here, pz1, theta_min) if pz1 >= 0.0 else 0.0
                sx0, sx1, sy0, sy1, sz0, sz1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                bk = k - ck
                if moving:
                    sx0, sx1 = np.float64(us[bi, bj, bk]), np.float64(us[bi + 1, bj, bk])
                    sy0, sy1 = np.float64(vs[bi, bj, bk]), np.float64(vs[bi, bj + 1, bk])
                    sz0, sz1 = np.float64(ws[bi, bj, bk]), np.float64(ws[bi, bj, bk + 1])
                net = flux(x1, np.float64(u[i + 1, j, k]), sx1) - flux(x0, np.float64(u[i, j, k]), sx0)
                net += flux(y1, np.float64(v[i, j + 1, k]), sy1) - flux(y0, np.float64(v[i, j, k]), sy0)
                cut = min(min(x0, x1), min(y0, y1)) < 1.0
                if kz == 1:
                    net += flux(z1, np.float64(w[i, j, k + 1]), sz1) - flux(z0, np.float64(w[i, j, k]), sz0)
                    cut = cut or min(z0, z1) < 1.0
                    wz[bi, bj, bk] = scale * z0 if pz0 < 0.0 else 0.0
                wx[bi, bj, bk] = scale * x0 if px0 < 0.0 else 0.0
                wy[bi, bj, bk] = scale * y0 if py0 < 0.0 else 0.0
                excess[bi, bj, bk] = scale * air
                b[bi, bj, bk] = inverse_h * net
                wrong += net - net != 0.0
                contact[bi, bj, bk] = cut and (separating[i, j, k] if by_cell else everywhere)
        broken[bi] = wrong


@njit(cache=True, parallel=True)
def subtract_gradient(
    out: Array, p: Array, liquid: Array, solid: Array, snap: float, axis: int, kz: int, scale: float, theta_min: float
) -> None:
    """u -= scale (p_i - p_j) on open faces that touch liquid, in the air the ghost pressure of Lai eq. 3.35; scale = dt / (density h)."""
    nx, ny, nz = out.shape
    last = out.shape[axis] - 1
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                at = i if axis == 0 else (j if axis == 1 else k)
                if at == 0 or at == last:
                    continue
                low, high = np.float64(liquid[i - di, j - dj, k - dk]), np.float64(liquid[i, j, k])
                if not (low < 0.0 or high < 0.0):
                    continue
                if not face_from_nodes(solid, snap, i, j, k, axis, kz) > 0.0:
                    continue
                p_low, p_high = p[i - di, j - dj, k - dk], p[i, j, k]
                if low < 0.0 and high < 0.0:
                    step = p_high - p_low
                elif low < 0.0:
                    step = -p_low / theta(low, high, theta_min)
                else:
                    step = p_high / theta(high, low, theta_min)
                out[i, j, k] -= scale * step


@njit(cache=True, parallel=True)
def fill_divergence(
    out: Array,
    solid: Array,
    snap: float,
    kz: int,
    inverse_h: float,
    u: Array,
    v: Array,
    w: Array,
    us: Array,
    vs: Array,
    ws: Array,
    moving: bool,
) -> None:
    """Net flux out of every cell per volume: what its faces let through, by liquid and by moving solids."""
    nx, ny, nz = out.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                net = 0.0
                for axis in range(2 + kz):
                    for side in range(2):
                        fi, fj, fk = i + side * int(axis == 0), j + side * int(axis == 1), k + side * int(axis == 2)
                        at = fi if axis == 0 else (fj if axis == 1 else fk)
                        end = nx if axis == 0 else (ny if axis == 1 else nz)
                        open_part = 0.0
                        if at > 0 and at < end:
                            open_part = face_from_nodes(solid, snap, fi, fj, fk, axis, kz)
                        inner = np.float64(u[fi, fj, fk] if axis == 0 else (v[fi, fj, fk] if axis == 1 else w[fi, fj, fk]))
                        wall = 0.0
                        if moving:
                            wall = np.float64(us[fi, fj, fk] if axis == 0 else (vs[fi, fj, fk] if axis == 1 else ws[fi, fj, fk]))
                        through = flux(open_part, inner, wall)
                        net += through if side == 1 else -through
                out[i, j, k] = inverse_h * net


@njit(cache=True, parallel=True)
def fill_cells(out: Array, liquid: Array, solid: Array, snap: float, kz: int, solid_code: int, liquid_code: int, air_code: int) -> None:
    """Each cell's type: no open face is solid, an open face and the centre in the liquid is liquid, the rest is air."""
    nx, ny, nz = out.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                open_cell = False
                if _reaches_open(solid, snap, i, j, k, kz):
                    open_cell = i > 0 and face_from_nodes(solid, snap, i, j, k, 0, kz) > 0.0
                    open_cell = open_cell or (i < nx - 1 and face_from_nodes(solid, snap, i + 1, j, k, 0, kz) > 0.0)
                    open_cell = open_cell or (j > 0 and face_from_nodes(solid, snap, i, j, k, 1, kz) > 0.0)
                    open_cell = open_cell or (j < ny - 1 and face_from_nodes(solid, snap, i, j + 1, k, 1, kz) > 0.0)
                    open_cell = open_cell or (kz == 1 and k > 0 and face_from_nodes(solid, snap, i, j, k, 2, kz) > 0.0)
                    open_cell = open_cell or (kz == 1 and k < nz - 1 and face_from_nodes(solid, snap, i, j, k + 1, 2, kz) > 0.0)
                wet = liquid_code if liquid[i, j, k] < 0 else air_code
                out[i, j, k] = wet if open_cell else solid_code


def empty_walls(separating: bool) -> Array:
    """One entry that stands for all cells of the grid."""
    return np.full((1, 1, 1), separating, dtype=np.bool_)
