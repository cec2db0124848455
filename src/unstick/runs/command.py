"""`unstick run` and `unstick check`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from unstick.checks import InvalidSystem, require_known
from unstick.kernels.warm import announce
from unstick.liquid.scene import Scene
from unstick.pressure.splitting.table import KNOWN, STICKING
from unstick.record.table import RECORDERS
from unstick.runs.check import check, runs_in
from unstick.runs.folder import RunFailed, RunFolder
from unstick.runs.keeper import EVERY, require_every
from unstick.runs.manifest import DamagedManifest, Manifest, read_manifest
from unstick.runs.memory import require_memory
from unstick.runs.progress import human_time, say
from unstick.runs.run import ALWAYS, Plan, begin, resume, walls_of
from unstick.runs.stop import Stopped
from unstick.runs.threads import use_threads
from unstick.scenes import SCENES, load

DONE, FAILED, INTERRUPTED = 0, 1, 130
BOTH = ("sticking", "separating")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asked for; None where it did not say."""

    scene: str
    resolution: int | None = None
    frames: int | None = None
    walls: str | None = None
    solver: str | None = None
    sets: tuple[str, ...] = ()
    every: int | None = None
    record: tuple[str, ...] | None = None
    threads: int | None = None

    def shape(self) -> dict[str, Any]:
        """Options that shape the scene, for the run to remember."""
        return {"resolution": self.resolution, "walls": self.walls, "solver": self.solver, "set": list(self.sets)}

    def remembering(self, old: Manifest) -> Request:
        """What is not said again stays as it was when the run was begun."""
        asked = old.asked
        return replace(
            self,
            resolution=self.resolution or asked.get("resolution"),
            frames=self.frames or old.frames,
            walls=self.walls or asked.get("walls"),
            solver=self.solver or asked.get("solver"),
            sets=self.sets or tuple(asked.get("set", ())),
            every=self.every or old.checkpoint_every,
            record=old.record if self.record is None else self.record,
        )

    def load(self) -> Scene:
        chosen = [f'numerics.solver="{self.solver}"'] if self.solver else []
        return load(self.scene, resolution=self.resolution, walls=self.walls, sets=[*self.sets, *chosen])


def run_command(
    scene: str,
    /,
    *,
    resolution: int | None = None,
    frames: int | None = None,
    walls: Literal["separating", "sticking", "both"] | None = None,
    solver: str | None = None,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
    from_frame: int | None = None,
    threads: int | None = None,
    set: Annotated[list[str] | None, Parameter(negative="")] = None,
    checkpoint_every: int | None = None,
    record: str | None = None,
) -> int:
    """Compute a scene into a directory: statistics, checkpoints and frames.

    Parameters
    ----------
    scene:
        A name from `unstick scenes`, or a TOML file.
    resolution:
        Cells along the longest side of the domain.
    frames:
        How many frames; with --resume, to a later end than before.
    walls:
        Overrides all walls of the scene; `both` makes the two runs and a film of them side by side.
    solver:
        A name from `unstick solvers`.
    out:
        Directory of the run: out/SCENE-RESOLUTION-WALLS if not given.
    resume:
        Go on with the run in that directory; options that are not given again stay as they were.
    from_frame:
        Go on from the checkpoint at or before this frame; later files are put aside, not lost.
    threads:
        Threads to compute with; the result does not depend on it.
    set:
        KEY=VALUE changes a key of the scene, as in numerics.transfer=flip; may be given several times.
    checkpoint_every:
        Frames between checkpoints: 5 if not given.
    record:
        More files for each frame, separated by commas: mesh, vtk.
    """
    use_threads(threads)
    _require_positive("--resolution", resolution)
    _require_positive("--frames", frames)
    if checkpoint_every is not None:
        require_every(checkpoint_every)
    chosen = None if solver is None else require_known("solver", solver, KNOWN)
    going_on, console = resume or from_frame is not None, Console(stderr=True)
    if chosen in STICKING and walls != "sticking":
        if walls is not None:
            raise InvalidSystem(f"{chosen} solves for walls that stick; leave out --walls {walls}, or take a solver that separates")
        walls = "sticking"
        say(console, f"{chosen} solves for walls that stick: all walls do.")
    request = Request(
        scene=scene,
        resolution=resolution,
        frames=frames,
        walls=None if walls == "both" else walls,
        solver=chosen,
        sets=tuple(set or ()),
        every=checkpoint_every,
        record=None if record is None else _recorders(record),
        threads=threads,
    )
    if walls == "both":
        job = _both(request, out, going_on, from_frame, console)
    else:
        job = _one(request, out, going_on, from_frame, console)
    return _ending(job, console)


def _require_positive(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise InvalidSystem(f"{name} is {value}; give a whole number of at least 1")


def _recorders(words: str) -> tuple[str, ...]:
    known = [name for name in RECORDERS if name != ALWAYS]
    return tuple(require_known("recorder", word, known) for word in dict.fromkeys(w.strip() for w in words.split(",")) if word)


def _ending(job: Callable[[], None], console: Console) -> int:
    """Do it; whatever ends it early is told in a sentence."""
    try:
        job()
    except RunFailed as error:
        console.print(Text(str(error), style="red"), soft_wrap=True)
        return FAILED
    except Stopped as stopped:
        say(console, str(stopped))
        return INTERRUPTED
    return DONE


def _one(request: Request, out: Path | None, going_on: bool, from_frame: int | None, console: Console) -> Callable[[], None]:
    scene = request.load()
    root = out or default_out(request, scene)
    again = _again(request, root, request.walls)
    plan = make_plan(request, scene, root, going_on, again)

    def job() -> None:
        announce()
        took = compute(plan, going_on, from_frame, console)
        say(Console(), f"{root}: {frames_of(plan)}, {took}. Pictures and a film: unstick render {shlex.quote(str(root))}")

    return job


def _both(request: Request, out: Path | None, going_on: bool, from_frame: int | None, console: Console) -> Callable[[], None]:
    """The sticking and the separating run, and the film of both."""
    root = out or default_out(request, request.load(), "both")
    again = _again(request, root, "both")
    if RunFolder(root).holds_a_run:
        raise InvalidSystem(f"{root} holds a single run; give another --out for two")
    there = [root / walls for walls in BOTH if RunFolder(root / walls).holds_a_run]
    if there and not going_on:
        raise InvalidSystem(f"{there[0]} holds a run already; go on with it by --resume, or give another --out")
    plans = []
    for walls in BOTH:
        mine = replace(request, walls=walls)
        plans.append(make_plan(mine, mine.load(), root / walls, going_on, again))

    def job() -> None:
        announce()
        for plan in plans:
            took = compute(plan, going_on, from_frame, console, f"{plan.scene.name}, {walls_of(plan.scene)}")
            say(Console(), f"{plan.folder.root}: {frames_of(plan)}, {took}.")
        _film(root, plans, console)

    return job


def _film(root: Path, plans: list[Plan], console: Console) -> None:
    from unstick.progress import Meter
    from unstick.render.draw import render

    runs = [plan.folder.root for plan in plans]
    words = shlex.join(["unstick", "render", *map(str, runs), "--out", str(root)])
    try:
        drawn = render(runs, root, meter=Meter(console))
    except KeyboardInterrupt:
        raise Stopped(f"Stopped. Both runs are done, but not the film; to draw it: {words}") from None
    except InvalidSystem as error:
        raise RunFailed(f"Both runs are done, but not the film: {error}. Then: {words}") from None
    except OSError as error:
        reason = f"{error.filename or root} could not be written ({error.strerror or error})"
        raise RunFailed(f"Both runs are done, but not the film: {reason}. When there is room: {words}") from None
    say(Console(), f"{len(drawn.pictures)} pictures: {drawn.pictures[0].parent}")
    if drawn.film is not None:
        say(Console(), f"film: {drawn.film}")


def make_plan(request: Request, scene: Scene, root: Path, going_on: bool, again: str) -> Plan:
    """All that the run needs; where it goes on, with what it was begun with."""
    folder = RunFolder(root)
    folder.require_place()
    if going_on and folder.manifest.exists():
        try:
            request = request.remembering(read_manifest(folder.manifest))
            scene = request.load()
        except DamagedManifest:
            pass  # `resume` speaks about it
    frames = request.frames or scene.frames
    plan = Plan(
        scene=scene,
        source=request.scene,
        resolution=resolution_of(request, scene),
        frames=frames,
        folder=folder,
        every=request.every or EVERY,
        record=request.record or (),
        asked=request.shape(),
        again=again,
    )
    if scene.smoke is not None and "mesh" in plan.record:
        raise InvalidSystem(f"{scene.name} holds gas, which has no surface to make a mesh of; record vtk, or leave mesh out")
    require_memory(scene, plan.resolution, frames)
    return plan


def compute(plan: Plan, going_on: bool, from_frame: int | None, console: Console, title: str | None = None) -> str:
    """Returns how long it took."""
    began = time.monotonic()
    if going_on:
        resume(plan, console, from_frame, title)
    else:
        begin(plan, console, title)
    return human_time(time.monotonic() - began)


def resolution_of(request: Request, scene: Scene) -> int:
    """What the scene calls its resolution: not always the cells along its longest side."""
    if request.resolution is not None:
        return request.resolution
    as_named = request.scene in SCENES and not any(text.startswith("scene.") for text in request.sets)
    return SCENES[request.scene].resolution if as_named else max(scene.grid.shape)


def frames_of(plan: Plan) -> str:
    return "1 frame" if plan.frames == 1 else f"{plan.frames} frames"


def default_out(request: Request, scene: Scene, walls: str | None = None) -> Path:
    return Path("out") / f"{scene.name}-{resolution_of(request, scene)}-{walls or walls_of(scene)}"


def _again(request: Request, root: Path, walls: str | None) -> str:
    """The command that goes on; what it does not say, the run remembers."""
    words = ["unstick", "run", request.scene]
    words += ["--walls", walls] if walls == "both" else []
    words += ["--threads", str(request.threads)] if request.threads else []
    return shlex.join([*words, "--out", str(root), "--resume"])


def check_command(directory: Path, /) -> int:
    """Verify the files of a run: description, checkpoints, frames, statistics.

    Parameters
    ----------
    directory:
        The directory of a run, or of two made with --walls both.
    """
    console, problems = Console(), 0
    for folder in runs_in(directory):
        found = check(folder)
        problems += len(found.bad)
        say(console, f"{folder.root}: {'; '.join(found.good)}.")
        for sentence in found.bad:
            console.print(Text(f"problem: {sentence}.", style="red"), soft_wrap=True)
    return FAILED if problems else DONE
