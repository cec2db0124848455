"""A flow as the splittings see it: the pressure equation with walls, the one without, and the parts of faces that walls close.

On cut cells the closed part 1 - w of a face is given a velocity of its own, as if liquid went on behind the wall. Taking all solids for
air (Eckert 2014, `removeSolids`) then leaves a matrix that knows no walls, and the wall condition is that every closed part moves with the
solid. On cell flags the parts are the thesis' fluid-solid faces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from unstick.geometry.liquid import liquid_at_cells
from unstick.geometry.solid import face_fractions
from unstick.grid import Array
from unstick.kernels import splitting as kernels
from unstick.pressure.inputs import Faces, read_solid_velocity
from unstick.pressure.projection import system_of
from unstick.pressure.splitting.flags import cell_flags, flags_system, open_faces
from unstick.pressure.splitting.inner import FreeProblem
from unstick.problem import LIQUID, PressureSystem, Stencil
from unstick.solvers.compact import Lattice

if TYPE_CHECKING:
    from unstick.pressure.projection import Flow

WallsFrom = Literal["flags", "fractions"]
Classify = Literal["velocity", "pressure"]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The pressure system of a flow, walls included, and how its faces are open."""

    flow: Flow
    system: PressureSystem
    liquid: Array  # three axes; negative in the liquid, and with 0 in air the surface lies in the centre of a cell of air
    opened: Faces
    types: Array | None  # cell flags, where these decide

    @classmethod
    def of(cls, flow: Flow, walls_from: WallsFrom) -> Setting:
        if walls_from == "fractions":
            opened = face_fractions(flow.grid, flow.solid_phi).components
            return cls(flow, system_of(flow), liquid_at_cells(flow.grid, flow.liquid_phi).astype(np.float64, copy=False), opened, None)
        types = cell_flags(flow.grid, flow.liquid_phi, flow.solid_phi)
        return cls(flow, flags_system(flow, types), np.where(types == LIQUID, -1.0, 0.0), open_faces(types), types)

    @property
    def stencil(self) -> Stencil:
        assert isinstance(self.system.A, Stencil)
        return self.system.A

    @property
    def coupling(self) -> float:
        return self.flow.dt / (self.flow.density * self.flow.grid.spacing**2)

    @property
    def gradient(self) -> float:
        """What a difference of p by one changes in the velocity of a face."""
        return self.flow.dt / (self.flow.density * self.flow.grid.spacing)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The closed parts of faces beside rows."""

    low: Array  # rows on both sides, -1 where there is none
    high: Array
    face: Array  # int32 (4, m): axis, i, j, k on the whole grid
    weight: Array  # share of the face
    wall: Array  # velocity of the solid, along the axis
    start: Array  # velocity of the liquid before the pressure
    coefficient: Array  # weight / h

    def __len__(self) -> int:
        return len(self.low)

    def only(self, chosen: Array) -> Parts:
        return Parts(
            self.low[chosen], self.high[chosen], self.face[:, chosen], self.weight[chosen], self.wall[chosen], self.start[chosen],
            self.coefficient[chosen],
        )  # fmt: skip

    def trace(self, p: Array, gradient: float) -> Array:
        out = np.empty(len(self))
        kernels.trace(p, self.low, self.high, gradient, out)
        return out

    def scatter(self, y: Array, r: Array) -> None:
        kernels.scatter(y, self.low, self.high, self.coefficient, r)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a system: where they stand in its box, and the number of each cell."""

    index: Array  # flat positions in the box
    number: Array  # int32 by cell of the box, -1 without a row
    lattice: Lattice

    @classmethod
    def of(cls, A: Stencil) -> Rows:
        there = A.rows()
        number = np.full(A.box, -1, dtype=np.int32)
        index = np.flatnonzero(there)
        number[there] = np.arange(len(index), dtype=np.int32)
        return cls(index, number, Lattice(A.box, np.argwhere(there).astype(np.int32)))

    def take(self, values: Array) -> Array:
        return np.asarray(values.reshape(-1)[self.index])

    def spread(self, values: Array) -> Array:
        out = np.zeros(self.number.shape, dtype=values.dtype)
        out.reshape(-1)[self.index] = values
        return out

    def problem(self, A: Stencil, coupling: float) -> FreeProblem:
        matrix: sp.csr_array = A.to_csr(self.number >= 0)
        return FreeProblem(matrix, self.lattice, coupling, A)


def without_walls(setting: Setting, rows: Rows) -> Stencil:
    """The stencil of the same rows when all solids are air."""
    A = setting.stencil
    out = Stencil(np.zeros(A.box), np.zeros(A.box), np.zeros(A.box), A.excess.copy(), A.corner)
    kernels.fill_free(
        rows.number, A.corner, *setting.opened, setting.flow.grid.dimension - 2, setting.coupling, out.wx, out.wy, out.wz, out.excess
    )
    return out


def list_parts(setting: Setting, rows: Rows) -> Parts:
    grid, corner = setting.flow.grid, setting.stencil.corner
    kz = grid.dimension - 2
    count = np.zeros(rows.number.shape[0], dtype=np.int64)
    kernels.count_parts(rows.number, corner, *setting.opened, kz, count)
    first = np.concatenate([[0], np.cumsum(count)])
    m = int(first[-1])
    low, high, face = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32), np.empty((4, m), dtype=np.int32)
    weight = np.empty(m)
    kernels.list_parts(rows.number, corner, *setting.opened, kz, first, low, high, face, weight)
    moving, moves = read_solid_velocity(grid, setting.flow.solid_velocity, np.dtype(np.float64), (0, 0, 0), grid.shape3)
    wall = at_faces(moving, face) if moves else np.zeros(m)
    start = at_faces(setting.flow.velocity.components, face).astype(np.float64)
    # A closed face may hold anything as its liquid velocity.
    start = np.where(np.isfinite(start), start, wall)
    return Parts(low, high, face, weight, wall, start, weight / grid.spacing)


def at_faces(values: Faces, face: Array) -> Array:
    """The entries of three face arrays at a list of faces."""
    out = np.empty(face.shape[1])
    for axis in range(3):
        mine = face[0] == axis
        out[mine] = values[axis][tuple(face[1:, mine])]
    return out


def letting_go(setting: Setting, rows: Rows, parts: Parts, p: Array, velocity: Array, classify: Classify) -> Array:
    """Which parts become free surface (Eckert 2014, algorithm 3), from the pressure and the velocity of parts after a first solve.

    Velocity: the liquid leaves the wall. Pressure: it is not pushed against it. On flags a solid cell becomes air as a whole when one of
    its faces says so; on cut cells a contact row lets go of its wall as a whole, as in the complementarity problem, judged by the net flow
    through all of its closed parts; a part between two rows is free when both let go.
    """
    contact = rows.take(setting.system.row_contact)
    if setting.types is None:
        if classify == "pressure":
            loose = contact & (p <= 0.0)
        else:
            through = np.zeros(len(p))
            parts.scatter(velocity - parts.wall, through)
            loose = contact & (through < 0.0)
        none = np.append(loose, True)  # -1: no row, no objection
        return np.asarray(none[parts.low] & none[parts.high])
    row = np.maximum(parts.low, parts.high)  # one of them is -1
    side = np.where(parts.low < 0, 1.0, -1.0)
    away = p[row] <= 0.0 if classify == "pressure" else side * (velocity - parts.wall) > 0.0
    cell = _solid_cells(setting.types.shape, parts)
    _, same = np.unique(cell, return_inverse=True)
    air = np.bincount(same, away & contact[row]) > 0
    return np.asarray(air[same] & contact[row])


def _solid_cells(shape: tuple[int, ...], parts: Parts) -> Array:
    """A number for the cell behind each part; beyond the domain's sides every part has one of its own."""
    cell = parts.face[1:].astype(np.int64)
    behind = parts.low >= 0  # then the solid is the upper cell, whose index is the face's
    for axis in range(3):
        cell[axis] -= (parts.face[0] == axis) & ~behind
    inside = np.all((cell >= 0) & (cell < np.array(shape)[:, None]), axis=0)
    number = (cell[0] * shape[1] + cell[1]) * shape[2] + cell[2]
    return np.where(inside, number, int(np.prod(shape)) + np.arange(len(parts)))


def with_free_parts(setting: Setting, rows: Rows, free: Parts) -> Stencil:
    """The stencil with walls, but for those parts that became free surface."""
    A = setting.stencil
    out = Stencil(A.wx.copy(), A.wy.copy(), A.wz.copy(), A.excess.copy(), A.corner)
    couplings = free.weight * setting.coupling
    single = (free.low < 0) | (free.high < 0)
    at = rows.index[np.maximum(free.low, free.high)]
    np.add.at(out.excess.reshape(-1), at[single], couplings[single])
    for axis, w in enumerate((out.wx, out.wy, out.wz)):
        mine = ~single & (free.face[0] == axis)
        w.reshape(-1)[rows.index[free.high[mine]]] += couplings[mine]
    return out
