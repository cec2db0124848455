"""The geometries of a user's MuJoCo model as our signed distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unstick.bodies.library import mujoco
from unstick.checks import InvalidSystem
from unstick.geometry.mesh import merged, require_closed
from unstick.geometry.motion import Moved, Pose
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Box, Capsule, Plane, Shape, Sphere, Union
from unstick.geometry.triangles import TriangleShape
from unstick.grid import Array

ORIGIN = (0.0, 0.0, 0.0)


def body_shape(model: Any, body: int, spacing: float, but: str) -> Shape | None:
    """In the body's coordinates: its geometries that touch others, or all if none does; None for a body without geometries.

    Geometries whose name begins with `but` do not count.
    """
    geometries = [g for g in range(model.ngeom) if model.geom_bodyid[g] == body and not model.geom(g).name.startswith(but)]
    touching = [g for g in geometries if model.geom_contype[g] or model.geom_conaffinity[g]]
    out: Shape | None = None
    for g in touching or geometries:
        part = Moved(_shape(model, g, spacing), pose_of(model.geom_pos[g], model.geom_quat[g]))
        out = part if out is None else Union(out, part)
    return out


def pose_of(position: Array, quaternion: Array) -> Pose:
    """At rest."""
    rotation = np.zeros(9)
    mujoco().mju_quat2Mat(rotation, quaternion)
    zero = np.zeros(3)
    return Pose(rotation.reshape(3, 3), np.array(position), zero, zero, zero)


def _shape(model: Any, g: int, spacing: float) -> Shape:
    kind = mujoco().mjtGeom(int(model.geom_type[g])).name.removeprefix("mjGEOM_").lower()
    if kind == "mesh":
        return _mesh(model, int(model.geom_dataid[g]), spacing)
    if kind not in KINDS:
        raise InvalidSystem(f"the MuJoCo model has a geometry of the type {kind}; allowed: {', '.join((*KINDS, 'mesh'))}")
    return KINDS[kind](*(float(s) for s in model.geom_size[g]))


KINDS: dict[str, Callable[[float, float, float], Shape]] = {
    "plane": lambda a, b, c: Plane(ORIGIN, (0.0, 0.0, 1.0)),
    "sphere": lambda r, b, c: Sphere(ORIGIN, r),
    "capsule": lambda r, half, c: Capsule((0.0, 0.0, -half), (0.0, 0.0, half), r),
    "ellipsoid": lambda a, b, c: Ellipsoid(ORIGIN, (a, b, c)),
    "cylinder": lambda r, half, c: Cylinder((0.0, 0.0, -half), (0.0, 0.0, half), r),
    "box": lambda a, b, c: Box((-a, -b, -c), (a, b, c)),
}


def _mesh(model: Any, mesh: int, spacing: float) -> Shape:
    """MuJoCo keeps a mesh's corners in the coordinates of its geometry, about its centre of mass and along its principal axes."""
    name = model.mesh(mesh).name or str(mesh)
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    start, triangles = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    points = np.asarray(model.mesh_vert[first : first + count], dtype=np.float64)
    faces = merged(points, np.asarray(model.mesh_face[start : start + triangles], dtype=np.int64))
    require_closed(f"{name} of the MuJoCo model", faces)
    corner = points[faces]
    volume = float(np.einsum("ti,ti->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2])))
    return TriangleShape(corner if volume > 0.0 else np.ascontiguousarray(corner[:, ::-1]), spacing)
