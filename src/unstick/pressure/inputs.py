"""The fields of a time step as kernels take them, each checked with one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unstick.checks import InvalidSystem, require_positive
from unstick.fields import FaceField, VelocityFunction
from unstick.geometry.liquid import THETA_MIN, liquid_at_cells
from unstick.geometry.solid import solid_at_nodes, wall_snap
from unstick.grid import Array, Grid
from unstick.kernels.assembly import empty_walls

SolidVelocity = FaceField | VelocityFunction | None
Faces = tuple[Array, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Liquid and solid on a grid, of one floating-point type."""

    grid: Grid
    liquid: Array  # (nx, ny, nz)
    solid: Array  # (nx+1, ny+1, nz+1), one layer in 2D
    snap: float

    @classmethod
    def read(cls, grid: Grid, liquid_phi: Any, solid_phi: Any) -> Domain:
        if not isinstance(grid, Grid):
            raise InvalidSystem(f"grid is a {type(grid).__name__}; give unstick.Grid(shape, spacing)")
        liquid, solid = liquid_at_cells(grid, liquid_phi), solid_at_nodes(grid, solid_phi)
        snap = wall_snap(grid, solid)
        kind = np.result_type(liquid, solid)
        return cls(grid, liquid.astype(kind, copy=False), solid.astype(kind, copy=False), snap)

    @property
    def kz(self) -> int:
        """The step to a cell's upper layer of nodes: 0 in 2D."""
        return self.grid.dimension - 2


def require_step(dt: float, density: float, theta_min: float = THETA_MIN) -> None:
    require_positive("dt", dt)
    require_positive("density", density)
    require_positive("theta_min", theta_min)
    if theta_min > 1:
        raise InvalidSystem(f"theta_min is {theta_min!r}; it must be at most 1, one cell")


def read_velocity(name: str, grid: Grid, velocity: Any) -> Faces:
    """The three arrays of a FaceField of this grid, as kernels take them."""
    if not isinstance(velocity, FaceField):
        raise InvalidSystem(f"{name} is a {type(velocity).__name__}; give an unstick.FaceField of the grid")
    arrays = []
    for axis, values in enumerate(velocity.components):
        if values.shape != grid.face_shape(axis) or values.dtype not in (np.float32, np.float64):
            raise InvalidSystem(
                f"{name}.{'uvw'[axis]} has shape {values.shape} and type {values.dtype}; on a grid of {grid.shape} cells it must have "
                f"shape {grid.face_shape(axis)} and type float32 or float64"
            )
        arrays.append(np.ascontiguousarray(values))
    kind = np.result_type(*arrays)
    return arrays[0].astype(kind, copy=False), arrays[1].astype(kind, copy=False), arrays[2].astype(kind, copy=False)


def read_walls(walls: Any, grid: Grid) -> Array:
    """Which cells may let go of their walls: one entry for all, or one for each cell."""
    if isinstance(walls, str) and walls in ("separating", "sticking"):
        return empty_walls(walls == "separating")
    mask = np.asarray(walls)
    if mask.dtype != np.bool_ or mask.shape not in (grid.shape, grid.shape3):
        given = repr(walls) if isinstance(walls, str) else f"an array of shape {mask.shape} and type {mask.dtype}"
        raise InvalidSystem(
            f"walls is {given}; give 'separating', 'sticking', or a boolean array of shape {grid.shape}, True in cells that may separate"
        )
    return np.ascontiguousarray(mask.reshape(grid.shape3))


def read_solid_velocity(
    grid: Grid, solid_velocity: Any, kind: np.dtype[Any], corner: tuple[int, int, int], box: tuple[int, int, int]
) -> tuple[Faces, bool]:
    """The solids' velocity on the faces of a box of cells, and whether anything moves."""
    if solid_velocity is None:
        still = np.zeros((1, 1, 1), dtype=kind)
        return (still, still, still), False
    if isinstance(solid_velocity, FaceField):
        whole = read_velocity("solid_velocity", grid, solid_velocity)
        parts = []
        for axis, values in enumerate(whole):
            window = tuple(slice(c, c + n + (a == axis)) for a, (c, n) in enumerate(zip(corner, box, strict=True)))
            parts.append(np.ascontiguousarray(values[window], dtype=kind))
        return (parts[0], parts[1], parts[2]), True
    if not isinstance(solid_velocity, Callable):  # type: ignore[arg-type]
        raise InvalidSystem(
            f"solid_velocity is a {type(solid_velocity).__name__}; give None, an unstick.FaceField of the grid, "
            "or a function (x, y[, z]) -> (u, v[, w])"
        )
    d = grid.dimension
    start = tuple(o + c * grid.spacing for o, c in zip(grid.origin, corner[:d], strict=True))
    sampled = FaceField.from_function(Grid(box[:d], grid.spacing, start), solid_velocity, kind)
    return sampled.components, True
