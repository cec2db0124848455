"""Distance of lattice points to a closed triangle mesh: exact beside the surface, signed by crossings along rows of the lattice.

`corner` (t, 3, 3) holds the triangles' corners in lattice units: the point (i, j, k) of the lattice has the coordinates (i, j, k).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]


@njit(cache=True)
def square_to_triangle(corner: Array, t: int, x: float, y: float, z: float) -> float:
    """Squared distance of a point to a triangle, by the region its foot lies in (Ericson 2005, section 5.1.5)."""
    ax, ay, az = x - corner[t, 0, 0], y - corner[t, 0, 1], z - corner[t, 0, 2]
    ux, uy, uz = corner[t, 1, 0] - corner[t, 0, 0], corner[t, 1, 1] - corner[t, 0, 1], corner[t, 1, 2] - corner[t, 0, 2]
    vx, vy, vz = corner[t, 2, 0] - corner[t, 0, 0], corner[t, 2, 1] - corner[t, 0, 1], corner[t, 2, 2] - corner[t, 0, 2]
    d1, d2 = ux * ax + uy * ay + uz * az, vx * ax + vy * ay + vz * az
    uu, uv, vv = ux * ux + uy * uy + uz * uz, ux * vx + uy * vy + uz * vz, vx * vx + vy * vy + vz * vz
    d3, d4, d5, d6 = d1 - uu, d2 - uv, d1 - uv, d2 - vv
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if d1 <= 0.0 and d2 <= 0.0:
        s, r = 0.0, 0.0  # corner a
    elif d3 >= 0.0 and d4 <= d3:
        s, r = 1.0, 0.0  # corner b
    elif d6 >= 0.0 and d5 <= d6:
        s, r = 0.0, 1.0  # corner c
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s, r = d1 / (d1 - d3), 0.0  # edge ab
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s, r = 0.0, d2 / (d2 - d6)  # edge ac
    elif va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        r = (d4 - d3) / ((d4 - d3) + (d5 - d6))  # edge bc
        s = 1.0 - r
    else:
        s, r = vb / (va + vb + vc), vc / (va + vb + vc)
    px, py, pz = ax - s * ux - r * vx, ay - s * uy - r * vy, az - s * uz - r * vz
    return np.float64(px * px + py * py + pz * pz)


@njit(cache=True, parallel=True)
def fill_band(out: Array, corner: Array, band: float, thick: int) -> None:
    """Unsigned distance at points within `band` of a triangle; `out` holds a large number elsewhere. One slab of planes per turn."""
    nx, ny, nz = out.shape
    for slab in prange((nx + thick - 1) // thick):
        first, last = slab * thick, min(nx, (slab + 1) * thick)
        for t in range(corner.shape[0]):
            low = min(corner[t, 0, 0], corner[t, 1, 0], corner[t, 2, 0]) - band
            high = max(corner[t, 0, 0], corner[t, 1, 0], corner[t, 2, 0]) + band
            if high < first or low > last - 1:
                continue
            j0 = max(0, math.ceil(min(corner[t, 0, 1], corner[t, 1, 1], corner[t, 2, 1]) - band))
            j1 = min(ny - 1, math.floor(max(corner[t, 0, 1], corner[t, 1, 1], corner[t, 2, 1]) + band))
            k0 = max(0, math.ceil(min(corner[t, 0, 2], corner[t, 1, 2], corner[t, 2, 2]) - band))
            k1 = min(nz - 1, math.floor(max(corner[t, 0, 2], corner[t, 1, 2], corner[t, 2, 2]) + band))
            for i in range(max(first, math.ceil(low)), min(last - 1, math.floor(high)) + 1):
                for j in range(j0, j1 + 1):
                    for k in range(k0, k1 + 1):
                        d = math.sqrt(square_to_triangle(corner, t, float(i), float(j), float(k)))
                        if d <= band and d < out[i, j, k]:
                            out[i, j, k] = d


@njit(cache=True)
def side_of_edge(ax: float, ay: float, bx: float, by: float, x: float, y: float) -> int:
    """+1 or -1: on which side of the line from a to b a point is.

    The two triangles at an edge get opposite answers to the bit, and a point on the line counts as moved by (epsilon^2, epsilon).
    """
    turned = bx < ax or (bx == ax and by < ay)
    if turned:
        ax, ay, bx, by = bx, by, ax, ay
    area = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
    side = 1 if area > 0.0 or (area == 0.0 and bx > ax) else -1
    return -side if turned else side


@njit(cache=True, parallel=True)
def count_crossings(crossings: Array, corner: Array, thick: int) -> None:
    """Add to `crossings` (nx, ny, nz + 1) at the first point above each place where a row (i, j, .) goes through the mesh:
    +1 where it goes in, -1 where it comes out. Running sums along k are winding numbers."""
    nx, ny, last = crossings.shape
    for slab in prange((nx + thick - 1) // thick):
        for t in range(corner.shape[0]):
            ax, ay, bx, by, cx, cy = corner[t, 0, 0], corner[t, 0, 1], corner[t, 1, 0], corner[t, 1, 1], corner[t, 2, 0], corner[t, 2, 1]
            i0 = max(slab * thick, math.ceil(min(ax, bx, cx)))
            i1 = min(min(nx, (slab + 1) * thick) - 1, math.floor(max(ax, bx, cx)))
            if i1 < i0:
                continue
            j0, j1 = max(0, math.ceil(min(ay, by, cy))), min(ny - 1, math.floor(max(ay, by, cy)))
            area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
            for i in range(i0, i1 + 1):
                for j in range(j0, j1 + 1):
                    side = side_of_edge(ax, ay, bx, by, i, j)
                    if side != side_of_edge(bx, by, cx, cy, i, j) or side != side_of_edge(cx, cy, ax, ay, i, j) or area == 0.0:
                        continue
                    r = ((bx - ax) * (j - ay) - (by - ay) * (i - ax)) / area
                    s = ((i - ax) * (cy - ay) - (j - ay) * (cx - ax)) / area
                    z = corner[t, 0, 2] + s * (corner[t, 1, 2] - corner[t, 0, 2]) + r * (corner[t, 2, 2] - corner[t, 0, 2])
                    k = min(max(math.ceil(z), 0), last - 1)
                    crossings[i, j, k] -= side  # seen from above, a triangle turned left is the top of its body


@njit(cache=True, parallel=True)
def apply_sign(distance: Array, crossings: Array, broken: Array) -> None:
    """Make the distance negative where the winding number is not zero; `broken[i, j]` marks rows that do not end outside."""
    nx, ny, nz = distance.shape
    for i in prange(nx):
        for j in range(ny):
            winding = 0
            for k in range(nz):
                winding += crossings[i, j, k]
                if winding != 0:
                    distance[i, j, k] = -distance[i, j, k]
            broken[i, j] = winding + crossings[i, j, nz] != 0


@njit(cache=True)
def winding_number(corner: Array, x: float, y: float, z: float) -> float:
    """How often the mesh goes around a point: the sum of solid angles over 4 pi (Van Oosterom and Strackee 1983, eq. 8)."""
    total = 0.0
    for t in range(corner.shape[0]):
        ax, ay, az = corner[t, 0, 0] - x, corner[t, 0, 1] - y, corner[t, 0, 2] - z
        bx, by, bz = corner[t, 1, 0] - x, corner[t, 1, 1] - y, corner[t, 1, 2] - z
        cx, cy, cz = corner[t, 2, 0] - x, corner[t, 2, 1] - y, corner[t, 2, 2] - z
        a, b, c = math.sqrt(ax * ax + ay * ay + az * az), math.sqrt(bx * bx + by * by + bz * bz), math.sqrt(cx * cx + cy * cy + cz * cz)
        triple = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        below = a * b * c + (ax * bx + ay * by + az * bz) * c + (bx * cx + by * cy + bz * cz) * a + (cx * ax + cy * ay + cz * az) * b
        total += 2.0 * math.atan2(triple, below)
    return total / (4.0 * math.pi)


@njit(cache=True, parallel=True)
def sign_rows(distance: Array, corner: Array, rows: Array) -> None:
    """The sign of all points of the given rows (n, 2), by winding numbers."""
    nz = distance.shape[2]
    for q in prange(rows.shape[0]):
        i, j = rows[q, 0], rows[q, 1]
        for k in range(nz):
            inside = abs(winding_number(corner, float(i), float(j), float(k))) > 0.5
            distance[i, j, k] = -abs(distance[i, j, k]) if inside else abs(distance[i, j, k])


@njit(cache=True, parallel=True)
def interpolate(out: Array, values: Array, x: Array, y: Array, z: Array) -> None:
    """Trilinear values at points in lattice units; beyond the lattice a lower bound of the distance.

    The foot of a point on the lattice's box sees the point and what is in the box at an obtuse angle: Pythagoras bounds from below.
    """
    nx, ny, nz = values.shape
    for q in prange(out.shape[0]):
        px, py, pz = min(max(x[q], 0.0), nx - 1.0), min(max(y[q], 0.0), ny - 1.0), min(max(z[q], 0.0), nz - 1.0)
        i, j, k = np.uint64(min(int(px), nx - 2)), np.uint64(min(int(py), ny - 2)), np.uint64(min(int(pz), nz - 2))
        u, v, w = px - np.float64(i), py - np.float64(j), pz - np.float64(k)
        one = np.uint64(1)
        low = (1.0 - u) * ((1.0 - v) * values[i, j, k] + v * values[i, j + one, k])
        low += u * ((1.0 - v) * values[i + one, j, k] + v * values[i + one, j + one, k])
        high = (1.0 - u) * ((1.0 - v) * values[i, j, k + one] + v * values[i, j + one, k + one])
        high += u * ((1.0 - v) * values[i + one, j, k + one] + v * values[i + one, j + one, k + one])
        value = (1.0 - w) * low + w * high
        beyond = (x[q] - px) ** 2 + (y[q] - py) ** 2 + (z[q] - pz) ** 2
        out[q] = math.sqrt(beyond + value * value) if beyond > 0.0 else value
