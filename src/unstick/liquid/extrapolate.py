"""Velocities beyond the liquid: into the air, where it will be next, and into solids, so that paths near walls see a smooth field.

Karlsson 2014, section 3.6. Only the inward part of a velocity at a wall is removed, so that liquid that let go of it is not held back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.fields import FaceField
from unstick.geometry.solid import solid_at_nodes, wall_snap
from unstick.grid import Array, Grid
from unstick.kernels import extrapolate as kernels
from unstick.liquid.planes import in_turn
from unstick.pressure.inputs import Domain, read_walls

if TYPE_CHECKING:
    from unstick.liquid.solids import WallState

Valid = tuple[Array, Array, Array]
WIDE = 1.5  # cells; no corner of a face in a solid is farther in the open
DEEP = 3.0  # cells inside a solid beyond which no path and no surface asks for a velocity
MOST_LAYERS = 250  # what a byte can count


def mark_valid(grid: Grid, phi: Array, solid_phi: Array) -> Valid:
    """Which faces of each component the pressure has given a velocity (uint8): those that touch a liquid cell
    and are open by more than a sliver."""
    domain = Domain.read(grid, phi, solid_phi)
    u, v, w = (np.zeros(grid.face_shape(axis), dtype=np.uint8) for axis in range(3))
    kernels.mark_faces(u, v, w, domain.liquid, domain.solid, domain.snap, domain.kz, in_turn(grid.shape3[0]))
    return u, v, w


def extrapolate(velocity: FaceField, valid: Valid, layers: int) -> None:
    """In place: layer after layer, unknown faces take the mean of their known neighbours; zero beyond the last layer."""
    require_count("layers", layers, least=0)
    if layers > MOST_LAYERS:
        raise InvalidSystem(f"layers is {layers}; it must be at most {MOST_LAYERS}")
    for axis in range(velocity.grid.dimension):
        extend(velocity.components[axis], valid[axis], layers)


def extend(values: Array, valid: Array, layers: int) -> None:
    """As `extrapolate`, for one array of any lattice; `valid` (uint8) says where it is known."""
    shape = values.shape
    if valid.shape != shape or valid.dtype != np.uint8:
        raise InvalidSystem(f"valid has shape {valid.shape} and type {valid.dtype}; give an array of shape {shape} and type uint8")
    planes = in_turn(shape[0])
    mark = np.empty(shape, dtype=np.uint8)
    cells = np.empty((shape[0], shape[1] * shape[2]), dtype=np.int32)  # memory is taken as lists grow
    first, count = np.zeros(shape[0], dtype=np.int64), np.zeros(shape[0], dtype=np.int64)
    kernels.first_layer(valid, mark, cells, count, planes)
    for layer in range(1, layers + 1):
        if layer > 1:
            kernels.next_layer(mark, cells, first, count, shape, layer, planes)
        if not (count > first).any():
            break
        kernels.average_layer(values, mark, cells, first, count, layer, planes)
    if layers == 0:
        mark[mark == 1] = kernels.UNKNOWN
    kernels.clear_unknown(values, mark, planes)


def constrain(velocity: FaceField, grid: Grid, walls: WallState, valid: Valid | None = None) -> None:
    """In place, on closed faces: remove what flows into the wall, (u - u_s).n < 0 with n out of the solid, and where a wall does not
    let go also what flows out of it.

    With `valid` (see `mark_valid`) faces whose middle lies in a solid are held to the same unless they are valid.
    """
    solid = solid_at_nodes(grid, walls.solid_phi)
    snap, kz = wall_snap(grid, solid), grid.dimension - 2
    loose = read_walls(walls.separating, grid)
    still = np.zeros((1, 1, 1))
    wall = (still, still, still) if walls.velocity is None else walls.velocity.components
    u, v, w = velocity.components
    us, vs, ws = wall
    none = np.zeros((1, 1, 1), dtype=np.uint8)
    found: list[tuple[Array, Array, Array, Array, Array]] = []
    for axis in range(grid.dimension):
        shape = grid.face_shape(axis)
        planes = in_turn(shape[0])
        cells = np.empty((shape[0], shape[1] * shape[2]), dtype=np.int32)
        change = np.empty(cells.shape)
        count = np.zeros(shape[0], dtype=np.int64)
        kernels.find_inflow(
            axis, u, v, w, us, vs, ws, walls.velocity is not None, solid, snap, kz, WIDE * grid.spacing, -DEEP * grid.spacing,
            none if valid is None else valid[axis], valid is not None, loose, planes, cells, change, count,
        )  # fmt: skip
        found.append((velocity.components[axis], cells, change, count, planes))
    # Only now: what one component loses must not show in what the others are found to lose.
    for values, listed, added, entries, order in found:
        kernels.add_listed(values, listed, added, entries, order)
