"""A scene that has a name: called with a resolution it gives a `Scene`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unstick.grid import Grid
from unstick.liquid.scene import Numerics, Scene, Walls
from unstick.scenes.errors import SceneError, shown, unknown

KINDS: tuple[Walls, ...] = ("separating", "sticking")
LEAST_CELLS, MOST_CELLS = 4, 8192  # along a side


@dataclass(frozen=True, slots=True)
class SceneFile:
    """`SCENES["sphere"](resolution=64, walls="sticking", flip=0.9)`; keywords are the scene's own options and those of [numerics]."""

    name: str
    build: Callable[..., Scene]  # (resolution, **options) -> Scene

    @property
    def about(self) -> str:
        """One line."""
        return (inspect.getdoc(self.build) or "").splitlines()[0]

    @property
    def resolution(self) -> int:
        return int(inspect.signature(self.build).parameters["resolution"].default)

    @property
    def options(self) -> dict[str, Any]:
        """The scene's own options with their defaults."""
        found = inspect.signature(self.build).parameters
        return {key: parameter.default for key, parameter in found.items() if key != "resolution"}

    def __call__(self, resolution: int | None = None, walls: str | None = None, frames: int | None = None, **overrides: Any) -> Scene:
        options, numerics = {}, {}
        for key, value in overrides.items():
            if key in self.options:
                options[key] = self._option(key, value)
            elif key in NUMERICS:
                numerics[key] = value
            else:
                raise unknown(f"option of {self.name} called", key, (*self.options, *NUMERICS))
        cells = self.resolution if resolution is None else require_resolution(resolution)
        try:
            scene = self.build(cells, **options)
        except SceneError:
            raise
        except ValueError as error:
            raise SceneError(f"{self.name}: {error}") from error
        scene = dataclasses.replace(scene, name=self.name, about=self.about)
        if frames is not None:
            scene = dataclasses.replace(scene, frames=require_frames(frames))
        if numerics:
            from unstick.scenes.read import read_numerics

            scene = dataclasses.replace(scene, numerics=read_numerics(scene.numerics, numerics))
        return scene if walls is None else with_walls(scene, walls)

    def _option(self, key: str, value: Any) -> Any:
        """The value, if it is of the default's kind."""
        default = self.options[key]
        if isinstance(default, bool):
            right = isinstance(value, bool)
        elif isinstance(default, int):
            right = isinstance(value, int) and not isinstance(value, bool)
        elif isinstance(default, float):
            right = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9
        else:
            right = isinstance(value, type(default))
        if not right:
            kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}[type(default)]
            raise SceneError(f"{self.name}: {key} is {shown(value)}; give {kind} (it is {default!r} unless given)")
        return value


NUMERICS = tuple(entry.name for entry in dataclasses.fields(Numerics))


def with_walls(scene: Scene, walls: str) -> Scene:
    """The scene with all walls of one kind: solids and the domain's sides."""
    if walls not in KINDS:
        raise unknown("kind of walls", walls, KINDS)
    kind = KINDS[KINDS.index(walls)]
    if scene.smoke is not None and kind == "separating":
        raise SceneError(f"{scene.name or 'the scene'} holds gas, which does not let go of walls; give sticking, or leave walls out")
    inner = 6 if scene.smoke is not None else 2 * scene.grid.dimension
    sides = tuple(kind if axis < inner and old != "open" else old for axis, old in enumerate(scene.sides))
    solids = tuple(dataclasses.replace(solid, walls=kind) for solid in scene.solids)
    bodies = tuple(dataclasses.replace(body, walls=kind) for body in scene.bodies)
    mjcf = None if scene.mjcf is None else dataclasses.replace(scene.mjcf, walls=kind)
    return dataclasses.replace(scene, solids=solids, sides=sides, bodies=bodies, mjcf=mjcf)


def box_grid(size: tuple[float, ...], resolution: int) -> Grid:
    """Cubic cells, `resolution` of them along the longest side; other sides are rounded to whole cells."""
    h = max(size) / resolution
    shape = tuple(round(side / h) for side in size)
    if min(shape) < LEAST_CELLS:
        raise SceneError(
            f"a domain of {' x '.join(f'{side:g}' for side in size)} m with {resolution} cells along its longest side has only "
            f"{min(shape)} along its shortest; raise the resolution so that it has at least {LEAST_CELLS}"
        )
    return Grid(shape, h)


def require_resolution(resolution: Any) -> int:
    if not isinstance(resolution, int) or isinstance(resolution, bool) or not LEAST_CELLS <= resolution <= MOST_CELLS:
        raise SceneError(
            f"the resolution is {shown(resolution)}; give a whole number from {LEAST_CELLS} to {MOST_CELLS}, the cells along a side"
        )
    return resolution


def require_frames(frames: Any) -> int:
    if not isinstance(frames, int) or isinstance(frames, bool) or not 0 <= frames <= 1_000_000:
        raise SceneError(f"frames is {shown(frames)}; give a whole number from 0 to 1000000")
    return frames


def require_dimension(dimension: int) -> int:
    if dimension not in (2, 3):
        raise SceneError(f"the dimension is {shown(dimension)}; it is 2 or 3")
    return dimension
