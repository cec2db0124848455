"""What all tables of a scene file share: no unknown keys, no silent conversions, finite numbers within bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, AllowInfNan, BaseModel, ConfigDict, Field, ValidationInfo, model_validator

FAR = 1e6  # m, and everything else: no number of a scene is larger
MOST_ENTRIES = 1000  # of a list


@dataclass(frozen=True, slots=True)
class Context:
    """What a table has to know of the rest of its file."""

    dimension: int | None = None  # None where the file does not say it rightly
    spacing: float = 0.0  # of the grid, for meshes
    folder: Path = field(default_factory=Path)  # that file names are relative to


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def context(info: ValidationInfo) -> Context:
    return info.context if isinstance(info.context, Context) else Context()


def of_dimension(value: list[float], info: ValidationInfo) -> list[float]:
    """As many numbers as the scene has dimensions."""
    d = context(info).dimension
    if d is not None and len(value) != d:
        raise ValueError(f"{value} given; allowed: {d} numbers, one for each axis of the scene")
    return value


def no_nan(value: float) -> float:
    if math.isnan(value):
        raise ValueError("nan given; allowed: a number of seconds, or inf")
    return value


Number = Annotated[float, Field(ge=-FAR, le=FAR)]
Positive = Annotated[float, Field(gt=0.0, le=FAR)]
NotNegative = Annotated[float, Field(ge=0.0, le=FAR)]
Vector = Annotated[list[Number], Field(max_length=3), AfterValidator(of_dimension)]
Vector3 = Annotated[list[Number], Field(min_length=3, max_length=3)]
End = Annotated[float, AllowInfNan(True), AfterValidator(no_nan)]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w .,()+-]*$")]
EMPTY: Any = Field(default_factory=list)
ALONG_Z: Any = Field(default_factory=lambda: [0.0, 0.0, 1.0])


class SpanTable(Table):
    """From `start` to `end`."""

    start: NotNegative = 0.0
    end: End = math.inf

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> SpanTable:
        if not self.start < self.end:
            raise ValueError(f"start {self.start} and end {self.end} given; allowed: a start before the end")
        return self
