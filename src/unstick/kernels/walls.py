"""Loops over all nodes, faces and cells of a grid that say where its walls are, how fast they move and which of them let go.

2D grids have one layer of nodes and of cells: `kz` is 0 for them and 1 in 3D.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, prange

Array = npt.NDArray[Any]


@njit(cache=True, parallel=True)
def fill_between(phi: Array, coarse: Array, size: int, kz: int) -> None:
    """Interpolate `coarse`, which has a value for every `size`-th node and for one node beyond the last."""
    nx, ny, nz = phi.shape
    per = 1.0 / size
    for i in prange(nx):
        a = i // size
        x = (i - a * size) * per
        for j in range(ny):
            b = j // size
            y = (j - b * size) * per
            for c in range(coarse.shape[2] - kz):
                low = (1.0 - x) * ((1.0 - y) * coarse[a, b, c] + y * coarse[a, b + 1, c])
                low += x * ((1.0 - y) * coarse[a + 1, b, c] + y * coarse[a + 1, b + 1, c])
                high = (1.0 - x) * ((1.0 - y) * coarse[a, b, c + kz] + y * coarse[a, b + 1, c + kz])
                high += x * ((1.0 - y) * coarse[a + 1, b, c + kz] + y * coarse[a + 1, b + 1, c + kz])
                for k in range(c * size, min(nz, (c + 1) * size)):
                    z = (k - c * size) * per
                    phi[i, j, k] = (1.0 - z) * low + z * high


@njit(cache=True)
def face_mean(phi: Array, i: int, j: int, k: int, axis: int, kz: int) -> float:
    """Mean over the corners of the face whose lowest node is (i, j, k)."""
    pi = 0 if axis == 0 else 1
    pj = 1 - pi
    qj = 1 if axis == 2 else 0
    qk = 0 if axis == 2 else kz
    near = phi[i, j, k] + phi[i + pi, j + pj, k]
    far = phi[i, j + qj, k + qk] + phi[i + pi, j + pj + qj, k + qk]
    return np.float64(0.25 * (near + far))


@njit(cache=True, parallel=True)
def take_velocity(
    out: Array, blocks: Array, size: int, mine: Array, others: Array, axis: int, kz: int, at: Array, linear: Array, angular: Array
) -> None:
    """Faces normal to `axis` in the given blocks that are nearer to this solid than to the others take its velocity.

    `blocks` (n, 3) counts blocks of `size` nodes; `at` is the centre of the face (0, 0, 0) as seen from the centre of rotation, then
    the spacing.
    """
    nx, ny, nz = out.shape
    h = at[3]
    for q in prange(blocks.shape[0]):
        first_i, first_j, first_k = blocks[q, 0] * size, blocks[q, 1] * size, blocks[q, 2] * size
        for i in range(first_i, min(first_i + size, nx)):
            x = at[0] + i * h
            for j in range(first_j, min(first_j + size, ny)):
                y = at[1] + j * h
                for k in range(first_k, min(first_k + size, nz)):
                    if face_mean(mine, i, j, k, axis, kz) > face_mean(others, i, j, k, axis, kz):
                        continue
                    z = at[2] + k * h
                    if axis == 0:
                        out[i, j, k] = linear[0] + (angular[1] * z - angular[2] * y)
                    elif axis == 1:
                        out[i, j, k] = linear[1] + (angular[2] * x - angular[0] * z)
                    else:
                        out[i, j, k] = linear[2] + (angular[0] * y - angular[1] * x)


@njit(cache=True)
def cell_mean(phi: Array, i: int, j: int, k: int, kz: int) -> float:
    """Mean over the corners of a cell."""
    low = (phi[i, j, k] + phi[i + 1, j, k]) + (phi[i, j + 1, k] + phi[i + 1, j + 1, k])
    high = (phi[i, j, k + kz] + phi[i + 1, j, k + kz]) + (phi[i, j + 1, k + kz] + phi[i + 1, j + 1, k + kz])
    return np.float64(0.125 * (low + high))


@njit(cache=True, parallel=True)
def mark_letting_go(out: Array, separating: Array, sticking: Array, reach: float, slack: float, kz: int) -> None:
    """False in cells within `reach` of a sticking wall that is no farther (but for `slack`) than the nearest separating one."""
    nx, ny, nz = out.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                stuck = cell_mean(sticking, i, j, k, kz)
                loose = cell_mean(separating, i, j, k, kz)
                out[i, j, k] = stuck > reach or stuck > loose + slack
