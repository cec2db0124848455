"""How heavy a shape is: mass, centre of mass and inertia, exact where there is a formula, else by cutting space into ever smaller cells.

In 2D everything is per metre of depth: kg/m and kg m.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.geometry import shapes
from unstick.geometry.mesh import MeshShape
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Shape
from unstick.geometry.triangles import Hare, TriangleShape
from unstick.grid import Array

FINEST = 4000  # cells along the reach at which cutting stops at the latest
MOST_CELLS = 1_000_000  # of one size


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Of a shape of density 1: its volume (area in 2D), its centre, and the integral of (x - centre)(x - centre)^T."""

    volume: float
    centre: Array  # (d,)
    spread: Array  # (d, d)

    def inertia(self) -> Array:
        """(3, 3) about the centre; in 2D the turn about z, written on the whole diagonal."""
        trace = float(np.trace(self.spread))
        if len(self.centre) == 2:
            return trace * np.eye(3)
        return np.asarray(trace * np.eye(3) - self.spread)


@functools.lru_cache(maxsize=256)
def moments(shape: Shape, dimension: int, reach: float) -> Moments:
    """`reach` is a distance from the shape's origin beyond which it does not go."""
    formula = FORMULAS.get(type(shape))
    found = _by_cutting(shape, dimension, reach) if formula is None else formula(shape, dimension, reach)
    if not found.volume > 0.0:
        raise InvalidSystem(f"a body's shape ({type(shape).__name__}) encloses nothing; give one with a volume")
    return found


def _sphere(shape: shapes.Sphere, d: int, reach: float) -> Moments:
    return _ellipsoid(Ellipsoid(shape.centre, (shape.radius,) * len(shape.centre)), d, reach)


def _ellipsoid(shape: Ellipsoid, d: int, reach: float) -> Moments:
    size = np.array(shape.semi_axes)
    volume = math.prod(shape.semi_axes) * (math.pi if d == 2 else 4.0 / 3.0 * math.pi)
    return Moments(volume, np.array(shape.centre), np.diag(volume * size * size / (d + 2.0)))


def _box(shape: shapes.Box, d: int, reach: float) -> Moments:
    low, high = np.array(shape.lower), np.array(shape.upper)
    volume = float(np.prod(high - low))
    return Moments(volume, 0.5 * (low + high), np.diag(volume * (high - low) ** 2 / 12.0))


def _along(start: tuple[float, ...], end: tuple[float, ...]) -> tuple[float, Array, Array]:
    """Length of a segment, its middle, and the matrix that projects on it."""
    way = np.subtract(end, start)
    length = float(np.linalg.norm(way))
    return length, 0.5 * np.add(start, end), np.outer(way, way) / length**2


def _cylinder(shape: Cylinder, d: int, reach: float) -> Moments:
    length, middle, along = _along(shape.start, shape.end)
    volume = math.pi * shape.radius**2 * length
    across = np.eye(3) - along
    return Moments(volume, middle, volume * (length**2 / 12.0 * along + 0.25 * shape.radius**2 * across))


def _capsule(shape: shapes.Capsule, d: int, reach: float) -> Moments:
    """A straight part, and the two halves of a ball at its ends."""
    length, middle, along = _along(shape.start, shape.end)
    r, across = shape.radius, np.eye(d) - along
    if d == 2:
        straight, ball, ball_spread, off = 2.0 * r * length, math.pi * r * r, r * r / 4.0, 4.0 * r / (3.0 * math.pi)
        straight_across = r * r / 3.0
    else:
        straight, ball, ball_spread, off = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3, r * r / 5.0, 3.0 * r / 8.0
        straight_across = r * r / 4.0
    # Half a ball's spread along the axis about the segment's end is ball_spread; it is shifted by half the length.
    ends = ball * (ball_spread + 0.25 * length**2 + length * off)
    spread = (straight * length**2 / 12.0 + ends) * along + (straight * straight_across + ball * ball_spread) * across
    return Moments(straight + ball, middle, spread)


def _triangles(shape: MeshShape | Hare | TriangleShape, d: int, reach: float) -> Moments:
    """Sums over tetrahedra from the origin to each triangle."""
    corner = shape.triangles()
    about = corner.reshape(-1, 3).mean(axis=0)
    corner = corner - about
    parts = np.einsum("ti,ti->t", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])) / 6.0
    total = corner.sum(axis=1)
    volume = float(parts.sum())
    centre = np.asarray(parts @ total) / (4.0 * volume)
    second = np.einsum("t,tci,tcj->ij", parts, corner, corner) + np.einsum("t,ti,tj->ij", parts, total, total)
    return Moments(volume, about + centre, second / 20.0 - volume * np.outer(centre, centre))


def _translate(shape: shapes.Translate, d: int, reach: float) -> Moments:
    inner = moments(shape.shape, d, reach + math.hypot(*shape.offset))
    return Moments(inner.volume, inner.centre + np.array(shape.offset), inner.spread)


def _rotate(shape: shapes.Rotate, d: int, reach: float) -> Moments:
    inner, turn = moments(shape.shape, d, reach), shape.matrix()[:d, :d]
    return Moments(inner.volume, turn @ inner.centre, turn @ inner.spread @ turn.T)


def _scale(shape: shapes.Scale, d: int, reach: float) -> Moments:
    inner, f = moments(shape.shape, d, reach / shape.factor), shape.factor
    return Moments(inner.volume * f**d, inner.centre * f, inner.spread * f ** (d + 2))


FORMULAS: dict[type, Callable[[Any, int, float], Moments]] = {
    shapes.Sphere: _sphere,
    shapes.Box: _box,
    shapes.Capsule: _capsule,
    Ellipsoid: _ellipsoid,
    Cylinder: _cylinder,
    MeshShape: _triangles,
    Hare: _triangles,
    TriangleShape: _triangles,
    shapes.Translate: _translate,
    shapes.Rotate: _rotate,
    shapes.Scale: _scale,
}


def _by_cutting(shape: Shape, d: int, reach: float) -> Moments:
    """Cells that the surface may cut are cut into 2^d; the last ones count by the part that a plane at their distance leaves."""
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=d)))
    centres, side = np.zeros((1, d)), 2.0 * reach
    volume, first, second = 0.0, np.zeros(d), np.zeros((d, d))
    while len(centres):
        distance = np.broadcast_to(shape.distance(*centres.T), len(centres))
        half = 0.5 * side * math.sqrt(d)
        cut = np.abs(distance) < half
        last = side * FINEST <= reach or len(centres) * 2**d > MOST_CELLS
        share = np.clip(0.5 - distance / side, 0.0, 1.0) if last else (distance <= -half).astype(np.float64)
        if last and (np.abs(centres[share > 0]) > reach - side).any():
            raise InvalidSystem(f"a body's shape ({type(shape).__name__}) has no end within {reach:.3g} m; give one that is bounded")
        weight = share * side**d
        volume += float(weight.sum())
        first += weight @ centres
        second += np.einsum("n,ni,nj->ij", weight, centres, centres) + weight.sum() * side**2 / 12.0 * np.eye(d)
        if last:
            break
        side *= 0.5
        centres = (centres[cut][:, None, :] + corners * side).reshape(-1, d)
    if not volume > 0.0:
        return Moments(0.0, np.zeros(d), np.zeros((d, d)))
    centre = first / volume
    return Moments(volume, centre, second - volume * np.outer(centre, centre))
