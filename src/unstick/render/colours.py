"""Numbers to colours, with scales that end in round numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unstick.grid import Array

# Water in the deep to water in the light; ends before it is too pale for a white page.
WATER = ((8, 29, 88), (34, 84, 160), (29, 135, 192), (52, 172, 196), (110, 200, 187), (178, 226, 180), (226, 243, 178))
# Suction, nothing, pressure: the middle is dark enough to be seen on white.
BOTH = ((122, 1, 119), (197, 27, 138), (239, 120, 165), (205, 208, 216), (107, 174, 214), (33, 113, 181), (8, 48, 107))
WOOD = (228, 180, 120)  # bodies that move with the liquid
ORANGE = (242, 128, 20)
STEPS = 256


@dataclass(frozen=True, slots=True)
class Scale:
    """What the colours stand for. Where `low` is negative, zero has the middle colour and each side a scale of its own."""

    label: str  # with unit
    low: float
    high: float
    stops: tuple[tuple[int, int, int], ...] = WATER

    @property
    def middle(self) -> float:
        """What has the middle colour."""
        return 0.0 if self.low < 0 < self.high else 0.5 * (self.low + self.high)

    def colours(self, values: Array) -> Array:
        """(..., 3) float32 in 0..255."""
        numbers: Array = np.asarray(values, dtype=np.float32)
        reach = np.where(numbers < self.middle, np.float32(self.middle - self.low), np.float32(self.high - self.middle))
        at = (0.5 + 0.5 * (numbers - np.float32(self.middle)) / reach) * (STEPS - 1)
        return np.asarray(self.table()[np.clip(np.nan_to_num(at), 0, STEPS - 1).astype(np.intp)])

    def table(self) -> Array:
        stops = np.array(self.stops, dtype=np.float64)
        at = np.linspace(0, len(stops) - 1, STEPS)
        return np.stack([np.interp(at, np.arange(len(stops)), stops[:, c]) for c in range(3)], axis=1).astype(np.float32)


def speed_scale(highest: float) -> Scale:
    return Scale("speed, m/s", 0.0, round_up(highest))


def pressure_scale(lowest: float, highest: float) -> Scale:
    """Of both signs where there is suction; at the end of a scale zero would be lost in its colour."""
    top = max(highest, -lowest)
    unit, factor = ("kPa", 1e-3) if top >= 2000 else ("Pa", 1.0)
    if lowest < -0.02 * top:
        return Scale(f"pressure, {unit}", -round_up(-lowest * factor), round_up(highest * factor), BOTH)
    return Scale(f"pressure, {unit}", 0.0, round_up(highest * factor), WATER[::-1])


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    if not (math.isfinite(value) and value > 0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    part = value / power
    return float(f"{next(r for r in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if part <= r * (1 + 1e-9)) * power:.3g}")
