"""The tables of motions: `type` says which, and every table makes the motion of that name."""

from __future__ import annotations

import abc
import math
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, model_validator

from unstick.geometry import motion as motions
from unstick.geometry.motion import Motion
from unstick.scenes.schema_base import ALONG_Z, EMPTY, MOST_ENTRIES, End, NotNegative, Number, Positive, Table, Vector, Vector3, context


class MotionTable(Table, abc.ABC):
    @abc.abstractmethod
    def make(self) -> Motion:
        """The motion; raises ValueError if there is none like that."""

    @model_validator(mode="after")
    def _can_be_made(self, info: ValidationInfo) -> MotionTable:
        self.make()
        axis = getattr(self, "axis", [0.0, 0.0, 1.0])
        if context(info).dimension == 2 and (axis[0] or axis[1]):
            raise ValueError(f"the axis {axis} given in a scene of dimension 2; allowed: [0, 0, 1], out of the plane, or [0, 0, -1]")
        return self


class TranslationTable(MotionTable):
    """A constant velocity from `start` to `end`, at rest before and after."""

    type: Literal["translation"]
    velocity: Vector
    start: NotNegative = 0.0
    end: End = math.inf

    def make(self) -> Motion:
        return motions.Translation(tuple(self.velocity), self.start, self.end)


class OscillationTable(MotionTable):
    """A shift of amplitude (sin(2 pi frequency (t - start) + phase) - sin(phase)), at rest before `start`."""

    type: Literal["oscillation"]
    amplitude: Vector
    frequency: Positive
    phase: Number = 0.0
    start: NotNegative = 0.0

    def make(self) -> Motion:
        return motions.Oscillation(tuple(self.amplitude), self.frequency, self.phase, self.start)


class RotationTable(MotionTable):
    """A turn about `axis` through `centre` at `rate` (radians per second) from `start` to `end`; to and fro with a `frequency`."""

    type: Literal["rotation"]
    centre: Vector
    rate: Number
    axis: Vector3 = ALONG_Z
    frequency: NotNegative = 0.0
    start: NotNegative = 0.0
    end: End = math.inf

    def make(self) -> Motion:
        return motions.Rotation(tuple(self.centre), self.rate, tuple(self.axis), self.frequency, self.start, self.end)


class KeyframesTable(MotionTable):
    """Through `shifts` and `angles` (radians, about `axis` through `centre`, which moves along) at the given times, smoothly."""

    type: Literal["keyframes"]
    times: Annotated[list[Number], Field(min_length=2, max_length=MOST_ENTRIES)]
    shifts: Annotated[list[Vector], Field(max_length=MOST_ENTRIES)] = EMPTY
    angles: Annotated[list[Number], Field(max_length=MOST_ENTRIES)] = EMPTY
    centre: Vector | Annotated[list[Number], Field(max_length=0)] = EMPTY
    axis: Vector3 = ALONG_Z

    def make(self) -> Motion:
        shifts = tuple(tuple(shift) for shift in self.shifts)
        return motions.Keyframes(tuple(self.times), shifts, tuple(self.angles), tuple(self.centre), tuple(self.axis))


class TogetherTable(MotionTable):
    """Motions on top of each other: the second carries the body as the first has moved it, and so on."""

    type: Literal["together"]
    motions: Annotated[list[AnyMotion], Field(min_length=1, max_length=20)]

    def make(self) -> Motion:
        return motions.Together(tuple(part.make() for part in self.motions))


AnyMotion = Annotated[
    TranslationTable | OscillationTable | RotationTable | KeyframesTable | TogetherTable,
    Field(discriminator="type"),
]

MOTION_TABLES: dict[str, type[MotionTable]] = {
    "translation": TranslationTable,
    "oscillation": OscillationTable,
    "rotation": RotationTable,
    "keyframes": KeyframesTable,
    "together": TogetherTable,
}
for _table in MOTION_TABLES.values():
    _table.model_rebuild()
