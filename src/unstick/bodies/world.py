"""Bodies in motion: where they are, how they would go on without the liquid, and how they go on with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unstick.bodies.build import OURS, Draft, compiled, draft, quaternion
from unstick.bodies.library import mujoco
from unstick.bodies.own import body_shape, pose_of
from unstick.bodies.parts import Mjcf, RigidBody, Signal, Walls
from unstick.bodies.pieces import three
from unstick.checks import InvalidSystem
from unstick.geometry.motion import Motion, Moved, Pose
from unstick.geometry.rounded import Slice
from unstick.geometry.shapes import Shape
from unstick.grid import Array, Grid


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One body of the model that can move."""

    name: str
    number: int  # in the MuJoCo model
    shape: Shape  # in its own coordinates
    walls: Walls
    root: int  # the tree of joints that it belongs to
    solid: bool  # its shape has three coordinates also in 2D

    def placed(self, pose: Pose, dimension: int) -> Shape:
        moved = Moved(self.shape, pose)
        return Slice(moved) if self.solid and dimension == 2 else moved


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """What MuJoCo would do next without the liquid."""

    mass: Array  # (m, m), with what the joints' damping adds in a step of Euler's
    velocity: Array  # (m,) after the step: gravity, contacts, actuators
    now: Array  # (m,) before the step
    change: Array  # (m,) of the velocity in a step as long as this one, as it accelerated in the last


@dataclass(slots=True, eq=False)
class World:
    """A MuJoCo model and room to compute in. What goes from step to step is a vector of numbers that the caller keeps.

    In 2D everything in it is per metre of depth.
    """

    dimension: int
    model: Any
    members: tuple[Member, ...]
    still: tuple[tuple[Shape, Walls], ...]  # what the user's model has that cannot move
    signals: dict[int, Signal]  # by number of the actuator
    carried: tuple[Motion, ...]  # of the mocap bodies that stand for moving solids
    _data: Any

    @classmethod
    def of(cls, bodies: Sequence[RigidBody], mjcf: Mjcf | None, solids: Sequence[tuple[Shape, Motion]], grid: Grid) -> World:
        """`grid` is the domain."""
        mj = mujoco()
        plan = draft(bodies, mjcf, solids, grid)
        model = compiled(plan)
        # The liquid takes the place of MuJoCo's own drag, and numbers that are not finite are told, not forgotten.
        model.opt.density = model.opt.viscosity = 0.0
        model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_AUTORESET)
        data = mj.MjData(model)
        members, still = _members(model, data, plan, {body.name: body.walls for body in bodies}, mjcf, grid)
        out = cls(grid.dimension, model, members, still, _signals(model, plan, mjcf), tuple(plan.carried), data)
        out._launch(bodies)
        out._require_flat()
        return out

    @property
    def freedoms(self) -> int:
        return int(self.model.nv)

    def start(self) -> Array:
        """The state at t = 0."""
        return self._saved()

    def poses(self, state: Array) -> tuple[Pose, ...]:
        """Where the bodies are, and how fast they move."""
        mj, model, data = mujoco(), self.model, self._data
        self._load(state)
        mj.mj_fwdPosition(model, data)
        return tuple(self._pose(member, data.qvel) for member in self.members)

    def jacobians(self) -> Array:
        """(n, 6, m): generalised velocity to (velocity of the body's origin, angular velocity), where `poses` was last asked for."""
        mj, model, data = mujoco(), self.model, self._data
        out = np.zeros((len(self.members), 6, model.nv))
        for rows, member in zip(out, self.members, strict=True):
            linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mj.mj_jacBody(model, data, linear, angular, member.number)
            rows[:3], rows[3:] = linear, angular
        if self.dimension == 2:
            out[:, 2:5] = 0.0  # rounding
        return out

    def free(self, state: Array, t: float, dt: float, gravity: Sequence[float]) -> Free:
        """A step of dt as it would be without the liquid; contacts are those that the liquid's last impulse leads to.

        A body that floats against a wall or lies on the floor is held by contacts which know that the liquid carries a part of it.
        """
        mj, model, data = mujoco(), self.model, self._data
        self._prepare(state, t, dt, gravity)
        last = dt * data.qacc_warmstart
        mj.mj_forward(model, data)
        plain = np.zeros((model.nv, model.nv))
        mj.mj_fullM(model, data, plain)
        mass = plain.copy()
        if not model.opt.disableflags & int(mj.mjtDisableBit.mjDSBL_EULERDAMP):
            mass[np.diag_indices(model.nv)] += dt * model.dof_damping
        change = np.linalg.solve(mass, plain @ data.qacc - data.qfrc_applied) if model.nv else np.zeros(0)
        return Free(mass, data.qvel + dt * change, data.qvel.copy(), last)

    def advance(self, state: Array, t: float, dt: float, gravity: Sequence[float], impulse: Array) -> Array:
        """The state after dt, in which the liquid gives `impulse` (m,): for Euler's method just M^-1 impulse on top of `free`, unless
        contacts answer to it."""
        mj, data = mujoco(), self._data
        self._prepare(state, t, dt, gravity)
        data.qfrc_applied[:] = impulse / dt
        mj.mj_step(self.model, data)
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            raise InvalidSystem(
                f"the bodies' motion left finite numbers at {t:.4g} s; shorten the steps (numerics.cfl, scene.frame_time) or soften "
                "the drives, springs and masses that are out of scale"
            )
        return self._saved()

    def touching(self) -> list[tuple[int, int, float]]:
        """Pairs of bodies (the lower number first) that MuJoCo sees in contact where `poses` was last asked for, and their distance;
        meshes, which it takes for their convex hulls, do not count."""
        mj, model, data = mujoco(), self.model, self._data
        mj.mj_collision(model, data)
        number = {member.number: at for at, member in enumerate(self.members)}
        mesh = int(mj.mjtGeom.mjGEOM_MESH)
        out = []
        for contact in (data.contact[i] for i in range(data.ncon)):
            pair = [int(g) for g in contact.geom]
            bodies = sorted(number.get(int(model.geom_bodyid[g]), -1) for g in pair)
            if bodies[0] >= 0 and all(model.geom_type[g] != mesh for g in pair):
                out.append((bodies[0], bodies[1], float(contact.dist)))
        return out

    def _prepare(self, state: Array, t: float, dt: float, gravity: Sequence[float]) -> None:
        model, data = self.model, self._data
        self._load(state)
        model.opt.timestep = dt
        model.opt.gravity[:] = three(gravity)
        for actuator, signal in self.signals.items():
            data.ctrl[actuator] = signal.at(t + dt)
        for number, motion in enumerate(self.carried):
            pose = motion.pose(t + dt)
            data.mocap_pos[number] = pose.centre + pose.shift - pose.rotation @ pose.centre
            data.mocap_quat[number] = quaternion(pose.rotation)

    def _pose(self, member: Member, velocity: Array) -> Pose:
        mj, model, data = mujoco(), self.model, self._data
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mj.mj_jacBody(model, data, linear, angular, member.number)
        rotation = data.xmat[member.number].reshape(3, 3).copy()
        return Pose(rotation, data.xpos[member.number].copy(), np.zeros(3), linear @ velocity, angular @ velocity)

    def _load(self, state: Array) -> None:
        mj = mujoco()
        mj.mj_setState(self.model, self._data, np.ascontiguousarray(state), mj.mjtState.mjSTATE_INTEGRATION)

    def _saved(self) -> Array:
        mj = mujoco()
        out = np.zeros(mj.mj_stateSize(self.model, mj.mjtState.mjSTATE_INTEGRATION))
        mj.mj_getState(self.model, self._data, out, mj.mjtState.mjSTATE_INTEGRATION)
        return out

    def _launch(self, bodies: Sequence[RigidBody]) -> None:
        """Velocities of free bodies at t = 0."""
        mj, model, data = mujoco(), self.model, self._data
        mj.mj_forward(model, data)
        for body in bodies:
            if not any(body.velocity) and not any(body.spin):
                continue
            number = model.body(body.name).id
            first = int(model.body_dofadr[number])
            spin = three((0.0, 0.0, *body.spin)) if len(body.spin) == 1 else three(body.spin)
            if self.dimension == 2:
                data.qvel[first : first + 3] = (*three(body.velocity)[:2], spin[2])
            else:  # MuJoCo counts a free body's turning about its own axes
                data.qvel[first : first + 6] = (*three(body.velocity), *(data.xmat[number].reshape(3, 3).T @ spin))

    def _require_flat(self) -> None:
        """In 2D nothing may leave the plane."""
        if self.dimension == 3:
            return
        mj, model, data = mujoco(), self.model, self._data
        for member in self.members:
            linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mj.mj_jacBody(model, data, linear, angular, member.number)
            if max(np.abs(linear[2]).max(), np.abs(angular[:2]).max()) > 1e-9:
                raise InvalidSystem(
                    f"the body {member.name} can leave the plane of a scene of dimension 2; give it two slides along x and y and a "
                    "hinge about z, or compute in 3D"
                )


def _members(
    model: Any, data: Any, plan: Draft, walls: dict[str, Walls], mjcf: Mjcf | None, grid: Grid
) -> tuple[tuple[Member, ...], tuple[tuple[Shape, Walls], ...]]:
    """What moves, and what stands still of the user's model."""
    mujoco().mj_kinematics(model, data)
    members: list[Member] = []
    still: list[tuple[Shape, Walls]] = []
    own: Walls = "separating" if mjcf is None else mjcf.walls
    for number in range(model.nbody):
        name = model.body(number).name
        shape = plan.shapes[name] if name in plan.shapes else body_shape(model, number, grid.spacing, OURS)
        if shape is None:
            continue
        if model.body_weldid[number] == 0:
            moved = Moved(shape, pose_of(data.xpos[number], data.xquat[number]))
            still.append((Slice(moved) if grid.dimension == 2 else moved, own))
        else:
            root = int(model.body_rootid[number])
            members.append(Member(name or f"body {number}", number, shape, walls.get(name, own), root, name not in plan.shapes))
    return tuple(members), tuple(still)


def _signals(model: Any, plan: Draft, mjcf: Mjcf | None) -> dict[int, Signal]:
    names = [model.actuator(number).name for number in range(model.nu)]
    told = dict(plan.drives)
    for control in mjcf.controls if mjcf is not None else ():
        if control.actuator not in names:
            own = [name for name in names if name not in plan.drives]
            raise InvalidSystem(f"the MuJoCo model has no actuator {control.actuator!r}; it has {', '.join(own) or 'none'}")
        told[control.actuator] = control.signal
    return {names.index(name): signal for name, signal in told.items()}
