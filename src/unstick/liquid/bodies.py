"""Bodies that move with the liquid, as the time step sees them: walls where they are, freedoms for the pressure, and their next state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from unstick.bodies.world import Free, World
from unstick.checks import InvalidSystem
from unstick.geometry.motion import Pose
from unstick.geometry.solid import wall_snap
from unstick.grid import CENTRES, Array, Grid
from unstick.kernels.body_layer import add_layer
from unstick.liquid.forces import impulse
from unstick.liquid.scene import Scene
from unstick.liquid.solids import BLOCK, WallState, sample_near
from unstick.liquid.state import MARGIN, State
from unstick.pressure.coupling.bodies import Bodies

MOST_TAKEN = 0.5  # part of a body's mass that liquid counted twice may take from it within a step
DEEP = 0.25  # cells that bodies may reach into each other or into walls at the start


@dataclass(frozen=True, slots=True, eq=False)
class Immersed:
    """Bodies as walls, at a time."""

    poses: tuple[Pose, ...]
    jacobian: Array  # (n, 6, m), about the poses' shifts
    phi: tuple[Array, ...]  # at nodes, positive outside the body; exact near its surface
    blocks: tuple[Array, ...]  # of nodes in which that distance is exact
    walls: tuple[str, ...]

    def moving(self, velocity: Array) -> tuple[Pose, ...]:
        """The same places with other generalised velocities."""
        twists = self.jacobian @ velocity
        return tuple(replace(pose, linear=t[:3], angular=t[3:]) for pose, t in zip(self.poses, twists, strict=True))


@dataclass(slots=True, eq=False)
class BodyStage:
    """What a simulation with bodies has more than one without."""

    world: World
    grid: Grid  # with margin
    radii: Array  # of balls about the bodies' origins that hold them
    last: tuple[Array, Immersed] | None = None

    @classmethod
    def of(cls, scene: Scene, grid: Grid) -> BodyStage | None:
        """None without bodies. `grid` is the scene's with its margin."""
        if not scene.has_bodies:
            return None
        world = World.of(scene.bodies, scene.mjcf, [(solid.shape, solid.motion) for solid in scene.solids], scene.grid)
        if not world.members:
            raise InvalidSystem("the MuJoCo model has no body that can move and has a shape; give one, or leave the model out")
        stage = cls(world, grid, np.zeros(len(world.members)))
        there = stage._place(world.start())
        stage.radii[:] = [_radius(grid, phi, pose) for phi, pose in zip(there.phi, there.poses, strict=True)]
        return stage

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.world.members)

    @property
    def thickness(self) -> float:
        """Of the grid's layer of cells in 2D, where MuJoCo counts per metre."""
        return self.grid.spacing if self.grid.dimension == 2 else 1.0

    def placed(self, state: State) -> Immersed:
        """Where the bodies are in this state."""
        assert state.bodies is not None
        if self.last is None or self.last[0] is not state.bodies:
            self.last = state.bodies, self._place(state.bodies)
        return self.last[1]

    def free(self, scene: Scene, state: State, dt: float) -> Free:
        """Where the bodies' velocities would be after dt without the liquid."""
        assert state.bodies is not None
        return self.world.free(state.bodies, state.time, dt, self._gravity(scene, state.time, dt))

    def coupled(
        self, scene: Scene, state: State, free: Free, liquid_phi: Array, walls: WallState, dt: float, weighs: bool = True
    ) -> Bodies:
        """What the pressure is told: the velocity after dt without the pressure, and how hard each freedom is to move.

        The pressure is known at the middles of cells. The liquid from there to a body's surface moves with the body: it weighs on it
        (unless gravity is no part of the pressure) and makes it slower, so that a body as heavy as water rests in water. Where that part
        is negative beyond half of the body's own mass, it accelerates as in the last step: the mass stays positive, however light the
        body is.
        """
        there = self.placed(state)
        gravity = self._gravity(scene, state.time, dt) if weighs else (0.0, 0.0, 0.0)
        off = np.zeros((1, 1, 1), dtype=np.bool_) if state.guess is None else state.guess.detached.reshape(self.grid.shape3)
        layer, weight = self._layer(there, liquid_phi, walls.solid_phi, off, gravity, scene.density)
        mass, now = free.mass * self.thickness, free.now
        size, modes = scipy.linalg.eigh(layer, mass)
        late = mass @ (modes * np.minimum(size + MOST_TAKEN, 0.0)) @ modes.T @ mass
        whole = mass + layer - late
        momentum = mass @ free.velocity + layer @ now + dt * weight - late @ (now + free.change)
        return Bodies(
            phi=there.phi,
            centre=np.array([pose.shift for pose in there.poses]),
            jacobian=there.jacobian,
            mass=0.5 * (whole + whole.T),
            velocity=np.linalg.solve(whole, momentum),
            separating=tuple(kind == "separating" for kind in there.walls),
        )

    def advance(self, scene: Scene, state: State, free: Free, after: Array, dt: float) -> Array:
        """The bodies' state after dt, with the impulse that takes them from their velocity without the liquid to `after`."""
        assert state.bodies is not None
        given = free.mass @ (after - free.velocity)
        return self.world.advance(state.bodies, state.time, dt, self._gravity(scene, state.time, dt), given)

    def fastest(self, state: State) -> float:
        """No point of a body moves faster."""
        poses = self.placed(state).poses
        speeds = (np.linalg.norm(p.linear) + np.linalg.norm(p.angular) * r for p, r in zip(poses, self.radii, strict=True))
        return max(map(float, speeds), default=0.0)

    def told(self, state: State) -> dict[str, dict[str, list[float]]]:
        """By name, in the state's dimension: where a body's origin is, how fast it moves, and how fast the body turns."""
        d = self.grid.dimension
        turning = slice(2, 3) if d == 2 else slice(0, 3)
        return {
            name: {
                "position": pose.shift[:d].tolist(),
                "velocity": pose.linear[:d].tolist(),
                "spin": pose.angular[turning].tolist(),
            }
            for name, pose in zip(self.names, self.placed(state).poses, strict=True)
        }

    def require_apart(self, state: State, walls_phi: Array, domain: Grid) -> None:
        """Bodies begin within the domain, outside of solids (`walls_phi`, without the bodies) and of each other."""
        there, deep = self.placed(state), -DEEP * self.grid.spacing
        outside = np.ones(self.grid.node_shape3, dtype=np.bool_)
        outside[tuple(slice(MARGIN, -MARGIN) if a < domain.dimension else slice(None) for a in range(3))] = False
        for name, phi, pose in zip(self.names, there.phi, there.poses, strict=True):
            away = any(not o <= x <= o + e for o, e, x in zip(domain.origin, domain.extent, pose.shift, strict=False))
            if (phi[outside] < deep).any() or (away and not (phi < 0).any()):
                raise InvalidSystem(f"the body {name} lies outside of the domain, or partly so; move it inside")
            if not (phi < 0).any():
                raise InvalidSystem(f"the body {name} is too small for the grid: it holds not one of its nodes; raise the resolution")
            if ((phi < deep) & (walls_phi < deep)).any():
                raise InvalidSystem(f"the body {name} overlaps a solid at the start; move them apart")
        hulls = [(a, b) for a, b, depth in self.world.touching() if depth < deep]
        for i, first in enumerate(self.world.members):
            for j in range(i):
                second = self.world.members[j]
                apart = first.root != second.root
                if apart and (((there.phi[i] < deep) & (there.phi[j] < deep)).any() or (j, i) in hulls):
                    raise InvalidSystem(f"the bodies {second.name} and {first.name} overlap at the start; move them apart")

    def _place(self, bodies: Array) -> Immersed:
        poses = self.world.poses(bodies)
        jacobian = self.world.jacobians()
        sampled = [
            sample_near(member.placed(pose, self.grid.dimension), self.grid) for member, pose in zip(self.world.members, poses, strict=True)
        ]
        kinds = tuple(member.walls for member in self.world.members)
        return Immersed(poses, jacobian, tuple(phi for phi, _ in sampled), tuple(blocks for _, blocks in sampled), kinds)

    def _layer(
        self, there: Immersed, liquid_phi: Array, solid_phi: Array, off: Array, gravity: Sequence[float], density: float
    ) -> tuple[Array, Array]:
        """Mass (m, m) and weight (m,) of the liquid that moves with the bodies."""
        grid, m = self.grid, self.world.freedoms
        d, h, nodes = grid.dimension, grid.spacing, np.array(grid.node_shape3)
        liquid = np.ascontiguousarray(liquid_phi).reshape(grid.shape3)
        solid = np.ascontiguousarray(solid_phi).reshape(grid.node_shape3)
        off = np.ascontiguousarray(np.broadcast_to(off, grid.shape3))
        snap = wall_snap(grid, solid)
        mass, weight = np.zeros((m, m)), np.zeros(m)
        for pose, phi, blocks, jacobian in zip(there.poses, there.phi, there.blocks, there.jacobian, strict=True):
            if not len(blocks):
                continue
            matrix, force = np.zeros((6, 6)), np.zeros(6)
            for axis in range(d):
                along = np.zeros(6)
                # Neither faces of the outermost cells nor their neighbours beyond the grid are asked for.
                first, last = np.ones(3, dtype=np.int64), nodes - 2
                low, high = np.maximum(blocks.min(axis=0) * BLOCK, first), np.minimum((blocks.max(axis=0) + 1) * BLOCK, last)
                if d == 2:
                    low[2], high[2] = 0, 1
                shift = [0.0 if a == axis else c for a, c in enumerate(CENTRES)]
                corner = [grid.origin[a] + shift[a] * h if a < d else pose.shift[2] for a in range(3)]
                add_layer(phi, liquid, solid, off, snap, axis, d - 2, low, high, np.append(corner - pose.shift, h), matrix, along)
                force += gravity[axis] * along
            mass += jacobian.T @ matrix @ jacobian
            weight += jacobian.T @ force
        return density * h**3 * mass, density * h**3 * weight

    def _gravity(self, scene: Scene, t: float, dt: float) -> Sequence[float]:
        return [part / dt for part in impulse(scene.gravity, t, dt, self.grid.dimension)]


def _radius(grid: Grid, phi: Array, pose: Pose) -> float:
    inside = np.argwhere(phi.reshape(grid.node_shape) <= 0)
    if not len(inside):
        return grid.spacing
    d = grid.dimension
    points = np.array(grid.origin) + inside * grid.spacing
    return float(np.sqrt(((points - pose.shift[:d]) ** 2).sum(axis=1).max())) + math.sqrt(d) * grid.spacing
