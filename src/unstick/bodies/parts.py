"""Bodies as data: what moves with the liquid, how it is held and driven. Nothing here computes, and nothing asks for MuJoCo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from unstick.geometry.motion import smooth
from unstick.geometry.shapes import Shape

Vector = tuple[float, ...]
Walls = Literal["separating", "sticking"]
JointKind = Literal["free", "hinge", "slide", "ball"]
DriveKind = Literal["position", "velocity", "force"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A number in time: `offset`, and a wave on top of it, or a smooth way through `values` at `times` that never overshoots them."""

    offset: float = 0.0
    amplitude: float = 0.0
    frequency: float = 0.0  # 1/s
    phase: float = 0.0  # radians
    start: float = 0.0  # s; before that there is no wave
    times: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.times) != len(self.values) or len(self.times) == 1:
            raise ValueError(f"{len(self.times)} times and {len(self.values)} values given; give as many of both, two or more, or none")
        if any(a >= b for a, b in zip(self.times, self.times[1:], strict=False)):
            raise ValueError(f"the times {self.times[:10]} do not increase; give increasing numbers")

    def at(self, t: float) -> float:
        value = self.offset
        if self.times:
            value += float(smooth(np.array(self.times), np.array(self.values)[:, None], t)[0][0])
        if self.amplitude and t >= self.start:
            value += self.amplitude * math.sin(2.0 * math.pi * self.frequency * (t - self.start) + self.phase)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """What pulls a hinge or a slide: towards a position or a velocity with `gain` (N/m or N m; N s/m or N m s), or with a force.

    A velocity's gain takes part in the time step explicitly: gain x dt must stay below the mass (or inertia) that it moves.
    """

    kind: DriveKind
    gain: float = 1.0
    signal: Signal = Signal()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.gain) and self.gain > 0):
            raise ValueError(f"the drive's gain is {self.gain!r}; give a positive number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """How a body may move against its parent. `at` and `axis` are those of t = 0 in the scene."""

    kind: JointKind = "free"
    at: Vector = ()  # of a hinge or ball; empty means the body's position
    axis: Vector = (0.0, 0.0, 1.0)  # of a hinge or slide
    range: Vector = ()  # m or radians from where it is at t = 0; empty means no limit
    damping: float = 0.0  # N s/m or N m s
    stiffness: float = 0.0  # N/m or N m, of a spring that is at rest at t = 0
    drive: Drive | None = None

    def __post_init__(self) -> None:
        if len(self.axis) not in (2, 3) or not any(self.axis):
            raise ValueError(f"the joint's axis is {self.axis!r}; give two or three numbers that are not all zero")
        if self.range and (len(self.range) != 2 or not self.range[0] < self.range[1]):
            raise ValueError(f"the joint's range is {self.range!r}; give a lower and a higher number")
        if self.drive is not None and self.kind not in ("hinge", "slide"):
            raise ValueError(f"a drive is given for a joint of the kind {self.kind}; only hinges and slides are driven")


@dataclass(frozen=True, slots=True, kw_only=True)
class RigidBody:
    """A body that moves with the liquid. `shape` is in the body's own coordinates, whose origin lies at `position` at t = 0."""

    name: str
    shape: Shape
    density: float  # kg/m^3
    position: Vector
    angle: float = 0.0  # radians about `axis` at t = 0
    axis: Vector = (0.0, 0.0, 1.0)
    velocity: Vector = ()  # of a free body's position at t = 0; empty means at rest
    spin: Vector = ()  # rad/s at t = 0: (rate,) in 2D, three numbers in 3D
    parent: str = ""  # the body that its joints hang on; empty means the world
    joints: tuple[Joint, ...] = (Joint(),)  # none: fixed to its parent
    friction: float = 0.5  # of contacts
    walls: Walls = "separating"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What an actuator of an MJCF model is told in time."""

    actuator: str
    signal: Signal = Signal()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mjcf:
    """Bodies from a MuJoCo model, in a file or as text. In 2D its masses and forces are per metre of depth."""

    file: str = ""
    text: str = ""
    up: Literal["y", "z"] = "z"  # which of the model's axes points up
    position: Vector = ()  # of the model's origin; empty means the scene's
    walls: Walls = "separating"
    controls: tuple[Control, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.file) == bool(self.text):
            raise ValueError("a file and a text given, or neither; give mjcf = the name of a file, or text = the model itself")
