"""From the pressure to what walls may do to velocities afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unstick.grid import Grid
from unstick.kernels.holding import fill_loose
from unstick.liquid.solids import WallState
from unstick.pressure.inputs import read_walls
from unstick.result import SolveResult

NEAR = 4.0  # cells from a wall's surface, by one corner, beyond which no path asks what the wall does


def after_solve(grid: Grid, walls: WallState, result: SolveResult) -> WallState:
    """The same walls, letting go only where the liquid did: a wall that the liquid is pushed against gives it its own normal velocity.

    Without this a closed face beside liquid that flows along the wall would take the outward velocity of the faces above it, and
    the liquid at the wall would be squeezed a little in every step.
    """
    contact, p = result.system.contact.reshape(grid.shape3), result.p.reshape(grid.shape3)
    if result.row_let_go is not None:
        p = np.where(contact, ~result.detached.reshape(grid.shape3), p)
    loose = np.empty(grid.shape3, dtype=np.bool_)
    separating = read_walls(walls.separating, grid)
    fill_loose(loose, contact, p, separating, walls.solid_phi.reshape(grid.node_shape3), NEAR * grid.spacing)
    return replace(walls, separating=loose)
