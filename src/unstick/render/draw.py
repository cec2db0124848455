"""From the directories of one or two runs to pictures and a film."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.grid import Array
from unstick.progress import Meter
from unstick.record.frames import FrameData
from unstick.render.colours import Scale, pressure_scale, speed_scale
from unstick.render.extras import need, need_opengl
from unstick.render.film import Film
from unstick.render.flat import FlatPainter
from unstick.render.layout import Layout, compose
from unstick.render.png import write_png
from unstick.render.run_files import RunFiles, both_in, labels
from unstick.render.smoke import SmokeFlatPainter, SmokeSpacePainter, smoke_scale, warmth_scale

Colour = Literal["speed", "pressure", "density", "temperature"]
OF_A_GAS = ("density", "temperature")
Style = Literal["particles", "surface"]
LONGER = {2: 720, 3: 640}  # pixels along the longer side of a panel; in 3D of one that is 4 to 3
LEAST, MOST = 64, 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How to draw. None means what suits the run: particles by speed in 2D, clear water in 3D."""

    colour: Colour | None = None
    style: Style | None = None
    size: int | None = None  # longer side of a panel in pixels
    every: int = 1
    film: bool = True
    fps: int = 25

    def __post_init__(self) -> None:
        require_count("--every", self.every)
        require_count("--fps", self.fps)
        if self.size is not None and not LEAST <= self.size <= MOST:
            raise InvalidSystem(f"--size is {self.size}; give the longer side of a picture in pixels, from {LEAST} to {MOST}")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was written."""

    pictures: tuple[Path, ...]
    film: Path | None


class Painter(Protocol):
    """Draws frames of one run on panels of one size."""

    @property
    def size(self) -> tuple[int, int]: ...

    def paint(self, frame: FrameData) -> Array: ...


def render(directories: Sequence[Path], out: Path | None = None, look: Look | None = None, meter: Meter | None = None) -> Drawn:
    """Draw one run, or two beside each other (also when their common directory is given): OUT/pictures/frame_000123.png, OUT/film.mp4."""
    look, meter = look or Look(), meter or Meter()
    if len(directories) == 1 and (pair := both_in(directories[0])):
        directories, out = pair, out or directories[0]
    runs = [RunFiles.open(directory) for directory in directories]
    target = require_directory(out or (runs[0].directory if len(runs) == 1 else runs[0].directory / "beside"))
    frames = common_frames(runs)[:: look.every]
    require_look(runs, look)
    load_libraries(runs[0].dimension, look, runs[0].holds_gas)
    scale = choose_scale(runs, frames, look)
    painters = [painter(run, frames, scale, look) for run in runs]
    panel = tuple(max(p.size[axis] for p in painters) for axis in (0, 1))
    names = labels(runs) if len(runs) > 1 else [title(runs[0])]
    pictures = []
    with contextlib.ExitStack() as stack:
        film = stack.enter_context(Film(target / "film.mp4", Layout((panel[0], panel[1]), len(runs)).size, look.fps)) if look.film else None
        step = stack.enter_context(meter.steps(len(frames), "pictures"))
        for frame in frames:
            step(f"frame {frame}")
            data = [run.read(frame) for run in runs]
            panels = [fit(p.paint(d), panel) for p, d in zip(painters, data, strict=True)]
            page = compose(panels, names, data[0].time, scale, runs[0].dimension == 2 and any(run.walls != "sticking" for run in runs))
            path = target / "pictures" / f"frame_{frame:06d}.png"
            write_png(path, page)
            pictures.append(path)
            if film is not None:
                film.add(page)
    return Drawn(tuple(pictures), target / "film.mp4" if look.film else None)


def common_frames(runs: Sequence[RunFiles]) -> tuple[int, ...]:
    if len({run.dimension for run in runs}) > 1:
        raise InvalidSystem(
            f"{runs[0].directory} is in {runs[0].dimension}D, {runs[1].directory} in {runs[1].dimension}D; give two of a kind"
        )
    common = set(runs[0].frames).intersection(*(run.frames for run in runs[1:]))
    if not common:
        raise InvalidSystem(f"{runs[0].directory} and {runs[1].directory} have no frame in common")
    return tuple(sorted(common))


def require_directory(path: Path) -> Path:
    """A directory that exists or can be made."""
    for place in (path, *path.parents):
        if place.exists():
            if not place.is_dir():
                raise InvalidSystem(f"{place} is a file; give a directory that exists or can be made")
            break
    return path


def require_look(runs: Sequence[RunFiles], look: Look) -> None:
    """Refuse what the runs do not have."""
    gas = runs[0].holds_gas
    if any(run.holds_gas != gas for run in runs):
        raise InvalidSystem(f"one of {runs[0].directory} and {runs[1].directory} is of smoke, the other of liquid; give two of a kind")
    if look.colour is not None and (look.colour in OF_A_GAS) != gas:
        allowed = "density or temperature" if gas else "speed or pressure"
        raise InvalidSystem(f"--colour is {look.colour}; a {'gas' if gas else 'liquid'} is coloured by {allowed}")
    if gas and (look.style is not None or (runs[0].dimension == 3 and look.colour == "temperature")):
        what = "--style" if look.style is not None else "--colour temperature"
        raise InvalidSystem(
            f"{what} is given for a gas{'' if look.style else ' in 3D'}, which is drawn as smoke in the light; leave it out"
        )


def load_libraries(dimension: int, look: Look, gas: bool) -> None:
    """Ask for everything before the first picture."""
    need("PIL.Image", "a picture")
    need("matplotlib", "a picture")
    if dimension == 3 and not gas:
        need("pyvista", "a 3D picture")
        need_opengl()
    if look.film:
        try:
            need("av", "a film")
        except InvalidSystem as missing:
            raise InvalidSystem(f"{missing}, or leave the film out with --no-film") from None


def choose_scale(runs: Sequence[RunFiles], frames: tuple[int, ...], look: Look) -> Scale | None:
    """One for all runs and frames; none where water is drawn as water."""
    colour = look.colour
    if runs[0].holds_gas:
        return None if runs[0].dimension == 3 else gas_scale(runs, frames, colour or "density")
    if colour is None:
        if runs[0].dimension == 3 and look.style != "particles":
            return None
        colour = "speed"
    ranges = [run.ranges(frames, colour) for run in runs]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    return speed_scale(high) if colour == "speed" else pressure_scale(low, high)


def gas_scale(runs: Sequence[RunFiles], frames: tuple[int, ...], colour: str) -> Scale:
    highest = max(run.ranges(frames, colour)[1] for run in runs)
    return warmth_scale(highest) if colour == "temperature" else smoke_scale(highest)


def painter(run: RunFiles, frames: tuple[int, ...], scale: Scale | None, look: Look) -> Painter:
    first, longer = run.read(frames[0]), look.size or LONGER[run.dimension]
    if run.holds_gas and run.dimension == 3:
        return SmokeSpacePainter(first, longer)
    if run.holds_gas:
        assert scale is not None
        return SmokeFlatPainter(first, scale, look.colour or "density", "surface", longer)
    if run.dimension == 2:
        assert scale is not None
        return FlatPainter(first, scale, look.colour or "speed", look.style or "particles", longer)
    from unstick.render.space import SpacePainter

    return SpacePainter(first, scale, look.colour or "speed", look.style or "surface", longer)


def title(run: RunFiles) -> str:
    return f"{run.scene} · {run.walls} walls" if run.walls else run.scene


def fit(panel: Array, size: tuple[int, ...]) -> Array:
    """The panel in the middle of a white one of that size."""
    high, wide = panel.shape[:2]
    if (wide, high) == tuple(size):
        return panel
    out = np.full((size[1], size[0], 3), 255, dtype=np.uint8)
    top, left = (size[1] - high) // 2, (size[0] - wide) // 2
    out[top : top + high, left : left + wide] = panel
    return out
