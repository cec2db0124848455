"""Karlsson 2014, chapter 6: a tank of one metre, 128 cells along a side, pictures 24 times per second."""

from __future__ import annotations

from unstick.geometry.shapes import Sphere
from unstick.liquid.scene import Body, Scene
from unstick.scenes.scene_file import box_grid


def half_disc(resolution: int = 128) -> Scene:
    """Karlsson's half disc of water, which collapses on the floor of an empty tank."""
    return Scene(
        name="",
        grid=box_grid((1.0, 1.0), resolution),
        liquid=(Body(shape=Sphere((0.5, 0.0), 0.35)),),
        frames=120,
        frame_time=1.0 / 24.0,
    )
