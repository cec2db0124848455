"""Andersen, Niebe, Erleben 2017, figures 2 and 3: water that falls past two discs in a tank of 80 x 80 cells.

The paper gives the numbers of particles, 20,395 and 17,676, and pictures. The heights below which there is air at the start are
chosen so that the seeding of this package, four particles in a cell, gives the same numbers at that resolution.
"""

from __future__ import annotations

from unstick.geometry.shapes import Plane, Sphere
from unstick.liquid.scene import Body, Scene, Solid
from unstick.scenes.scene_file import box_grid

DISCS = (((0.33, 0.38), 0.12), ((0.68, 0.66), 0.12))  # centre and radius
FULL, LOW = 0.113448, 0.21976  # where the air ends


def two_discs(resolution: int = 80, air: float = FULL) -> Scene:
    """Andersen's tank with two discs, full but for the bottom (20,395 particles at 80): water falls off ceiling and discs."""
    discs = tuple(Solid(name=f"disc {i}", shape=Sphere(centre, radius)) for i, (centre, radius) in enumerate(DISCS, 1))
    return Scene(
        name="",
        grid=box_grid((1.0, 1.0), resolution),
        liquid=(Body(shape=Plane((0.5, air), (0.0, -1.0))),),
        solids=discs,
    )


def two_discs_low(resolution: int = 80) -> Scene:
    """Andersen's tank with two discs and less water (17,676 particles at 80)."""
    return two_discs(resolution, LOW)
