"""The particles' life apart from motion: how they are made, kept in the order of their cells, and kept evenly spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unstick.grid import CENTRES, Array, Grid
from unstick.kernels import particles_seed as seeding
from unstick.kernels import particles_sort as sorting
from unstick.kernels.particles_walls import sample_nodes
from unstick.liquid.state import MARGIN, Particles
from unstick.liquid.transfer import TRANSFERS, lattice, sample

if TYPE_CHECKING:
    from unstick.liquid.scene import Body, Numerics
    from unstick.liquid.state import State


@dataclass(frozen=True, slots=True, eq=False)
class CellIndex:
    """Where the particles of each cell stand: those of cell c are start[c]:start[c + 1], cells in C order (x slowest)."""

    grid: Grid
    start: Array  # int64, number of cells + 1

    @property
    def counts(self) -> Array:
        """Number of particles in each cell, with the grid's three axes."""
        return np.diff(self.start).reshape(self.grid.shape3)


def order_by_cell(position: Array, grid: Grid) -> tuple[Array, CellIndex]:
    """The numbers of the particles in the order of their cells; those of one cell stay in the order they had."""
    origin, inverse, _ = lattice(grid)
    nx, ny, nz = shape = grid.shape3
    n = len(position)
    chunks = -(-n // sorting.CHUNK)
    row, plane, order, key, final = (np.empty(n, dtype=np.int32) for _ in range(5))
    count = np.zeros((chunks, nx), dtype=np.int64)
    first, start = np.empty(nx + 1, dtype=np.int64), np.empty(nx * ny * nz + 1, dtype=np.int64)
    sorting.find_cells(position, origin, inverse, shape, row, plane, count)
    sorting.offsets(count, first)
    sorting.by_plane(row, plane, count, order, key)
    sorting.by_cell(first, key, order, ny * nz, start, final)
    return final, CellIndex(grid, start)


def sort(particles: Particles, grid: Grid) -> CellIndex:
    """Bring the particles into the order of their cells, in place; the order inside a cell is kept."""
    order, index = order_by_cell(particles.position, grid)
    affine = particles.carries_affine
    particles.position = _rearranged(particles.position, order)
    particles.velocity = _rearranged(particles.velocity, order)
    if affine:
        particles.affine = _rearranged(particles.affine.reshape(-1, 9), order).reshape(-1, 3, 3)
    return index


def _rearranged(values: Array, order: Array) -> Array:
    out = np.empty_like(values)
    sorting.rearrange(values, order, out)
    return out


def seed(bodies: Sequence[Body], grid: Grid, walls_phi: Array, numerics: Numerics) -> Particles:
    """One point in every sub-cell of the domain that lies in a body of liquid and outside the solids (`walls_phi` at the nodes).

    `grid` has the margin. Each point moves as the first body that holds it. A point depends on the seed and its cell only.
    With `mirror` the right half of the domain is the left one's image.
    """
    kept = [_inside(bodies, grid, walls_phi, points) for points in _candidates(bodies, grid, numerics)]
    position = np.concatenate([p for p, _ in kept]) if kept else np.zeros((0, 3))
    owner = np.concatenate([o for _, o in kept]) if kept else np.zeros(0, dtype=np.intp)
    if numerics.mirror:
        middle = grid.origin[0] + 0.5 * grid.shape[0] * grid.spacing
        left = position[:, 0] < middle
        image = position[left]
        image[:, 0] = 2.0 * middle - image[:, 0]
        position, owner = np.concatenate([position, image]), np.concatenate([owner, owner[left]])
    velocity, affine = np.zeros_like(position), np.zeros((len(position), 3, 3))
    for number, body in enumerate(bodies):
        _set_moving(body, grid, position, velocity, affine, owner == number)
    carried = TRANSFERS[numerics.transfer].affine
    return Particles(position, velocity, affine if carried else np.zeros((0, 3, 3)))


def _domain(grid: Grid) -> Grid:
    """The grid without its margin."""
    origin = tuple(x + MARGIN * grid.spacing for x in grid.origin)
    return Grid(tuple(n - 2 * MARGIN for n in grid.shape), grid.spacing, origin)


def _candidates(bodies: Sequence[Body], grid: Grid, numerics: Numerics) -> Iterator[Array]:
    """Points of all cells that liquid can reach into, slab by slab; of the left half only where the right one is to mirror it."""
    domain = _domain(grid)
    d, per_axis = domain.dimension, numerics.particles_per_axis
    reach = domain.spacing * (0.5 * d**0.5 + 0.01)  # from a centre to a corner, and rounding
    fold = domain.shape[0] if numerics.mirror == "x" else 0
    origin = np.array([*domain.origin, 0.0][:3])
    for planes in domain.slabs(domain.shape, 1 << 16):
        centres = domain.points(domain.shape, CENTRES, planes)
        size = (planes.stop - planes.start, *domain.shape[1:])
        near = np.zeros(size, dtype=bool)
        for body in bodies:
            near |= body.shape.distance(*centres) < reach
        cells = np.argwhere(near.reshape(size[0], size[1], -1))
        cells[:, 0] += planes.start
        position = np.empty((len(cells) * per_axis**d, 3))
        side = np.empty(len(position), dtype=np.int8)
        seeding.fill_cells(cells, numerics.seed, per_axis, numerics.jitter, fold, d - 2, position, side)
        yield origin + position[side <= 0] * domain.spacing


def _inside(bodies: Sequence[Body], grid: Grid, walls_phi: Array, points: Array) -> tuple[Array, Array]:
    """The points that lie in liquid and in the open, and the number of the body that holds each."""
    owner = np.full(len(points), -1, dtype=np.intp)
    coordinates = tuple(points[:, a] for a in range(grid.dimension))
    for number, body in enumerate(bodies):
        owner[(owner < 0) & (body.shape.distance(*coordinates) < 0.0)] = number
    kept = (owner >= 0) & (solid_at(points, grid, walls_phi) > 0.0)
    return points[kept], owner[kept]


def solid_at(points: Array, grid: Grid, solid_phi: Array) -> Array:
    """Nodal values interpolated at points (n, 3)."""
    origin, inverse, kz = lattice(grid)
    out = np.empty(len(points))
    sample_nodes(np.asarray(solid_phi, dtype=np.float64).reshape(grid.node_shape3), np.ascontiguousarray(points), origin, inverse, kz, out)
    return out


def _set_moving(body: Body, grid: Grid, position: Array, velocity: Array, affine: Array, mine: Array) -> None:
    """The body's velocity and its gradient at its points: a translation and a spin about the middle of the domain."""
    linear, spin = np.zeros(3), np.zeros(3)
    linear[: len(body.velocity)] = body.velocity
    if len(body.spin) == 1:
        spin[2] = body.spin[0]
    elif body.spin:
        spin[:] = body.spin
    turning = np.cross(spin, np.eye(3)).T  # turning @ r is spin x r
    middle = np.array([*(o + 0.5 * e for o, e in zip(grid.origin, grid.extent, strict=True)), 0.5 * grid.spacing][:3])
    velocity[mine] = linear + (position[mine] - middle) @ turning.T
    affine[mine] = turning


def reseed(particles: Particles, state: State, solid_phi: Array, numerics: Numerics) -> None:
    """Fill voids in the liquid (cells deep in it with fewer than half of their particles) and thin out crowds (more than twice).

    Nothing changes where every cell holds between half and twice the nominal number.
    """
    grid = state.grid
    shape, per_axis, kz = grid.shape3, numerics.particles_per_axis, grid.dimension - 2
    order, index = order_by_cell(particles.position, grid)
    mark = np.empty(shape, dtype=np.uint8)
    voids, crowds = np.zeros((2, shape[0]), dtype=np.int64)
    seeding.mark_cells(index.start, shape, MARGIN, state.phi, solid_phi, -grid.spacing, per_axis, kz, mark, voids, crowds)
    if not voids.any() and not crowds.any():
        return
    void_at, crowd_at = (np.concatenate([[0], np.cumsum(count)]) for count in (voids, crowds))
    void, crowd = (np.empty((at[-1], 3), dtype=np.int64) for at in (void_at, crowd_at))
    seeding.list_cells(mark, MARGIN, kz, void_at, crowd_at, void, crowd)

    gone = _thin(particles, order, index, crowd, numerics)
    points = _fill(particles, order, index, void, state.step, solid_phi, numerics)
    fresh = Particles(points, np.zeros_like(points), np.zeros((len(points) if particles.carries_affine else 0, 3, 3)))
    sample(fresh, state.velocity)
    _replace(particles, gone, fresh)


def _thin(particles: Particles, order: Array, index: CellIndex, crowd: Array, numerics: Numerics) -> Array:
    """Numbers of the particles to remove, ascending."""
    grid, per_axis = index.grid, numerics.particles_per_axis
    origin, inverse, kz = lattice(grid)
    held = index.counts[tuple(crowd.T)]
    gone_at = np.concatenate([[0], np.cumsum(held - 2 * per_axis**grid.dimension)])
    gone = np.empty(gone_at[-1], dtype=np.int64)
    at = (particles.position, particles.velocity, origin, inverse, per_axis, kz)
    seeding.thin_crowds(crowd, index.start, grid.shape3, order, *at, gone_at, gone)
    gone.sort()
    return gone


def _fill(particles: Particles, order: Array, index: CellIndex, void: Array, step: int, solid_phi: Array, numerics: Numerics) -> Array:
    """Points for the voids."""
    grid, per_axis = index.grid, numerics.particles_per_axis
    origin, inverse, kz = lattice(grid)
    nominal = per_axis**grid.dimension
    added, number = np.zeros((len(void), nominal, 3)), np.zeros(len(void), dtype=np.int64)
    cells = (void, index.start, grid.shape3, MARGIN, order, particles.position, solid_phi)
    seeding.fill_voids(*cells, numerics.seed, step + 1, per_axis, numerics.jitter, origin, inverse, kz, added, number)
    domain = _domain(grid)
    points = added[np.arange(nominal) < number[:, None]]
    return np.asarray(np.array([*domain.origin, 0.0][:3]) + points * grid.spacing)


def _replace(particles: Particles, gone: Array, fresh: Particles) -> None:
    """New particles take the places of removed ones; what is left over goes to the end, or is filled from there."""
    n, reused = len(particles), min(len(gone), len(fresh))
    empty = gone[reused:]
    total = n - len(empty)
    stay = np.setdiff1d(np.arange(total, n), empty)
    for name in ("position", "velocity", "affine") if particles.carries_affine else ("position", "velocity"):
        values, new = getattr(particles, name), getattr(fresh, name)
        values[gone[:reused]] = new[:reused]
        values[empty[empty < total]] = values[stay]
        out = np.empty((total + len(new) - reused, *values.shape[1:]))
        sorting.copy_rows(values.reshape(n, -1), out.reshape(len(out), -1))
        out[total:] = new[reused:]
        setattr(particles, name, out)
