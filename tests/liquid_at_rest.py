"""Liquids at rest with their particles, for tests of surfaces, and one thread against two."""

import numba
import numpy as np

from unstick.fields import FaceField
from unstick.geometry.shapes import Box, sample
from unstick.liquid.particles import sort
from unstick.liquid.state import Particles, State, with_margin


def walls_of(domain, solid=None):
    """Distance to the domain's sides and a solid at the nodes of the grid with margin."""
    grid = with_margin(domain)
    upper = tuple(o + e for o, e in zip(domain.origin, domain.extent, strict=True))
    inside = sample(~Box(domain.origin, upper), grid)
    inside[np.abs(inside) < 1e-9 * domain.spacing] = 0.0  # the sides are on nodes
    if solid is not None:
        inside = np.minimum(inside, sample(solid, grid))
    return inside.reshape(grid.node_shape3)


def particles_in(domain, liquid, solid, seed, per=2):
    """A jittered lattice, kept in the liquid and in the open; (n, 3)."""
    rng = np.random.default_rng(seed)
    d, h = domain.dimension, domain.spacing
    lines = [o + (np.arange(n * per) + 0.5) / per * h for o, n in zip(domain.origin, domain.shape, strict=True)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, d)
    points = points + (rng.random(points.shape) - 0.5) / per * h
    keep = liquid.distance(*points.T) < 0
    if solid is not None:
        keep &= solid.distance(*points.T) > 0
    out = np.full((np.count_nonzero(keep), 3), 0.5 * h)
    out[:, :d] = points[keep]
    return out


def at_rest(domain, liquid, solid=None, seed=0, position=None):
    """(state, index, solid_phi): exact distances in state.phi, and particles in the order of their cells."""
    grid = with_margin(domain)
    position = particles_in(domain, liquid, solid, seed) if position is None else np.array(position, dtype=np.float64)
    particles = Particles(position, np.zeros(position.shape), np.zeros((0, 3, 3)))
    index = sort(particles, grid)
    state = State(grid, particles, sample(liquid, grid, "cells").reshape(grid.shape3), FaceField(grid))
    return state, index, walls_of(domain, solid)


def on_threads(work):
    """What `work()` gives on one thread and on two."""
    before = numba.get_num_threads()
    found = []
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            found.append(work())
    finally:
        numba.set_num_threads(before)
    return found
