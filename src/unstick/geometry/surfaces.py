"""Liquid at rest or in waves: what lies below a height over the ground."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unstick.geometry.shapes import Shape
from unstick.grid import Array


@dataclass(frozen=True, slots=True)
class Surface(Shape):
    """All points with y below level + slope . (x[, z]) + amplitude cos(2 pi (x - start) / wavelength).

    The zero set is exact; elsewhere the distance is that to the tangent over the same point of the ground, right to first order.
    """

    level: float
    slope: tuple[float, ...] = ()  # along x, or along x and z
    amplitude: float = 0.0
    wavelength: float = 1.0
    start: float = 0.0  # where along x a crest is

    def __post_init__(self) -> None:
        numbers = (self.level, self.amplitude, self.wavelength, self.start, *self.slope)
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"the surface's numbers are {numbers}; all must be finite")
        if not self.wavelength > 0:
            raise ValueError(f"the surface's wavelength is {self.wavelength!r}; give a positive number")
        if len(self.slope) > 2:
            raise ValueError(f"the surface's slope is {self.slope}; give one number (along x) or two (along x and z)")

    def distance(self, *x: Array) -> Array:
        k = 2.0 * math.pi / self.wavelength
        ground = (x[0], *x[2:])
        height, steep = np.full(1, self.level), [np.zeros(1)] * len(ground)
        if self.amplitude:
            height = height + self.amplitude * np.cos(k * (x[0] - self.start))
            steep[0] = -self.amplitude * k * np.sin(k * (x[0] - self.start))
        for axis, tilt in enumerate(self.slope[: len(ground)]):
            height = height + tilt * ground[axis]
            steep[axis] = steep[axis] + tilt
        length = np.sqrt(sum((s * s for s in steep), start=np.ones(1)))
        return np.asarray((x[1] - height) / length)
