"""A run from its first frame, or from a checkpoint, to its last; whatever ends it, what was complete stays."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from unstick import __version__
from unstick.checks import InvalidSystem
from unstick.liquid.report import StepReport
from unstick.liquid.scene import Scene
from unstick.liquid.simulation import Recorder, Simulation, StepsExceeded
from unstick.liquid.state import State, with_margin
from unstick.record.table import RECORDERS
from unstick.result import SolveError, UnsupportedSystem
from unstick.runs.checkpoint import Stamp
from unstick.runs.folder import RunFailed, RunFolder
from unstick.runs.keeper import EVERY, Keeper, newest_good, places
from unstick.runs.manifest import DamagedManifest, Manifest, read_manifest
from unstick.runs.progress import FrameMeter, frame_meter, say
from unstick.runs.settings import changes, scene_hash, settings_of
from unstick.runs.stats import StatsFile, keep_until
from unstick.runs.stop import Stop, Stopped

NO_ROOM = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up", errno.EFBIG: "no file may grow so large here"}
ALWAYS = "frames"  # the recorder that every run has: pictures are drawn from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be computed, and where."""

    scene: Scene
    source: str
    resolution: int
    frames: int
    folder: RunFolder
    every: int = EVERY
    record: tuple[str, ...] = ()
    asked: dict[str, Any] = field(default_factory=dict)
    again: str  # the command that goes on with this run

    def manifest(self) -> Manifest:
        scene, settings = self.scene, settings_of(self.scene)
        return Manifest(
            version=__version__,
            scene=scene.name,
            source=self.source,
            resolution=self.resolution,
            dimension=scene.grid.dimension,
            walls=walls_of(scene),
            frame_time=scene.frame_time,
            frames=self.frames,
            solver=scene.numerics.solver,
            checkpoint_every=self.every,
            record=self.record,
            asked=self.asked,
            hash=scene_hash(settings),
            settings=settings,
        )


def walls_of(scene: Scene) -> str:
    """separating, sticking, or mixed."""
    sides = {*scene.sides[: 2 * scene.grid.dimension]} - {"open"}
    kinds = {*sides, *(solid.walls for solid in scene.solids), *(body.walls for body in scene.bodies)}
    if scene.mjcf is not None:
        kinds.add(scene.mjcf.walls)
    return kinds.pop() if len(kinds) == 1 else "mixed"


def begin(plan: Plan, console: Console, title: str | None = None) -> None:
    """Compute a run from its first frame into a directory that holds nothing yet."""
    folder = plan.folder
    folder.require_place()
    if folder.holds_a_run:
        raise InvalidSystem(f"{folder.root} holds a run already{_how_far(folder)}; go on with it by --resume, or give another --out")
    if not folder.is_free:
        raise InvalidSystem(f"{folder.root} exists and holds other files; give another --out")
    with folder.held():
        _compute(plan, None, console, title)


def resume(plan: Plan, console: Console, from_frame: int | None = None, title: str | None = None) -> None:
    """Go on with a run, from its newest checkpoint or from one at or before a frame."""
    folder = plan.folder
    folder.require_place()
    if not folder.holds_a_run:
        if from_frame is not None:
            raise InvalidSystem(f"{folder.root} holds no run, so that there is no frame {from_frame} to start from; leave out --from-frame")
        if not folder.is_free:
            raise InvalidSystem(f"{folder.root} holds no run but other files; give the --out of a run")
        say(console, f"There is no run in {folder.root} yet: starting it.")
        begin(plan, console, title)
        return
    with folder.held():
        _require_same_scene(plan, console)
        state = _found_state(plan, console, from_frame)
        if from_frame is not None:
            _go_back(plan, state, console)
        if state is not None and state.frame >= plan.frames:
            say(console, f"All {plan.frames} frames of {folder.root} are there already; a larger --frames goes on.")
            return
        _compute(plan, state, console, title)


def _how_far(folder: RunFolder) -> str:
    there = places(folder.checkpoints)
    return f" (saved up to frame {there[-1].frame})" if there else ""


def _require_same_scene(plan: Plan, console: Console) -> None:
    """The run must be one of this scene; a change that it may make on its way is told."""
    try:
        old = read_manifest(plan.folder.manifest)
    except DamagedManifest as error:
        say(console, f"{error}; it is written again, and checkpoints of another scene will be refused.")
        return
    new = plan.manifest()
    if changed := changes(old.settings, new.settings):
        raise InvalidSystem(
            f"the scene is not the one that {plan.folder.root} was computed with: {listed(changed)}; "
            "undo the change, or give another --out for a new run (nothing was touched)"
        )
    for change in changes(old.settings, new.settings, free=True):
        if change.startswith("numerics."):
            say(console, f"From here on {change}.")
    if old.version != new.version:
        say(console, f"The run was begun with unstick {old.version}, this is {new.version}: the last digits may differ.")


def listed(parts: Sequence[str], most: int = 8) -> str:
    shown = "; ".join(parts[:most])
    return shown if len(parts) <= most else f"{shown}; and {len(parts) - most} more"


def _found_state(plan: Plan, console: Console, up_to: int | None) -> State | None:
    """The state to go on from; None is the beginning."""
    folder = plan.folder
    if up_to is not None:
        newest = max((p.frame for p in places(folder.checkpoints)), default=0)
        if not 0 <= up_to <= newest:
            raise InvalidSystem(f"--from-frame is {up_to}; {folder.root} is saved up to frame {newest}, give a frame from 0 to {newest}")
    found, notes = newest_good(folder.checkpoints, with_margin(plan.scene.grid), up_to)
    for note in notes:
        say(console, f"{note}; an older one is used.")
    if found is None:
        if up_to is None or notes:
            say(console, "There is no whole checkpoint: starting from the first frame.")
        return None
    if found.stamp.scene != scene_hash(settings_of(plan.scene)):
        raise InvalidSystem(f"the checkpoints in {folder.checkpoints} are of another scene; give another --out (nothing was touched)")
    return found.state


def _go_back(plan: Plan, state: State | None, console: Console) -> None:
    """What lies after the state is put aside, so that nothing is lost and nothing old is mistaken for new."""
    folder, frame = plan.folder, -1 if state is None else state.frame
    newer = [p.path for p in reversed(places(folder.checkpoints)) if (p.frame, p.step) > (frame, 0)]
    aside = folder.put_aside(frame, newer)
    if aside is not None:
        say(console, f"Frames after {max(frame, 0)} are computed again; what was there is kept in {aside}.")


@dataclass(slots=True)
class _Watch:
    """The last recorder: a frame is complete, and all of its files are there."""

    meter: FrameMeter
    stop: Stop

    def record(self, simulation: Simulation) -> None:
        self.meter.frame(simulation.state.frame)
        if self.stop.asked:
            raise Stopped

    def close(self) -> None:
        """Nothing is open."""


def _compute(plan: Plan, state: State | None, console: Console, title: str | None) -> None:
    folder, scene, manifest = plan.folder, plan.scene, plan.manifest()
    first, step = (0, 0) if state is None else (state.frame, state.step)
    try:
        with Stop() as stop, frame_meter(console, title or scene.name, first, plan.frames) as progress:
            keeper = Keeper(folder.checkpoints, Stamp(__version__, manifest.hash), plan.every, plan.frames)
            recorders: list[Recorder] = [RECORDERS[name](folder.root) for name in (ALWAYS, *plan.record)]
            simulation = Simulation(scene, recorders=[*recorders, keeper, _Watch(progress, stop)], state=state)
            # Nothing is written before all that can be refused has been.
            folder.clean()
            manifest.write(folder.manifest)
            if missing := keep_until(folder.stats, step):
                say(console, f"{folder.stats} lacks the lines of {missing} steps.")
            with StatsFile(folder.stats) as stats:
                _steps(plan, simulation, keeper, stats, stop, progress)
    except OSError as error:
        raise RunFailed(_unwritten(plan, error)) from None
    except MemoryError:
        raise RunFailed(f"There is not enough memory. {_saved(plan)} Close other programs, then go on with: {plan.again}") from None


def _steps(plan: Plan, simulation: Simulation, keeper: Keeper, stats: StatsFile, stop: Stop, progress: FrameMeter) -> None:
    scene = plan.scene

    def on_step(report: StepReport) -> None:
        stats.write(report)
        progress.step(report)
        # The last step of a frame is followed by its recorders, and the last of them sees to it.
        if stop.asked and simulation.state.time < report.frame * scene.frame_time:
            raise Stopped

    try:
        simulation.run(plan.frames, on_step)
    except Stopped:
        keeper.save(simulation.state, scene.frame_time)
        raise Stopped(f"Stopped after {_when(simulation.state)}, saved. Go on with: {plan.again}") from None
    except (SolveError, StepsExceeded, InvalidSystem, UnsupportedSystem) as error:
        if simulation.state.step == 0 and not isinstance(error, SolveError):
            raise  # asked for what cannot be, not a run that went wrong
        keeper.save(simulation.state, scene.frame_time)
        other = ""
        if isinstance(error, SolveError):
            stats.write_failed(simulation.state, error.result)
            other = " --solver NAME (another one: `unstick solvers` lists them)"
        raise RunFailed(
            f"{error} The state before that step ({_when(simulation.state)}) is saved. Go on with: {plan.again}{other}"
        ) from error


def _when(state: State) -> str:
    return f"frame {state.frame}, {state.time:.4g} s, step {state.step}"


def _unwritten(plan: Plan, error: OSError) -> str:
    what = f"{error.filename} could not be written" if error.filename else f"A file in {plan.folder.root} could not be written"
    reason = NO_ROOM.get(error.errno or 0, str(error.strerror or error))
    return f"{what}: {reason}. {_saved(plan)} When there is room again, go on with: {plan.again}"


def _saved(plan: Plan) -> str:
    there = places(plan.folder.checkpoints)
    return f"All up to frame {there[-1].frame} is saved." if there else "No checkpoint was written yet."
