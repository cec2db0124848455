"""Flows for the tests of Eckert's projections, and his algorithms as printed, on whole velocity fields with a dense solve inside."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unstick.fields import FaceField
from unstick.grid import CENTRES, NODES, Array, Grid
from unstick.pressure.projection import Flow
from unstick.pressure.splitting.flags import cell_flags
from unstick.problem import LIQUID, SOLID

TIGHT = {"epsilon_CG": 1e-11, "max_iterations": 20_000}


def coordinates(grid: Grid, shift: tuple[float, ...]) -> list[Array]:
    shape = grid.shape if shift == CENTRES else grid.node_shape
    return [np.broadcast_to(line, shape) for line in grid.points(shape, shift)]


def flow(
    shape: tuple[int, ...] = (14, 12), round_walls: bool = False, surface: float = 0.55, seed: int = 1, moving: bool = False, **more: object
) -> Flow:
    """A vessel (a box one cell inside the grid, or round) with a slanted surface, an obstacle, and a rough velocity."""
    h = more.pop("spacing", 1.0)
    grid = Grid(shape, h)
    nodes, centres = coordinates(grid, NODES), coordinates(grid, CENTRES)
    size = np.array(grid.extent)
    if round_walls:
        solid = 0.45 * size.min() - np.sqrt(sum((x - 0.5 * s) ** 2 for x, s in zip(nodes, size, strict=True)))
    else:
        solid = np.min([np.minimum(x - h, s - h - x) for x, s in zip(nodes, size, strict=True)], axis=0)
        block = np.max([np.abs(x - h * c) - h * r for x, c, r in zip(nodes, (5, 3, 4), (2, 1, 2), strict=False)], axis=0)
        solid = np.minimum(solid, block)
    liquid = centres[1] - surface * size[1] - 0.2 * (centres[0] - 0.5 * size[0])
    rng = np.random.default_rng(seed)
    velocity = FaceField(grid)
    wall = FaceField(grid) if moving else None
    for axis in range(grid.dimension):
        velocity.components[axis][...] = rng.standard_normal(grid.face_shape(axis))
        if wall is not None:
            wall.components[axis][...] = 0.5 * (axis + 1)
    return Flow(grid, liquid.reshape(grid.shape3), solid.reshape(grid.node_shape3), velocity, 0.5, solid_velocity=wall, **more)  # type: ignore[arg-type]


def difference(a: FaceField, b: FaceField, seen: tuple[Array, ...]) -> float:
    """The largest on the faces that are seen."""
    return max(float(np.abs(x - y).max(where=s > 0, initial=0.0)) for x, y, s in zip(a.components, b.components, seen, strict=True))


@dataclass
class Thesis:
    """Algorithms 2 to 5 in cell units (h = 1) on flags, in 2D, with exact solves."""

    flow: Flow
    residuals: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        grid = self.flow.grid
        self.flags = cell_flags(grid, self.flow.liquid_phi, self.flow.solid_phi)[:, :, 0]
        self.u = [self.flow.velocity.u[:, :, 0].copy(), self.flow.velocity.v[:, :, 0].copy()]
        self.cells = [tuple(c) for c in np.argwhere(self.flags == LIQUID)]
        self.number = {c: n for n, c in enumerate(self.cells)}
        self.p = np.zeros(len(self.cells))

    def faces(self, cell: tuple[int, int]) -> list[tuple[int, tuple[int, int], tuple[int, int], int]]:
        """(axis, face, neighbour, sign of the way out)"""
        i, j = cell
        return [
            (0, (i, j), (i - 1, j), -1), (0, (i + 1, j), (i + 1, j), 1), (1, (i, j), (i, j - 1), -1), (1, (i, j + 1), (i, j + 1), 1),
        ]  # fmt: skip

    def divergence(self, u: list[Array]) -> Array:
        return np.array([sum(s * u[axis][face] for axis, face, _, s in self.faces(c)) for c in self.cells])

    def solve_pressure(self, u: list[Array], flags: Array) -> Array:
        """p in units of dt / rho; u is not changed."""
        A = np.zeros((len(self.cells), len(self.cells)))
        for n, c in enumerate(self.cells):
            for _, _, other, _ in self.faces(c):
                if flags[other] != SOLID:
                    A[n, n] += 1.0
                if flags[other] == LIQUID:
                    A[n, self.number[other]] -= 1.0
        return np.linalg.solve(A, -self.divergence(u))

    def correct(self, u: list[Array], p: Array, flags: Array) -> None:
        """correctVelocity: faces of liquid that no solid closes."""
        done = set()
        for n, c in enumerate(self.cells):
            for axis, face, other, s in self.faces(c):
                if flags[other] == SOLID or (axis, face) in done:
                    continue
                done.add((axis, face))
                u[axis][face] -= s * ((p[self.number[other]] if flags[other] == LIQUID else 0.0) - p[n])

    def without_solids(self) -> Array:
        return np.where(self.flags == SOLID, 2, self.flags)

    def mark(self, u: list[Array], p: Array, by: str) -> Array:
        """markDetachingCells: the flags with detaching solid cells as air."""
        out = self.flags.copy()
        for n, c in enumerate(self.cells):
            for axis, face, other, s in self.faces(c):
                if self.flags[other] == SOLID and (-s * u[axis][face] > 0.0 if by == "velocity" else p[n] <= 0.0):
                    out[other] = 2
        return out

    def ensure(self, u: list[Array], flags: Array) -> None:
        for c in self.cells:
            for axis, face, other, _ in self.faces(c):
                if flags[other] == SOLID:
                    u[axis][face] = 0.0

    def iop(self, goal: float, separating: bool, by: str = "velocity") -> list[Array]:
        u, free = self.u, self.without_solids()
        while not self.residuals or self.residuals[-1] > goal:
            p = self.solve_pressure(u, free)
            self.correct(u, p, free)
            if not self.residuals:
                flags = self.mark(u, p, by) if separating else self.flags
            self.ensure(u, flags)
            self.residuals.append(float(np.abs(self.divergence(u)).max()))
        return u

    def admm(self, goal: float, separating: bool, residual: str) -> list[Array]:
        u, free = self.u, self.without_solids()
        q = [np.zeros_like(x) for x in u]
        while True:
            p = self.solve_pressure(u, free)
            self.correct(u, p, free)
            if not self.residuals:
                flags = self.mark(u, p, "velocity") if separating else self.flags
            v = [x + y for x, y in zip(u, q, strict=True)]
            self.ensure(v, flags)
            q = [y + x - z for x, y, z in zip(u, q, v, strict=True)]
            after = [z - y for z, y in zip(v, q, strict=True)]
            if residual == "velocity":
                self.residuals.append(max(float(np.abs(x - z).max()) for x, z in zip(u, v, strict=True)))
            else:
                self.residuals.append(float(np.abs(self.divergence(after)).max()))
            if self.residuals[-1] <= goal:
                return u
            u = after

    def corrected(self, goal: float) -> list[Array]:
        """OrigPSSep once, then again on the changed flags until the goal: IOPSepBC."""
        free, u = self.without_solids(), self.u
        held = [x.copy() for x in u]
        self.ensure(held, self.flags)
        p = self.solve_pressure(held, self.flags)
        trial = [x.copy() for x in u]
        self.correct(trial, p, free)
        flags = self.mark(trial, p, "velocity")
        self.correct(u, p, flags)
        self.ensure(u, flags)
        self.residuals.append(float(np.abs(self.divergence(u)).max()))
        while self.residuals[-1] > goal:
            self.correct(u, self.solve_pressure(u, flags), flags)
            self.residuals.append(float(np.abs(self.divergence(u)).max()))
        return u
