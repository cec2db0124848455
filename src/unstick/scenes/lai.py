"""Lai 2021, section 6.2: vessels in the unit square and the unit cube whose left half is full, in frames of 0.01 s.

The thesis shows its vessels in pictures; radii and corners here are read from those (as in bench/frames.py, which holds single
pressure problems after the same scenes).
"""

from __future__ import annotations

from unstick.geometry.shapes import Box, Capsule, Plane, Shape, Shell, Sphere
from unstick.liquid.scene import Body, Scene, Solid
from unstick.scenes.scene_file import box_grid

WALL = 0.05  # of the hollow spheres of scenario 3: 3.2 cells at 64^3


def circle(resolution: int = 128) -> Scene:
    """Lai's half-full circle: water in its left half lets go of the ceiling and swashes to the right."""
    return _vessel(resolution, Sphere((0.5, 0.5), 0.4), 2)


def square(resolution: int = 128) -> Scene:
    """Lai's half-full square: a column in a box, which falls off its ceiling and its left wall."""
    return _vessel(resolution, Box((0.1, 0.1), (0.9, 0.9)), 2)


def maze(resolution: int = 128) -> Scene:
    """The maze in which Lai meets Andersen's Newton method: water finds its way around walls that hang and stand."""
    inside = (
        Box((0.05, 0.05), (0.95, 0.95))
        - Box((0.24, 0.05), (0.31, 0.72))
        - Box((0.47, 0.28), (0.54, 0.95))
        - Box((0.54, 0.28), (0.76, 0.35))
        - Box((0.70, 0.55), (0.95, 0.62))
    )
    return _vessel(resolution, inside, 2)


def sphere(resolution: int = 64) -> Scene:
    """Lai's scenario 1: a sphere whose left half is full."""
    return _vessel(resolution, Sphere((0.5, 0.5, 0.5), 0.4), 3)


def sphere_box(resolution: int = 64) -> Scene:
    """Lai's scenario 2: the half-full sphere with a box inside, on whose bottom face contacts form and break."""
    stone = Solid(name="box", shape=Box((0.3, 0.36, 0.32), (0.5, 0.5, 0.68)))
    return _vessel(resolution, Sphere((0.5, 0.5, 0.5), 0.4), 3, (stone,))


def double_sphere(resolution: int = 64) -> Scene:
    """Lai's scenario 3: two spheres merged, two hollow ones inside, the lower pierced and the upper closed and dry."""
    low, high = (0.42, 0.33, 0.5), (0.44, 0.71, 0.5)
    lower, upper = Sphere(low, 0.15), Sphere(high, 0.11)
    holes = Capsule((0.15, 0.3, 0.5), (0.7, 0.36, 0.5), WALL) | Capsule((0.42, 0.33, 0.2), (0.42, 0.33, 0.8), WALL)
    outer = Sphere((0.5, 0.34, 0.5), 0.3) | Sphere((0.5, 0.69, 0.5), 0.26)
    shells = (
        Solid(name="pierced", shape=Shell(lower, WALL) - holes),
        Solid(name="closed", shape=Shell(upper, WALL)),
    )
    return _vessel(resolution, outer, 3, shells, _left(3) - upper)


def _left(dimension: int) -> Shape:
    """All points left of the middle."""
    return Plane((0.5,) * dimension, (1.0, 0.0, 0.0)[:dimension])


def _vessel(resolution: int, inside: Shape, dimension: int, solids: tuple[Solid, ...] = (), liquid: Shape | None = None) -> Scene:
    return Scene(
        name="",
        grid=box_grid((1.0,) * dimension, resolution),
        liquid=(Body(shape=_left(dimension) if liquid is None else liquid),),
        solids=(Solid(name="vessel", shape=~inside), *solids),
    )
