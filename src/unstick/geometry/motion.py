"""Prescribed rigid motions of solids: where a solid is at a time, and how fast its points move."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

import numpy as np

from unstick.grid import Array


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """A body point x0 (where it is at rest) lies at `rotation @ (x0 - centre) + centre + shift`, and moves with
    `linear + angular x (x - centre - shift)`. Always three coordinates; in 2D z stays where it is."""

    rotation: Array  # (3, 3)
    shift: Array  # (3,)
    centre: Array  # (3,)
    linear: Array  # (3,)
    angular: Array  # (3,)


class Motion(abc.ABC):
    """A rigid motion in time."""

    __slots__ = ()

    @abc.abstractmethod
    def pose(self, t: float) -> Pose:
        """Where the body is at time t, and how fast it moves."""

    @property
    def moves(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Still(Motion):
    """No motion."""

    def pose(self, t: float) -> Pose:
        zero = np.zeros(3)
        return Pose(np.eye(3), zero, zero, zero, zero)

    @property
    def moves(self) -> bool:
        return False


def turn(angle: float, axis: Array) -> Array:
    """The rotation by `angle` (radians) about the unit vector `axis` (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross))
