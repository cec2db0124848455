"""The liquid between the middles of cells and a body's surface: what the pressure, which is known at the middles, leaves out or counts
twice. 2D grids have one layer of nodes and of cells: `kz` is 0 for them and 1 in 3D.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from unstick.kernels.fractions import face_from_nodes, face_open, snapped

Array = npt.NDArray[Any]

LEVELS = 4  # cross-sections between a face and the middle of a cell


@njit(cache=True)
def has_row(liquid: Array, solid: Array, snap: float, i: int, j: int, k: int, kz: int) -> bool:
    """Whether the pressure has a row for a cell: its middle is in the liquid, and not all of it is closed."""
    nx, ny, nz = liquid.shape
    if i < 0 or j < 0 or k < 0 or i >= nx or j >= ny or k >= nz or liquid[i, j, k] >= 0.0:
        return False
    low = max(max(solid[i, j, k], solid[i + 1, j, k]), max(solid[i, j + 1, k], solid[i + 1, j + 1, k]))
    high = max(max(solid[i, j, k + kz], solid[i + 1, j, k + kz]), max(solid[i, j + 1, k + kz], solid[i + 1, j + 1, k + kz]))
    return bool(max(low, high) > snap)


@njit(cache=True)
def closed_between(phi: Array, snap: float, i: int, j: int, k: int, axis: int, kz: int, di: int, dj: int, dk: int) -> float:
    """Mean closed part of the cross-sections between a face and the middle of the cell towards the parallel face (di, dj, dk) away."""
    pi = 0 if axis == 0 else 1
    pj = 1 - pi
    qj = 1 if axis == 2 else 0
    qk = 0 if axis == 2 else kz
    total = 0.0
    for level in range(LEVELS):
        t = 0.5 * (level + 0.5) / LEVELS
        s = 1.0 - t
        a = s * phi[i, j, k] + t * phi[i + di, j + dj, k + dk]
        b = s * phi[i + pi, j + pj, k] + t * phi[i + pi + di, j + pj + dj, k + dk]
        c = s * phi[i + pi, j + pj + qj, k + qk] + t * phi[i + pi + di, j + pj + qj + dj, k + qk + dk]
        d = s * phi[i, j + qj, k + qk] + t * phi[i + di, j + qj + dj, k + qk + dk]
        total += 1.0 - face_open(snapped(a, snap), snapped(b, snap), snapped(c, snap), snapped(d, snap))
    return total / LEVELS


@njit(cache=True)
def add_layer(
    phi: Array, liquid: Array, solid: Array, off: Array, snap: float, axis: int, kz: int, low: Array, high: Array, at: Array,
    matrix: Array, along: Array,
) -> None:  # fmt: skip
    """For a body and the faces normal to `axis` in the range low..high: the sum of c j j^T into `matrix` and of c j into `along`.

    j is what a twist of the body is along the axis at the face's middle; c the part of a cell that its closed part s leaves out of the
    liquid: half of s for each cell beside it that has a row, less the body's part of that half cell. `off` marks cells that let go of
    the body; `at` is the middle of the face (0, 0, 0) as seen from the body's centre, then the spacing.
    """
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    j6 = np.zeros(6)
    h = at[3]
    for i in range(low[0], high[0]):
        for j in range(low[1], high[1]):
            for k in range(low[2], high[2]):
                part = 1.0 - face_from_nodes(phi, snap, i, j, k, axis, kz)
                c = 0.0
                a, b, e = i - di, j - dj, k - dk
                if has_row(liquid, solid, snap, a, b, e, kz) and not off[a, b, e]:
                    c += 0.5 * (part - closed_between(phi, snap, i, j, k, axis, kz, -di, -dj, -dk))
                if has_row(liquid, solid, snap, i, j, k, kz) and not off[i, j, k]:
                    c += 0.5 * (part - closed_between(phi, snap, i, j, k, axis, kz, di, dj, dk))
                if c == 0.0:
                    continue
                x, y, z = at[0] + i * h, at[1] + j * h, at[2] + k * h
                j6[0], j6[1], j6[2] = di, dj, dk
                # (x, y, z) x e
                j6[3] = y * dk - z * dj
                j6[4] = z * di - x * dk
                j6[5] = x * dj - y * di
                for p in range(6):
                    along[p] += c * j6[p]
                    for q in range(6):
                        matrix[p, q] += c * j6[p] * j6[q]
