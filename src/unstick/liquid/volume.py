"""The volume of the liquid (in 2D its area), as its surface and the solids cut it out."""

from __future__ import annotations

import numpy as np

from unstick.grid import Array, Grid
from unstick.kernels import volume as kernels
from unstick.liquid.planes import in_turn
from unstick.pressure.inputs import Domain


def volume(grid: Grid, phi: Array, solid_phi: Array) -> float:
    """Cubic metres (square metres in 2D) where phi < 0 and solid_phi > 0. Second order in the spacing; exact for a plane away from walls.

    phi is a distance near its surface, at cell centres; solid_phi a distance near the walls, at nodes.
    """
    domain = Domain.read(grid, phi, solid_phi)
    parts = np.zeros(grid.shape3[0])
    kernels.volume_by_plane(domain.liquid, domain.solid, domain.snap, domain.kz, 1.0 / grid.spacing, parts, in_turn(grid.shape3[0]))
    return float(kernels.sum_in_order(parts)) * grid.spacing**grid.dimension
