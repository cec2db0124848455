"""Eckert 2014, chapter 4: a breaking dam, stairs, and ledges, in closed boxes of 96 cells along a side.

The thesis computes in cells with steps of 0.5, and prints neither gravity nor lengths. Its dam meets the right wall at step 37, the
ceiling at step 66, and reaches the left wall at step 120 where it sticks. Here a box has sides of 2 m and a step of 0.5 is a frame of
0.01 s: then the dam does so at frames 38, 62 and 107 (2D, 96 cells). In cells and units of time, gravity is
9.81 x (0.01 / 0.5)^2 x 96 / 2 = 0.19. Blocks, steps and ledges are read from the pictures, in 48ths of the side, so that they lie
on the sides of cells at 96.
"""

from __future__ import annotations

from unstick.geometry.shapes import Box, Sphere
from unstick.liquid.scene import Body, Scene, Solid
from unstick.scenes.scene_file import box_grid, require_dimension

SIDE = 2.0  # m
UNIT = SIDE / 48.0
BEYOND = 4.0  # units by which liquid and solids reach into the sides that they touch


def dam(resolution: int = 96, dimension: int = 3) -> Scene:
    """Eckert's breaking dam: up the right wall, along the ceiling, and down where it lets go."""
    return _box(resolution, dimension, 250, [_block(dimension, (0, 0), (19, 38))], [])


def dam_2d(resolution: int = 96) -> Scene:
    """Eckert's breaking dam in 2D."""
    return dam(resolution, 2)


def stairs(resolution: int = 96, dimension: int = 3) -> Scene:
    """Eckert's stairs: a block of water flows down three steps and splashes against a plane from below."""
    return _stairs(resolution, dimension, 40)


def tall_stairs(resolution: int = 96, dimension: int = 2) -> Scene:
    """Eckert's hardest: the block on the stairs touches the ceiling, and has to let go of it at once."""
    return _stairs(resolution, dimension, 48)


def ledges(resolution: int = 96, dimension: int = 3) -> Scene:
    """Eckert's sphere: water from two ledges strikes a ball and runs between cubes on the floor."""
    planes = [_solid("left ledge", dimension, (0, 30), (18, 32)), _solid("right ledge", dimension, (30, 30), (48, 32))]
    ball = Solid(name="ball", shape=Sphere(_point(dimension, 24, 20, 24), 6 * UNIT))
    rows = [6 + 10 * i for i in range(4)]
    cubes = [
        _solid(f"cube {1 + i + 4 * k}", dimension, (x, 0), (x + 6, 6), (z, z + 6))
        for k, z in enumerate(rows if dimension == 3 else rows[:1])
        for i, x in enumerate(rows)
    ]
    blocks = [_block(dimension, (0, 32), (21, 44)), _block(dimension, (27, 32), (48, 44))]
    return _box(resolution, dimension, 350, blocks, [*planes, ball, *cubes])


def _stairs(resolution: int, dimension: int, top: float) -> Scene:
    steps = [_solid(f"step {i}", dimension, (0, 0), (9 * i, 24 - 6 * i)) for i in (1, 2, 3)]
    plane = _solid("plane", dimension, (32, 24), (48, 26), (12, 36))
    return _box(resolution, dimension, 350, [_block(dimension, (0, 18), (13, top))], [*steps, plane])


def _box(resolution: int, dimension: int, frames: int, blocks: list[Body], solids: list[Solid]) -> Scene:
    size = (SIDE,) * require_dimension(dimension)
    return Scene(name="", grid=box_grid(size, resolution), liquid=tuple(blocks), solids=tuple(solids), frames=frames)


def _block(dimension: int, lower: tuple[float, float], upper: tuple[float, float]) -> Body:
    return Body(shape=_cuboid(dimension, lower, upper, (0, 48)))


def _solid(name: str, dimension: int, lower: tuple[float, float], upper: tuple[float, float], z: tuple[float, float] = (0, 48)) -> Solid:
    return Solid(name=name, shape=_cuboid(dimension, lower, upper, z))


def _cuboid(dimension: int, lower: tuple[float, float], upper: tuple[float, float], z: tuple[float, float]) -> Box:
    """A box in units; where it touches a side of the domain it reaches into it."""
    low = [a - BEYOND if a <= 0 else a for a in (*lower, z[0])]
    high = [b + BEYOND if b >= 48 else b for b in (*upper, z[1])]
    return Box(_point(dimension, *low), _point(dimension, *high))


def _point(dimension: int, *units: float) -> tuple[float, ...]:
    return tuple(u * UNIT for u in units[:dimension])
