"""The tables of bodies that move with the liquid: [[body]], and [bodies] for a MuJoCo model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, model_validator

from unstick.bodies.parts import Control, Drive, Joint, Mjcf, RigidBody, Signal
from unstick.scenes.schema_base import (
    ALONG_Z,
    EMPTY,
    MOST_ENTRIES,
    Context,
    Name,
    NotNegative,
    Number,
    Positive,
    Table,
    Vector,
    Vector3,
    context,
)
from unstick.scenes.schema_shapes import AnyShape

Kind = Literal["separating", "sticking"]
Empty = Annotated[list[Number], Field(max_length=0)]
MOST_TEXT = 200_000  # characters of a model in a scene file


class SignalTable(Table):
    """A number in time: offset + amplitude sin(2 pi frequency (t - start) + phase), and a smooth way through `values` at `times`."""

    offset: Number = 0.0
    amplitude: Number = 0.0
    frequency: NotNegative = 0.0
    phase: Number = 0.0
    start: NotNegative = 0.0
    times: Annotated[list[Number], Field(max_length=MOST_ENTRIES)] = EMPTY
    values: Annotated[list[Number], Field(max_length=MOST_ENTRIES)] = EMPTY

    @model_validator(mode="after")
    def _has_a_signal(self) -> SignalTable:
        self.signal()
        return self

    def signal(self) -> Signal:
        return Signal(
            offset=self.offset,
            amplitude=self.amplitude,
            frequency=self.frequency,
            phase=self.phase,
            start=self.start,
            times=tuple(self.times),
            values=tuple(self.values),
        )


class DriveTable(SignalTable):
    """What pulls a hinge or a slide towards a position or a velocity, or with a force."""

    type: Literal["position", "velocity", "force"]
    gain: Positive = 1.0

    def make(self) -> Drive:
        return Drive(kind=self.type, gain=self.gain, signal=self.signal())


class JointTable(Table):
    """How a body moves against its parent."""

    type: Literal["free", "hinge", "slide", "ball"]
    at: Vector | Empty = EMPTY
    axis: Vector3 = ALONG_Z
    range: Annotated[list[Number], Field(max_length=2)] = EMPTY
    damping: NotNegative = 0.0
    stiffness: NotNegative = 0.0
    drive: DriveTable | None = None

    @model_validator(mode="after")
    def _can_be_made(self) -> JointTable:
        self.make()
        return self

    def make(self) -> Joint:
        return Joint(
            kind=self.type,
            at=tuple(self.at),
            axis=tuple(self.axis),
            range=tuple(self.range),
            damping=self.damping,
            stiffness=self.stiffness,
            drive=None if self.drive is None else self.drive.make(),
        )


def _one_free_joint() -> list[JointTable]:
    return [JointTable(type="free")]


class BodyTable(Table):
    """A body in the liquid; `shape` is in coordinates of its own, whose origin begins at `position`."""

    name: Name
    shape: AnyShape
    density: Positive
    position: Vector
    angle: Number = 0.0
    axis: Vector3 = ALONG_Z
    velocity: Vector | Empty = EMPTY
    spin: Annotated[list[Number], Field(max_length=3)] = EMPTY
    parent: Annotated[str, Field(max_length=100)] = ""
    joints: Annotated[list[JointTable], Field(max_length=6, default_factory=_one_free_joint)]
    friction: NotNegative = 0.5
    walls: Kind = "separating"

    @model_validator(mode="after")
    def _turns_rightly(self, info: ValidationInfo) -> BodyTable:
        d = context(info).dimension
        if d is not None and len(self.spin) not in (0, 2 * d - 3):
            raise ValueError(f"spin is {self.spin} in a scene of dimension {d}; allowed: {'one rate' if d == 2 else 'three rates'}, or []")
        if not any(self.axis) or (d == 2 and any(self.axis[:2])):
            raise ValueError(f"axis is {self.axis}; allowed: three numbers that are not all zero, and [0, 0, 1] in 2D")
        return self

    def make(self, given: Context) -> RigidBody:
        return RigidBody(
            name=self.name,
            shape=self.shape.make(given),
            density=self.density,
            position=tuple(self.position),
            angle=self.angle,
            axis=tuple(self.axis),
            velocity=tuple(self.velocity),
            spin=tuple(self.spin),
            parent=self.parent,
            joints=tuple(joint.make() for joint in self.joints),
            friction=self.friction,
            walls=self.walls,
        )


class ControlTable(SignalTable):
    """What an actuator of the model is told."""

    actuator: Name

    def make(self) -> Control:
        return Control(actuator=self.actuator, signal=self.signal())


class BodiesTable(Table):
    """Bodies from a MuJoCo model: the name of a file, relative to the scene file, or the model itself."""

    mjcf: Annotated[str, Field(max_length=1000)] = ""
    text: Annotated[str, Field(max_length=MOST_TEXT)] = ""
    up: Literal["y", "z"] = "z"
    position: Vector | Empty = EMPTY
    walls: Kind = "separating"
    control: Annotated[list[ControlTable], Field(max_length=MOST_ENTRIES)] = EMPTY

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> BodiesTable:
        if bool(self.mjcf) == bool(self.text):
            raise ValueError("mjcf and text given, or neither; allowed: mjcf = the name of a file, or text = the model itself")
        return self

    def make(self, given: Context) -> Mjcf:
        return Mjcf(
            file=str(given.folder / self.mjcf) if self.mjcf else "",
            text=self.text,
            up=self.up,
            position=tuple(self.position),
            walls=self.walls,
            controls=tuple(control.make() for control in self.control),
        )


BODY_TABLES: dict[str, type[Table]] = {
    **dict.fromkeys(("free", "hinge", "slide", "ball"), JointTable),
    **dict.fromkeys(("position", "velocity", "force"), DriveTable),
}
