"""What is kept of a trajectory: counts and seconds of every solver at every pressure solve, as JSON that several tables read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from unstick import __version__
from unstick.bench.harness import Cell, machine

FORMAT = 1
CONVERGED = "converged"


@dataclass(frozen=True, slots=True)
class Solve:
    iterations: int  # inner ones in total: cycles, steps of conjugate gradients or sweeps
    outer: int
    seconds: float  # CPU seconds on one thread, set-up included
    work: float  # work units, set-up included
    status: str  # name of the Status, in lower case


@dataclass(frozen=True, slots=True)
class Moment:
    """One pressure solve of the trajectory."""

    frame: int
    dt: float
    unknowns: int
    contact: int
    detached: int
    solves: dict[str, Solve]


@dataclass(frozen=True, slots=True)
class Trajectory:
    scene: str
    size: int
    frames: int
    moments: tuple[Moment, ...]
    ended: str = ""  # why it ended early, a sentence
    machine: dict[str, Cell] = field(default_factory=lambda: machine())

    @property
    def solvers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for moment in self.moments for name in moment.solves))

    def of(self, name: str) -> list[Solve]:
        return [moment.solves[name] for moment in self.moments if name in moment.solves]

    def mean(self, name: str, what: str) -> float | None:
        """The average of a field of Solve over all solves of that solver, those that did not converge included."""
        values = [float(getattr(solve, what)) for solve in self.of(name)]
        return float(np.mean(values)) if values else None

    def failed(self, name: str) -> int:
        return sum(solve.status != CONVERGED for solve in self.of(name))


def file_of(directory: Path, scene: str, size: int, frames: int) -> Path:
    return directory / f"{scene}-{size}-{frames}.json"


def recall(directory: Path | None, scene: str, size: int, frames: int, wanted: Iterable[str]) -> Trajectory | None:
    """A trajectory made before by this version with at least these solvers; None where there is none."""
    if directory is None:
        return None
    try:
        kept = json.loads(file_of(directory, scene, size, frames).read_text(encoding="utf-8"))
        if kept["format"] != FORMAT or kept["version"] != __version__:
            return None
        columns = kept["columns"]
        moments = tuple(
            Moment(
                **{**entry, "solves": {name: Solve(**dict(zip(columns, values, strict=True))) for name, values in entry["solves"].items()}}
            )
            for entry in kept["moments"]
        )
        found = Trajectory(kept["scene"], kept["size"], kept["frames"], moments, kept["ended"], kept["machine"])
    except (OSError, ValueError, KeyError, TypeError):  # absent, cut short or of another shape: it is made again
        return None
    return found if set(wanted) <= set(found.solvers) and not found.ended else None


def keep(directory: Path | None, trajectory: Trajectory) -> None:
    """Write a trajectory, whole or not at all; a line for each pressure solve."""
    if directory is None:
        return
    columns = list(Solve.__dataclass_fields__)
    entries = []
    for moment in trajectory.moments:
        entry = asdict(moment)
        entry["solves"] = {name: [_short(getattr(solve, key)) for key in columns] for name, solve in moment.solves.items()}
        entries.append(json.dumps(entry))
    head = {
        "format": FORMAT,
        "version": __version__,
        "scene": trajectory.scene,
        "size": trajectory.size,
        "frames": trajectory.frames,
        "ended": trajectory.ended,
        "machine": trajectory.machine,
        "columns": columns,
    }
    text = json.dumps(head)[:-1] + ',\n"moments": [\n' + ",\n".join(entries) + "\n]}\n"
    directory.mkdir(parents=True, exist_ok=True)
    target = file_of(directory, trajectory.scene, trajectory.size, trajectory.frames)
    draft = target.with_name(target.name + ".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, target)


def _short(value: float | str) -> float | str:
    return float(f"{value:.4g}") if isinstance(value, float) else value
