"""The directory of a run: what lies where in it, and that only one process writes to it at a time.

run.json        what is computed (manifest.py)
stats.jsonl     a line for each pressure solve (stats.py)
checkpoints/    all that is needed to go on, every few frames (checkpoint.py)
frames/         each frame for pictures (record/frames.py); other recorders have directories of their own
set-aside-1/    what `--from-frame` replaced, as it was
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unstick.checks import InvalidSystem
from unstick.record.frames import frame_path

try:
    import fcntl
except ImportError:  # not on this system: nobody watches that a run is written by one process
    fcntl = None  # type: ignore[assignment]


class RunFailed(RuntimeError):
    """A run could not go on; the message says what is saved and how to go on."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    root: Path

    @property
    def manifest(self) -> Path:
        return self.root / "run.json"

    @property
    def stats(self) -> Path:
        return self.root / "stats.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    def frame(self, number: int) -> Path:
        return frame_path(self.root, number)

    @property
    def holds_a_run(self) -> bool:
        return self.manifest.exists() or (self.checkpoints.is_dir() and any(self.checkpoints.iterdir()))

    @property
    def is_free(self) -> bool:
        """Nothing is there that a new run could harm."""
        return not self.root.exists() or all(entry.name == LOCK or entry.name.endswith(".part") for entry in self.root.iterdir())

    def require_place(self) -> None:
        """Refuse a path at which no directory can be."""
        for place in (self.root, *self.root.absolute().parents):
            if place.is_dir():
                if not os.access(place, os.W_OK | os.X_OK):
                    raise InvalidSystem(f"{place} may not be written to; give another --out")
                return
            if place.exists() or place.is_symlink():
                what = "a file" if place.is_file() else "no directory"
                raise InvalidSystem(f"{place} is {what}, so that nothing can be written to {self.root}; give another --out")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from writing to this run; the system lets go of it when this process ends, however it ends."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            file = (self.root / LOCK).open("a")
        except OSError as error:
            raise InvalidSystem(f"{self.root} cannot be made or written to ({error.strerror}); give another --out") from None
        with file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise InvalidSystem(f"another process computes the run in {self.root}; wait for it, or give another --out") from None
            yield

    def clean(self) -> None:
        """Remove what a killed run left half-written."""
        for part in self.checkpoints.glob(".*.part"):
            part.unlink(missing_ok=True)

    def put_aside(self, after: int, checkpoints: list[Path]) -> Path | None:
        """Move what lies after a frame to a directory of its own, newest first: a run killed in between can still go on.

        Returns that directory, or None when there was nothing to move.
        """
        numbered = [path for path in self.root.rglob("*") if self._is_later(path, after)]
        later = [*checkpoints, *sorted(numbered, reverse=True)]
        if not later:
            return None
        aside = next(place for k in range(1, 1 << 20) if not (place := self.root / f"{ASIDE}{k}").exists())
        aside.mkdir()
        if self.stats.exists():
            shutil.copy2(self.stats, aside / self.stats.name)
        for path in later:
            target = aside / path.relative_to(self.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
        return aside

    def _is_later(self, path: Path, after: int) -> bool:
        place = path.relative_to(self.root).parts
        if place[0].startswith(ASIDE) or place[0] == self.checkpoints.name or not path.is_file():
            return False
        number = re.search(r"_(\d{6,})\.\w+$", path.name)
        return number is not None and int(number[1]) > after


LOCK = ".lock"
ASIDE = "set-aside-"
