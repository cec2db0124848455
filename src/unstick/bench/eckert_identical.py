"""Every method on the same inputs: flows of one sticking run of dam-2d (Eckert, section 4.3); costs, and how far answers differ.

By practical and by tight thresholds at every fifth frame; the tight ones take most of the time.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from unstick import __version__
from unstick.bench.eckert_flows import Moment, walk
from unstick.bench.eckert_methods import (
    EXACT,
    EXACT_STICKING,
    PRACTICAL,
    TIGHT,
    Done,
    call,
    compile_first,
    largest_difference,
    leftover,
    make,
)
from unstick.bench.harness import Cell, Options, machine
from unstick.fields import FaceField
from unstick.pressure.projection import Projection

FRAMES, EVERY = 250, 5
LOW, HIGH = "Low", "High"
METHODS = ("OrigPS", "OrigPSSep", "ADMMVelSep", "ADMMDivSep", "IOPDivSep", "IOPDivSepBC")
STICKING = ("ADMMVelStick", "ADMMDivStick", "IOPDivStick")
TIGHT_TOLERANCE = 1e-10  # of our own, when its answer is what others are measured by
TIGHT_ITERATIONS = 20_000
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Call:
    cg: int
    outer: int
    seconds: float
    status: str
    loose: float  # largest divergence left in rows that let go, in the thesis' units
    rest: float  # and in all others


@dataclass(slots=True)
class Study:
    """By label, then by frame. A pair of labels is joined by a bar."""

    scene: str
    size: int
    frames: int
    calls: dict[str, dict[int, Call]] = field(default_factory=dict)
    differences: dict[str, dict[int, float]] = field(default_factory=dict)
    ended: str = ""
    machine: dict[str, Cell] = field(default_factory=lambda: machine())

    def mean(self, label: str, what: str) -> float | None:
        values = [float(getattr(found, what)) for found in self.calls.get(label, {}).values()]
        return float(np.mean(values)) if values else None

    def worst(self, label: str, what: str) -> float | None:
        return max((float(getattr(found, what)) for found in self.calls.get(label, {}).values()), default=None)

    def failed(self, label: str) -> int:
        return sum(found.status != "converged" for found in self.calls.get(label, {}).values())

    def gap(self, a: str, b: str) -> dict[int, float]:
        return self.differences.get(f"{a}|{b}") or self.differences.get(f"{b}|{a}") or {}

    def largest(self, a: str, b: str) -> float | None:
        return max(self.gap(a, b).values(), default=None)


def labels() -> dict[str, Projection]:
    """The projections that are called on a flow, by their labels."""
    out: dict[str, Projection] = {f"{name}{LOW}": make(name, PRACTICAL) for name in (*METHODS, *STICKING)}
    out[EXACT] = make(EXACT, tolerance=TIGHT_TOLERANCE)
    out[EXACT_STICKING] = make(EXACT_STICKING, tolerance=TIGHT_TOLERANCE)
    out.update({f"{name}{HIGH}": make(name, TIGHT, max_iterations=TIGHT_ITERATIONS) for name in (*METHODS, *STICKING)})
    return out


def pairs() -> list[tuple[str, str]]:
    """What is compared: each family with itself by both thresholds, practical with tight, and all with the exact answers."""
    outer = ("ADMMVelSep", "ADMMDivSep", "IOPDivSep")
    sticking = ("OrigPS", *STICKING)
    out: list[tuple[str, str]] = []
    for how in (LOW, HIGH):
        out += [(a + how, b + how) for family in (outer, sticking) for a, b in itertools.combinations(family, 2)]
        out += [("OrigPSSep" + HIGH, name + how) for name in outer]
        out += [("OrigPSSep" + how, "IOPDivSepBC" + how), ("IOPDivSep" + how, "IOPDivSepBC" + how)]
        out += [(name + how, EXACT) for name in ("OrigPSSep", *outer, "IOPDivSepBC")]
        out += [(name + how, EXACT_STICKING) for name in sticking]
    out += [(name + LOW, "ADMMVelSep" + HIGH) for name in outer]
    out += [("IOPDivSepBC" + LOW, "IOPDivSepBC" + HIGH)]
    return list(dict.fromkeys(out))


_made: dict[tuple[str, int, int], Study] = {}


def study(size: int, frames: int, options: Options, scene: str = "dam-2d") -> Study:
    """Made once by a process; --out keeps it for the other tables and figures."""
    directory = None if options.plots is None else options.plots / "runs"
    key = (scene, size, frames)
    found = _made.get(key) or _recall(directory, *key)
    if found is None:
        found = _make(size, frames, options, scene)
    _made[key] = found
    _keep(directory, found)
    return found


def chosen_frames(frames: int, every: int) -> list[int]:
    return list(range(every, frames + 1, every)) or [frames]


def _make(size: int, frames: int, options: Options, scene: str) -> Study:
    out = Study(scene, size, frames)
    compiled = False

    def visit(moment: Moment) -> None:
        nonlocal compiled
        if not compiled:
            compile_first((*METHODS, *STICKING, EXACT, EXACT_STICKING), moment.flow)
            compiled = True
        found: dict[str, FaceField] = {}
        for label, projection in labels().items():
            done = call(projection, moment.flow)
            out.calls.setdefault(label, {})[moment.frame] = _cost(moment, done)
            found[label] = done.projected.velocity
        for a, b in pairs():
            if a in found and b in found:
                out.differences.setdefault(f"{a}|{b}", {})[moment.frame] = largest_difference(moment.flow, found[a], found[b])

    with options.meter.steps(frames, f"{scene} at {size}") as step:
        out.ended = walk(scene, size, chosen_frames(frames, EVERY), make(EXACT_STICKING), visit, step)
    return out


def _cost(moment: Moment, done: Done) -> Call:
    loose, rest = leftover(moment.flow, done)
    return Call(done.cg, done.outer, done.seconds, done.status, loose, rest)


def _file(directory: Path, scene: str, size: int, frames: int) -> Path:
    return directory / f"eckert-identical-{scene}-{size}-{frames}.json"


def _recall(directory: Path | None, scene: str, size: int, frames: int) -> Study | None:
    if directory is None:
        return None
    try:
        kept = json.loads(_file(directory, scene, size, frames).read_text(encoding="utf-8"))
        if kept["format"] != FORMAT or kept["version"] != __version__:
            return None
        calls = {label: {int(frame): Call(*values) for frame, values in by.items()} for label, by in kept["calls"].items()}
        differences = {pair: {int(frame): value for frame, value in by.items()} for pair, by in kept["differences"].items()}
        return Study(kept["scene"], kept["size"], kept["frames"], calls, differences, kept["ended"], kept["machine"])
    except (OSError, ValueError, KeyError, TypeError):  # absent, cut short or of another shape: it is made again
        return None


def _keep(directory: Path | None, made: Study) -> None:
    if directory is None:
        return
    calls = {label: {f: [_short(v) for v in asdict(c).values()] for f, c in by.items()} for label, by in made.calls.items()}
    differences = {pair: {frame: _short(value) for frame, value in by.items()} for pair, by in made.differences.items()}
    head = {"format": FORMAT, "version": __version__, "scene": made.scene, "size": made.size, "frames": made.frames, "ended": made.ended}
    text = json.dumps({**head, "machine": made.machine})[:-1]
    text += ',\n"calls": {\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in calls.items()) + "\n}"
    text += ',\n"differences": {\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in differences.items()) + "\n}}\n"
    directory.mkdir(parents=True, exist_ok=True)
    target = _file(directory, made.scene, made.size, made.frames)
    draft = target.with_name(target.name + ".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, target)


def _short(value: float | str) -> float | str:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def curve(values: Mapping[int, float]) -> tuple[Sequence[float], Sequence[float]]:
    """Of a figure over the frames."""
    at = sorted(values)
    return at, [max(values[frame], 1e-16) for frame in at]


def over_frames(made: Study, names: Iterable[str], what: str) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    return {name: curve({f: float(getattr(c, what)) for f, c in made.calls.get(name, {}).items()}) for name in names if name in made.calls}
