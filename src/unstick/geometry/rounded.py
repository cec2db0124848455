"""Ellipsoids and cylinders: shapes that bodies have beside boxes, spheres and capsules. Exact signed distances, as in `shapes`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unstick.geometry.shapes import Points, Shape
from unstick.grid import Array

NEWTON = 60  # steps at most; a few suffice away from the middle
OFF_AXIS = 1e-6  # semi-axes that a point is moved off a plane of symmetry, where its foot is not unique


@dataclass(frozen=True, slots=True)
class Ellipsoid(Shape):
    """All points within an ellipsoid whose semi-axes lie along the coordinates; an ellipse in 2D."""

    centre: tuple[float, ...]
    semi_axes: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.centre) not in (2, 3) or not all(map(math.isfinite, self.centre)):
            raise ValueError(f"the ellipsoid's centre is {self.centre!r}; give two or three finite numbers")
        if len(self.semi_axes) != len(self.centre) or not all(math.isfinite(a) and a > 0 for a in self.semi_axes):
            raise ValueError(
                f"the ellipsoid's semi_axes are {self.semi_axes!r}; give {len(self.centre)} positive numbers, one for each axis"
            )

    def distance(self, *x: Array) -> Array:
        """By the root t of sum (a_i x_i / (t + a_i^2))^2 = 1 (Eberly 2013): the foot of x is a_i^2 x_i / (t + a_i^2). Newton's steps
        from the left of the root never pass it."""
        points = np.broadcast_arrays(*_relative(x, self.centre))
        shape, size = points[0].shape, np.array(self.semi_axes)
        at = np.maximum(np.abs(np.stack([p.reshape(-1) for p in points])), OFF_AXIS * size[:, None])
        a, square = size[:, None], (size * size)[:, None]
        t = np.max(a * at - square, axis=0)
        for _ in range(NEWTON):
            share = a * at / (t + square)
            value = np.sum(share * share, axis=0) - 1.0
            slope = -2.0 * np.sum(share * share / (t + square), axis=0)
            step = -value / slope
            t = t + step
            if np.all(np.abs(step) <= 1e-15 * (np.abs(t) + square.min())):
                break
        foot = square * at / (t + square)
        length = np.sqrt(np.sum((at - foot) ** 2, axis=0))
        return np.asarray(np.copysign(length, t)).reshape(shape)


@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    """All points within `radius` of the segment from `start` to `end`, between its ends; in 3D."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        if len(self.start) != 3 or len(self.end) != 3 or self.start == self.end:
            raise ValueError(f"the cylinder goes from {self.start} to {self.end}; give two different points of three coordinates")
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"the cylinder's radius is {self.radius!r}; give a positive number")

    def distance(self, *x: Array) -> Array:
        along = np.subtract(self.end, self.start)
        half = 0.5 * float(np.linalg.norm(along))
        middle = tuple(0.5 * (a + b) for a, b in zip(self.start, self.end, strict=True))
        reach = _relative(x, middle)
        up = sum((r * (d / (2.0 * half)) for r, d in zip(reach, along, strict=True)), start=np.float64(0.0))
        square = sum((r * r for r in reach), start=np.float64(0.0)) - up * up
        past_side, past_end = np.sqrt(np.maximum(square, 0.0)) - self.radius, np.abs(up) - half
        outside = np.sqrt(np.maximum(past_side, 0.0) ** 2 + np.maximum(past_end, 0.0) ** 2)
        return np.asarray(outside + np.minimum(np.maximum(past_side, past_end), 0.0))


@dataclass(frozen=True, slots=True)
class Slice(Shape):
    """A shape of three coordinates as the plane z = 0 cuts it."""

    shape: Shape

    def distance(self, *x: Array) -> Array:
        return self.shape.distance(*x[:2], np.zeros(1))


def _relative(x: Points, centre: tuple[float, ...]) -> Points:
    if len(x) != len(centre):
        raise ValueError(f"the shape has {len(centre)} coordinates but the points have {len(x)}; a shape serves grids of its own dimension")
    return tuple(a - c for a, c in zip(x, centre, strict=True))
