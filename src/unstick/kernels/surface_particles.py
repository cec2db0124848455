"""The liquid's distance from the particles around a cell.

Zhu and Bridson 2005, section 4: how far the weighted mean of the particles around a point lies from it tells how far the surface is.
Their radius is replaced by the exact relation for a half-space of liquid, so that the values are distances; where a wall cuts the
neighbourhood, the mean of its open part takes the place of the point.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.surface_cells import BESIDE
from unstick.kernels.walls import cell_mean


@njit(cache=True)
def lookup(table, x):
    """Linear interpolation in a table over [0, 1]."""
    n = table.size - 1
    at = min(max(x, 0.0), 1.0) * n
    i = np.uint64(min(int(at), n - 1))
    t = at - i
    return (1.0 - t) * table[i] + t * table[i + np.uint64(1)]


@njit(cache=True)
def step(x, low, high):
    """0 below `low`, 1 above `high`, smooth between."""
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


@njit(cache=True)
def _open_part(solid, share, moment, i, j, k, reach, kz, inverse_h, shape):
    """Weight and moment of what solids leave of the neighbourhood, as parts of the whole."""
    nx, ny, nz = shape
    weight, mx, my, mz = 0.0, 0.0, 0.0, 0.0
    at = 0
    for a in range(-reach, reach + 1):
        for b in range(-reach, reach + 1):
            for c in range(-reach * kz, reach * kz + 1):
                p, q, r = i + a, j + b, k + c
                if p >= 0 and q >= 0 and r >= 0 and p < nx and q < ny and r < nz:
                    part = min(max(0.5 + cell_mean(solid, p, q, r, kz) * inverse_h, 0.0), 1.0)
                    weight += part * share[at]
                    mx += part * moment[at, 0]
                    my += part * moment[at, 1]
                    mz += part * moment[at, 2]
                at += 1
    return weight, mx, my, mz


@njit(cache=True)
def _particles_around(position, start, i, j, k, reach, kz, radius, origin, inverse_h, shape, most):
    """Sums over the particles near a cell's centre, with weights (1 - (r / radius)^2)^3: of the weights, and of weighted offsets in cells.

    The weight decides whether still water stays still. What the surface shows of a wave is the wave times the weight's Fourier
    transform; where that is negative, gravity lifts crests. With the radii in use this one is positive for all waves on the grid.
    No cell counts for more than `most` particles: a crowd, squeezed to a wall by an impact, would draw the mean to itself, the rest of
    its cell would pass for air, and liquid would flow into the crowd for ever.
    """
    nx, ny, nz = shape
    x, y, z = origin[0] * inverse_h + i + 0.5, origin[1] * inverse_h + j + 0.5, origin[2] * inverse_h + k + 0.5
    inverse = 1.0 / (radius * radius)
    weight, mx, my, mz = 0.0, 0.0, 0.0, 0.0
    first, last = max(k - reach * kz, 0), min(k + reach * kz + 1, nz)
    for p in range(max(i - reach, 0), min(i + reach + 1, nx)):
        for q in range(max(j - reach, 0), min(j + reach + 1, ny)):
            row = (p * ny + q) * nz
            for r in range(row + first, row + last):
                begin, end = np.uint64(start[r]), np.uint64(start[r + 1])
                of_cell, ax, ay, az = 0.0, 0.0, 0.0, 0.0
                for s in range(begin, end):
                    dx = position[s, 0] * inverse_h - x
                    dy = position[s, 1] * inverse_h - y
                    dz = position[s, 2] * inverse_h - z
                    w = 1.0 - (dx * dx + dy * dy + dz * dz) * inverse
                    w = w * w * w if w > 0.0 else 0.0
                    of_cell += w
                    ax += w * dx
                    ay += w * dy
                    az += w * dz
                share = most / (end - begin) if end - begin > most else 1.0
                weight += share * of_cell
                mx += share * ax
                my += share * ay
                mz += share * az
    return weight, mx, my, mz


@njit(cache=True, parallel=True)
def measure(
    phi, kinds, solid, position, start, cells, count, planes, reach, kz, radius, origin, inverse_h, whole, share, moment, offset, fill,
    thin, slack, gap, level, most,
):  # fmt: skip
    """Give each listed cell its distance, in metres.

    `offset` and `fill` are tables: the distance of a half-space by the offset of its mean (in radii) and by the filled part of the
    neighbourhood. The second one, with the filled part times `thin`, is a lower bound: sprays are not taken for solid liquid.
    `slack, gap`: offsets away from a wall between which a gap to that wall is taken to open. `level` shifts all distances (cells).
    """
    h = 1.0 / inverse_h
    shape = phi.shape
    nz = shape[2]
    for t in prange(planes.size):
        i = planes[t]
        for n in range(count[i]):
            j, k = cells[i, n] // nz, cells[i, n] % nz
            weight, mx, my, mz = _particles_around(position, start, i, j, k, reach, kz, radius, origin, inverse_h, shape, most)
            if weight == 0.0:
                phi[i, j, k] = radius * h
                continue
            mx, my, mz = mx / weight, my / weight, mz / weight
            room = 1.0
            if kinds[i, j, k] == BESIDE:
                room, ox, oy, oz = _open_part(solid, share, moment, i, j, k, reach, kz, inverse_h, shape)
                room = max(room, 1e-3)
                ox, oy, oz = ox / room, oy / room, oz / room
                # What is missing compared with an open part full of liquid. Liquid that touches the wall misses nothing towards it;
                # where it does, and little else, the wall counts as air.
                ax, ay, az = mx - ox, my - oy, mz - oz
                far = np.sqrt(ox * ox + oy * oy + oz * oz)
                size = np.sqrt(ax * ax + ay * ay + az * az)
                out = (ax * ox + ay * oy + az * oz) / max(far, 1e-9)
                let_go = step(out, slack * radius, gap * radius) * step(out, 0.7 * size, 0.95 * size)
                mx, my, mz = ax + let_go * ox, ay + let_go * oy, az + let_go * oz
            by_offset = lookup(offset, np.sqrt(mx * mx + my * my + mz * mz) / radius)
            by_fill = lookup(fill, thin * weight / (whole * room))
            phi[i, j, k] = (max(by_offset, by_fill) * radius + level) * h
