"""A frame of a 3D run as pixels: clear water in a glass vessel, by VTK and with no display."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unstick.grid import Array
from unstick.record.frames import FrameData
from unstick.render.colours import Scale
from unstick.render.extras import need
from unstick.render.flat import cell_values
from unstick.render.glass import CENTRE, NODE, SHINE, Tint, add_vessel, at_points, contour, domain_sides, glance, standing, touches_sides

HAIR = 0.15  # cells between water and glass, so that they are two surfaces
SMOOTH, PASS = 30, 0.08  # Taubin's smoothing: rounds off the cells and keeps the volume
WIDEST, NARROWEST = 4 / 3, 0.75  # width over height of pictures
PEELS = 8
SIGHT = np.array([0.38, 0.36, 1.0])  # from the middle of the vessel to the eye
VIEW_ANGLE, FILL = 26.0, 0.95


FREE = Tint((60, 146, 218), 0.50, 0.95)
WET = Tint((20, 112, 212), 0.28, 0.88)


@dataclass(slots=True, eq=False)
class SpacePainter:
    """Draws frames of one run; the widest picture has `longer` pixels across."""

    first: FrameData
    scale: Scale | None
    colour: str = "speed"
    style: str = "surface"
    longer: int = 640
    size: tuple[int, int] = field(init=False)
    _plotter: Any = field(init=False)
    _solid: Array | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        view = View.of(self.first)
        high = round(self.longer / WIDEST)
        self.size = round(view.aspect * high), high
        self._plotter = stage(self.size)
        view.show(self._plotter)

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
        wet = contour(gap - standing(frame), frame, NODE)  # bodies in the water keep their own colour
        for name, mesh, cut, tint in (("free", free, "walls", FREE), ("wet", wet, "liquid", WET)):
            self._plotter.remove_actor(name, render=False)
            if not mesh.n_points:
                continue
            if cut == "walls":
                mesh = mesh.smooth_taubin(n_iter=SMOOTH, pass_band=PASS)
                mesh["inside"] = at_points(frame.solid_phi, mesh.points, grid, NODE) - gap
            else:
                mesh["inside"] = -at_points(frame.phi, mesh.points, grid, CENTRE)
            mesh = mesh.clip_scalar(scalars="inside", value=0.0, invert=False)
            if not mesh.n_points:
                continue
            mesh = mesh.compute_normals(split_vertices=False, consistent_normals=False)
            mesh["colour"] = self._tint(mesh, frame, tint)
            self._plotter.add_mesh(mesh, name=name, scalars="colour", rgba=True, **SHINE)

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


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """From the front, a little above and to the right; near enough for the vessel to fill the picture."""

    eye: Array
    middle: Array
    up: Array
    aspect: float  # width over height of the picture

    @classmethod
    def of(cls, frame: FrameData) -> View:
        points = np.asarray(contour(-frame.solid_phi, frame, NODE).points)
        if touches_sides(frame) or not len(points):
            points = np.array(list(itertools.product(*domain_sides(frame.grid).T)))
        back = SIGHT / np.linalg.norm(SIGHT)
        right = np.cross((0.0, 1.0, 0.0), back)
        right /= np.linalg.norm(right)
        up = np.cross(back, right)
        middle, slope, aspect = points.mean(axis=0), math.tan(math.radians(VIEW_ANGLE / 2)) * FILL, WIDEST
        for _ in range(8):  # move until as much is free on the left as on the right, and above as below
            x, y, depth = ((points - middle) @ axis for axis in (right, up, back))
            away = float(np.max(depth + np.maximum(np.abs(x) / aspect, np.abs(y)) / slope))
            across, high = (seen / (away - depth) for seen in (x, y))
            for part, axis in ((across, right), (high, up)):
                middle = middle + 0.5 * float(part.min() + part.max()) * away * axis
            aspect = float(np.clip(np.ptp(across) / np.ptp(high), NARROWEST, WIDEST))
        return cls(middle + away * back, middle, up, aspect)

    def show(self, plotter: Any) -> None:
        camera, away = plotter.camera, float(np.linalg.norm(self.eye - self.middle))
        camera.position, camera.focal_point, camera.up = tuple(self.eye), tuple(self.middle), tuple(self.up)
        camera.view_angle = VIEW_ANGLE
        camera.clipping_range = (0.1 * away, 10 * away)
        plotter.camera_set = True  # else the first picture would choose a camera of its own
