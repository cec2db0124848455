"""Where the liquid is in a step: from the particles alone, or from a distance that moves with the liquid and is set right by them.

Both give distances at cell centres, negative in the liquid, that go on into solids: a surface meets a wall as it comes, liquid that
touches a wall fills the cells that the wall cuts, and a gap stays a gap (see kernels/surface_walls.py).
"""

from __future__ import annotations

import abc
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter

from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.solid import solid_at_nodes, wall_snap
from unstick.grid import Array, Grid
from unstick.kernels import surface_cells, surface_correct, surface_particles, surface_walls
from unstick.liquid.advect import Path, advect_cells
from unstick.liquid.planes import in_turn
from unstick.liquid.redistance import Effort, redistance, spread_out

if TYPE_CHECKING:
    from unstick.liquid.scene import Numerics
    from unstick.liquid.state import State

__all__ = ["SURFACES", "FromParticles", "LevelSet", "Surface", "make_surface", "redistance"]

BAND = 5.0  # cells on each side of the surface in which phi is a distance
WITHIN = 2.0  # cells into solids to which phi goes on: all cut cells and one more
ROUGHLY = Effort(layer=3, last=1, settled=0.02)  # distances away from the surface need not be better
LINKS = 5  # cells that air in a wall may be away from air in the open


class Index(Protocol):
    """Particles in the order of their cells."""

    @property
    def start(self) -> Array:
        """The particles of cell c (C order) are start[c]:start[c + 1]."""


class Surface(abc.ABC):
    """A way to tell where the liquid is."""

    __slots__ = ()

    @abc.abstractmethod
    def locate(self, state: State, index: Index, solid_phi: Array) -> Array:
        """A new phi at cell centres for this step."""

    @abc.abstractmethod
    def advance(self, state: State, velocity: FaceField, dt: float, path: Path) -> None:
        """Carry state.phi along with the liquid, if this surface moves it."""


@dataclass(frozen=True, slots=True)
class FromParticles(Surface):
    """A smooth surface around the particles."""

    per_axis: int = 2  # particles along each axis of a full cell

    def locate(self, state: State, index: Index, solid_phi: Array) -> Array:
        d = state.grid.dimension
        rule = KERNELS[d]
        near = _Near.read(state.grid, solid_phi, rule.radius)
        gather = _tables(d, self.per_axis)
        low, high = _active(index.start, near.grid, int(BAND) + 2)
        phi = np.empty(near.grid.shape3)
        codes = np.zeros(phi.shape, dtype=np.uint8)
        planes, kz, h = near.planes, near.kz, near.grid.spacing
        far = surface_cells.FAR * h
        cells, count = _lists(phi)
        surface_cells.fill_occupied(codes, index.start, near.kinds, low, high, planes)
        surface_cells.sort_out(phi, codes, near.kinds, low, high, rule.reach, kz, far, planes, cells, count)
        for _ in range(2):
            surface_particles.measure(
                phi, near.kinds, near.solid, state.particles.position, index.start, cells, count, planes, rule.reach, kz,
                rule.radius, near.origin, 1.0 / h, *gather, THIN, SLACK, GAP, rule.level, CROWD * self.per_axis**d,
            )  # fmt: skip
            surface_cells.find_bare(phi, near.kinds, low, high, far, planes, cells, count)
        return _finish(near, phi, index.start, low, high, near_surface=0.8 * rule.radius, keep=0.0)

    def advance(self, state: State, velocity: FaceField, dt: float, path: Path) -> None:
        """The particles carry the surface."""


@dataclass(frozen=True, slots=True)
class LevelSet(Surface):
    """A distance that is advected (cubic interpolation), corrected by particles and redistanced."""

    def locate(self, state: State, index: Index, solid_phi: Array) -> Array:
        near = _Near.read(state.grid, solid_phi, BESIDE)
        phi = np.array(state.phi, dtype=np.float64).reshape(near.grid.shape3)
        position, h, kz, planes = state.particles.position, near.grid.spacing, near.kz, near.planes
        cells, count = _lists(phi)
        value = np.empty(cells.shape)
        surface_correct.find_dry(
            phi, near.kinds, near.solid, position, index.start, near.origin, h, kz, LOST, DROP, MISSING, DEEP, planes, cells, value, count
        )
        surface_correct.dry(phi, cells, value, count, h, kz, planes)
        flags = np.zeros(len(position), dtype=np.uint8)
        surface_correct.find_escaped(phi, position, index.start, near.origin, h, kz, ESCAPED * h, planes, flags, cells, count)
        surface_correct.wet(phi, position, index.start, flags, near.origin, h, kz, ESCAPED * h, cells, count, planes)
        nx, ny, nz = phi.shape
        low, high = np.zeros((nx, ny), dtype=np.int64), np.full((nx, ny), nz, dtype=np.int64)
        return _finish(near, phi, index.start, low, high, near_surface=KEEP, keep=KEEP)

    def advance(self, state: State, velocity: FaceField, dt: float, path: Path) -> None:
        state.phi = advect_cells(state.phi, velocity, dt, path, order="cubic")


SURFACES: dict[str, type[Surface]] = {"particles": FromParticles, "level-set": LevelSet}


def make_surface(numerics: Numerics) -> Surface:
    """The surface that a scene asks for."""
    if numerics.surface not in SURFACES:
        raise InvalidSystem(f"surface is {numerics.surface!r}; it must be one of {', '.join(SURFACES)}")
    return FromParticles(numerics.particles_per_axis) if numerics.surface == "particles" else LevelSet()


# Of the particles' surface.
THIN = 2.0  # liquid half as dense as at the start is still liquid
CROWD = 1.25  # times the particles of a full cell: no cell counts for more
SLACK, GAP = 0.1, 0.2  # radii by which particles are off a wall when a gap opens there


@dataclass(frozen=True, slots=True)
class Kernel:
    """The neighbourhood of a cell whose particles tell its distance."""

    radius: float  # cells
    reach: int  # cells to each side that the radius touches
    level: float  # cells, calibrated on flat surfaces and spheres


KERNELS = {2: Kernel(radius=1.75, reach=2, level=-0.015), 3: Kernel(radius=1.5, reach=1, level=-0.012)}

# Of the level set's correction; in cells.
BESIDE = 2.0  # nearer to walls than this, particles may be missing because the wall is there
LOST = 1.0  # a liquid cell whose nearest particle is farther has lost its liquid
DROP = 0.3  # radius of the liquid around a particle there
MISSING = 1.5  # cells of liquid that must be missing beside a wall
DEEP = 2.0  # voids deeper than this close by themselves
ESCAPED = 0.5  # a particle so far outside brings a drop of that radius with it
KEEP = 3.0  # distances up to this stay as advected if they agree with the redistanced ones


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """What both surfaces read."""

    grid: Grid
    solid: Array
    kinds: Array
    origin: tuple[float, float, float]
    planes: Array

    @property
    def kz(self) -> int:
        return self.grid.dimension - 2

    @classmethod
    def read(cls, grid: Grid, solid_phi: Array, beside: float) -> _Near:
        solid = solid_at_nodes(grid, solid_phi)
        planes = in_turn(grid.shape3[0])
        kinds = np.empty(grid.shape3, dtype=np.uint8)
        h = grid.spacing
        surface_cells.fill_kinds(kinds, solid, grid.dimension - 2, beside * h, WITHIN * h, wall_snap(grid, solid), planes)
        origin = (*grid.origin, 0.0, 0.0)[:3]
        return cls(grid, solid, kinds, (origin[0], origin[1], origin[2]), planes)


def _lists(phi: Array) -> tuple[Array, Array]:
    """Room for a list of cells in each plane (memory is taken as lists grow), and how many there are."""
    nx, ny, nz = phi.shape
    return np.empty((nx, ny * nz), dtype=np.int32), np.zeros(nx, dtype=np.int64)


def _active(start: Array, grid: Grid, width: int) -> tuple[Array, Array]:
    """For each row of cells the range within `width` cells of particles."""
    nx, ny, nz = grid.shape3
    low, high = np.zeros((nx, ny), dtype=np.int64), np.zeros((nx, ny), dtype=np.int64)
    surface_cells.occupied_extents(start, nz, low, high)
    low[high == 0] = nz
    size = 2 * width + 1
    low = np.maximum(minimum_filter(low, size, mode="nearest") - width, 0)
    high = np.minimum(maximum_filter(high, size, mode="nearest") + width * (grid.dimension - 2), nz)
    none = high <= low
    low[none], high[none] = 0, 0
    return low, high


def _finish(near: _Near, phi: Array, start: Array, low: Array, high: Array, near_surface: float, keep: float) -> Array:
    """Into the walls, and away from the surface."""
    h, kz, planes = near.grid.spacing, near.kz, near.planes
    far = surface_cells.FAR * h
    cells, count = _lists(phi)
    fixed, airy, next_airy = (np.zeros(phi.shape, dtype=np.uint8) for _ in range(3))
    codes = np.empty(phi.shape, dtype=np.uint8)
    surface_walls.fill_open(codes, phi, near.kinds, near_surface * h, low, high, planes)
    surface_walls.extend(phi, near.kinds, codes, start, low, high, kz, h, near_surface, far, planes, fixed, cells, count)
    for _ in range(LINKS):
        surface_walls.reach_air(phi, near.kinds, cells, count, planes, airy, next_airy)
        airy, next_airy = next_airy, airy
    surface_walls.drown(phi, near.kinds, cells, count, planes, airy, fixed, kz, far)
    spread_out(phi, fixed, low, high, h, kz, BAND, keep, ROUGHLY)
    return phi


@functools.lru_cache(maxsize=8)
def _tables(d: int, per_axis: int) -> tuple[float, Array, Array, Array, Array]:
    """Weight of a full neighbourhood; the parts of weight and moment that its cells hold; distances by offset and by filled part."""
    rule = KERNELS[d]
    fine, r = 24, rule.reach
    line = (np.arange((2 * r + 1) * fine) + 0.5) / fine - (r + 0.5)
    x = np.stack(np.meshgrid(*([line] * d), indexing="ij"), axis=-1)
    weight = np.maximum(1.0 - (x**2).sum(axis=-1) / rule.radius**2, 0.0) ** 3
    shape = [n for _ in range(d) for n in (2 * r + 1, fine)]
    inside = tuple(range(1, 2 * d, 2))
    share = weight.reshape(shape).sum(axis=inside).reshape(-1)
    moment = np.zeros((share.size, 3))
    for axis in range(d):
        moment[:, axis] = (weight * x[..., axis]).reshape(shape).sum(axis=inside).reshape(-1)
    whole = share.sum()
    offset, fill = _half_space(d)
    return float(whole / fine**d * per_axis**d), share / whole, moment / whole, offset, fill


def _half_space(d: int) -> tuple[Array, Array]:
    """How far, in radii, a point is from a half-space of liquid, by the offset of the liquid's mean and by the filled part (both 0 to 1).

    Across the surface the weights add up to (1 - z^2)^4 in 3D, (1 - z^2)^(7/2) in 2D.
    """
    z = np.linspace(-1.0, 1.0, 20001)
    across = (1.0 - z * z) ** (4.0 if d == 3 else 3.5)
    step = z[1] - z[0]
    below = np.concatenate([[0.0], np.cumsum(0.5 * (across[1:] + across[:-1]))]) * step
    filled = (below[-1] - below) / below[-1]
    power = 5.0 if d == 3 else 4.5
    moment = (1.0 - z * z) ** power / (2.0 * power) / below[-1]
    mean = np.where(filled > 1e-9, moment / np.maximum(filled, 1e-9), 1.0)
    mean = np.maximum.accumulate(mean)
    table = np.linspace(0.0, 1.0, 513)
    return np.interp(table, mean, z), np.interp(table, filled[::-1], z[::-1])
