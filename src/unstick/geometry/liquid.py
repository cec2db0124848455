"""Where the liquid is: cell-centred distances (negative inside) and the ghost-fluid surface, Lai section 3.6."""

from __future__ import annotations

from typing import Any

from unstick.checks import InvalidSystem
from unstick.geometry.solid import real_array
from unstick.grid import Array, Grid

THETA_MIN = 0.01  # the surface is never taken nearer to a liquid centre than this part of a cell


def liquid_at_cells(grid: Grid, liquid_phi: Any) -> Array:
    """The distances as kernels take them, (nx, ny, nz), with nz = 1 in 2D."""
    phi = real_array("liquid_phi", liquid_phi)
    if phi.shape not in (grid.shape, grid.shape3):
        raise InvalidSystem(
            f"liquid_phi has shape {phi.shape}; on a grid of {grid.shape} cells it must have shape {grid.shape}, "
            "one value for each cell centre, negative in the liquid"
        )
    return phi.reshape(grid.shape3)
