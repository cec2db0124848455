"""A frame of a 2D run as pixels: walls in grey, liquid in colours, orange where it lets go of a wall."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

from unstick.grid import Array
from unstick.record.frames import FrameData
from unstick.render.colours import ORANGE, WOOD, Scale
from unstick.render.raster import F32, Window, coverage, discs, line, over, spread

WHITE, GREY, INK, RIM, SHORE = (255, 255, 255), (222, 222, 219), (58, 60, 64), (150, 150, 150), (10, 38, 84)
WALL = 0.022  # thickness of a vessel's wall, as a part of the picture's longer side
MOST_WALL = 2.5  # cells; the grid has three beyond the domain


@dataclass(frozen=True, slots=True, eq=False)
class WallLayers:
    """How much of each pixel the parts of the walls cover."""

    filled: Array
    beyond: Array  # what lies behind a vessel's wall: left white
    rim: Array  # the outer line of a vessel's wall
    edge: Array  # the line between wall and open
    broad: Array  # the same, broad enough for a mark


@dataclass(slots=True, eq=False)
class FlatPainter:
    """Draws frames of one run. `longer` is the picture's longer side in pixels."""

    first: FrameData
    scale: Scale
    colour: str = "speed"
    style: str = "particles"
    longer: int = 720
    window: Window = field(init=False)
    _solid: Array | None = field(init=False, default=None)
    _wall: WallLayers | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.window = view(self.first, self.longer)

    @property
    def size(self) -> tuple[int, int]:
        return self.window.width, self.window.height

    def paint(self, frame: FrameData) -> Array:
        """uint8 (height, width, 3)."""
        picture = np.full((self.window.height, self.window.width, 3), 255, dtype=F32)
        if self.style == "particles":
            self._particles(picture, frame)
        else:
            self._surface(picture, frame)
        walls = self._walls(frame)
        over(picture, WHITE, walls.beyond)
        over(picture, GREY, walls.filled)
        if frame.bodies is not None:
            origin = frame.grid.origin[0], frame.grid.origin[1]
            over(picture, WOOD, coverage(self.window.sample(frame.bodies.phi[:, :, 0], origin, frame.grid.spacing)))
        over(picture, RIM, walls.rim)
        over(picture, INK, walls.edge)
        self._marks(picture, frame, walls.broad)
        return np.rint(np.clip(picture, 0, 255)).astype(np.uint8)

    def _values(self, frame: FrameData) -> Array:
        """What is coloured, by cell, carried on beyond the liquid."""
        return cell_values(frame, self.colour, self.scale)[:, :, 0]

    def _particles(self, picture: Array, frame: FrameData) -> None:
        x, y = frame.position[:, 0], frame.position[:, 1]
        values = frame.speed if self.colour == "speed" else at_points(self._values(frame), frame)
        radius = max(0.75, 0.4 * frame.grid.spacing / self.window.pixel)
        part, mean = discs(self.window, x, y, values, radius)
        over(picture, self.scale.colours(mean), part)

    def _surface(self, picture: Array, frame: FrameData) -> None:
        first, h = centres(frame), frame.grid.spacing
        distance = self.window.sample(frame.phi[:, :, 0], first, h, cubic=True)
        values = self.window.sample(self._values(frame), first, h)
        over(picture, self.scale.colours(values), coverage(distance))
        over(picture, SHORE, 0.8 * line(distance, max(1.0, self.longer / 600)))

    def _marks(self, picture: Array, frame: FrameData, edge: Array) -> None:
        """The wall's edge beside cells that let go, in a broad orange line."""
        if not len(frame.detached):
            return
        marks = np.zeros(frame.grid.shape3[:2], dtype=F32)
        marks.reshape(-1)[frame.detached] = 1.0
        near = self.window.sample(ndimage.maximum_filter(marks, 3), centres(frame), frame.grid.spacing)
        over(picture, ORANGE, edge * np.clip(2 * near - 0.5, 0, 1))

    def _walls(self, frame: FrameData) -> WallLayers:
        """Kept while the walls stand still."""
        if self._wall is None or self._solid is None or not np.array_equal(self._solid, frame.solid_phi):
            self._solid, self._wall = frame.solid_phi, self._draw_walls(frame)
        return self._wall

    def _draw_walls(self, frame: FrameData) -> WallLayers:
        h, origin = frame.grid.spacing, frame.grid.origin
        distance = self.window.sample(frame.solid_phi[:, :, 0], (origin[0], origin[1]), h)
        thick = wall_thickness(self.window, h)
        # Solid deeper than that and open to the edge of the picture is not drawn: what is around the liquid looks like a vessel.
        outer = distance + thick
        piece, _ = ndimage.label(outer < 0)
        rim = np.unique(np.concatenate([piece[0], piece[-1], piece[:, 0], piece[:, -1]]))
        outside = ndimage.binary_dilation(np.isin(piece, rim[rim > 0]), iterations=2)
        beyond = np.where(outside, coverage(outer), 0.0)
        stroke = max(1.2, self.longer / 420)
        return WallLayers(
            coverage(distance) * (1 - beyond),
            beyond,
            np.where(outside, line(outer, 0.5 * stroke), 0.0),
            line(distance, stroke),
            line(distance, 3.2 * stroke),
        )


def view(frame: FrameData, longer: int) -> Window:
    """Everything open and the wall around it, `longer` pixels along the longer side."""
    grid = frame.grid
    low, high = open_box(frame)
    h = grid.spacing
    around = min(WALL * max(high - low), MOST_WALL * h) + 0.012 * max(high - low)
    low, high = low - around, high + around
    pixel = float(max(high - low)) / longer
    width, height = (max(16, round(float(s) / pixel)) for s in (high - low))
    return Window(float(low[0]), float(high[1]), pixel, width, height)


def open_box(frame: FrameData) -> tuple[Array, Array]:
    """Opposite corners of what is not solid, in x and y."""
    grid = frame.grid
    inside = frame.solid_phi.max(axis=2) > 1e-6 * grid.spacing
    corners = []
    for axis in (0, 1):
        at = np.flatnonzero(inside.any(axis=1 - axis))
        ends = (at[0] - 1, at[-1] + 1) if len(at) else (0, grid.shape[axis])
        corners.append([grid.origin[axis] + e * grid.spacing for e in ends])
    box = np.array(corners)
    return box[:, 0], box[:, 1]


def wall_thickness(window: Window, spacing: float) -> float:
    return min(WALL * window.pixel * max(window.width, window.height), MOST_WALL * spacing)


def centres(frame: FrameData) -> tuple[float, float]:
    """Where the first cell's centre lies."""
    half = 0.5 * frame.grid.spacing
    return frame.grid.origin[0] + half, frame.grid.origin[1] + half


def cell_values(frame: FrameData, colour: str, scale: Scale) -> Array:
    """Speed or pressure at cell centres in the unit of the scale, carried on beyond the liquid; also in 3D."""
    shape = frame.grid.shape3
    flat = shape[2] == 1
    if colour == "pressure":
        unit = 1e-3 if "kPa" in scale.label else 1.0
        present = (frame.phi < 0) & (frame.p != 0)
        values = unit * frame.p
        reach = 0.6
    else:
        count, values = binned(frame)
        present, reach = count > 0, 0.9
    if flat:
        return spread(values[:, :, 0], present[:, :, 0], reach)[:, :, None]
    return spread(values, present, reach)


def binned(frame: FrameData) -> tuple[Array, Array]:
    """How many particles each cell has, and their mean speed."""
    shape = frame.grid.shape3
    origin = np.zeros(3)
    origin[: frame.grid.dimension] = frame.grid.origin
    cell = np.floor((frame.position - origin) / frame.grid.spacing).astype(np.intp)
    cell = np.clip(cell, 0, np.array(shape) - 1)
    at = (cell[:, 0] * shape[1] + cell[:, 1]) * shape[2] + cell[:, 2]
    size = shape[0] * shape[1] * shape[2]
    count = np.bincount(at, minlength=size)
    total = np.bincount(at, frame.speed, size)
    return count.reshape(shape), (total / np.maximum(count, 1)).reshape(shape)


def at_points(values: Array, frame: FrameData) -> Array:
    """2D cell values at the particles, linear."""
    first = centres(frame)
    at = [(frame.position[:, a] - first[a]) / frame.grid.spacing for a in (0, 1)]
    return np.asarray(ndimage.map_coordinates(values, at, order=1, mode="nearest"))
