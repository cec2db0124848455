"""Walls for 3D pictures: glass where there is a vessel or the domain's sides, denser bodies in it; and what all surfaces share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import ndimage

from unstick.grid import Array, Grid
from unstick.liquid.state import MARGIN
from unstick.record.frames import FrameData
from unstick.render.colours import WOOD
from unstick.render.extras import need

CENTRE, NODE = (0.5, 0.5, 0.5), (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Tint:
    """A clear material: its colour, and how much it covers where it is seen face on and edge on."""

    colour: tuple[int, int, int]
    face_on: float
    edge_on: float


GLASS = Tint((150, 168, 182), 0.04, 0.55)
BODY = Tint((168, 170, 174), 0.34, 0.95)
WOODEN = Tint(WOOD, 0.96, 1.0)
EDGE = (150, 158, 166)
SHINE = {
    "smooth_shading": True, "specular": 0.8, "specular_power": 70, "ambient": 0.48, "diffuse": 0.58, "render": False, "reset_camera": False,
}  # fmt: skip


TINTS = {"glass": GLASS, "bodies": BODY, "wood": WOODEN}


def add_vessel(plotter: Any, frame: FrameData) -> None:
    """The walls: the domain's sides as a box of glass where the liquid can reach them, a vessel as glass, and bodies denser."""
    for name in ("box", "lines", "glass", "bodies", "wood"):
        plotter.remove_actor(name, render=False)
    if touches_sides(frame):
        add_box(plotter, domain_sides(frame.grid))
        parts = {"bodies": contour(bodies_in_box(frame), frame, NODE)}
    else:
        parts = vessel_and_bodies(contour(-standing(frame), frame, NODE))
    if frame.bodies is not None:
        parts["wood"] = contour(-frame.bodies.phi, frame, NODE)
    for name, part in parts.items():
        if part.n_points:
            add_clear(plotter, name, part, TINTS[name])


def add_clear(plotter: Any, name: str, mesh: Any, tint: Tint) -> None:
    mesh = mesh.compute_normals(split_vertices=False, consistent_normals=False)
    colours = np.empty((mesh.n_points, 4), dtype=np.uint8)
    colours[:, :3] = tint.colour
    colours[:, 3] = np.rint(255 * glance(mesh, plotter, tint.face_on, tint.edge_on))
    mesh["colour"] = colours
    plotter.add_mesh(mesh, name=name, scalars="colour", rgba=True, **SHINE)


def add_box(plotter: Any, sides: Array) -> None:
    """Six panes and twelve edges."""
    box = need("pyvista", "a 3D picture").Box(bounds=tuple(sides.T.reshape(-1)))
    plotter.add_mesh(box, name="box", color=GLASS.colour, opacity=0.07, lighting=False, render=False, reset_camera=False)
    edges = box.extract_feature_edges(feature_angle=30)
    plotter.add_mesh(edges, name="lines", color=EDGE, line_width=1.5, lighting=False, render=False, reset_camera=False)


def domain_sides(grid: Grid) -> Array:
    """Opposite corners of the domain, (2, 3)."""
    low = np.array(grid.origin) + MARGIN * grid.spacing
    return np.stack([low, np.array(grid.origin) + np.array(grid.extent) - MARGIN * grid.spacing])


def touches_sides(frame: FrameData) -> bool:
    """Whether the domain's own sides bound the liquid, rather than a vessel inside."""
    inner = frame.solid_phi[(slice(MARGIN, -MARGIN),) * 3]
    sides = [np.take(inner, end, axis=axis) for axis in range(3) for end in (0, -1)]
    bare = sum(int(np.count_nonzero(np.abs(side) < 1e-3 * frame.grid.spacing)) for side in sides)
    return bool(bare > 0.2 * sum(side.size for side in sides))


def bodies_in_box(frame: FrameData) -> Array:
    """A function at nodes, positive in solids that lie a little inside the domain: closed bodies, and no sides."""
    grid, within = frame.grid, np.float32(np.inf)
    sides = domain_sides(grid)
    for axis, x in enumerate(grid.points(grid.node_shape, NODE)):
        within = np.minimum(within, np.minimum(x - sides[0, axis], sides[1, axis] - x))
    return np.asarray(np.minimum(-standing(frame), within - 0.3 * grid.spacing))


def standing(frame: FrameData) -> Array:
    """Distance to the walls, but for bodies that move with the liquid."""
    if frame.bodies is None:
        return frame.solid_phi
    far = np.float32(4.0 * frame.grid.spacing)
    return np.where(frame.bodies.phi <= frame.solid_phi + np.float32(1e-3 * frame.grid.spacing), far, frame.solid_phi)


def vessel_and_bodies(mesh: Any) -> dict[str, Any]:
    """The piece of the walls that is around everything, and the rest."""
    if not mesh.n_points:
        return {}
    faces = np.asarray(mesh.regular_faces)
    links = sp.coo_array((np.ones(2 * len(faces)), (faces[:, :2].T.reshape(-1), faces[:, 1:].T.reshape(-1))), shape=(mesh.n_points,) * 2)
    count, piece = sp.csgraph.connected_components(links, directed=False)
    points = np.asarray(mesh.points)
    low, high = (
        np.stack([function(points[:, a], piece, np.arange(count)) for a in range(3)]) for function in (ndimage.minimum, ndimage.maximum)
    )
    around = piece[faces[:, 0]] == int(np.argmax(np.prod(high - low, axis=0)))
    make = need("pyvista", "a 3D picture").PolyData.from_regular_faces
    return {name: make(points, faces[chosen]).clean() for name, chosen in (("glass", around), ("bodies", ~around)) if chosen.any()}


def contour(values: Array, frame: FrameData, shift: tuple[float, float, float]) -> Any:
    """The zero surface of a lattice of values; `shift` in cells from the grid's corner."""
    pv, grid = need("pyvista", "a 3D picture"), frame.grid
    origin = tuple(o + s * grid.spacing for o, s in zip(grid.origin, shift, strict=True))
    image = pv.ImageData(dimensions=values.shape, spacing=(grid.spacing,) * 3, origin=origin)
    image["values"] = values.astype(np.float32).reshape(-1, order="F")
    return image.contour([0.0], scalars="values", method="flying_edges", compute_normals=False, compute_scalars=False)


def glance(mesh: Any, plotter: Any, face_on: float, edge_on: float) -> Array:
    """From one opacity to another as the line of sight turns from normal to tangent; Schlick's form of Fresnel's law, less steep."""
    sight = np.asarray(mesh.points) - np.array(plotter.camera.position)
    sight /= np.linalg.norm(sight, axis=1, keepdims=True)
    across = 1.0 - np.abs(np.einsum("ij,ij->i", np.asarray(mesh.point_data["Normals"]), sight))
    return np.asarray(face_on + (edge_on - face_on) * np.clip(across, 0, 1) ** 3)


def at_points(values: Array, points: Array, grid: Grid, shift: tuple[float, float, float]) -> Array:
    """Lattice values at points, linear; `shift` in cells from the grid's corner to the first value."""
    at = (np.asarray(points) - np.array(grid.origin)) / grid.spacing - np.array(shift)
    return np.asarray(ndimage.map_coordinates(values, at.T, order=1, mode="nearest"))
