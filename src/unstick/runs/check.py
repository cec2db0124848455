"""`unstick check DIR`: are the files of a run all there, whole, and of one piece?"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstick.checks import InvalidSystem
from unstick.record.frames import list_frames, read_frame
from unstick.runs.checkpoint import DamagedCheckpoint, read
from unstick.runs.folder import RunFolder
from unstick.runs.keeper import places
from unstick.runs.manifest import DamagedManifest, Manifest, read_manifest
from unstick.runs.settings import scene_hash
from unstick.runs.stats import KEYS, read_lines

PARTS = ("sticking", "separating")  # of a run with --walls both


@dataclass(slots=True)
class Findings:
    """Sentences: what is as it should be, and what is not."""

    good: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the undamaged checkpoints lead."""

    frame: int = 0
    step: int = 0


def runs_in(directory: Path) -> list[RunFolder]:
    """The run in a directory, or the two that `--walls both` makes; a sentence when there is none."""
    whole = RunFolder(directory)
    if whole.holds_a_run:
        return [whole]
    parts = [RunFolder(directory / part) for part in PARTS if RunFolder(directory / part).holds_a_run]
    if not parts:
        what = "holds no run" if directory.is_dir() else "is a file" if directory.exists() else "is not there"
        raise InvalidSystem(f"{directory} {what}; give the directory that `unstick run SCENE --out DIR` wrote")
    return parts


def check(folder: RunFolder) -> Findings:
    """Read every file of a run."""
    found = Findings()
    manifest = _manifest(folder, found)
    reached = _checkpoints(folder, manifest, found)
    newest = _frames(folder, reached, found)
    _stats(folder, reached, found)
    _leftovers(folder, found)
    if manifest is not None and not found.bad:
        done = max(reached.frame, newest)
        if reached.frame >= manifest.frames:
            found.good.append(f"all {manifest.frames} frames are done")
        else:
            found.good.append(f"{done} of {manifest.frames} frames are done; --resume goes on from frame {reached.frame}")
    return found


def _manifest(folder: RunFolder, found: Findings) -> Manifest | None:
    try:
        manifest = read_manifest(folder.manifest)
    except DamagedManifest as error:
        found.bad.append(f"{error}; `unstick run SCENE --resume` with the same options writes it again")
        return None
    if scene_hash(manifest.settings) != manifest.hash:
        found.bad.append(f"{folder.manifest} has been changed: its settings do not match its hash")
    found.good.append(f"{manifest.scene}, {manifest.resolution} cells, {manifest.walls} walls, solver {manifest.solver}")
    return manifest


def _checkpoints(folder: RunFolder, manifest: Manifest | None, found: Findings) -> Reached:
    there, reached, whole = places(folder.checkpoints), Reached(), 0
    for place in there:
        try:
            header, _ = read(place.path)
        except DamagedCheckpoint as error:
            found.bad.append(f"{error}; --resume takes an older one")
            continue
        whole += 1
        reached = Reached(header["frame"], header["step"])
        if manifest is not None and header["scene"] != manifest.hash:
            found.bad.append(f"{place.path} is of another scene than {folder.manifest} describes")
        if header["frame"] != place.frame:
            found.bad.append(f"{place.path} is of frame {header['frame']}, which its name does not say")
    if there:
        found.good.append(f"{whole} of {len(there)} checkpoints are whole, the newest of frame {reached.frame}")
    else:
        found.bad.append(f"{folder.checkpoints} holds no checkpoint: --resume starts from the first frame")
    return reached


def _frames(folder: RunFolder, reached: Reached, found: Findings) -> int:
    there = list_frames(folder.root)
    lacking = sorted(set(range(reached.frame + 1)) - set(there))
    if lacking:
        found.bad.append(f"{folder.root} lacks {_numbers('frame', lacking)}; --from-frame {max(0, lacking[0] - 1)} computes them again")
    damaged = []
    for number in there:
        try:
            if read_frame(folder.root, number).frame != number:
                damaged.append(number)
        except InvalidSystem:
            damaged.append(number)
    if damaged:
        found.bad.append(f"{_numbers('frame', damaged)} cannot be read; --from-frame {max(0, damaged[0] - 1)} computes them again")
    found.good.append(f"{len(there) - len(damaged)} frames are readable")
    return max((n for n in there if n not in damaged), default=0)


def _stats(folder: RunFolder, reached: Reached, found: Findings) -> None:
    if not folder.stats.exists():
        found.bad.append(f"{folder.stats} is not there")
        return
    end, lines, last = 0, 0, {"step": 0, "frame": 1, "time": 0.0}
    for line_end, line in read_lines(folder.stats):
        end, lines = line_end, lines + 1
        for sentence in _wrong(line, last):
            found.bad.append(f"{folder.stats}, line {lines}: {sentence}")
        last = line
    if end < folder.stats.stat().st_size:
        found.bad.append(f"{folder.stats} cannot be understood after line {lines}; --resume drops what is not whole")
    steps = lines if last.get("time") is not None else lines - 1
    if steps < reached.step:
        found.bad.append(f"{folder.stats} has lines of {steps} steps, and the newest checkpoint is {reached.step} steps from the start")
    found.good.append(f"{lines} lines of statistics")


def _wrong(line: dict[str, Any], last: dict[str, Any]) -> list[str]:
    out = []
    if lacking := [key for key in KEYS if key not in line]:
        out.append(f"it lacks {', '.join(lacking)}")
    if line["step"] != last["step"] + 1:
        out.append(f"step {line['step']} follows step {last['step']}")
    if line.get("frame") not in (last["frame"], last["frame"] + 1):
        out.append(f"frame {line.get('frame')} follows frame {last['frame']}")
    before, now = last.get("time"), line.get("time")
    if before is not None and now is not None and not before < now:
        out.append(f"time {now:g} follows time {before:g}")
    return out


def _leftovers(folder: RunFolder, found: Findings) -> None:
    parts = list(folder.root.rglob("*.part"))
    if parts:
        found.good.append(f"{len(parts)} unfinished files of a run that was killed ({parts[0]}, ...), which nothing reads")


def _numbers(word: str, numbers: list[int], most: int = 6) -> str:
    shown = ", ".join(str(n) for n in numbers[:most])
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return f"{word}{'s' if len(numbers) > 1 else ''} {shown}{more}"
