"""From geometry to the pressure problem: A p + b is the divergence of the velocity after the step (Lai 2021, section 3.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.liquid import THETA_MIN
from unstick.grid import Array, Grid
from unstick.kernels import warm
from unstick.kernels.assembly import fill_cells, fill_stencil, liquid_extents
from unstick.pressure.inputs import Domain, SolidVelocity, read_solid_velocity, read_velocity, read_walls, require_step
from unstick.problem import AIR, LIQUID, SOLID, PressureSystem, Stencil


def assemble(
    grid: Grid,
    liquid_phi: Any,
    solid_phi: Any,
    velocity: FaceField,
    dt: float,
    density: float = 1.0,
    solid_velocity: SolidVelocity = None,
    walls: Any = "separating",
    theta_min: float = THETA_MIN,
) -> PressureSystem:
    """The system whose p (pascal) makes `velocity` divergence-free over a step dt: (A p + b) in 1/s is the new divergence.

    liquid_phi: at cell centres, negative in the liquid. solid_phi: at grid nodes, positive outside the solid; the domain's sides are
    walls too. The solid part 1 - w of every face moves with `solid_velocity`. Rows: centre in the liquid and an open face.
    walls: 'separating' makes contact rows of all rows with a face fraction below 1, 'sticking' of none; a boolean array chooses by cell.
    Arrays may be float32 or float64; the system is float64, on the tight box of its rows.
    """
    warm.announce()
    require_step(dt, density, theta_min)
    domain = Domain.read(grid, liquid_phi, solid_phi)
    faces = read_velocity("velocity", grid, velocity)
    separating = read_walls(walls, grid)
    first, last = _extents(domain)
    corner, box = _tight_box(first, last)
    moving, moves = read_solid_velocity(grid, solid_velocity, faces[0].dtype, corner, box)
    stencil = Stencil(np.zeros(box), np.zeros(box), np.zeros(box), np.zeros(box), corner)
    b, contact = np.zeros(box), np.zeros(box, dtype=np.bool_)
    broken = np.zeros(box[0], dtype=np.int64)
    inverse_h = 1.0 / grid.spacing
    fill_stencil(
        domain.liquid, domain.solid, domain.snap, domain.kz, first, last, corner,
        dt / density * inverse_h * inverse_h, inverse_h, float(theta_min),
        *faces, *moving, moves, separating,
        stencil.wx, stencil.wy, stencil.wz, stencil.excess, b, contact, broken,
    )  # fmt: skip
    if broken.any():
        raise InvalidSystem(
            f"solid_phi or a velocity is NaN or infinite at {int(broken.sum())} liquid cells "
            f"(the first in the plane of cells x = {int(np.flatnonzero(broken)[0]) + corner[0]}); "
            "both must be finite wherever a face is open"
        )
    return PressureSystem(stencil, b, contact, grid.shape, CellTypes(domain))


def _extents(domain: Domain) -> tuple[Array, Array]:
    nx, ny, _ = domain.grid.shape3
    first, last = np.zeros((nx, ny), dtype=np.int32), np.zeros((nx, ny), dtype=np.int32)
    broken = np.zeros(nx, dtype=np.int64)
    liquid_extents(domain.liquid, domain.solid, domain.snap, domain.kz, first, last, broken)
    if broken.any():
        raise InvalidSystem(
            f"liquid_phi has {int(broken.sum())} entries that are NaN or infinite (the first in the plane of cells x = "
            f"{int(np.flatnonzero(broken)[0])}); all must be finite numbers, positive in air"
        )
    return first, last


def _tight_box(first: Array, last: Array) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Corner and size of the smallest box that holds all ranges; one cell when there is no liquid."""
    wet = last > first
    if not wet.any():
        return (0, 0, 0), (1, 1, 1)
    x, y = np.flatnonzero(wet.any(axis=1)), np.flatnonzero(wet.any(axis=0))
    z0, z1 = int(first[wet].min()), int(last[wet].max())
    return (int(x[0]), int(y[0]), z0), (int(x[-1] - x[0]) + 1, int(y[-1] - y[0]) + 1, z1 - z0)


@dataclass(frozen=True, slots=True, eq=False)
class CellTypes:
    """What each cell of the grid is, worked out when first asked for."""

    domain: Domain

    def __call__(self) -> Array:
        grid = self.domain.grid
        out = np.empty(grid.shape3, dtype=np.int8)
        fill_cells(out, self.domain.liquid, self.domain.solid, self.domain.snap, self.domain.kz, SOLID, LIQUID, AIR)
        return out.reshape(grid.shape)
