"""Smoke, heat and velocity carried along the paths of the gas, on the grid; rays end at solids.

Semi-Lagrangian schemes do not keep the sum of what they carry. What they lost is given back where there is room for it (`keep`).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from unstick.fields import FaceField
from unstick.geometry.solid import solid_at_nodes, wall_snap
from unstick.grid import CENTRES, Array, Grid
from unstick.kernels import gas as kernels
from unstick.liquid.advect import Path


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A step as advection sees it: the velocity, and the solids when it begins and when it ends."""

    velocity: FaceField
    dt: float
    path: Path
    scheme: str  # cubic, maccormack, linear
    old: Array  # distance at nodes
    new: Array  # the same array where nothing moves

    def carry(self, values: Array, shift: tuple[float, ...]) -> tuple[Array, Array, Array]:
        """(values, least, most) after the step of fields (m, nx, ny, nz) on the lattice that begins at `shift` (cells), and the range of
        what was around where they came from, in which they are."""
        grid = self.velocity.grid
        old, new = (solid_at_nodes(grid, phi) for phi in (self.old, self.new))
        out, least, most = (np.empty_like(values) for _ in range(3))
        whole = np.empty(values.shape[1:], dtype=np.bool_)
        s, inverse_h, kz = self.dt / grid.spacing, 1.0 / grid.spacing, grid.dimension - 2
        common = (shift, *self.velocity.components, s, astuple(self.path), grid.shape3, kz, old, new, self.old is not self.new, inverse_h)
        kernels.carry_open(values, *common, self.scheme == "cubic", out, least, most, whole)
        if self.scheme != "maccormack":
            return out, least, most
        better = np.empty_like(values)
        kernels.correct(values, out, *common, least, most, whole, better)
        return better, least, most

    def carry_cells(self, *fields: Array) -> tuple[Array, Array, Array]:
        """Fields at cell centres."""
        return self.carry(np.stack(fields), CENTRES)

    def carry_velocity(self) -> FaceField:
        """The velocity, by itself."""
        out = FaceField(self.velocity.grid)
        for axis in range(self.velocity.grid.dimension):
            shift = tuple(0.0 if a == axis else c for a, c in enumerate(CENTRES))
            out.components[axis][...] = self.carry(self.velocity.components[axis][None], shift)[0][0]
        return out


def open_parts(grid: Grid, solid_phi: Array) -> Array:
    """The part of each cell outside solids, by cell."""
    solid = solid_at_nodes(grid, solid_phi)
    out = np.empty(grid.shape3)
    kernels.fill_open_parts(out, solid, wall_snap(grid, solid), grid.dimension - 2, 1.0 / grid.spacing)
    return out


def centre_open(grid: Grid, solid_phi: Array) -> Array:
    """uint8 by cell: whether its centre is in the open, where advection gives it a value."""
    out = np.empty(grid.shape3, dtype=np.uint8)
    kernels.mark_open(out, solid_at_nodes(grid, solid_phi), grid.dimension - 2)
    return out


def keep(values: Array, least: Array, most: Array, parts: Array, free: Array, wanted: float) -> float:
    """In place: move values where they are `free` within their ranges until the sum of all over `parts` is `wanted`; returns what is
    still missing.

    Each is moved by the same part of the room that it has (as in Bermejo and Conde 2002, who make a quasi-monotone semi-Lagrangian
    scheme conserve): no new extremes, and nothing changes where nothing varies.
    """
    gap = wanted - float(np.sum(values * parts))
    room = ((most if gap > 0.0 else least) - values) * free
    total = float(np.sum(room * parts))
    if total == 0.0:
        return gap
    part = min(1.0, gap / total)
    values += part * room
    return gap - part * total
