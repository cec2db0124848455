"""Body forces: gravity, constant or changing in time."""

from __future__ import annotations

import numpy as np

from unstick.fields import FaceField
from unstick.liquid.scene import Gravity


def impulse(gravity: Gravity, t: float, dt: float, dimension: int) -> tuple[float, ...]:
    """The integral of gravity from t to t + dt: exact for a constant, the midpoint rule else."""
    middle = t + 0.5 * dt
    return tuple(dt * float(np.interp(middle, gravity.times, [g[axis] for g in gravity.values])) for axis in range(dimension))


def add_gravity(velocity: FaceField, gravity: Gravity, t: float, dt: float) -> FaceField:
    """The velocity after dt of free fall, on all faces."""
    out = velocity.copy()
    for axis, change in enumerate(impulse(gravity, t, dt, velocity.grid.dimension)):
        if change:
            out.components[axis][...] += change
    return out
