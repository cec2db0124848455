"""The velocity after the pressure is known, and its divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.liquid import THETA_MIN
from unstick.geometry.solid import solid_at_nodes, wall_snap
from unstick.grid import Array, Grid
from unstick.kernels.assembly import fill_divergence, subtract_gradient
from unstick.pressure.inputs import Domain, SolidVelocity, read_solid_velocity, read_velocity, require_step


def project(
    grid: Grid,
    velocity: FaceField,
    p: Any,
    liquid_phi: Any,
    solid_phi: Any,
    dt: float,
    density: float = 1.0,
    theta_min: float = THETA_MIN,
) -> FaceField:
    """A new field: u - dt/(rho h) (p_i - p_j) on open faces that touch liquid (Lai eq. 3.43), the ghost pressure in the air.

    A detached cell takes part with its p = 0. Closed faces keep what they held; they have no liquid velocity.
    """
    require_step(dt, density, theta_min)
    domain = Domain.read(grid, liquid_phi, solid_phi)
    read_velocity("velocity", grid, velocity)
    pressure = np.ascontiguousarray(p, dtype=np.float64)
    if pressure.size != int(np.prod(grid.shape)):
        raise InvalidSystem(f"p has shape {pressure.shape}; on this grid it must have shape {grid.shape}")
    pressure = pressure.reshape(grid.shape3)
    out = velocity.copy()
    scale = dt / (density * grid.spacing)
    for axis in range(grid.dimension):
        subtract_gradient(
            out.components[axis], pressure, domain.liquid, domain.solid, domain.snap, axis, domain.kz, scale, float(theta_min)
        )
    return out


def divergence(grid: Grid, velocity: FaceField, solid_phi: Any, solid_velocity: SolidVelocity = None) -> Array:
    """Net flux out of every cell per volume, in 1/s: w u through the open part of its faces, the solid's velocity through the rest."""
    solid = solid_at_nodes(grid, solid_phi)
    faces = read_velocity("velocity", grid, velocity)
    moving, moves = read_solid_velocity(grid, solid_velocity, faces[0].dtype, (0, 0, 0), grid.shape3)
    out = np.empty(grid.shape3)
    fill_divergence(out, solid, wall_snap(grid, solid), grid.dimension - 2, 1.0 / grid.spacing, *faces, *moving, moves)
    return out.reshape(grid.shape)
