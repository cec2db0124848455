"""run.json: what a run computes, written before its first step and whenever it goes on."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstick.record.files import write_bytes
from unstick.runs.settings import Settings

FORMAT = 1


class DamagedManifest(ValueError):
    """run.json cannot be understood; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    format: int = FORMAT
    version: str  # of unstick, which wrote it
    scene: str  # the scene's name
    source: str  # what was asked for: a name or a file
    resolution: int
    dimension: int
    walls: str  # separating, sticking or mixed
    frame_time: float
    frames: int  # how far the run shall go
    solver: str
    checkpoint_every: int
    record: tuple[str, ...] = ()
    asked: dict[str, Any] = field(default_factory=dict)  # options of the command line that shape the scene
    hash: str
    settings: Settings

    def write(self, path: Path) -> None:
        write_bytes(path, (json.dumps(dataclasses.asdict(self), indent=1) + "\n").encode())


def read_manifest(path: Path) -> Manifest:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DamagedManifest(f"{path} is not there") from None
    except (OSError, ValueError) as error:
        raise DamagedManifest(f"{path} cannot be read ({error})") from None
    known = {f.name for f in dataclasses.fields(Manifest)}
    if not isinstance(found, dict) or not known <= set(found):
        raise DamagedManifest(f"{path} is not the description of a run")
    if found["format"] != FORMAT:
        raise DamagedManifest(f"{path} has format {found['format']}, and this version of unstick reads format {FORMAT}")
    values = {name: found[name] for name in known}
    values["record"] = tuple(values["record"])
    return Manifest(**values)
