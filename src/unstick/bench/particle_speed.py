"""What moving velocities and particles about costs, on one thread: nanoseconds per particle, of a block full of liquid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unstick.bench.harness import cpu_seconds
from unstick.fields import FaceField
from unstick.grid import Grid
from unstick.liquid.advect import PATHS, move, push_out
from unstick.liquid.particles import CellIndex, sort
from unstick.liquid.state import Particles, with_margin
from unstick.liquid.transfer import Apic, Flip, Transfer

AROUND = 17  # cells of empty space around the block, margin included


@dataclass(frozen=True, slots=True)
class ParticleTimes:
    """CPU nanoseconds on one thread: per particle and component for the transfers, per particle for the rest."""

    flip_to_grid: float
    flip_to_particles: float
    apic_to_grid: float
    apic_to_particles: float
    sort: float  # of particles that moved by a third of a cell since they were sorted
    move: float  # third order
    push_out: float  # nothing near a solid


def block(cells: int, per_axis: int, affine: bool) -> tuple[Particles, CellIndex, FaceField]:
    """Sorted particles with smooth velocities in a cube of cells, and the smooth velocity on the grid."""
    domain = Grid((cells + 2 * AROUND - 6,) * 3, 1.0 / cells)
    grid = with_margin(domain)
    rng = np.random.default_rng(1)
    corners = np.stack(np.meshgrid(*[np.arange(cells) + AROUND] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    inside = corners + rng.random((cells**3, per_axis**3, 3))
    position = np.array(grid.origin) + inside.reshape(-1, 3) * grid.spacing
    turning = rng.normal(size=(3, 3))
    velocity = np.sin(position @ turning)
    gradient = np.broadcast_to(turning.T, (len(position) if affine else 0, 3, 3)).copy()
    particles = Particles(position, velocity, gradient)
    index = sort(particles, grid)
    field = FaceField.from_function(grid, lambda x, y, z: (np.sin(y + z), np.sin(z + x), np.sin(x + y)))
    return particles, index, field


def particle_kernel_times(cells: int = 64, per_axis: int = 2, repeats: int = 6) -> ParticleTimes:
    """Measure everything on a block of cells^3 cells. Transfers include what they do on the grid (sums cleared, normalised)."""
    flip = transfer_times(Flip(), cells, per_axis, repeats)
    apic = transfer_times(Apic(), cells, per_axis, repeats)
    particles, index, _ = block(cells, per_axis, affine=True)
    grid, count = index.grid, len(particles)
    solid = np.full(grid.node_shape3, 1.0)
    still = FaceField(grid)
    shifted = particles.position + grid.spacing * np.random.default_rng(2).normal(scale=1 / 3, size=particles.position.shape)
    velocity, affine = particles.velocity, particles.affine

    def per_particle(job: Callable[[], object]) -> float:
        job()
        return cpu_seconds(job, repeats) / count * 1e9

    return ParticleTimes(
        *flip,
        *apic,
        per_particle(lambda: sort(Particles(shifted, velocity, affine), grid)),
        per_particle(lambda: move(particles, still, 0.01, PATHS["rk3"])),
        per_particle(lambda: push_out(particles, grid, solid)),
    )


def transfer_times(transfer: Transfer, cells: int, per_axis: int, repeats: int) -> tuple[float, float]:
    """(to the grid, to the particles) in nanoseconds per particle and component."""
    particles, index, field = block(cells, per_axis, transfer.affine)
    scale = 1e9 / (3 * len(particles))
    before, _ = transfer.to_grid(particles, index, field)
    there = cpu_seconds(lambda: transfer.to_grid(particles, index, field), repeats)
    transfer.to_particles(particles, before, field, index)
    back = cpu_seconds(lambda: transfer.to_particles(particles, before, field, index), repeats)
    return there * scale, back * scale
