"""Scenes of smoke: a gas that fills the domain, with a plume in it."""

from __future__ import annotations

from dataclasses import replace

from unstick.bodies.parts import RigidBody
from unstick.geometry.motion import Keyframes
from unstick.geometry.shapes import Sphere
from unstick.liquid.scene import Numerics, Scene, Side, Smoke, SmokeSource, Solid
from unstick.scenes.scene_file import box_grid, require_dimension

GAS = 1.2  # kg/m^3
RADIUS = 0.12  # of the ball, m
TOLERANCE = 1e-7  # of the pressure: a gas at rest is stirred by little, and what divergence is left is judged by its speed


def plume(resolution: int = 128, dimension: int = 2, open_top: bool = True) -> Scene:
    """Hot smoke rises from a source on the floor of a box without a lid."""
    d = require_dimension(dimension)
    return Scene(
        name="",
        grid=box_grid((1.0, 2.0, 1.0)[:d], resolution),
        smoke=_hot((SmokeSource(name="source", shape=Sphere((0.5, 0.12, 0.5)[:d], 0.1), temperature=393.15),)),
        sides=_sides(open_top),
        density=GAS,
        frames=400,
        numerics=Numerics(tolerance=TOLERANCE),
    )


def plume_ball(
    resolution: int = 96, dimension: int = 3, coupled: bool = True, density: float = 1.0, speed: float = 2.5, open_top: bool = False
) -> Scene:
    """A light ball is thrown down on a plume of smoke, sinks into it, and is lifted again."""
    d = require_dimension(dimension)
    source = SmokeSource(name="source", shape=Sphere((0.5, 0.12, 0.5)[:d], 0.12), temperature=393.15, velocity=(0.0, 1.0, 0.0)[:d])
    scene = Scene(
        name="",
        grid=box_grid((1.0, 2.0, 1.0)[:d], resolution),
        smoke=_hot((source,)),
        sides=_sides(open_top),
        density=GAS,
        frames=400,
        numerics=Numerics(tolerance=TOLERANCE),
    )
    if coupled:
        # A little off the axis, without which it would stay on it for ever: the solve is as symmetric as the scene.
        place, shape = (0.51, 1.6, 0.5)[:d], Sphere((0.0, 0.0, 0.0)[:d], RADIUS)
        ball = RigidBody(name="ball", shape=shape, density=density, position=place, velocity=(0.0, -speed, 0.0)[:d], walls="sticking")
        return replace(scene, bodies=(ball,))
    # Down to where a coupled one turns, and up again.
    fall = Keyframes(times=(0.0, 1.2, 1.6, 4.0), shifts=tuple((0.0, y, 0.0)[:d] for y in (0.0, -0.8, -0.85, 0.1)))
    still = Sphere((0.5, 1.6, 0.5)[:d], RADIUS)
    return replace(scene, solids=(Solid(name="ball", shape=still, walls="sticking", motion=fall),))


def _hot(sources: tuple[SmokeSource, ...]) -> Smoke:
    return Smoke(sources=sources, confinement=0.2)


def _sides(open_top: bool) -> tuple[Side, ...]:
    top: Side = "open" if open_top else "sticking"
    return ("sticking", "sticking", "sticking", top, "sticking", "sticking")
