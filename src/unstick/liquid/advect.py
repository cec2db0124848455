"""Motion with the velocity of the grid: particles along their paths, fields back along theirs, and particles out of solids."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal

import numpy as np

from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.kernels import particles_walls as walls
from unstick.kernels import paths as kernels
from unstick.liquid.state import MARGIN, Particles
from unstick.liquid.transfer import lattice

Order = Literal["linear", "cubic"]

BETA = 1.5  # how far out of a solid a particle is pushed, in depths; Karlsson, eq. 27
INSET = 1e-6  # cells between the sides of the domain and the particles nearest to them


@dataclass(frozen=True, slots=True)
class Path:
    """A Runge-Kutta path: k1 = u(x), k2 = u(x + a2 dt k1), k3 = u(x + a3 dt k2), and x moves by dt (b1 k1 + b2 k2 + b3 k3)."""

    a2: float
    a3: float
    b1: float
    b2: float
    b3: float


PATHS: dict[str, Path] = {
    "rk2": Path(0.5, 0.0, 0.0, 1.0, 0.0),  # midpoint; Karlsson, eq. 25-26
    "rk3": Path(0.5, 0.75, 2.0 / 9.0, 3.0 / 9.0, 4.0 / 9.0),  # Ralston 1962
}


def move(particles: Particles, velocity: FaceField, dt: float, path: Path) -> None:
    """Move the particles along their paths through the velocity, which stays as it is for the time."""
    grid = velocity.grid
    kernels.move(particles.position, *velocity.components, dt, astuple(path), grid.shape3, *lattice(grid))


def push_out(particles: Particles, grid: Grid, solid_phi: Array, halt: bool = False, solid_velocity: FaceField | None = None) -> None:
    """Push particles out of solids (Karlsson, eq. 27) and hold them in the domain, which is `grid` without its margin.

    `halt` takes from those that were pushed the part of their velocity that leads into the solid, which moves with `solid_velocity`.
    """
    origin, inverse, kz = lattice(grid)
    low, high = _box(grid)
    still = np.zeros((1, 1, 1))
    u, v, w = (still, still, still) if solid_velocity is None else solid_velocity.components
    moving = halt and solid_velocity is not None
    solid = np.ascontiguousarray(solid_phi, dtype=np.float64).reshape(grid.node_shape3)
    walls.push_out(particles.position, particles.velocity, solid, BETA, low, high, halt, moving, u, v, w, grid.shape3, origin, inverse, kz)


def _box(grid: Grid) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Corners of the box in which particles are held; in 2D z stays in the middle of the layer."""
    h, middle = grid.spacing, 0.5 * grid.spacing
    low = [o + (MARGIN + INSET) * h for o in grid.origin]
    high = [o + (n - MARGIN - INSET) * h for o, n in zip(grid.origin, grid.shape, strict=True)]
    (a, b, c), (d, e, f) = (*low, middle)[:3], (*high, middle)[:3]
    return (a, b, c), (d, e, f)


def advect_faces(velocity: FaceField, dt: float, path: Path, order: Order = "cubic") -> FaceField:
    """The velocity carried by itself, semi-Lagrangian (Lai, section 3.3). Cubic values are held in the range of their neighbours:
    next to the liquid's surface the velocity ends within a few cells, and a cubic would swing there."""
    out = FaceField(velocity.grid)
    for axis in range(velocity.grid.dimension):
        shift = tuple(0.0 if a == axis else 0.5 for a in range(3))
        _carry(velocity.components[axis], shift, velocity, dt, path, order, True, out.components[axis])
    return out


def advect_cells(values: Array, velocity: FaceField, dt: float, path: Path, order: Order = "cubic", limited: bool = False) -> Array:
    """Values at cell centres carried by the velocity, semi-Lagrangian; `limited` holds cubic ones in the range of their neighbours."""
    out = np.empty_like(values)
    _carry(values, (0.5, 0.5, 0.5), velocity, dt, path, order, limited, out)
    return out


def _carry(
    values: Array, shift: tuple[float, ...], velocity: FaceField, dt: float, path: Path, order: Order, limited: bool, out: Array
) -> None:
    if order not in ("linear", "cubic"):
        raise InvalidSystem(f"order is {order!r}; it must be 'linear' or 'cubic'")
    grid = velocity.grid
    s, (_, _, kz) = dt / grid.spacing, lattice(grid)
    kernels.carry(values, shift, *velocity.components, s, astuple(path), grid.shape3, kz, order == "cubic", limited, out)
