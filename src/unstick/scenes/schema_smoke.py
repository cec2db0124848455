"""The tables [smoke] and [[source]] of a scene file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from unstick.liquid.scene import AMBIENT, Smoke, SmokeSource
from unstick.scenes.schema_base import EMPTY, Context, Name, NotNegative, Number, Positive, SpanTable, Table, Vector
from unstick.scenes.schema_shapes import AnyShape

_STANDARD = Smoke()


class SmokeTable(Table):
    ambient: Positive = AMBIENT
    weight: Number = _STANDARD.weight
    expansion: Number = _STANDARD.expansion
    confinement: NotNegative = _STANDARD.confinement
    fading: NotNegative = _STANDARD.fading
    cooling: NotNegative = _STANDARD.cooling
    advection: Literal["cubic", "maccormack", "linear"] = "cubic"
    conserve: bool = _STANDARD.conserve

    def make(self, sources: tuple[SmokeSource, ...]) -> Smoke:
        return Smoke(sources=sources, **self.model_dump())


class SourceTable(SpanTable):
    name: Name = "source"
    shape: AnyShape
    density: NotNegative = 1.0
    temperature: Positive | None = None
    velocity: Vector | Annotated[list[Number], Field(max_length=0)] = EMPTY

    def make(self, given: Context) -> SmokeSource:
        return SmokeSource(
            name=self.name,
            shape=self.shape.make(given),
            density=self.density,
            temperature=self.temperature,
            velocity=tuple(self.velocity),
            start=self.start,
            end=self.end,
        )
