"""The frames: static, hard pressure problems after Lai's scenarios (sections 6.2 and 6.3), the same at every resolution.

Each stands in the unit square or cube with dt = 0.01 and density 1, so that A = dt/h^2 (...) as in the thesis. What they hold and how
hard they are stands in docs/frames.md. `frame(name, n, margin=m)` puts m more cells of solid around the same frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unstick.checks import InvalidSystem, require_count
from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Capsule, Shape, Shell, Sphere, sample
from unstick.grid import Array, Grid
from unstick.pressure.assemble import assemble
from unstick.problem import PressureSystem

DT = 0.01
GRAVITY = 9.81
OVERLAP = 2.0  # cells by which the liquid's level set reaches into the walls


@dataclass(frozen=True, slots=True)
class Surface(Shape):
    """Liquid on the left of x = level + slope . (y - 1/2, z - 1/2) + ripples, as a distance to first order."""

    level: float
    slope: tuple[float, float]
    ripple: float
    waves: float

    def distance(self, *x: Array) -> Array:
        k = 2.0 * math.pi * self.waves
        front = np.asarray(x[0] - self.level)
        for line, tilt, phase in zip(x[1:], self.slope, (0.4, 1.3), strict=False):
            front = front - tilt * (line - 0.5) - self.ripple * np.sin(k * line + phase)
        return np.asarray(front / math.hypot(1.0, *self.slope[: len(x) - 1]))


@dataclass(frozen=True, slots=True)
class Motion:
    """u* of the step: a fall from rest, a swirl about the z axis, a strain, and waves; metres per second, axes through the middle."""

    swirl: float
    strain: float
    wave: float
    waves: float
    fall: float = GRAVITY * DT

    def __call__(self, *x: Array) -> Sequence[Array | float]:
        dx, dy = x[0] - 0.5, x[1] - 0.5
        dz = x[2] - 0.5 if len(x) == 3 else np.zeros(1)
        k = 2.0 * math.pi * self.waves
        u = -self.swirl * dy + self.strain * dx + self.wave * (np.sin(k * dy + 0.3) * np.cos(k * dz) + 0.5 * np.sin(k * dx + 0.9))
        v = -self.fall + self.swirl * dx - self.strain * dy + self.wave * (np.sin(k * dz + 1.1) + np.cos(k * dx + 0.7))
        w = 0.5 * self.swirl * dx + self.wave * np.sin(k * dx + 0.2) * np.cos(k * dy + 0.5)
        return (u, v, w)[: len(x)]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One pressure problem, ready to assemble."""

    name: str
    n: int  # cells along the unit side
    grid: Grid
    liquid_phi: Array
    solid_phi: Array
    velocity: FaceField
    dt: float = DT

    def system(self, walls: Any = "separating") -> PressureSystem:
        return assemble(self.grid, self.liquid_phi, self.solid_phi, self.velocity, self.dt, walls=walls)


@dataclass(frozen=True, slots=True)
class Family:
    """A frame at every resolution: `FRAMES[name](n)`."""

    name: str
    inside: Shape  # what the walls leave open
    surface: Shape
    motion: Motion
    dimension: int
    dry: Shape | None = None  # a closed cavity that holds air only

    def __call__(self, n: int, margin: int = 0, dtype: npt.DTypeLike = np.float64) -> Frame:
        """n cells along the unit side, and `margin` more cells of solid on every side of it."""
        require_count("n", n, 8)
        require_count("margin", margin, 0)
        h = 1.0 / n
        grid = Grid((n + 2 * margin,) * self.dimension, h, (-margin * h,) * self.dimension)
        liquid = self.surface & _Grown(self.inside, OVERLAP * h)
        if self.dry is not None:
            liquid = liquid - self.dry
        return Frame(
            self.name,
            n,
            grid,
            sample(liquid, grid, "cells", dtype),
            sample(~self.inside, grid, "nodes", dtype),
            FaceField.from_function(grid, self.motion, dtype),
        )

    def system(self, n: int, walls: Any = "separating") -> PressureSystem:
        return self(n).system(walls)


@dataclass(frozen=True, slots=True)
class _Grown(Shape):
    """A shape with its surface moved outwards."""

    shape: Shape
    by: float

    def distance(self, *x: Array) -> Array:
        return self.shape.distance(*x) - self.by


def frame(name: str, n: int, margin: int = 0, dtype: npt.DTypeLike = np.float64) -> Frame:
    """The frame of that name; margin = n // 2 puts the same liquid into a box of twice the side."""
    if name not in FRAMES:
        raise InvalidSystem(f"there is no frame {name!r}; the frames are {', '.join(FRAMES)}")
    return FRAMES[name](n, margin, dtype)


_SURFACE = Surface(level=0.5, slope=(-0.23, 0.47), ripple=0.02, waves=2.0)  # half of the sphere is full
_MOTION = Motion(swirl=-0.07, strain=0.51, wave=0.13, waves=1.0)
_SURFACE_SPHERES = Surface(level=0.55, slope=(-0.19, 0.62), ripple=0.05, waves=2.0)
_MOTION_SPHERES = Motion(swirl=0.0, strain=0.18, wave=0.1, waves=1.0)
_SURFACE_CIRCLE = Surface(level=0.57, slope=(-0.27, 0.0), ripple=0.02, waves=2.0)
_MOTION_CIRCLE = Motion(swirl=-0.25, strain=0.33, wave=0.11, waves=1.0)
_SURFACE_SQUARE = Surface(level=0.56, slope=(-0.41, 0.0), ripple=0.03, waves=2.0)
_MOTION_SQUARE = Motion(swirl=-0.07, strain=0.42, wave=0.1, waves=1.0)

_BALL = Sphere((0.5, 0.5, 0.5), 0.4)
_CUBOID = Box((0.3, 0.36, 0.32), (0.5, 0.5, 0.68))

# Lai's scenario 3: two spheres merged, two hollow spheres within, the lower one pierced. Walls of 0.05: 3.2 cells at n = 64.
_WALL = 0.05
_LOWER, _UPPER = (0.42, 0.33, 0.5), (0.44, 0.71, 0.5)
_HOLLOW_LOW, _HOLLOW_HIGH = Sphere(_LOWER, 0.15), Sphere(_UPPER, 0.11)
_HOLES = Capsule((0.15, 0.3, 0.5), (0.7, 0.36, 0.5), 0.05) | Capsule((0.42, 0.33, 0.2), (0.42, 0.33, 0.8), 0.05)
_PEANUT = Sphere((0.5, 0.34, 0.5), 0.3) | Sphere((0.5, 0.69, 0.5), 0.26)
_SPHERES = _PEANUT - (Shell(_HOLLOW_LOW, _WALL) - _HOLES) - Shell(_HOLLOW_HIGH, _WALL)

_MAZE = (
    Box((0.05, 0.05), (0.95, 0.95))
    - Box((0.24, 0.05), (0.31, 0.72))
    - Box((0.47, 0.28), (0.54, 0.95))
    - Box((0.54, 0.28), (0.76, 0.35))
    - Box((0.70, 0.55), (0.95, 0.62))
)

FRAMES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("sphere", _BALL, _SURFACE, _MOTION, 3),
        Family("sphere-box", _BALL - _CUBOID, _SURFACE, _MOTION, 3),
        Family("double-sphere", _SPHERES, _SURFACE_SPHERES, _MOTION_SPHERES, 3, dry=_HOLLOW_HIGH),
        Family("circle", Sphere((0.5, 0.5), 0.4), _SURFACE_CIRCLE, _MOTION_CIRCLE, 2),
        Family("square", Box((0.1, 0.1), (0.9, 0.9)), _SURFACE_SQUARE, _MOTION_SQUARE, 2),
        Family("maze", _MAZE, _SURFACE_SQUARE, _MOTION_SQUARE, 2),
    )
}
