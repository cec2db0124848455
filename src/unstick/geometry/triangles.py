"""Meshes that are not read from a file: given triangles as a shape, and a figure made by code."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np

from unstick.geometry.mesh import Lattice, sample_mesh
from unstick.geometry.shapes import Shape
from unstick.grid import Array

ROUNDS = 4  # of cutting the triangles of an icosahedron in four: 5120 triangles


@dataclass(frozen=True, slots=True, eq=False)
class TriangleShape(Shape):
    """What a closed set of triangles encloses, in 3D. Distances are sampled once, half of `spacing` apart."""

    corner: Array  # (t, 3, 3), normals outward
    spacing: float
    _lattice: list[Lattice] = field(default_factory=list, repr=False)

    def triangles(self) -> Array:
        return self.corner

    def distance(self, *x: Array) -> Array:
        if not self._lattice:
            self._lattice.append(sample_mesh(np.ascontiguousarray(self.corner), 0.5 * self.spacing))
        return self._lattice[0].distance(*x)


@dataclass(frozen=True, slots=True)
class Hare(Shape):
    """A figure with two ears, a nose and a tail: a closed, concave mesh of 5120 triangles, as a stand-in for scanned ones.

    `size` is the height from foot to tip of the ears; the middle of the body lies at `centre`.
    """

    centre: tuple[float, ...]
    size: float
    spacing: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if len(self.centre) != 3 or not all(map(math.isfinite, self.centre)):
            raise ValueError(f"the hare's centre is {self.centre!r}; give three finite numbers")
        if not (math.isfinite(self.size) and self.size > 0):
            raise ValueError(f"the hare's size is {self.size!r}; give a positive number")

    def triangles(self) -> Array:
        return np.asarray(hare_triangles() * self.size + np.array(self.centre))

    def distance(self, *x: Array) -> Array:
        if len(x) != 3:
            raise ValueError(f"a mesh is a shape in 3D, but the points have {len(x)} coordinates; use shapes of two coordinates in 2D")
        lattice = _hare_lattice(0.5 * self.spacing / self.size)
        moved = tuple((line - c) / self.size for line, c in zip(x, self.centre, strict=True))
        return lattice.distance(*moved) * self.size


@functools.lru_cache(maxsize=8)
def _hare_lattice(spacing: float) -> Lattice:
    return sample_mesh(hare_triangles(), spacing)


@functools.lru_cache(maxsize=1)
def hare_triangles() -> Array:
    """Corners (t, 3, 3) of the figure of height 1: a ball of radius that depends on the direction, so that it is closed."""
    points, faces = icosphere(ROUNDS)
    bumps = (  # direction, how far it stands out, how narrow it is
        ((0.24, 1.0, 0.0), 1.25, 70.0),
        ((-0.24, 1.0, 0.0), 1.25, 70.0),
        ((0.0, 0.35, 1.0), 0.30, 6.0),  # the head
        ((0.0, -0.2, -1.0), 0.35, 30.0),  # the tail
        ((0.0, -1.0, 0.35), 0.15, 4.0),  # the feet
    )
    radius = np.ones(len(points))
    for direction, height, narrow in bumps:
        along = points @ (np.array(direction) / np.linalg.norm(direction))
        radius += height * np.exp(narrow * (along - 1.0))
    points = points * radius[:, None]
    points /= np.ptp(points[:, 1])
    return np.ascontiguousarray(points[faces])


def icosphere(rounds: int) -> tuple[Array, Array]:
    """Points (n, 3) of the unit sphere and triangles (t, 3), counter-clockwise from outside."""
    g = 0.5 * (1.0 + math.sqrt(5.0))
    corners = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g), (g, 0, -1), (g, 0, 1)]
    points = np.array([*corners, (-g, 0, -1), (-g, 0, 1)], dtype=np.float64) / math.hypot(1.0, g)
    faces = np.array(
        [
            (0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8),
            (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1),
        ]
    )  # fmt: skip
    for _ in range(rounds):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        middle = points[unique].sum(axis=1)
        middle /= np.linalg.norm(middle, axis=1)[:, None]
        ab, bc, ca = len(points) + number.reshape(3, -1)
        a, b, c = faces.T
        points = np.concatenate([points, middle])
        faces = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))])
    return points, faces
