"""Where liquid hits a wall, shorter steps: what a step carries into a wall is squeezed into a film there, and a film takes more
energy from the pressure than the liquid brought."""

from __future__ import annotations

import math

import numpy as np

from unstick.grid import Array, Grid
from unstick.kernels.impacts import CHUNK, farthest_approach
from unstick.liquid.state import Particles
from unstick.liquid.transfer import lattice


def steps_to_hit(particles: Particles, solid_phi: Array, grid: Grid, dt: float, reach: float) -> int:
    """How many steps dt must be cut into, so that none brings liquid more than `reach` cells nearer to a wall that it hits within dt."""
    solid = np.ascontiguousarray(solid_phi, dtype=np.float64).reshape(grid.node_shape3)
    most = np.zeros(max(1, -(-len(particles) // CHUNK)))
    farthest_approach(particles.position, particles.velocity, solid, dt, *lattice(grid), most)
    return math.ceil(float(most.max()) / reach)
