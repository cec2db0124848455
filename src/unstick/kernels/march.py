"""Rays through a lattice of smoke: how much light comes out of it, how much passes, and which solid stops it.

Points are in cells. `density` lies at cell centres, `solid` (positive in the open) at nodes, of a 3D grid.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import ONE, linear, place, top_of

STEP = 0.5  # cells between samples
DARK = 0.004  # light that is not worth following
SURE = 12  # halvings on the way to a solid's surface


@njit(cache=True)
def at(field, x, y, z):
    """Trilinear, for points that count from the first value."""
    i, r = place(x, top_of(field.shape[0]))
    j, q = place(y, top_of(field.shape[1]))
    k, t = place(z, top_of(field.shape[2]))
    return linear(field, i, j, k, ONE, r, q, t)


@njit(cache=True)
def span(eye, way, low, high):
    """(first, last) of the part of a ray that lies in a box; empty if first >= last."""
    first, last = 0.0, 1e30
    for a in range(3):
        if abs(way[a]) < 1e-12:
            if eye[a] < low[a] or eye[a] > high[a]:
                return 0.0, 0.0
            continue
        near, far = (low[a] - eye[a]) / way[a], (high[a] - eye[a]) / way[a]
        first, last = max(first, min(near, far)), min(last, max(near, far))
    return first, last


@njit(cache=True)
def surface(solid, eye, way, before, after):
    """Where a ray goes into a solid, between a point in the open and one that is not."""
    for _ in range(SURE):
        middle = 0.5 * (before + after)
        if at(solid, eye[0] + middle * way[0], eye[1] + middle * way[1], eye[2] + middle * way[2]) > 0.0:
            before = middle
        else:
            after = middle
    return before


@njit(cache=True, parallel=True)
def march(density, light, solid, thickness, glow, eye, corner, right, down, low, high, out, hit):
    """For each pixel (row, column) of a picture seen from `eye` through corner + column * right + row * down:
    `out` the light of the smoke (each bit of it as bright as `glow` plus what falls on it) and the part of light from behind that
    passes; `hit` the distance to a solid, 0 if there is none. `thickness` is what a cell of smoke of density 1 takes from light."""
    rows, columns = hit.shape
    for row in prange(rows):
        for column in range(columns):
            way = corner + column * right + row * down
            way = way / np.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
            first, last = span(eye, way, low, high)
            bright, passes, stopped = 0.0, 1.0, 0.0
            here = first + 0.5 * STEP
            while here < last and passes > DARK:
                x, y, z = eye[0] + here * way[0], eye[1] + here * way[1], eye[2] + here * way[2]
                if at(solid, x, y, z) <= 0.0:
                    stopped = surface(solid, eye, way, max(here - STEP, first), here)
                    break
                thick = at(density, x - 0.5, y - 0.5, z - 0.5)
                if thick > 0.0:
                    kept = np.exp(-thickness * STEP * thick)
                    bright += passes * (1.0 - kept) * (glow + at(light, x - 0.5, y - 0.5, z - 0.5))
                    passes *= kept
                here += STEP
            out[row, column, 0] = bright
            out[row, column, 1] = passes
            hit[row, column] = stopped
