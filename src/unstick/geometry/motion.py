"""Prescribed rigid motions of solids: where a solid is at a time, and how fast its points move."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unstick.geometry.shapes import Shape
from unstick.grid import Array

Vector = tuple[float, ...]
Z_AXIS = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """A body point x0 (where it is at rest) lies at `rotation @ (x0 - centre) + centre + shift`, and moves with
    `linear + angular x (x - centre - shift)`. Always three coordinates; in 2D z stays where it is."""

    rotation: Array  # (3, 3)
    shift: Array  # (3,)
    centre: Array  # (3,)
    linear: Array  # (3,)
    angular: Array  # (3,)

    def velocity(self, point: Sequence[float]) -> Array:
        """Of the body's point that is at `point` now."""
        return np.asarray(self.linear + np.cross(self.angular, _three(point) - self.centre - self.shift))

    def carry(self, point: Sequence[float]) -> Array:
        """Where the body's point is that rests at `point`."""
        return np.asarray(self.rotation @ (_three(point) - self.centre) + self.centre + self.shift)


@dataclass(frozen=True, slots=True, eq=False)
class Moved(Shape):
    """A shape in a pose."""

    shape: Shape
    pose: Pose

    def distance(self, *x: Array) -> Array:
        d, pose = len(x), self.pose
        away = [x[a] - (pose.centre[a] + pose.shift[a]) for a in range(d)]
        if not np.array_equal(pose.rotation, np.eye(3)):
            back = pose.rotation[:d, :d].T
            away = [np.asarray(sum((m * a for m, a in zip(row, away, strict=True)), start=np.float64(0.0))) for row in back]
        return self.shape.distance(*(a + pose.centre[axis] for axis, a in enumerate(away)))


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


@dataclass(frozen=True, slots=True)
class Translation(Motion):
    """A constant velocity from `start` to `end` (seconds); at rest before and after."""

    velocity: Vector
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        _require_vector("velocity", self.velocity)
        _require_span(self.start, self.end)

    def pose(self, t: float) -> Pose:
        velocity = _three(self.velocity)
        running, since = _clock(t, self.start, self.end)
        return Pose(np.eye(3), velocity * since, np.zeros(3), velocity * running, np.zeros(3))


@dataclass(frozen=True, slots=True)
class Oscillation(Motion):
    """A shift of amplitude * sin(2 pi frequency (t - start) + phase) - amplitude * sin(phase), at rest before `start`."""

    amplitude: Vector
    frequency: float
    phase: float = 0.0  # radians
    start: float = 0.0

    def __post_init__(self) -> None:
        _require_vector("amplitude", self.amplitude)
        _require_numbers(frequency=self.frequency, phase=self.phase, start=self.start)
        if self.frequency <= 0:
            raise ValueError(f"the motion's frequency is {self.frequency!r}; give a positive number, in 1/s")

    def pose(self, t: float) -> Pose:
        rate = 2.0 * math.pi * self.frequency
        since = max(t - self.start, 0.0)
        angle = rate * since + self.phase
        reach = _three(self.amplitude)
        shift = reach * (math.sin(angle) - math.sin(self.phase))
        return Pose(np.eye(3), shift, np.zeros(3), reach * (rate * math.cos(angle)) * (t >= self.start), np.zeros(3))


@dataclass(frozen=True, slots=True)
class Rotation(Motion):
    """A turn about `axis` through `centre` at `rate` (radians per second) from `start` to `end`; with `frequency`, to and fro:
    an angle of rate / (2 pi frequency) * sin(2 pi frequency (t - start))."""

    centre: Vector
    rate: float
    axis: Vector = Z_AXIS
    frequency: float = 0.0
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        _require_vector("centre", self.centre)
        _require_axis(self.axis)
        _require_numbers(rate=self.rate, frequency=self.frequency)
        _require_span(self.start, self.end)
        if self.frequency < 0:
            raise ValueError(f"the motion's frequency is {self.frequency!r}; give a positive number in 1/s, or 0 for a steady turn")

    def pose(self, t: float) -> Pose:
        running, since = _clock(t, self.start, self.end)
        rate, angle = self.rate, self.rate * since
        if self.frequency > 0:
            omega = 2.0 * math.pi * self.frequency
            rate, angle = rate * math.cos(omega * since), rate / omega * math.sin(omega * since)
        unit = _unit(self.axis)
        return Pose(turn(angle, unit), np.zeros(3), _three(self.centre), np.zeros(3), unit * (rate * running))


@dataclass(frozen=True, slots=True)
class Keyframes(Motion):
    """Through given shifts and angles at given times, with a continuous velocity, and at rest before the first and after the last.

    Monotone cubic curves (Fritsch and Carlson 1980, slopes as in their eq. of harmonic means): a motion never overshoots its keys,
    so a ladle that is to stop at a wall does not go through it.
    """

    times: tuple[float, ...]
    shifts: tuple[Vector, ...] = ()
    angles: tuple[float, ...] = ()  # radians, about `axis` through `centre`, which moves along with the shift
    centre: Vector = ()  # where the body rests; empty means the origin
    axis: Vector = Z_AXIS

    def __post_init__(self) -> None:
        times = self.times
        if len(times) < 2 or not all(map(math.isfinite, times)) or any(a >= b for a, b in itertools.pairwise(times)):
            raise ValueError(f"the keyframes' times are {times!r}; give at least two increasing numbers")
        if not self.shifts and not self.angles:
            raise ValueError("the keyframes have neither shifts nor angles; give one of them for each time")
        for name, keys in (("shifts", self.shifts), ("angles", self.angles)):
            if keys and len(keys) != len(times):
                raise ValueError(f"the keyframes have {len(times)} times and {len(keys)} {name}; give one for each time")
        for key in self.shifts:
            _require_vector("shift", key)
        if len({len(key) for key in self.shifts}) > 1:
            raise ValueError("the keyframes' shifts have different numbers of coordinates; give all of them two, or all three")
        _require_numbers(**{f"angle {i}": angle for i, angle in enumerate(self.angles)})
        if self.centre:
            _require_vector("centre", self.centre)
        _require_axis(self.axis)

    def pose(self, t: float) -> Pose:
        shifts = np.array([_three(key) for key in self.shifts]) if self.shifts else np.zeros((len(self.times), 3))
        keys = np.column_stack([shifts, np.array(self.angles or (0.0,) * len(self.times))])
        value, slope = smooth(np.array(self.times), keys, t)
        unit = _unit(self.axis)
        return Pose(turn(float(value[3]), unit), value[:3], _three(self.centre), slope[:3], unit * slope[3])


@dataclass(frozen=True, slots=True)
class Together(Motion):
    """Motions on top of each other: the second carries the body as the first has moved it, and so on."""

    motions: tuple[Motion, ...]

    def __post_init__(self) -> None:
        if not self.motions:
            raise ValueError("a motion of several has no parts; give at least one")

    @property
    def moves(self) -> bool:
        return any(motion.moves for motion in self.motions)

    def pose(self, t: float) -> Pose:
        # x = R x0 + d for each part; the whole has its centre at the origin.
        rotation, shift = np.eye(3), np.zeros(3)
        linear, angular = np.zeros(3), np.zeros(3)
        for motion in self.motions:
            part = motion.pose(t)
            offset = part.centre + part.shift - part.rotation @ part.centre
            moved = part.rotation @ shift + offset
            # The body's origin is at `shift` with velocity `linear`; this part turns both and adds its own motion at the new place.
            linear = part.rotation @ linear + part.velocity(moved)
            angular = part.rotation @ angular + part.angular
            rotation, shift = part.rotation @ rotation, moved
        return Pose(rotation, shift, np.zeros(3), linear, angular)


def smooth(times: Array, keys: Array, t: float) -> tuple[Array, Array]:
    """Value and slope at time t of the monotone cubic curves through the rows of `keys`."""
    if t <= times[0]:
        return keys[0], np.zeros(keys.shape[1])
    if t >= times[-1]:
        return keys[-1], np.zeros(keys.shape[1])
    step = np.diff(times)
    rise = np.diff(keys, axis=0) / step[:, None]
    slopes = np.zeros_like(keys)  # zero at both ends and at turning points
    before, after = rise[:-1], rise[1:]
    a = (2.0 * step[1:] + step[:-1])[:, None]
    b = (step[1:] + 2.0 * step[:-1])[:, None]
    same = before * after > 0
    mean = (a + b) / (a / np.where(same, before, 1.0) + b / np.where(same, after, 1.0))
    slopes[1:-1] = np.where(same, mean, 0.0)
    i = int(np.searchsorted(times, t, side="right")) - 1
    h = step[i]
    s = (t - times[i]) / h
    value = (
        (1 + 2 * s) * (1 - s) ** 2 * keys[i]
        + s**2 * (3 - 2 * s) * keys[i + 1]
        + h * s * (1 - s) * ((1 - s) * slopes[i] - s * slopes[i + 1])
    )
    slope = 6 * s * (1 - s) * rise[i] + (1 - s) * (1 - 3 * s) * slopes[i] + s * (3 * s - 2) * slopes[i + 1]
    return value, slope


def turn(angle: float, axis: Array) -> Array:
    """The rotation by `angle` (radians) about the unit vector `axis` (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross))


def _clock(t: float, start: float, end: float) -> tuple[float, float]:
    """1 while the motion runs, else 0; and for how long it has run."""
    return float(start <= t < end), min(max(t, start), end) - start


def _three(values: Sequence[float]) -> Array:
    out = np.zeros(3)
    out[: len(values)] = values
    return out


def _unit(axis: Vector) -> Array:
    return np.asarray(np.array(axis) / math.hypot(*axis))


def _require_vector(name: str, values: Vector) -> None:
    if len(values) not in (2, 3) or not all(map(math.isfinite, values)):
        raise ValueError(f"the motion's {name} is {values!r}; give two or three finite numbers")


def _require_axis(axis: Vector) -> None:
    if len(axis) != 3 or not all(map(math.isfinite, axis)) or not any(axis):
        raise ValueError(f"the motion's axis is {axis!r}; give three numbers that are not all zero")


def _require_numbers(**numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise ValueError(f"the motion's {name} is {value!r}; give a finite number")


def _require_span(start: float, end: float) -> None:
    if not (math.isfinite(start) and start < end):
        raise ValueError(f"the motion goes from {start!r} to {end!r} seconds; give a start before the end")
