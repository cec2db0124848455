"""Shapes as MuJoCo knows them, for contacts: the parts that it has a geometry for. Meshes touch with their convex hulls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unstick.geometry import shapes
from unstick.geometry.mesh import MeshShape
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Shape
from unstick.geometry.triangles import Hare, TriangleShape
from unstick.grid import Array


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """x = offset + scale * rotation @ x0."""

    rotation: Array
    offset: Array
    scale: float = 1.0

    @classmethod
    def still(cls) -> Frame:
        return cls(np.eye(3), np.zeros(3))

    def point(self, x: Any) -> Array:
        """Of two or three coordinates."""
        return np.asarray(self.offset + self.scale * (self.rotation @ three(x)))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A geometry of MuJoCo: kind is sphere, box, capsule, ellipsoid, cylinder, plane or mesh."""

    kind: str
    size: tuple[float, ...]
    centre: Array
    rotation: Array  # of its own axes; capsules, cylinders and the normals of planes lie along z
    points: Array | None = None  # (t, 3, 3) of a mesh


def three(x: Any) -> Array:
    out = np.zeros(3)
    out[: len(x)] = x
    return out


def pieces(shape: Shape, depth: float, frame: Frame | None = None) -> Iterator[Piece]:
    """The parts of a shape that MuJoCo has a geometry for; what it has none for touches nothing. 2D shapes are `depth` deep."""
    at = frame or Frame.still()
    if isinstance(shape, shapes.Sphere):
        yield Piece("sphere", (at.scale * shape.radius,), at.point(shape.centre), at.rotation)
    elif isinstance(shape, shapes.Box):
        half = [0.5 * at.scale * (b - a) for a, b in zip(shape.lower, shape.upper, strict=True)]
        middle = [0.5 * (a + b) for a, b in zip(shape.lower, shape.upper, strict=True)]
        yield Piece("box", tuple(half) if len(half) == 3 else (*half, 0.5 * depth), at.point(middle), at.rotation)
    elif isinstance(shape, (shapes.Capsule, Cylinder)):
        start, end = at.point(shape.start), at.point(shape.end)
        half_length = 0.5 * float(np.linalg.norm(end - start))
        kind = "capsule" if isinstance(shape, shapes.Capsule) else "cylinder"
        yield Piece(kind, (at.scale * shape.radius, half_length), 0.5 * (start + end), z_to(end - start))
    elif isinstance(shape, Ellipsoid):
        size = [at.scale * a for a in shape.semi_axes]
        yield Piece("ellipsoid", tuple(size) if len(size) == 3 else (*size, min(size)), at.point(shape.centre), at.rotation)
    elif isinstance(shape, shapes.Plane):
        yield Piece("plane", (0.0, 0.0, 1.0), at.point(shape.point), z_to(at.rotation @ three(shape.normal)))
    elif isinstance(shape, (MeshShape, Hare, TriangleShape)):
        yield Piece("mesh", (), at.offset, at.rotation, at.scale * shape.triangles())
    elif isinstance(shape, shapes.Translate):
        yield from pieces(shape.shape, depth, Frame(at.rotation, at.point(shape.offset), at.scale))
    elif isinstance(shape, shapes.Rotate):
        yield from pieces(shape.shape, depth, Frame(at.rotation @ shape.matrix(), at.offset, at.scale))
    elif isinstance(shape, shapes.Scale):
        yield from pieces(shape.shape, depth, Frame(at.rotation, at.offset, at.scale * shape.factor))
    elif isinstance(shape, shapes.Union):
        yield from pieces(shape.first, depth, at)
        yield from pieces(shape.second, depth, at)
    elif isinstance(shape, shapes.Complement):
        yield from _around(shape.shape, depth, at)


def _around(inside: Shape, depth: float, at: Frame) -> Iterator[Piece]:
    """What is not in a box or behind a plane, as planes."""
    if isinstance(inside, shapes.Plane):
        yield from pieces(shapes.Plane(inside.point, tuple(-n for n in inside.normal)), depth, at)
    elif isinstance(inside, shapes.Box):
        for axis in range(len(inside.lower)):
            for point, sign in ((inside.lower, 1.0), (inside.upper, -1.0)):
                normal = tuple(sign * (a == axis) for a in range(len(inside.lower)))
                yield from pieces(shapes.Plane(point, normal), depth, at)


def z_to(direction: Array) -> Array:
    """A rotation that turns the z axis into a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
