"""Vessels that move: water lets go of walls that are pulled away from it."""

from __future__ import annotations

import math

from unstick.geometry.motion import Keyframes, Oscillation, Rotation, Together
from unstick.geometry.shapes import Capsule, Plane, Shape, Sphere
from unstick.geometry.surfaces import Surface
from unstick.liquid.scene import Body, Scene, Solid
from unstick.scenes.scene_file import box_grid, require_dimension


def shaken_glass(resolution: int = 96, dimension: int = 2) -> Scene:
    """A glass of water, shaken sideways while it rocks to and fro."""
    d = require_dimension(dimension)
    foot, mouth = _point(d, 0.5, 0.35), _point(d, 0.5, 0.9)
    inside = Capsule(foot, mouth, 0.18)
    glass = (Capsule(foot, mouth, 0.225) - inside) & _below(d, 0.75)
    shake = Oscillation((0.08, 0.0, 0.0)[:d], 1.6)
    rock = Rotation(_point(d, 0.5, 0.2), 2.5, frequency=1.1)
    return Scene(
        name="",
        grid=box_grid((1.0,) * d, resolution),
        liquid=(Body(shape=inside & Surface(0.5)),),
        solids=(Solid(name="glass", shape=glass, motion=Together((rock, shake))),),
        frames=300,
    )


def ladle(resolution: int = 96, dimension: int = 3) -> Scene:
    """A ladle is lifted out of a bowl of water and tilted: the water runs off it and out of it."""
    d = require_dimension(dimension)
    middle = _point(d, 0.5, 0.44)
    bowl = (Sphere(middle, 0.44) - Sphere(middle, 0.38)) & _below(d, 0.44)
    cup = _point(d, 0.5, 0.27)
    spoon = (Sphere(cup, 0.15) - Sphere(cup, 0.11)) & _below(d, 0.27)
    handle = Capsule(_point(d, 0.63, 0.27), _point(d, 0.72, 0.72), 0.025)
    lift = Keyframes(
        times=(0.1, 1.2, 1.5, 2.4),
        shifts=tuple((0.0, y, 0.0)[:d] for y in (0.0, 0.5, 0.5, 0.5)),
        angles=(0.0, 0.0, 0.0, math.radians(100.0)),
        centre=cup,
    )
    return Scene(
        name="",
        grid=box_grid((1.0,) * d, resolution),
        liquid=(Body(shape=Sphere(middle, 0.41) & Surface(0.4)),),
        solids=(
            Solid(name="bowl", shape=bowl),
            Solid(name="ladle", shape=spoon | handle, motion=lift),
        ),
        frames=300,
    )


def _point(dimension: int, x: float, y: float) -> tuple[float, ...]:
    """In the middle of a 3D domain."""
    return (x, y, 0.5)[:dimension]


def _below(dimension: int, y: float) -> Shape:
    return Plane((0.0, y, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension])
