"""Eckert's cell flags: every cell is solid, liquid or air as a whole, every face open or closed (2014, section 2.1.3 and figure 3.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from unstick.checks import InvalidSystem
from unstick.geometry.liquid import liquid_at_cells
from unstick.geometry.solid import solid_at_nodes, wall_snap
from unstick.grid import Array, Grid
from unstick.kernels.splitting import fill_flags
from unstick.pressure.inputs import Faces, read_solid_velocity, read_velocity, read_walls, require_step
from unstick.problem import AIR, LIQUID, SOLID, PressureSystem, Stencil

if TYPE_CHECKING:
    from unstick.pressure.projection import Flow


def cell_flags(grid: Grid, liquid_phi: Array, solid_phi: Array) -> Array:
    """SOLID where the mean of a cell's corners lies in the solid, else LIQUID or AIR as its centre; int8, three axes."""
    liquid, solid = liquid_at_cells(grid, liquid_phi), solid_at_nodes(grid, solid_phi)
    mean = solid.astype(np.float64)
    for axis in range(grid.dimension):
        lower = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
        upper = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
        mean = 0.5 * (mean[lower] + mean[upper])
    flags = np.where(liquid < 0.0, LIQUID, AIR)
    return np.where(mean <= wall_snap(grid, solid), SOLID, flags).astype(np.int8)


def open_faces(types: Array) -> Faces:
    """1 between two cells that are not solid, 0 elsewhere and on the domain's sides."""
    clear = types != SOLID
    faces = []
    for axis in range(3):
        out = np.zeros(tuple(n + (a == axis) for a, n in enumerate(types.shape)))
        inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
        lower = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
        upper = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
        out[inner] = clear[lower] & clear[upper]
        faces.append(out)
    return faces[0], faces[1], faces[2]


def flags_system(flow: Flow, types: Array) -> PressureSystem:
    """The pressure system on flags; contact rows are the liquid cells beside a solid one that may let go of it."""
    require_step(flow.dt, flow.density)
    grid = flow.grid
    corner, box = _tight(types == LIQUID)
    faces = read_velocity("velocity", grid, flow.velocity)
    moving, moves = read_solid_velocity(grid, flow.solid_velocity, faces[0].dtype, (0, 0, 0), grid.shape3)
    stencil = Stencil(np.zeros(box), np.zeros(box), np.zeros(box), np.zeros(box), corner)
    b, contact = np.zeros(box), np.zeros(box, dtype=np.bool_)
    fill_flags(
        types, corner, flow.dt / (flow.density * grid.spacing**2), 1.0 / grid.spacing, grid.dimension - 2, *faces, *moving, moves,
        read_walls(flow.walls, grid), stencil.wx, stencil.wy, stencil.wz, stencil.excess, b, contact,
    )  # fmt: skip
    if not np.isfinite(b).all():
        raise InvalidSystem("a velocity is NaN or infinite at a face of a liquid cell; it must be finite wherever a face is open")
    system = PressureSystem(stencil, b, contact, grid.shape, types.reshape(grid.shape))
    if np.ndim(flow.expansion) == 0 and not np.any(flow.expansion):
        return system
    wanted = system.restrict(np.broadcast_to(flow.expansion, grid.shape3).reshape(system.shape))
    chosen = stencil.rows() & ~contact
    return replace(system, row_b=np.where(chosen, b - wanted, b))


def _tight(wet: Array) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Corner and size of the smallest box around the liquid; one cell when there is none."""
    if not wet.any():
        return (0, 0, 0), (1, 1, 1)
    ends = [np.flatnonzero(wet.any(axis=tuple(a for a in range(3) if a != axis))) for axis in range(3)]
    corner = int(ends[0][0]), int(ends[1][0]), int(ends[2][0])
    return corner, (int(ends[0][-1]) - corner[0] + 1, int(ends[1][-1]) - corner[1] + 1, int(ends[2][-1]) - corner[2] + 1)
