"""When checkpoints are written, and which are kept: the last few, and every tenth of those at regular frames."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unstick.checks import InvalidSystem
from unstick.grid import Grid
from unstick.liquid.state import State
from unstick.runs.checkpoint import Checkpoint, DamagedCheckpoint, Stamp, load, save

if TYPE_CHECKING:
    from unstick.liquid.simulation import Simulation

EVERY = 5  # frames
LONGEST = 600.0  # seconds of computing that may be lost
LAST = 3  # regular checkpoints that are kept
SELDOM = 10  # every so many regular ones are kept for good


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Which state a file holds: after `frame` complete frames, and after `step` steps when it stands within the next frame (else 0)."""

    frame: int
    step: int
    path: Path = field(compare=False)


def place_of(directory: Path, state: State, frame_time: float) -> Path:
    if state.time > state.frame * frame_time:
        return directory / f"frame_{state.frame:06d}_step_{state.step:06d}.npz"
    return directory / f"frame_{state.frame:06d}.npz"


def places(directory: Path) -> list[Place]:
    """The checkpoints that are there, the oldest state first."""
    found = []
    for path in directory.glob("frame_*.npz"):
        if name := re.fullmatch(r"frame_(\d{6,})(?:_step_(\d{6,}))?\.npz", path.name):
            found.append(Place(int(name[1]), int(name[2] or 0), path))
    return sorted(found)


@dataclass(slots=True)
class Keeper:
    """A recorder that comes after all others: a checkpoint says that the files of its frame are there."""

    directory: Path
    stamp: Stamp
    every: int = EVERY
    last_frame: int = 0
    saved_at: float = field(default_factory=time.monotonic)

    def record(self, simulation: Simulation) -> None:
        state = simulation.state
        regular = state.frame % self.every == 0
        late = time.monotonic() - self.saved_at > LONGEST
        if state.frame == self.last_frame or (state.frame > 0 and (regular or late)):
            self.save(state, simulation.scene.frame_time)

    def close(self) -> None:
        """Every checkpoint is complete when it is written."""

    def save(self, state: State, frame_time: float) -> Path:
        path = place_of(self.directory, state, frame_time)
        save(path, state, self.stamp)
        self.saved_at = time.monotonic()
        self.thin(path)
        return path

    def thin(self, newest: Path) -> None:
        """Remove what need not be kept. What is left after a run does not depend on where it was stopped on its way."""
        there = places(self.directory)
        regular = [p for p in there if p.step == 0 and p.frame % self.every == 0]
        kept = {newest, *(p.path for p in regular[-LAST:]), *(p.path for p in regular if p.frame % (self.every * SELDOM) == 0)}
        for p in there:
            if p.path not in kept and p.path < newest:
                p.path.unlink(missing_ok=True)


def newest_good(directory: Path, grid: Grid, up_to: int | None = None) -> tuple[Checkpoint | None, list[str]]:
    """The newest undamaged checkpoint (of `up_to` frames at most), and a sentence for each newer one that is damaged."""
    notes: list[str] = []
    for place in reversed(places(directory)):
        if up_to is not None and (place.frame, place.step) > (up_to, 0):
            continue
        try:
            return load(place.path, grid), notes
        except DamagedCheckpoint as error:
            notes.append(str(error))
    return None, notes


def require_every(every: int) -> None:
    if every < 1:
        raise InvalidSystem(f"--checkpoint-every is {every}; give a number of frames of at least 1")
