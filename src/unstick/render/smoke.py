"""A frame of a gas as pixels: smoke by its density or its warmth in 2D; in 3D smoke in the light, by rays of our own."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import map_coordinates

from unstick.grid import Array
from unstick.kernels import march as kernels
from unstick.liquid.state import MARGIN
from unstick.record.frames import FrameData
from unstick.render.colours import Scale, round_up
from unstick.render.extras import need
from unstick.render.flat import GREY, INK, RIM, WHITE, FlatPainter, centres
from unstick.render.raster import F32, over

# From the page's white to ink; and from white through fire to dark.
SMOKE = ((255, 255, 255), (214, 217, 224), (160, 166, 180), (104, 111, 130), (58, 63, 82), (24, 26, 38))
FIRE = ((255, 255, 255), (255, 236, 170), (253, 190, 90), (236, 112, 48), (178, 40, 42), (84, 8, 36))
SIGHT = np.array([0.32, 0.2, 1.0])  # from the middle of the box to the eye
LAMP = np.array([-0.45, 1.0, 0.35])  # towards the light; mostly from above
VIEW_ANGLE, FILL = 24.0, 0.94  # degrees; part of the picture that the box fills
GROUND, EDGE = (30, 35, 46), (84, 92, 108)
PALE, BALL = np.array((244, 246, 252), dtype=F32), np.array((226, 122, 52), dtype=F32)
THICK = 30.0  # 1/m: what smoke of density 1 takes from light in a metre
GLOW, SHADE = 0.24, 0.3  # light that comes from everywhere, on smoke and on solids


def smoke_scale(highest: float) -> Scale:
    return Scale("smoke, ", 0.0, round_up(highest), SMOKE)


def warmth_scale(highest: float) -> Scale:
    return Scale("above ambient, K", 0.0, round_up(highest), FIRE)


class SmokeFlatPainter(FlatPainter):
    """Draws frames of a 2D gas; walls are drawn as a liquid's are."""

    def paint(self, frame: FrameData) -> Array:
        assert frame.density is not None and frame.excess is not None
        values = frame.excess if self.colour == "temperature" else frame.density
        seen = self.window.sample(values[:, :, 0], centres(frame), frame.grid.spacing, cubic=True)
        picture = self.scale.colours(np.clip(seen, 0.0, None))
        walls = self._walls(frame)
        for colour, part in ((WHITE, walls.beyond), (GREY, walls.filled), (RIM, walls.rim), (INK, walls.edge)):
            over(picture, colour, part)
        return np.asarray(np.rint(np.clip(picture, 0, 255)).astype(np.uint8))


@dataclass(slots=True, eq=False)
class SmokeSpacePainter:
    """Draws frames of a 3D gas: what light leaves of it, from above and a little from the left."""

    first: FrameData
    longer: int = 640
    size: tuple[int, int] = field(init=False)
    _view: View = field(init=False)

    def __post_init__(self) -> None:
        self._view = View.of(self.first, self.longer)
        self.size = self._view.width, self._view.height

    def paint(self, frame: FrameData) -> Array:
        """uint8 (height, width, 3)."""
        assert frame.density is not None
        view, grid = self._view, frame.grid
        density = np.ascontiguousarray(np.clip(frame.density, 0.0, None), dtype=np.float64)
        solid = np.ascontiguousarray(frame.solid_phi / grid.spacing, dtype=np.float64)
        light = lit(density, solid, THICK * grid.spacing)
        out, hit = np.empty((view.height, view.width, 2)), np.empty((view.height, view.width))
        low, high = inner_box(grid.shape3)
        kernels.march(density, light, solid, THICK * grid.spacing, GLOW, view.eye, view.corner, view.right, view.down, low, high, out, hit)
        picture = view.background()
        self._solids(picture, solid, light, hit)
        picture = out[..., 1:].astype(F32) * picture + out[..., :1].astype(F32) * PALE
        return np.asarray(np.rint(np.clip(picture, 0, 255)).astype(np.uint8))

    def _solids(self, picture: Array, solid: Array, light: Array, hit: Array) -> None:
        """In place: solids, matt, in what light the smoke lets through to them."""
        seen = hit > 0
        if not seen.any():
            return
        view = self._view
        row, column = np.nonzero(seen)
        way = view.corner + column[:, None] * view.right + row[:, None] * view.down
        way = way / np.linalg.norm(way, axis=1)[:, None]
        point = view.eye + hit[seen][:, None] * way
        normal = np.stack([map_coordinates(part, point.T, order=1, mode="nearest") for part in np.gradient(solid)], axis=1)
        normal = normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None]
        falls = map_coordinates(light, (point + 1.2 * normal - 0.5).T, order=1, mode="nearest")
        facing = np.clip(normal @ (LAMP / np.linalg.norm(LAMP)), 0.0, 1.0)
        picture[seen] = np.clip(SHADE + (1.0 - SHADE) * facing * falls, 0.0, 1.0)[:, None] * BALL


def lit(density: Array, solid: Array, thickness: float) -> Array:
    """The part of the lamp's light that reaches each cell, layer by layer from above; solids (in cells, at nodes) let none through."""
    shift = LAMP / LAMP[1]
    length = float(np.linalg.norm(shift))
    centre = solid
    for axis in range(3):
        n = centre.shape[axis] - 1
        centre = 0.5 * (centre.take(range(n), axis=axis) + centre.take(range(1, n + 1), axis=axis))
    inside = np.clip(centre + 0.5, 0.0, 1.0)
    # The margin is no roof: light falls into the box from everywhere.
    low, high = inner_box(density.shape)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    passing = np.ones(density.shape)
    passing[box] = (np.exp(-thickness * length * density) * inside)[box]
    out = np.ones(density.shape)
    for j in range(density.shape[1] - 2, -1, -1):
        above = np.sqrt(passing[:, j + 1] * passing[:, j]) * out[:, j + 1]
        out[:, j] = _shifted(_shifted(above, float(shift[0]), 0), float(shift[2]), 1)
    return out


def _shifted(layer: Array, cells: float, axis: int) -> Array:
    """Values from `cells` further along the axis, linear; light beyond the edge."""
    whole = math.floor(cells)
    part, around = cells - whole, abs(whole) + 1
    wide = np.pad(layer, [(around, around) if a == axis else (0, 0) for a in range(2)], constant_values=1.0)
    n = layer.shape[axis]
    first = wide.take(range(around + whole, around + whole + n), axis=axis)
    return np.asarray((1.0 - part) * first + part * wide.take(range(around + whole + 1, around + whole + 1 + n), axis=axis))


def inner_box(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Opposite corners of the domain, in cells of the grid with margin."""
    return np.full(3, float(MARGIN)), np.array(shape, dtype=np.float64) - MARGIN


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """From the front, a little above and to the right; pixel (row, column) looks along corner + column * right + row * down."""

    eye: Array  # in cells, as all points
    corner: Array
    right: Array
    down: Array
    width: int
    height: int
    edges: tuple[tuple[float, float, float, float], ...]  # of the domain, in pixels

    @classmethod
    def of(cls, frame: FrameData, longer: int) -> View:
        low, high = inner_box(frame.grid.shape3)
        points = np.array(list(itertools.product(*zip(low, high, strict=True))))
        back = SIGHT / np.linalg.norm(SIGHT)
        right = np.cross((0.0, 1.0, 0.0), back)
        right /= np.linalg.norm(right)
        up = np.cross(back, right)
        middle, slope = 0.5 * (low + high), math.tan(math.radians(VIEW_ANGLE / 2)) * FILL
        away = max(float(p @ back + max(abs(p @ right), abs(p @ up)) / slope) for p in points - middle)
        seen = [((p @ right) / (away - p @ back), (p @ up) / (away - p @ back)) for p in points - middle]
        wide, high_end = (max(abs(s[a]) for s in seen) / FILL for a in (0, 1))
        pixel = 2.0 * max(wide, high_end) / longer
        width, height = (2 * max(8, round(extent / pixel)) for extent in (wide, high_end))
        corner = -back + up * pixel * (0.5 * height - 0.5) - right * pixel * (0.5 * width - 0.5)
        flat = [(0.5 * width + x / pixel, 0.5 * height - y / pixel) for x, y in seen]
        pairs = [(a, b) for a, b in itertools.combinations(range(8), 2) if (points[a] != points[b]).sum() == 1]
        lines = tuple((*flat[a], *flat[b]) for a, b in pairs)
        return cls(middle + away * back, corner, right * pixel, -up * pixel, width, height, lines)

    def background(self) -> Array:
        """The box on a dark ground."""
        page = need("PIL.Image", "a picture").new("RGB", (2 * self.width, 2 * self.height), GROUND)
        draw = need("PIL.ImageDraw", "a picture").Draw(page)
        for line in self.edges:
            draw.line([2.0 * x for x in line], fill=EDGE, width=3)
        small = np.asarray(page, dtype=F32).reshape(self.height, 2, self.width, 2, 3)
        return np.asarray(small.mean(axis=(1, 3)))
