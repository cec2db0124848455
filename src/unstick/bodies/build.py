"""From bodies as data to a MuJoCo model: free and jointed bodies, a user's own model, and what stands still around them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unstick.bodies.library import mujoco
from unstick.bodies.mass import moments
from unstick.bodies.parts import Joint, Mjcf, RigidBody, Signal
from unstick.bodies.pieces import Piece, pieces, three
from unstick.checks import InvalidSystem
from unstick.geometry.motion import Motion, turn
from unstick.geometry.shapes import Box as Cuboid
from unstick.geometry.shapes import Complement, Shape
from unstick.grid import Array, Grid

LIGHTEST = 1e-9  # of MuJoCo's masses and inertias
OURS = "unstick "  # how the names of geometries begin that are not the user's


@dataclass(slots=True, eq=False)
class Draft:
    """A model in the making."""

    grid: Grid  # the domain
    spec: Any
    shapes: dict[str, Shape] = field(default_factory=dict)  # of bodies from data, in their own coordinates
    drives: dict[str, Signal] = field(default_factory=dict)  # by actuator
    carried: list[Motion] = field(default_factory=list)  # of MuJoCo's mocap bodies, in order

    @property
    def depth(self) -> float:
        """Of the boxes that stand for those of 2D; beyond any penetration in the plane."""
        return 2.0 * max(self.grid.extent)


def draft(bodies: Sequence[RigidBody], mjcf: Mjcf | None, solids: Sequence[tuple[Shape, Motion]], grid: Grid) -> Draft:
    """All bodies, the domain's sides, and the solids that MuJoCo has geometries for."""
    out = Draft(grid, _own(mjcf) if mjcf is not None else mujoco().MjSpec())
    _require_names(bodies, out.spec)
    _add_sides(out)
    for shape, motion in solids:
        _add_solid(out, shape, motion)
    made: dict[str, tuple[Any, Array, Array]] = {}
    left = list(bodies)
    while left:
        ready = [body for body in left if not body.parent or body.parent in made]
        for body in ready:
            made[body.name] = _add_body(out, body, made.get(body.parent))
        left = [body for body in left if body not in ready]
    return out


def compiled(out: Draft) -> Any:
    """The model, or a sentence that says what MuJoCo has against it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return out.spec.compile()
    except ValueError as error:
        raise InvalidSystem(f"MuJoCo refuses the bodies: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _own(mjcf: Mjcf) -> Any:
    """The user's model, turned so that y is up and moved to its place."""
    mj = mujoco()
    name = f"the MuJoCo model {mjcf.file}" if mjcf.file else "the MuJoCo model given as text"
    if mjcf.file and not Path(mjcf.file).is_file():
        raise InvalidSystem(f"there is no file {mjcf.file} with a MuJoCo model")
    try:
        spec = mj.MjSpec.from_file(mjcf.file) if mjcf.file else mj.MjSpec.from_string(mjcf.text)
    except ValueError as error:
        raise InvalidSystem(f"{name} cannot be read: {_line(error)}") from None
    chosen = mj.mjtIntegrator(spec.option.integrator)
    if chosen != mj.mjtIntegrator.mjINT_EULER:
        raise InvalidSystem(
            f'{name} asks for the integrator {chosen.name.removeprefix("mjINT_").lower()}; give integrator="Euler" in its <option>: only '
            "with Euler does a body take the liquid's impulse exactly"
        )
    rotation = turn(-0.5 * math.pi, np.array([1.0, 0.0, 0.0])) if mjcf.up == "z" else np.eye(3)
    frame = spec.worldbody.add_frame(pos=three(mjcf.position), quat=quaternion(rotation))
    for entry in (*spec.worldbody.bodies, *spec.worldbody.geoms, *spec.worldbody.sites):
        outermost = entry
        while outermost.frame is not None:
            outermost = outermost.frame
        if outermost is not frame:
            outermost.set_frame(frame)
    return spec


def _require_names(bodies: Sequence[RigidBody], spec: Any) -> None:
    names = [body.name for body in spec.bodies] + [body.name for body in bodies]
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        raise InvalidSystem(f"two bodies are called {twice[0]}; give each a name of its own")
    own = {body.name: body for body in bodies}
    for body in bodies:
        seen, parent = {body.name}, body.parent
        while parent:
            if parent not in own:
                raise InvalidSystem(f"the body {body.name} hangs on {body.parent}, and there is no body of that name")
            if parent in seen:
                raise InvalidSystem(f"the body {body.name} hangs on itself; give a parent that does not hang on it")
            seen.add(parent)
            parent = own[parent].parent


def _add_sides(out: Draft) -> None:
    grid = out.grid
    upper = tuple(o + e for o, e in zip(grid.origin, grid.extent, strict=True))
    for piece in pieces(Complement(Cuboid(grid.origin, upper)), out.depth):
        _add_geometry(out, out.spec.worldbody, piece)


def _add_solid(out: Draft, shape: Shape, motion: Motion) -> None:
    parts = list(pieces(shape, out.depth))
    if not motion.moves:
        for piece in parts:
            _add_geometry(out, out.spec.worldbody, piece)
    elif parts:
        holder = out.spec.worldbody.add_body(mocap=True)
        out.carried.append(motion)
        for piece in parts:
            _add_geometry(out, holder, piece)


def _add_body(out: Draft, body: RigidBody, parent: tuple[Any, Array, Array] | None) -> tuple[Any, Array, Array]:
    d = out.grid.dimension
    _require_fitting(body, d)
    rotation = turn(body.angle, np.array(body.axis) / np.linalg.norm(body.axis))
    position = three(body.position)
    holder, base, start = parent or (out.spec.worldbody, np.eye(3), np.zeros(3))
    made = holder.add_body(name=body.name, pos=base.T @ (position - start), quat=quaternion(base.T @ rotation))
    weight = moments(body.shape, d, math.hypot(*out.grid.extent))
    inertia = body.density * weight.inertia()
    if not body.density * weight.volume > LIGHTEST or np.linalg.eigvalsh(inertia)[0] <= LIGHTEST**2:
        raise InvalidSystem(f"the body {body.name} weighs {body.density * weight.volume:.3g} kg; give it more density or size")
    made.mass, made.ipos, made.explicitinertial = body.density * weight.volume, three(weight.centre), True
    made.fullinertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    for piece in pieces(body.shape, out.depth):
        _add_geometry(out, made, piece, body.friction)
    for number, joint in enumerate(body.joints):
        _add_joint(out, made, body, joint, f"{body.name} joint {number}", rotation, position)
    out.shapes[body.name] = body.shape
    return made, rotation, position


def _require_fitting(body: RigidBody, d: int) -> None:
    if len(body.position) != d:
        raise InvalidSystem(f"the body {body.name} lies at {body.position}; give {d} numbers, one for each axis of the scene")
    free = any(joint.kind == "free" for joint in body.joints)
    if free and (len(body.joints) > 1 or body.parent):
        raise InvalidSystem(f"the body {body.name} has a free joint and another joint or a parent; a free body has neither")
    if not free and (any(body.velocity) or any(body.spin)):
        raise InvalidSystem(f"the body {body.name} hangs on joints; only a free body may have a velocity or a spin at the start")
    if not body.joints and not body.parent:
        raise InvalidSystem(f"the body {body.name} has neither joints nor a parent, so that it cannot move; make it a solid")
    for joint in body.joints:
        flat = three(joint.axis)
        out_of_plane = joint.kind == "ball" or (joint.kind == "hinge" and bool(flat[:2].any())) or (joint.kind == "slide" and bool(flat[2]))
        if d == 2 and out_of_plane:
            raise InvalidSystem(
                f"the body {body.name} has a {joint.kind} that leads out of the plane; in 2D hinges turn about (0, 0, 1) and slides have "
                "axes in the plane"
            )


def _add_joint(out: Draft, made: Any, body: RigidBody, joint: Joint, name: str, rotation: Array, position: Array) -> None:
    mj = mujoco()
    if joint.kind == "free":
        if out.grid.dimension == 3:
            made.add_freejoint()
            return
        for axis in range(2):
            made.add_joint(type=mj.mjtJoint.mjJNT_SLIDE, axis=rotation.T @ np.eye(3)[axis])
        made.add_joint(type=mj.mjtJoint.mjJNT_HINGE, axis=[0.0, 0.0, 1.0])
        return
    kind = {"hinge": mj.mjtJoint.mjJNT_HINGE, "slide": mj.mjtJoint.mjJNT_SLIDE, "ball": mj.mjtJoint.mjJNT_BALL}[joint.kind]
    anchor = three(joint.at) if joint.at else position
    made_joint = made.add_joint(name=name, type=kind, axis=rotation.T @ three(joint.axis), pos=rotation.T @ (anchor - position))
    made_joint.damping = [joint.damping, 0.0, 0.0]
    made_joint.stiffness = [joint.stiffness, 0.0, 0.0]
    if joint.range:
        angular = joint.kind != "slide" and bool(out.spec.compiler.degree)
        made_joint.limited = mj.mjtLimited.mjLIMITED_TRUE
        made_joint.range = [math.degrees(r) for r in joint.range] if angular else list(joint.range)
    if joint.drive is not None:
        actuator = out.spec.add_actuator(name=f"{name} drive", target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
        if joint.drive.kind == "position":
            actuator.set_to_position(joint.drive.gain)
        elif joint.drive.kind == "velocity":
            actuator.set_to_velocity(joint.drive.gain)
        else:
            actuator.set_to_motor()
            actuator.gear = [joint.drive.gain, 0.0, 0.0, 0.0, 0.0, 0.0]
        out.drives[f"{name} drive"] = joint.drive.signal


def _add_geometry(out: Draft, holder: Any, piece: Piece, friction: float = 0.5) -> None:
    mj = mujoco()
    kind = getattr(mj.mjtGeom, f"mjGEOM_{piece.kind.upper()}")
    size = (*piece.size, 0.0, 0.0, 0.0)[:3]
    made = holder.add_geom(type=kind, size=size, pos=piece.centre, quat=quaternion(piece.rotation), density=0.0)
    made.name = f"{OURS}{len(out.spec.geoms)}"
    made.friction = [friction, 0.005, 0.0001]
    if piece.points is not None:
        points, number = np.unique(piece.points.reshape(-1, 3), axis=0, return_inverse=True)
        name = f"mesh {len(out.spec.meshes)}"
        out.spec.add_mesh(name=name, uservert=points.reshape(-1), userface=number.reshape(-1).astype(np.int64))
        made.meshname = name


def quaternion(rotation: Array) -> Array:
    out = np.zeros(4)
    mujoco().mju_mat2Quat(out, np.ascontiguousarray(rotation).reshape(9))
    return out
