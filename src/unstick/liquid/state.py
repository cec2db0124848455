"""What a run carries from step to step: all of it, and nothing else, goes into a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.result import Guess

MARGIN = 3  # cells of solid around the domain, so that no stencil and no path near a wall leaves the arrays


def with_margin(domain: Grid) -> Grid:
    """The grid that a simulation computes on: the domain and MARGIN cells of solid around it (none along z in 2D)."""
    d = domain.dimension
    return Grid(
        tuple(n + 2 * MARGIN for n in domain.shape),
        domain.spacing,
        tuple(domain.origin[a] - MARGIN * domain.spacing for a in range(d)),
    )


@dataclass(slots=True, eq=False)
class Particles:
    """Points that carry the liquid. Three coordinates also in 2D, where z stands in the middle of the only layer (spacing / 2)."""

    position: Array  # (n, 3), metres
    velocity: Array  # (n, 3), metres per second
    affine: Array  # (n, 3, 3), affine[q, a, b] = d u_a / d x_b in 1/s; (0, 3, 3) where the transfer does not use it

    def __len__(self) -> int:
        return len(self.position)

    @classmethod
    def none(cls, affine: bool) -> Particles:
        return cls(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)))

    @property
    def carries_affine(self) -> bool:
        return len(self.affine) == len(self.position)


@dataclass(slots=True, eq=False)
class Gas:
    """What a gas carries, at cell centres; a little way into solids too, so that paths near them find it."""

    density: Array  # of smoke
    excess: Array  # K above the ambient temperature
    released: float = 0.0  # smoke that came from sources: density times volume (area in 2D)
    left: float = 0.0  # smoke that went through open sides or faded


@dataclass(slots=True, eq=False)
class State:
    """A simulation between two steps."""

    grid: Grid  # with margin
    particles: Particles
    phi: Array  # liquid's distance at cell centres, shape3 of the grid, negative inside; reaches into walls
    velocity: FaceField  # on all faces, extrapolated beyond the liquid
    time: float = 0.0
    frame: int = 0  # complete frames
    step: int = 0  # complete steps
    guess: Guess | None = None  # the last pressure and its detached set, where the next solve starts
    volume: float | None = None  # of the liquid that should be there: as found at the first step, plus inflow, less outflow
    bodies: Array | None = None  # full state of the bodies that move with the liquid, as MuJoCo counts it
    found: float = 0.0  # volume of the liquid as reconstructed in the last step
    gas: Gas | None = None  # in a scene of smoke, which has no particles
