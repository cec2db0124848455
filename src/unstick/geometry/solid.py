"""What solids leave open: face fractions from the solid's signed distance at the nodes (positive outside the solid)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.kernels.fractions import fill_face_fractions, snap_for


def solid_at_nodes(grid: Grid, solid_phi: Any) -> Array:
    """The nodal distances as kernels take them, (nx+1, ny+1, nz+1), with one layer in 2D."""
    phi = real_array("solid_phi", solid_phi)
    if phi.shape not in (grid.node_shape, grid.node_shape3):
        raise InvalidSystem(
            f"solid_phi has shape {phi.shape}; on a grid of {grid.shape} cells it must have shape {grid.node_shape}, "
            "one value for each node, positive outside the solid"
        )
    return phi.reshape(grid.node_shape3)


def real_array(name: str, values: Any) -> Array:
    """A C-contiguous array of float32 or float64."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InvalidSystem(f"{name} has entries of type {array.dtype}; they must be real numbers (float32 or float64)")
    return np.ascontiguousarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64)


def wall_snap(grid: Grid, solid_phi: Array) -> float:
    """Distances up to this size count as zero: a wall through the nodes stays there whatever its rounding."""
    return snap_for(solid_phi.dtype, max(*grid.extent, *(abs(x) for x in grid.origin)))


def face_fractions(grid: Grid, solid_phi: Any) -> FaceField:
    """Open fraction of every face, 0 to 1; 0 on the domain's sides, and on the front and back of a 2D grid."""
    solid = solid_at_nodes(grid, solid_phi)
    out = FaceField(grid)
    for axis in range(grid.dimension):
        fill_face_fractions(out.components[axis], solid, wall_snap(grid, solid), axis, grid.dimension - 2)
    return out
