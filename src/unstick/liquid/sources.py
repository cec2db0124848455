"""Inflows and outflows: regions that are kept full of moving liquid, and regions in which liquid vanishes."""

from __future__ import annotations

import functools

import numpy as np
from scipy.ndimage import map_coordinates

from unstick.geometry.shapes import Shape
from unstick.grid import CENTRES, Array, Grid
from unstick.liquid.scene import Inflow, Scene
from unstick.liquid.solids import WallState
from unstick.liquid.state import Particles, State


def apply_sources(scene: Scene, state: State, walls: WallState, dt: float) -> float:
    """Let liquid in and out over the dt that ends a step; returns the volume that came in less what went out."""
    if not scene.inflows and not scene.outflows:
        return 0.0
    end = state.time + dt
    net = 0.0
    for outflow in scene.outflows:
        if outflow.start <= end <= outflow.end:
            net -= _drain(scene, state, outflow.shape)
    for inflow in scene.inflows:
        if inflow.start <= end <= inflow.end:
            net += _pour(scene, state, walls, inflow, dt)
    return net


def _drain(scene: Scene, state: State, shape: Shape) -> float:
    particles = state.particles
    gone = _inside(particles, shape, scene.grid)
    if not len(particles):
        return 0.0
    # Flow crowds particles or thins them out: one stands for its part of the volume that was found.
    share = state.found / len(particles) if state.found > 0.0 else _share(scene)
    _lower(state, shape, scene.grid, to_air=True)
    _select(particles, ~gone)
    return float(np.count_nonzero(gone)) * share


def _pour(scene: Scene, state: State, walls: WallState, inflow: Inflow, dt: float) -> float:
    """All liquid in the region moves with the inflow, and what the region's own lattice of points has moved in since is added.

    The lattice moves with the inflow, so that exactly as many points enter as the flow carries: nothing is counted or guessed,
    and the same points come whatever the steps were before.
    """
    grid, particles = scene.grid, state.particles
    d = grid.dimension
    within = _inside(particles, inflow.shape, grid)
    particles.velocity[within, :d] = inflow.velocity[:d]
    if particles.carries_affine:
        particles.affine[within] = 0.0
    fresh = _entering(scene, state, walls, inflow, dt)
    _append(particles, fresh, inflow.velocity[:d], grid, affine=scene.numerics.transfer == "apic")
    _lower(state, inflow.shape, grid, to_air=False)
    _set_faces(state, inflow)
    return len(fresh) * _share(scene)


def _entering(scene: Scene, state: State, walls: WallState, inflow: Inflow, dt: float) -> Array:
    """Points (n, d) of the inflow's moving lattice that have come into its region during the step; all of them in its first step."""
    grid, numerics = scene.grid, scene.numerics
    d, h = grid.dimension, grid.spacing
    cells = _cells_of(inflow.shape, grid)
    if not len(cells):
        return np.zeros((0, d))
    velocity = np.array(inflow.velocity[:d])
    per = numerics.particles_per_axis
    s = h / per
    drift = velocity * (state.time + dt - inflow.start)
    origin = np.array(grid.origin)
    lower = np.floor((cells.min(axis=0) * h - drift) / s).astype(np.int64) - 1
    upper = np.ceil(((cells.max(axis=0) + 1) * h - drift) / s).astype(np.int64) + 1
    site = np.stack(np.meshgrid(*(np.arange(a, b) for a, b in zip(lower, upper, strict=True)), indexing="ij"), axis=-1).reshape(-1, d)
    place = np.stack([hashed(site, numerics.seed, axis) for axis in range(d)], axis=-1)
    fixed = origin + (site + 0.5 + (place - 0.5) * numerics.jitter) * s
    x = fixed + drift
    wanted = _may_hold(x, inflow.shape, state.grid, walls)
    if state.time > inflow.start or (state.step > 0 and state.time == inflow.start):
        # By the sum that the last step made, to the bit, so that no point comes twice or never.
        before = fixed + velocity * (state.time - inflow.start)
        return x[wanted & ~_may_hold(before, inflow.shape, state.grid, walls)]
    x = x[wanted]
    taken = _sites_taken(state.particles, grid, s)
    key = _site_key(np.floor((x - origin) / s).astype(np.int64), grid, per)
    return x[~np.isin(key, taken)]


def _may_hold(x: Array, shape: Shape, grid: Grid, walls: WallState) -> Array:
    """Which points are in the shape and in the open; the domain's sides are walls."""
    out = np.asarray(shape.distance(*x.T) < 0.0)
    index = [(x[out, a] - grid.origin[a]) / grid.spacing for a in range(grid.dimension)]
    out[out] = map_coordinates(walls.solid_phi.reshape(grid.node_shape), index, order=1, mode="nearest") > 0.0
    return out


def hashed(site: Array, seed: int, channel: int) -> Array:
    """A number in [0, 1) for each lattice point: the same for the same point, seed and channel, everywhere (splitmix64)."""
    with np.errstate(over="ignore"):
        state = np.full(len(site), (seed * 8 + channel + 1) & (2**64 - 1), dtype=np.uint64)
        for axis in range(site.shape[1]):
            state = _mix(state ^ site[:, axis].astype(np.uint64))
    return (state >> np.uint64(11)).astype(np.float64) / 2.0**53


def _mix(z: Array) -> Array:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _share(scene: Scene) -> float:
    """The volume that one particle stands for."""
    h = scene.grid.spacing
    return float(h**scene.grid.dimension / scene.numerics.particles_per_axis**scene.grid.dimension)


@functools.lru_cache(maxsize=64)
def _cells_of(shape: Shape, grid: Grid) -> Array:
    """Indices (n, d) of the domain's cells that the shape may reach into."""
    found = []
    reach = 0.5 * np.sqrt(grid.dimension) * grid.spacing
    for planes in grid.slabs(grid.shape):
        near = np.argwhere(np.broadcast_to(shape.distance(*grid.points(grid.shape, CENTRES, planes)) < reach, _slab(grid, planes)))
        near[:, 0] += planes.start
        found.append(near)
    return np.concatenate(found)


def _slab(grid: Grid, planes: slice) -> tuple[int, ...]:
    return (planes.stop - planes.start, *grid.shape[1:])


def _inside(particles: Particles, shape: Shape, grid: Grid) -> Array:
    """Which particles are in a shape; only those in the box around it are asked."""
    d, h = grid.dimension, grid.spacing
    out = np.zeros(len(particles), dtype=np.bool_)
    cells = _cells_of(shape, grid)
    if not len(cells):
        return out
    near = np.ones(len(particles), dtype=np.bool_)
    for axis in range(d):
        line = particles.position[:, axis]
        near &= line >= grid.origin[axis] + cells[:, axis].min() * h
        near &= line <= grid.origin[axis] + (cells[:, axis].max() + 1) * h
    index = np.flatnonzero(near)
    out[index] = shape.distance(*(particles.position[index, a] for a in range(d))) < 0.0
    return out


def _sites_taken(particles: Particles, grid: Grid, s: float) -> Array:
    site = np.floor((particles.position[:, : grid.dimension] - np.array(grid.origin)) / s).astype(np.int64)
    return _site_key(site, grid, round(grid.spacing / s))


def _site_key(site: Array, grid: Grid, per: int) -> Array:
    key = np.zeros(len(site), dtype=np.int64)
    for axis in range(grid.dimension):
        key = key * (grid.shape[axis] * per + 2) + np.clip(site[:, axis] + 1, 0, grid.shape[axis] * per + 1)
    return key


def _select(particles: Particles, keep: Array) -> None:
    if keep.all():
        return
    affine = particles.carries_affine
    particles.position = np.ascontiguousarray(particles.position[keep])
    particles.velocity = np.ascontiguousarray(particles.velocity[keep])
    if affine:
        particles.affine = np.ascontiguousarray(particles.affine[keep])


def _append(particles: Particles, points: Array, velocity: tuple[float, ...], grid: Grid, affine: bool) -> None:
    if not len(points):
        return
    d = grid.dimension
    position = np.full((len(points), 3), 0.5 * grid.spacing)
    position[:, :d] = points
    moving = np.zeros((len(points), 3))
    moving[:, :d] = velocity
    particles.position = np.concatenate([particles.position, position])
    particles.velocity = np.concatenate([particles.velocity, moving])
    if affine:
        particles.affine = np.concatenate([particles.affine, np.zeros((len(points), 3, 3))])


def _lower(state: State, shape: Shape, domain: Grid, to_air: bool) -> None:
    """Put the region into the liquid's distance at cell centres, or take it out."""
    grid = state.grid
    cells = _cells_of(shape, domain)
    if not len(cells):
        return
    d = grid.dimension
    margin = [(n - m) // 2 for n, m in zip(grid.shape, domain.shape, strict=True)]
    index = tuple(cells[:, a] + margin[a] for a in range(d)) + ((0,) if d == 2 else ())
    distance = shape.distance(*(np.asarray(grid.origin[a] + (index[a] + 0.5) * grid.spacing) for a in range(d)))
    state.phi[index] = np.maximum(state.phi[index], -distance) if to_air else np.minimum(state.phi[index], distance)


def _set_faces(state: State, inflow: Inflow) -> None:
    """Faces in the region carry the inflow's velocity, for transfers that keep the velocity on the grid."""
    grid = state.grid
    d, h = grid.dimension, grid.spacing
    for axis in range(d):
        faces = Grid(tuple(n + (a == axis) for a, n in enumerate(grid.shape)), h, _shifted(grid, axis))
        cells = _cells_of(inflow.shape, faces)
        at = tuple(cells[:, a] for a in range(d))
        inside = inflow.shape.distance(*(faces.origin[a] + (at[a] + 0.5) * h for a in range(d))) < 0.0
        index = tuple(line[inside] for line in at) + ((0,) if d == 2 else ())
        state.velocity.components[axis][index] = inflow.velocity[axis]


def _shifted(grid: Grid, axis: int) -> tuple[float, ...]:
    """The origin of a grid whose cell centres are this grid's face centres."""
    return tuple(o - 0.5 * grid.spacing * (a == axis) for a, o in enumerate(grid.origin))
