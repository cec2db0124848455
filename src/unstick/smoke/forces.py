"""Body forces on a gas: the weight of its smoke, the lift of its heat, and vorticity confinement."""

from __future__ import annotations

import numpy as np

from unstick.fields import FaceField
from unstick.geometry.solid import solid_at_nodes
from unstick.grid import Array
from unstick.kernels import confine as kernels
from unstick.kernels.reduce import max_abs
from unstick.liquid.forces import impulse
from unstick.liquid.scene import Scene, Smoke
from unstick.liquid.state import Gas, State
from unstick.smoke.state import gas_of, smoke_of


def heaviness(smoke: Smoke, gas: Gas) -> Array:
    """How much heavier than at the start the gas is in each cell, as a part of its own weight (Boussinesq): density enters its weight
    alone, not its inertia."""
    return np.asarray(smoke.weight * gas.density - smoke.expansion * gas.excess)


def add_weight(velocity: FaceField, scene: Scene, state: State, dt: float) -> None:
    """In place, what gravity does beyond the pressure of a gas at rest: g (weight * density - expansion * (T - ambient)).

    With bodies that move with the gas all of gravity acts, so that its pressure carries them as far as they displace gas.
    """
    heavy = heaviness(smoke_of(scene), gas_of(state)) + float(scene.has_bodies)
    for axis, change in enumerate(impulse(scene.gravity, state.time, dt, velocity.grid.dimension)):
        if change:
            _add_between(velocity.components[axis], heavy, axis, change)


def add_confinement(velocity: FaceField, smoke: Smoke, solid_phi: Array, dt: float) -> None:
    """In place, dt * confinement * h * (N x vorticity), N towards stronger vorticity (Fedkiw et al. 2001, eq. 9 to 11)."""
    if not smoke.confinement:
        return
    grid = velocity.grid
    h, kz, shape = grid.spacing, grid.dimension - 2, grid.shape3
    solid = solid_at_nodes(grid, solid_phi)
    omega, size, force = np.zeros((*shape, 3)), np.zeros(shape), np.zeros((*shape, 3))
    kernels.fill_vorticity(*velocity.components, solid, 1.0 / h, kz, omega, size)
    kernels.fill_confinement(omega, size, max_abs(size), solid, smoke.confinement * h, kz, force)
    for axis in range(grid.dimension):
        _add_between(velocity.components[axis], force[..., axis], axis, dt)


def _add_between(faces: Array, cells: Array, axis: int, factor: float) -> None:
    """Add `factor` times the mean of the cells on both sides to all inner faces."""
    low, high, inner = ([slice(None)] * 3 for _ in range(3))
    low[axis], high[axis], inner[axis] = slice(None, -1), slice(1, None), slice(1, -1)
    faces[tuple(inner)] += 0.5 * factor * (cells[tuple(low)] + cells[tuple(high)])
