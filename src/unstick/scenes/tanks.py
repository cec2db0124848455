"""Tanks in which theory says what happens: a block that falls off its ceiling, still water, a standing wave, Martin and Moyce's column."""

from __future__ import annotations

from unstick.geometry.shapes import Box, Plane
from unstick.geometry.surfaces import Surface
from unstick.liquid.scene import Body, Scene, Solid
from unstick.scenes.errors import SceneError
from unstick.scenes.scene_file import box_grid, require_dimension

INCH = 0.0254


def ceiling_block(resolution: int = 64, dimension: int = 2, height: float = 0.4) -> Scene:
    """A block of water from wall to wall under the ceiling of a closed box: it falls freely, or hangs if walls stick."""
    up = (0.0, -1.0, 0.0)[: require_dimension(dimension)]
    block = Body(shape=Plane((0.0, 1.0 - _part("height", height), 0.0)[:dimension], up))
    return Scene(name="", grid=box_grid((1.0,) * dimension, resolution), liquid=(block,), frames=80)


def still_tank(resolution: int = 32, dimension: int = 2, height: float = 0.5, slant: float = 0.0) -> Scene:
    """Water that stands still; with `slant` over a sloping floor (rise over run)."""
    d = require_dimension(dimension)
    water = Body(shape=Surface(_part("height", height)))
    floor = Solid(name="floor", shape=Plane((0.5, 0.25 * height, 0.5)[:d], (-slant, 1.0, 0.0)[:d]))
    return Scene(name="", grid=box_grid((1.0,) * d, resolution), liquid=(water,), solids=(floor,) if slant else (), frames=100)


def standing_wave(resolution: int = 128, dimension: int = 2, half: bool = False, amplitude: float = 0.02) -> Scene:
    """The first mode between two walls, one wavelength apart (or half of one); `resolution` counts the cells of a wavelength."""
    d = require_dimension(dimension)
    size = (0.5 if half else 1.0, 0.625, 0.125)[:d]
    grid = box_grid(size, round(max(size) * resolution))
    wave = Body(shape=Surface(0.5, amplitude=amplitude, wavelength=1.0))
    return Scene(name="", grid=grid, liquid=(wave,), frames=200)


def martin_moyce(resolution: int = 64, dimension: int = 2, n_squared: int = 1) -> Scene:
    """Martin and Moyce's column (1952), 2.25 inches wide and n^2 times as high; `resolution` counts the cells of its width."""
    if n_squared not in (1, 2):
        raise SceneError(f"martin-moyce: n_squared is {n_squared!r}; it is 1 or 2")
    d = require_dimension(dimension)
    a = 2.25 * INCH
    size = (5.0 * a, (0.25 + 1.25 * n_squared) * a, a)[:d]
    column = Box((-a,) * d, (a, n_squared * a, 2.0 * a)[:d])
    return Scene(name="", grid=box_grid(size, 5 * resolution), liquid=(Body(shape=column),), frames=60, frame_time=0.005)


def _part(name: str, value: float) -> float:
    if not 0.0 < value < 1.0:
        raise SceneError(f"{name} is {value!r}; it is a part of the tank's height, between 0 and 1")
    return value
