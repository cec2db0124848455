"""Where the walls are at a time: the domain's sides and all solids in one signed distance, their velocity, and which of them let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unstick.fields import FaceField
from unstick.geometry.motion import Moved, Pose
from unstick.geometry.shapes import Shape, sample
from unstick.grid import CENTRES, NODES, Array, Grid
from unstick.kernels.walls import fill_between, mark_letting_go, take_velocity
from unstick.liquid.scene import Inflow, Scene, Solid

if TYPE_CHECKING:
    from unstick.liquid.bodies import Immersed

REACH = 2.0  # cells within which a wall decides whether liquid may let go of it
BAND = 4.0  # cells around the surface of a moving solid in which its distance is exact
BLOCK = 4  # cells along a block beyond that band, in which the distance is interpolated
BLOCKS_AT_ONCE = 512  # so that temporaries stay in cache


@dataclass(frozen=True, slots=True, eq=False)
class WallState:
    """The walls at a time."""

    solid_phi: Array  # at nodes, positive in the open
    velocity: FaceField | None  # of the nearest wall, on faces; None where nothing moves
    separating: Any  # "separating", "sticking", or for each cell whether the nearest wall lets go


@dataclass(frozen=True, slots=True, eq=False)
class Prescribed:
    """Walls that the scene moves, at a time."""

    groups: dict[str, Array]  # by kind: distance to all walls of that kind
    walls: WallState


@dataclass(slots=True, eq=False)
class Walls:
    """All walls of a scene on a grid with margin. What stands still is sampled once."""

    grid: Grid
    moving: tuple[Solid, ...]
    inflows: tuple[Inflow, ...]
    still: dict[str, Array]  # by kind, "separating" or "sticking": distance to all walls of that kind that stand still
    last: tuple[Any, Prescribed] | None = field(default=None, repr=False)
    joined: tuple[Any, WallState] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, scene: Scene, grid: Grid, more: Sequence[tuple[Shape, str]] = ()) -> Walls:
        """`grid` is the scene's grid with a margin of the same width on every side; `more` are shapes that stand still, and their kinds."""
        still: dict[str, Array] = {}
        for kind, distance in _sides(scene, grid):
            still[kind] = distance if kind not in still else np.minimum(still[kind], distance)
        standing = [(solid.shape, solid.walls) for solid in scene.solids if not solid.motion.moves]
        for shape, kind in (*standing, *more):
            distance = sample(shape, grid).reshape(grid.node_shape3)
            still[kind] = distance if kind not in still else np.minimum(still[kind], distance)
        return cls(grid, tuple(solid for solid in scene.solids if solid.motion.moves), scene.inflows, still)

    def at(self, t: float, immersed: Immersed | None = None) -> WallState:
        """The walls at time t, with bodies that move with the liquid if there are such; those have no velocity of their own here.

        Callers do not write into it: what stands still is shared between times.
        """
        known = self._prescribed(t)
        if immersed is None:
            return known.walls
        key = known, immersed
        if self.joined is None or self.joined[0][0] is not known or self.joined[0][1] is not immersed:
            groups = dict(known.groups)
            for kind, phi in zip(immersed.walls, immersed.phi, strict=True):
                groups[kind] = phi if kind not in groups else np.minimum(groups[kind], phi)
            self.joined = key, WallState(_nearest(groups), known.walls.velocity, self._letting_go(groups))
        return self.joined[1]

    def carried(self, t: float, immersed: Immersed, poses: Sequence[Pose]) -> WallState:
        """The same walls where faces near a body move with it; `poses` are those of `immersed` with the velocities they have now."""
        walls, others = self.at(t, immersed), self._prescribed(t).walls.solid_phi
        velocity = FaceField(self.grid) if walls.velocity is None else walls.velocity.copy()
        for pose, phi, blocks in zip(poses, immersed.phi, immersed.blocks, strict=True):
            _carry(velocity, pose, phi, others, blocks)
            others = np.minimum(others, phi)
        return replace(walls, velocity=velocity)

    def _prescribed(self, t: float) -> Prescribed:
        pouring = tuple(inflow for inflow in self.inflows if inflow.start <= t < inflow.end)
        key = (t if self.moving else None, pouring)
        if self.last is None or self.last[0] != key:
            self.last = key, self._at(t, pouring)
        return self.last[1]

    def _at(self, t: float, pouring: tuple[Inflow, ...]) -> Prescribed:
        grid = self.grid
        groups = dict(self.still)
        velocity = FaceField(grid) if self.moving or pouring else None
        for inflow in pouring:
            assert velocity is not None
            _blow(velocity, inflow)
        for solid in self.moving:
            assert velocity is not None
            pose = solid.motion.pose(t)
            mine, blocks = sample_near(Moved(solid.shape, pose), grid)
            _carry(velocity, pose, mine, _nearest(groups), blocks)
            groups[solid.walls] = mine if solid.walls not in groups else np.minimum(groups[solid.walls], mine)
        return Prescribed(groups, WallState(_nearest(groups), velocity, self._letting_go(groups)))

    def _letting_go(self, groups: dict[str, Array]) -> Any:
        if len(groups) == 1:
            return next(iter(groups))
        out = np.empty(self.grid.shape3, dtype=np.bool_)
        h = self.grid.spacing
        mark_letting_go(out, groups["separating"], groups["sticking"], REACH * h, 1e-6 * h, self.grid.dimension - 2)
        return out


def sample_near(shape: Shape, grid: Grid, band: float = BAND) -> tuple[Array, Array]:
    """Distance at nodes: exact within `band` cells of the surface, beyond that interpolated between every BLOCK-th node; and the
    blocks of nodes (n, 3) in which it is exact.

    A shape's distance changes by no more than the way between two points, so the blocks that the surface may come near are
    known from their corners, and only their nodes are worked on.
    """
    d, h = grid.dimension, grid.spacing
    blocks = tuple((n - 1) // BLOCK + 1 for n in grid.node_shape)  # a node belongs to the block that begins at or before it
    corners = tuple(b + 1 for b in blocks)
    lines = tuple(o + (line - o) * BLOCK for o, line in zip(grid.origin, grid.points(corners, NODES), strict=True))
    coarse = np.ascontiguousarray(np.broadcast_to(shape.distance(*lines), corners), dtype=np.float64)
    out = np.empty(grid.node_shape3)
    fill_between(out, coarse.reshape(*corners, *([1] * (3 - d))), BLOCK, d - 2)
    nearest = np.abs(coarse)
    for axis in range(d):
        lower, upper = [slice(None)] * d, [slice(None)] * d
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        nearest = np.minimum(nearest[tuple(lower)], nearest[tuple(upper)])
    # No node of a block is farther from its nearest corner than half of its diagonal.
    chosen = np.argwhere(nearest <= (band + 0.5 * BLOCK * np.sqrt(d)) * h)
    flat = out.reshape(grid.node_shape)
    local = np.stack(np.meshgrid(*([np.arange(BLOCK)] * d), indexing="ij"), axis=-1).reshape(-1, d)
    for start in range(0, len(chosen), BLOCKS_AT_ONCE):
        index = (chosen[start : start + BLOCKS_AT_ONCE, None, :] * BLOCK + local[None]).reshape(-1, d)
        at = tuple(np.minimum(index[:, a], grid.node_shape[a] - 1) for a in range(d))
        flat[at] = shape.distance(*(grid.origin[a] + at[a] * h for a in range(d)))
    return out, np.pad(chosen, [(0, 0), (0, 3 - d)])


def _sides(scene: Scene, grid: Grid) -> list[tuple[str, Array]]:
    """(kind, distance) of the domain's sides: one entry if all are of a kind, else one for each side that is not open.

    In whole cells from the side, times the spacing: exactly zero on the side's nodes, whatever the domain's coordinates.
    """
    d, h = grid.dimension, grid.spacing
    margin = tuple((n - m) // 2 for n, m in zip(grid.shape, scene.grid.shape, strict=True))
    lines = []
    for axis in range(d):
        index = np.arange(grid.shape[axis] + 1).reshape([-1 if a == axis else 1 for a in range(d)])
        lines += [index - margin[axis], grid.shape[axis] - margin[axis] - index]  # cells from the lower and from the upper side
    kinds = scene.sides[: len(lines)]
    if set(kinds) == {"open"}:
        return [("sticking", np.full(grid.node_shape3, max(grid.extent)))]  # far away
    if len(set(kinds)) == 1:
        deepest = np.zeros(grid.node_shape)
        nearest = np.full(grid.node_shape, np.inf)
        for line in lines:
            deepest = deepest + np.minimum(line, 0.0) ** 2
            nearest = np.minimum(nearest, line)
        inside = np.where(nearest > 0, nearest, -np.sqrt(deepest)) * h
        return [(kinds[0], (inside + 0.0).reshape(grid.node_shape3))]
    whole = np.zeros(grid.node_shape)
    closed = [(kind, line) for kind, line in zip(kinds, lines, strict=True) if kind != "open"]
    return [(kind, ((line + whole) * h).reshape(grid.node_shape3)) for kind, line in closed]


def _nearest(groups: dict[str, Array]) -> Array:
    first, *rest = groups.values()
    for other in rest:
        first = np.minimum(first, other)
    return first


def _carry(velocity: FaceField, pose: Pose, mine: Array, others: Array, blocks: Array) -> None:
    """Give the faces around the surface of a moving solid its velocity."""
    grid = velocity.grid
    d, h = grid.dimension, grid.spacing
    for axis in range(d):
        shift = [0.0 if a == axis else c for a, c in enumerate(CENTRES)]
        corner = [grid.origin[a] + shift[a] * h if a < d else 0.0 for a in range(3)]
        at = np.append(np.array(corner) - pose.centre - pose.shift, h)
        take_velocity(velocity.components[axis], blocks, BLOCK, mine, others, axis, d - 2, at, pose.linear, pose.angular)


def _blow(velocity: FaceField, inflow: Inflow) -> None:
    """Walls in the region of an inflow let liquid in at its velocity."""
    grid = velocity.grid
    for axis in range(grid.dimension):
        values = velocity.components[axis]
        shape = values.shape[: grid.dimension]
        shift = tuple(0.0 if a == axis else c for a, c in enumerate(CENTRES))
        flat = values.reshape(shape)
        for planes in grid.slabs(shape):
            inside = inflow.shape.distance(*grid.points(shape, shift, planes)) <= 1e-6 * grid.spacing
            flat[planes][inside] = inflow.velocity[axis]
