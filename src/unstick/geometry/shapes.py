"""Solids and liquids as signed distances: positive outside, negative inside. Shapes are values, in 2D and 3D alike.

A point has as many coordinates as the grid has axes, so `Sphere((0.5, 0.5), 0.4)` is a circle. Set operations give the exact
distance outside a union and inside an intersection, and a lower bound of its size elsewhere; the zero set is exact.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from unstick.grid import CENTRES, NODES, Array, Grid

Points = tuple[Array, ...]  # one array of coordinates per axis; they broadcast


class Shape(abc.ABC):
    """A set of points with a signed distance. `a | b`, `a & b`, `a - b` and `~a` are union, intersection, difference, complement."""

    __slots__ = ()

    @abc.abstractmethod
    def distance(self, *x: Array) -> Array:
        """Signed distance at the points with the given coordinates."""

    def __or__(self, other: Shape) -> Shape:
        return Union(self, other)

    def __and__(self, other: Shape) -> Shape:
        return Intersection(self, other)

    def __sub__(self, other: Shape) -> Shape:
        return Difference(self, other)

    def __invert__(self) -> Shape:
        return Complement(self)

    def translate(self, offset: Sequence[float]) -> Shape:
        return Translate(self, _vector("offset", offset))

    def rotate(self, angle: float, axis: Sequence[float] = (0.0, 0.0, 1.0), centre: Sequence[float] | None = None) -> Shape:
        """Turn by `angle` (radians) about `axis` through `centre` (the origin if not given); in 2D the axis points out of the plane."""
        turned: Shape = Rotate(self, float(angle), _vector("axis", axis))
        if centre is None:
            return turned
        return Rotate(self.translate([-c for c in centre]), float(angle), _vector("axis", axis)).translate(centre)

    def scale(self, factor: float) -> Shape:
        """Stretch by `factor` about the origin."""
        return Scale(self, _positive("factor", factor))


def _vector(name: str, values: Sequence[float]) -> tuple[float, ...]:
    out = tuple(float(v) for v in values)
    if len(out) not in (2, 3) or not all(math.isfinite(v) for v in out):
        raise ValueError(f"the shape's {name} is {values!r}; give two or three finite numbers")
    return out


def _positive(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"the shape's {name} is {value!r}; give a positive number")
    return float(value)


def _minus(x: Points, centre: tuple[float, ...]) -> Points:
    if len(x) != len(centre):
        raise ValueError(f"the shape has {len(centre)} coordinates but the points have {len(x)}; a shape serves grids of its own dimension")
    return tuple(a - c for a, c in zip(x, centre, strict=True))


def _length(x: Points) -> Array:
    return np.asarray(np.sqrt(sum(a * a for a in x)))


@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    centre: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        _vector("centre", self.centre)
        _positive("radius", self.radius)

    def distance(self, *x: Array) -> Array:
        return _length(_minus(x, self.centre)) - self.radius


@dataclass(frozen=True, slots=True)
class Box(Shape):
    """All points between two opposite corners."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        low, high = _vector("lower corner", self.lower), _vector("upper corner", self.upper)
        if len(low) != len(high) or any(a >= b for a, b in zip(low, high, strict=True)):
            raise ValueError(
                f"the box goes from {self.lower} to {self.upper}; each coordinate of the upper corner must exceed the lower one's"
            )

    def distance(self, *x: Array) -> Array:
        above = _minus(x, self.upper)
        below = _minus(x, self.lower)
        # Beyond the nearer of the two sides, per axis; exact zeros on grid-aligned sides.
        past = tuple(np.maximum(a, -b) for a, b in zip(above, below, strict=True))
        outside = _length(tuple(np.maximum(a, 0.0) for a in past))
        inside = past[0]
        for a in past[1:]:
            inside = np.maximum(inside, a)
        return np.asarray(outside + np.minimum(inside, 0.0))


@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    """All points within `radius` of the segment from `start` to `end`."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        if len(_vector("start", self.start)) != len(_vector("end", self.end)) or self.start == self.end:
            raise ValueError(f"the capsule goes from {self.start} to {self.end}; give two different points of the same dimension")
        _positive("radius", self.radius)

    def distance(self, *x: Array) -> Array:
        along = tuple(b - a for a, b in zip(self.start, self.end, strict=True))
        reach = _minus(x, self.start)
        t = sum((r * d for r, d in zip(reach, along, strict=True)), start=np.float64(0.0)) / sum(d * d for d in along)
        t = np.clip(t, 0.0, 1.0)
        return _length(tuple(r - t * d for r, d in zip(reach, along, strict=True))) - self.radius


@dataclass(frozen=True, slots=True)
class Plane(Shape):
    """The half-space behind a plane: `normal` points out of it."""

    point: tuple[float, ...]
    normal: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(_vector("point", self.point)) != len(_vector("normal", self.normal)) or not any(self.normal):
            raise ValueError(
                f"the plane has the point {self.point} and the normal {self.normal}; give a non-zero normal of the point's dimension"
            )

    def distance(self, *x: Array) -> Array:
        size = math.hypot(*self.normal)
        return np.asarray(sum((d * (n / size) for d, n in zip(_minus(x, self.point), self.normal, strict=True)), start=np.float64(0.0)))


@dataclass(frozen=True, slots=True)
class Union(Shape):
    first: Shape
    second: Shape

    def distance(self, *x: Array) -> Array:
        return np.asarray(np.minimum(self.first.distance(*x), self.second.distance(*x)))


@dataclass(frozen=True, slots=True)
class Intersection(Shape):
    first: Shape
    second: Shape

    def distance(self, *x: Array) -> Array:
        return np.asarray(np.maximum(self.first.distance(*x), self.second.distance(*x)))


@dataclass(frozen=True, slots=True)
class Difference(Shape):
    """What is in the first shape and not in the second."""

    first: Shape
    second: Shape

    def distance(self, *x: Array) -> Array:
        return np.asarray(np.maximum(self.first.distance(*x), -self.second.distance(*x)))


@dataclass(frozen=True, slots=True)
class Complement(Shape):
    shape: Shape

    def distance(self, *x: Array) -> Array:
        return -self.shape.distance(*x)


@dataclass(frozen=True, slots=True)
class Shell(Shape):
    """The skin of a shape: all points within half of `thickness` of its surface."""

    shape: Shape
    thickness: float

    def __post_init__(self) -> None:
        _positive("thickness", self.thickness)

    def distance(self, *x: Array) -> Array:
        return np.abs(self.shape.distance(*x)) - 0.5 * self.thickness


@dataclass(frozen=True, slots=True)
class Translate(Shape):
    shape: Shape
    offset: tuple[float, ...]

    def distance(self, *x: Array) -> Array:
        return self.shape.distance(*_minus(x, self.offset))


@dataclass(frozen=True, slots=True)
class Rotate(Shape):
    shape: Shape
    angle: float
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if len(self.axis) != 3 or not any(self.axis):
            raise ValueError(f"the rotation's axis is {self.axis}; give three numbers that are not all zero")

    def distance(self, *x: Array) -> Array:
        back = self.matrix()[: len(x), : len(x)].T
        return self.shape.distance(*(np.asarray(sum((m * a for m, a in zip(row, x, strict=True)), start=np.float64(0.0))) for row in back))

    def matrix(self) -> Array:
        """Rodrigues' formula."""
        a, b, c = (v / math.hypot(*self.axis) for v in self.axis)
        cross = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
        return np.asarray(np.eye(3) + math.sin(self.angle) * cross + (1.0 - math.cos(self.angle)) * (cross @ cross))


@dataclass(frozen=True, slots=True)
class Scale(Shape):
    shape: Shape
    factor: float

    def distance(self, *x: Array) -> Array:
        return self.shape.distance(*(a / self.factor for a in x)) * self.factor


def sample(shape: Shape, grid: Grid, at: Literal["nodes", "cells"] = "nodes", dtype: npt.DTypeLike = np.float64) -> Array:
    """Signed distance at the grid's nodes or cell centres, slab by slab: (nx+1, ny+1[, nz+1]) or (nx, ny[, nz])."""
    if at not in ("nodes", "cells"):
        raise ValueError(f"at is {at!r}; sample at 'nodes' or at 'cells'")
    size, shift = (grid.node_shape, NODES) if at == "nodes" else (grid.shape, CENTRES)
    out = np.empty(size, dtype=dtype)
    for planes in grid.slabs(size):
        out[planes] = shape.distance(*grid.points(size, shift, planes))
    return out
