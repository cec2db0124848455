"""The static geometry of Aanjaneya's two test problems: a light box that has just been let go under water, and several boxes of different
densities. Tanks of 1 x 2 (x 1), everything at rest, gravity for one step; the first of the boxes starts turned."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.projection import Flow

GRAVITY, STEP, DENSITY = 9.81, 0.01, 1000.0
LEVEL = 1.8
LIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Box:
    """A box by centre, half sides, density by that of the liquid, and angles about z and y."""

    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    ratio: float
    turned: tuple[float, float] = (0.0, 0.0)

    def frame(self) -> Array:
        a, b = self.turned
        about_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
        about_y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
        return np.asarray(about_z @ about_y)

    def distance(self, points: tuple[Array, ...]) -> Array:
        frame, d = self.frame(), len(points)
        x = [p - c for p, c in zip(points, self.centre, strict=False)]
        outside, inside = 0.0, -np.inf
        for axis in range(d):
            q = np.abs(sum(frame[a, axis] * x[a] for a in range(d))) - self.half[axis]
            outside, inside = outside + np.maximum(q, 0.0) ** 2, np.maximum(inside, q)
        return np.asarray(np.sqrt(outside) + np.minimum(inside, 0.0))

    def mass(self, grid: Grid) -> Array:
        """(6, 6), in 2D of the slice of one cell."""
        half = np.array(self.half)
        if grid.dimension == 2:
            half[2] = 0.5 * grid.spacing
        m = DENSITY * self.ratio * float(np.prod(2 * half))
        inertia = m / 3 * (np.sum(half**2) - half**2)
        if grid.dimension == 2:
            inertia[2] = m / 3 * (half[0] ** 2 + half[1] ** 2)
        frame = self.frame()
        return np.asarray(scipy.linalg.block_diag(m * np.eye(3), frame @ np.diag(inertia) @ frame.T))


def box_lift(ratio: float = LIGHT) -> list[Box]:
    """Figure 5: a light block with a slight initial rotation."""
    return [Box((0.5, 0.7, 0.5), (0.16, 0.12, 0.14), ratio, (0.2, 0.0))]


def boxes(ratio: float | None = None) -> list[Box]:
    """Figure 6: blocks of various densities, or all of one ratio."""
    ratios = [0.1, 0.3, 0.6, 1.5, 3.0, 8.0]
    places = itertools.product((0.45, 0.95, 1.4), (0.28, 0.72))
    return [
        Box((x, y, 0.35 + 0.3 * (n % 2)), (0.14, 0.11, 0.13), r if ratio is None else ratio, (0.15 * n, 0.1 * n))
        for n, ((y, x), r) in enumerate(zip(places, ratios, strict=True))
    ]


def flow(cells: int, dimension: int, blocks: list[Box], separating: bool = False) -> Flow:
    """`cells` across, twice as many up."""
    grid = Grid((cells, 2 * cells) if dimension == 2 else (cells, 2 * cells, cells), 1.0 / cells)
    if dimension == 2:
        blocks = [Box(b.centre, b.half, b.ratio, (b.turned[0], 0.0)) for b in blocks]
    nodes = grid.points(grid.node_shape, (0.0,) * dimension)
    phi = tuple(np.broadcast_to(b.distance(nodes), grid.node_shape).reshape(grid.node_shape3) for b in blocks)
    keep = [n for n in range(6 * len(blocks)) if dimension == 3 or n % 6 in (0, 1, 5)]
    jacobian = np.eye(6 * len(blocks)).reshape(len(blocks), 6, -1)[:, :, keep]
    mass = scipy.linalg.block_diag(*(b.mass(grid) for b in blocks))[np.ix_(keep, keep)]
    velocity = FaceField(grid)
    velocity.v[...] = -GRAVITY * STEP
    v = np.array([-GRAVITY * STEP if n % 6 == 1 else 0.0 for n in keep])
    y = grid.points(grid.shape, (0.5,) * dimension)[1]
    # The level lies a little above the middle of a row of cells, as the surface of a moving liquid would.
    liquid = np.broadcast_to(y - (LEVEL - 0.2 * grid.spacing), grid.shape).copy()
    bodies = Bodies(phi, np.array([b.centre for b in blocks]), jacobian, mass, v, (separating,) * len(blocks))
    style = "separating" if separating else "sticking"
    return Flow(grid, liquid, np.minimum.reduce(phi), velocity, STEP, DENSITY, None, style, bodies=bodies)
