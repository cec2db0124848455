"""A frame of a 3D run as pixels: clear water in a glass vessel, by VTK and with no display."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import ndimage

from unstick.grid import Array, Grid
from unstick.record.frames import FrameData
from unstick.render.colours import Scale
from unstick.render.extras import need
from unstick.render.flat import cell_values

CENTRE, NODE = (0.5, 0.5, 0.5), (0.0, 0.0, 0.0)
HAIR = 0.15  # cells between water and glass, so that they are two surfaces
SMOOTH, PASS = 30, 0.08  # Taubin's smoothing: rounds off the cells and keeps the volume
ASPECT = 0.75
PEELS = 8
SIGHT = np.array([0.38, 0.36, 1.0])  # from the middle of the vessel to the eye
VIEW_ANGLE, FILL = 26.0, 0.95


@dataclass(frozen=True, slots=True)
class Tint:
    """A clear material: its colour, and how much it covers where it is seen face on and edge on."""

    colour: tuple[int, int, int]
    face_on: float
    edge_on: float


FREE = Tint((58, 134, 200), 0.50, 0.95)
WET = Tint((40, 110, 190), 0.22, 0.85)
GLASS = Tint((150, 168, 182), 0.04, 0.55)
EDGE = (80, 88, 96)


@dataclass(slots=True, eq=False)
class SpacePainter:
    """Draws frames of one run; `longer` is the picture's width in pixels."""

    first: FrameData
    scale: Scale | None
    colour: str = "speed"
    style: str = "surface"
    longer: int = 640
    _plotter: Any = field(init=False)
    _solid: Array | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._plotter = stage(self.size)
        look_at(self._plotter, self.first)

    @property
    def size(self) -> tuple[int, int]:
        return self.longer, round(ASPECT * self.longer)

    def paint(self, frame: FrameData) -> Array:
        """uint8 (height, width, 3)."""
        if self._solid is None or not np.array_equal(self._solid, frame.solid_phi):
            self._solid = frame.solid_phi
            add_vessel(self._plotter, frame)
        if self.style == "particles":
            self._particles(frame)
        else:
            self._surface(frame)
        self._plotter.render()
        return np.ascontiguousarray(self._plotter.screenshot(return_img=True)[:, :, :3])

    def _surface(self, frame: FrameData) -> None:
        """The free surface as far as the walls, and the walls as far as they are wet: both smooth, so that they meet in a clean line."""
        h, grid = frame.grid.spacing, frame.grid
        gap = HAIR * h
        free = contour(frame.phi, frame, CENTRE)
        wet = contour(gap - frame.solid_phi, frame, NODE)
        for name, mesh, cut, tint in (("free", free, "walls", FREE), ("wet", wet, "liquid", WET)):
            self._plotter.remove_actor(name, render=False)
            if not mesh.n_points:
                continue
            mesh = mesh.smooth_taubin(n_iter=SMOOTH, pass_band=PASS)
            if cut == "walls":
                mesh["inside"] = at_points(frame.solid_phi, mesh.points, grid, NODE) - gap
            else:
                mesh["inside"] = -at_points(frame.phi, mesh.points, grid, CENTRE)
            mesh = mesh.clip_scalar(scalars="inside", value=0.0, invert=False)
            if not mesh.n_points:
                continue
            mesh = mesh.compute_normals(split_vertices=False, consistent_normals=False)
            mesh["colour"] = self._tint(mesh, frame, tint)
            self._plotter.add_mesh(
                mesh, name=name, scalars="colour", rgba=True, smooth_shading=True, specular=0.8, specular_power=70,
                ambient=0.35, diffuse=0.65, render=False, reset_camera=False,
            )  # fmt: skip

    def _tint(self, mesh: Any, frame: FrameData, tint: Tint) -> Array:
        """RGBA at the vertices: clear where seen face on, denser at a glancing angle, as water is."""
        out = np.empty((mesh.n_points, 4), dtype=np.uint8)
        out[:, :3] = tint.colour
        out[:, 3] = np.rint(255 * glance(mesh, self._plotter, tint.face_on, tint.edge_on))
        if self.scale is not None:
            out[:, :3] = self._colours(at_points(cell_values(frame, self.colour, self.scale), mesh.points, frame.grid, CENTRE))
            out[:, 3] = np.maximum(out[:, 3], 215)
        return out

    def _particles(self, frame: FrameData) -> None:
        assert self.scale is not None
        self._plotter.remove_actor("water", render=False)
        if not len(frame.position):
            return
        points = need("pyvista", "a 3D picture").PolyData(np.ascontiguousarray(frame.position))
        values = frame.speed
        if self.colour != "speed":
            values = at_points(cell_values(frame, self.colour, self.scale), frame.position, frame.grid, CENTRE)
        points["colour"] = self._colours(values)
        size = max(2.0, self.longer / 250)
        self._plotter.add_mesh(points, name="water", scalars="colour", rgb=True, point_size=size, render=False, reset_camera=False)

    def _colours(self, values: Array) -> Array:
        assert self.scale is not None
        return np.rint(self.scale.colours(values)).astype(np.uint8)


def stage(size: tuple[int, int]) -> Any:
    """An empty picture with its lights."""
    pv = need("pyvista", "a 3D picture")
    quiet()
    plotter = pv.Plotter(off_screen=True, window_size=list(size), lighting="none")
    # Before depth peeling: with multisampling it loses every clear surface, and says nothing.
    plotter.render_window.SetMultiSamples(0)
    plotter.enable_depth_peeling(PEELS)
    plotter.enable_anti_aliasing("ssaa")
    plotter.set_background("white")
    for position, strength in (((-2.0, 3.0, 3.0), 0.75), ((3.0, 2.0, 1.5), 0.35), ((0.0, 2.0, -3.0), 0.3)):
        plotter.add_light(pv.Light(position=position, focal_point=(0, 0, 0), intensity=strength, light_type="camera light"))
    return plotter


def quiet() -> None:
    """VTK warns on stderr that there is no display, which is how it is meant to be."""
    logger = need("vtkmodules.vtkCommonCore", "a 3D picture").vtkLogger
    logger.SetStderrVerbosity(logger.VERBOSITY_OFF)


def look_at(plotter: Any, frame: FrameData) -> None:
    """From the front, a little above and to the right; near enough for the vessel to fill the picture."""
    points = np.asarray(contour(-frame.solid_phi, frame, NODE).points)
    if not len(points):
        points = np.array(frame.grid.origin) + np.array(list(np.ndindex(2, 2, 2))) * np.array(frame.grid.extent)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    back = SIGHT / np.linalg.norm(SIGHT)
    right = np.cross((0.0, 1.0, 0.0), back)
    right /= np.linalg.norm(right)
    up = np.cross(back, right)
    x, y, depth = ((points - middle) @ axis for axis in (right, up, back))
    slope = math.tan(math.radians(VIEW_ANGLE / 2)) * FILL
    away = float(np.max(depth + np.maximum(np.abs(x) * ASPECT, np.abs(y)) / slope))
    camera = plotter.camera
    camera.position, camera.focal_point, camera.up = tuple(middle + away * back), tuple(middle), tuple(up)
    camera.view_angle = VIEW_ANGLE
    camera.clipping_range = (0.1 * away, 10 * away)


def add_vessel(plotter: Any, frame: FrameData) -> None:
    """The walls as glass, with their edges."""
    for name in ("glass", "edges"):
        plotter.remove_actor(name, render=False)
    mesh = contour(-frame.solid_phi, frame, NODE)
    if not mesh.n_points:
        return
    glass = mesh.smooth_taubin(n_iter=SMOOTH, pass_band=PASS).compute_normals(split_vertices=False)
    colours = np.empty((glass.n_points, 4), dtype=np.uint8)
    colours[:, :3] = GLASS.colour
    colours[:, 3] = np.rint(255 * glance(glass, plotter, GLASS.face_on, GLASS.edge_on))
    glass["colour"] = colours
    plotter.add_mesh(
        glass, name="glass", scalars="colour", rgba=True, smooth_shading=True, specular=1.0, specular_power=90,
        ambient=0.4, diffuse=0.6, render=False, reset_camera=False,
    )  # fmt: skip
    edges = mesh.extract_feature_edges(feature_angle=40, boundary_edges=False, non_manifold_edges=False, manifold_edges=False)
    if edges.n_points:
        plotter.add_mesh(edges, name="edges", color=EDGE, line_width=1.5, opacity=0.6, render=False, reset_camera=False)


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
