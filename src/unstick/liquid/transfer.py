"""Velocities between particles and grid: PIC, the FLIP/PIC blend, APIC, and none for velocities that live on the grid."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.kernels import particles_transfer as kernels

if TYPE_CHECKING:
    from unstick.liquid.particles import CellIndex
    from unstick.liquid.scene import Numerics
    from unstick.liquid.state import Particles

Known = tuple[Array, Array, Array]  # uint8 per face, 1 where particles reached it


def lattice(grid: Grid) -> tuple[tuple[float, float, float], float, int]:
    """What particle kernels need of a grid: its origin with three coordinates, 1 / spacing, and the step along z (0 in 2D)."""
    x, y, z = (*grid.origin, 0.0)[:3]
    return (x, y, z), 1.0 / grid.spacing, grid.dimension - 2


class Transfer(abc.ABC):
    """How velocities come from particles to the faces of the grid, and back after the projection."""

    __slots__ = ()
    carries_velocity: ClassVar[bool] = True  # whether particles do; if not, velocities live on the grid
    affine: ClassVar[bool] = False  # whether particles carry the gradient of their velocity

    @abc.abstractmethod
    def to_grid(self, particles: Particles, index: CellIndex, velocity: FaceField) -> tuple[FaceField, Known]:
        """(velocity, where it is known): weighted means of the sorted particles, zero where none reaches."""

    @abc.abstractmethod
    def to_particles(self, particles: Particles, before: FaceField, after: FaceField, index: CellIndex | None = None) -> None:
        """Give the particles what the step made of the velocity `before`. `index` says in which cells they are, if that is known."""


@dataclass(frozen=True, slots=True)
class Pic(Transfer):
    """Particles take the grid's velocity: stable, and much too viscous."""

    def to_grid(self, particles: Particles, index: CellIndex, velocity: FaceField) -> tuple[FaceField, Known]:
        return splat(particles, index, affine=False)

    def to_particles(self, particles: Particles, before: FaceField, after: FaceField, index: CellIndex | None = None) -> None:
        sample(particles, after)


@dataclass(frozen=True, slots=True)
class Flip(Transfer):
    """Particles take the grid's change of velocity, blended with its new value (Karlsson, eq. 22: alpha = 1 - flip)."""

    flip: float = 0.97

    def __post_init__(self) -> None:
        if not 0.0 <= self.flip <= 1.0:
            raise InvalidSystem(f"flip is {self.flip!r}; it is the part of FLIP in the blend, from 0 (only PIC) to 1")

    def to_grid(self, particles: Particles, index: CellIndex, velocity: FaceField) -> tuple[FaceField, Known]:
        return splat(particles, index, affine=False)

    def to_particles(self, particles: Particles, before: FaceField, after: FaceField, index: CellIndex | None = None) -> None:
        grid = after.grid
        u, v, w = (np.empty_like(c) for c in after.components)
        start = np.zeros(0, dtype=np.int64) if index is None else index.start
        for old, new, change in zip(before.components, after.components, (u, v, w), strict=True):
            kernels.change(old, new, self.flip, start, grid.shape3, change)
        kernels.gather(particles.position, particles.velocity, u, v, w, self.flip, grid.shape3, *lattice(grid))


@dataclass(frozen=True, slots=True)
class Apic(Transfer):
    """Particles carry an affine velocity, which loses no rotation (Jiang et al. 2015)."""

    affine: ClassVar[bool] = True

    def to_grid(self, particles: Particles, index: CellIndex, velocity: FaceField) -> tuple[FaceField, Known]:
        return splat(particles, index, affine=True)

    def to_particles(self, particles: Particles, before: FaceField, after: FaceField, index: CellIndex | None = None) -> None:
        sample(particles, after)


@dataclass(frozen=True, slots=True)
class SemiLagrangian(Transfer):
    """Velocities live on the grid and are carried there (Lai, section 3.3); particles only mark where the liquid is."""

    carries_velocity: ClassVar[bool] = False

    def to_grid(self, particles: Particles, index: CellIndex, velocity: FaceField) -> tuple[FaceField, Known]:
        u, v, w = (np.ones(c.shape, dtype=np.uint8) for c in velocity.components)
        return velocity, (u, v, w)

    def to_particles(self, particles: Particles, before: FaceField, after: FaceField, index: CellIndex | None = None) -> None:
        sample(particles, after)  # nothing of the method needs it, but pictures colour particles by their speed


def splat(particles: Particles, index: CellIndex, affine: bool) -> tuple[FaceField, Known]:
    """Weighted means of sorted particles on the faces, with linear weights."""
    grid = index.grid
    at = (index.start, grid.shape3)
    out = FaceField(grid)
    u, v, w = (np.zeros(c.shape, dtype=np.uint8) for c in out.components)
    # Sums and weights side by side. Only rows near particles are ever touched, so the rest takes no memory.
    pu, pv, pw = pairs = tuple(np.empty((*c.shape, 2)) for c in out.components)
    base = _base(particles)
    for pair in pairs[: grid.dimension]:
        kernels.clear(pair, *at)
    if affine:
        kernels.splat_affine(pu, pv, pw, particles.position, particles.velocity, particles.affine, base, *at, *lattice(grid))
    else:
        kernels.splat(pu, pv, pw, particles.position, particles.velocity, base, *at, *lattice(grid))
    for axis, known in enumerate((u, v, w)[: grid.dimension]):
        kernels.normalise(pairs[axis], *at, base[axis], out.components[axis], known)
    return out, (u, v, w)


def _base(particles: Particles) -> tuple[float, float, float]:
    """A velocity to take differences from; any will do, best one that many particles have."""
    x, y, z = particles.velocity[len(particles) // 2].tolist() if len(particles) else (0.0, 0.0, 0.0)
    return x, y, z


def sample(particles: Particles, velocity: FaceField) -> None:
    """Velocities (and their gradients, if they are carried) of particles, interpolated from the faces."""
    grid = velocity.grid
    at = (*velocity.components, grid.shape3, *lattice(grid))
    if len(particles.affine):
        kernels.gather_affine(particles.position, particles.velocity, particles.affine, *at)
    else:
        kernels.interpolate(particles.position, particles.velocity, *at)


TRANSFERS: dict[str, type[Transfer]] = {"apic": Apic, "flip": Flip, "pic": Pic, "semi-lagrangian": SemiLagrangian}


def make_transfer(numerics: Numerics) -> Transfer:
    """The transfer that a scene asks for."""
    if numerics.transfer not in TRANSFERS:
        raise InvalidSystem(f"transfer is {numerics.transfer!r}; it must be one of {', '.join(TRANSFERS)}")
    kind = TRANSFERS[numerics.transfer]
    return Flip(numerics.flip) if kind is Flip else kind()
