"""A run's directory as pictures see it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.record.frames import FrameData, list_frames, read_frame

LABELS = {"sticking": "sticking walls", "separating": "separating walls"}


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What there is to draw."""

    directory: Path
    manifest: dict[str, Any]
    frames: tuple[int, ...]
    dimension: int
    holds_gas: bool

    @classmethod
    def open(cls, directory: Path) -> RunFiles:
        """The run in a directory; a sentence where there is none."""
        path = directory / "run.json"
        if not path.is_file():
            raise InvalidSystem(f"{directory} is not the directory of a run: it has no run.json. `unstick run SCENE --out DIR` makes one")
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidSystem(f"{path} cannot be read ({error}); `unstick check {directory}` says what else is wrong") from None
        if not isinstance(manifest, dict):
            raise InvalidSystem(f"{path} is no manifest of a run; `unstick check {directory}` says what else is wrong")
        frames, scene = tuple(list_frames(directory)), manifest.get("scene", "SCENE")
        if not frames:
            raise InvalidSystem(f"{directory} has no frames to draw; go on with `unstick run {scene} --out {directory} --resume`")
        first = read_frame(directory, frames[0])
        return cls(directory, manifest, frames, first.grid.dimension, first.density is not None)

    @property
    def scene(self) -> str:
        return str(self.manifest.get("scene", self.directory.name))

    @property
    def walls(self) -> str:
        return str(self.manifest.get("walls", ""))

    def read(self, frame: int) -> FrameData:
        return read_frame(self.directory, frame)

    def ranges(self, frames: tuple[int, ...], colour: str) -> tuple[float, float]:
        """Lowest and highest value to show, of up to a dozen frames; the fastest drops do not count."""
        low = high = 0.0
        for frame in frames[:: max(1, len(frames) // 12)]:
            data = self.read(frame)
            if data.density is not None and data.excess is not None:
                high = max(high, float(np.max(data.excess if colour == "temperature" else data.density)))
            elif colour == "speed":
                high = max(high, float(np.quantile(data.speed, 0.98)) if len(data.speed) else 0.0)
            elif (wet := data.p[data.phi < 0]).size:
                low = min(low, float(np.quantile(wet, 0.005)))
                high = max(high, float(np.quantile(wet, 0.995)))
        return low, high


def both_in(directory: Path) -> list[Path]:
    """The two runs of `unstick run --walls both --out DIR`, or none."""
    pair = [directory / walls for walls in LABELS]
    return pair if not (directory / "run.json").exists() and all((path / "run.json").is_file() for path in pair) else []


def labels(runs: list[RunFiles]) -> list[str]:
    """What tells the runs apart: their walls, else their directories."""
    walls = [LABELS.get(run.walls, "") for run in runs]
    if len(set(walls)) == len(runs) and all(walls):
        return walls
    names = [run.directory.name for run in runs]
    return names if len(set(names)) == len(runs) else [str(run.directory) for run in runs]
