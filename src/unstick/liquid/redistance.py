"""Redistancing: values that only tell the surface become distances around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.checks import require_positive
from unstick.geometry.liquid import liquid_at_cells
from unstick.grid import Array, Grid
from unstick.kernels import eikonal as kernels
from unstick.liquid.planes import in_turn

FAR = 1e6  # cells
MOST_LAYERS = 255  # what a byte can count
AGREE = 0.25  # cells within which an old value is as good as a new one


@dataclass(frozen=True, slots=True)
class Effort:
    """How long distances are improved."""

    layer: int = 30  # passes at most over one layer of cells; a plane aslant needs as many as its slope
    last: int = 10  # passes at most over the whole band
    settled: float = 1e-11  # a largest change of so many cells is not worth another pass


EXACTLY = Effort()


def redistance(phi: Array, grid: Grid, band: float = 5.0) -> Array:
    """Distances up to `band` cells from the surface phi = 0, and plus or minus `band` cells beyond.

    Cells next to the surface (a face neighbour has the other sign) keep their values, unless they are too steep to be distances.
    Cells that are NaN take the side they are found from.
    """
    require_positive("band", band)
    values = np.array(liquid_at_cells(grid, phi), dtype=np.float64)
    nx, ny, nz = grid.shape3
    low, high = np.zeros((nx, ny), dtype=np.int64), np.full((nx, ny), nz, dtype=np.int64)
    spread_out(values, np.zeros(grid.shape3, dtype=np.uint8), low, high, grid.spacing, grid.dimension - 2, band)
    return values.reshape(np.shape(phi))


def spread_out(
    phi: Array, fixed: Array, low: Array, high: Array, h: float, kz: int, band: float, keep: float = 0.0, effort: Effort = EXACTLY
) -> None:
    """In place, on rows of cells from low to high: cells that are `fixed` or next to the surface keep their values.

    `keep`: so many cells from the surface an old value that agrees with the new one stays.
    """
    nx, ny, nz = phi.shape
    planes = in_turn(nx)
    mark = np.zeros(phi.shape, dtype=np.uint8)
    cells = np.empty((nx, ny * nz), dtype=np.int32)  # memory is taken as lists grow
    old, value = np.empty(cells.shape), np.empty(cells.shape)
    first, count, moved = np.zeros(nx, dtype=np.int64), np.zeros(nx, dtype=np.int64), np.zeros(nx)
    most, far = band * h, FAR * h
    kernels.start_at_surface(phi, fixed, low, high, h, mark, cells, value, count, planes)
    kernels.put(phi, cells, value, first, count, planes)
    surface = count.copy()

    def relax(passes: int) -> None:
        for _ in range(passes):
            kernels.solve_layer(phi, mark, cells, old, value, first, count, h, far, keep * h, AGREE * h, planes, moved)
            kernels.put(phi, cells, value, first, count, planes)
            if moved.max() <= effort.settled * h:
                break

    for layer in range(2, MOST_LAYERS):
        kernels.spread(phi, low, high, most, far, layer, mark, cells, old, first, count, planes)
        if not (count > first).any():
            break
        relax(effort.layer)
    first[:] = surface
    relax(effort.last)
    kernels.cap(phi, mark, low, high, most, planes)
