"""Sources of smoke and heat: regions in which the gas is kept as the source has it."""

from __future__ import annotations

import functools

import numpy as np

from unstick.geometry.shapes import Shape, sample
from unstick.grid import CENTRES, Array, Grid
from unstick.liquid.scene import Scene
from unstick.liquid.state import State
from unstick.smoke.state import gas_of, smoke_of


def apply_sources(scene: Scene, state: State, parts: Array, time: float) -> None:
    """Let smoke, heat and velocity in at a time; cells on the rim of a source take the part of it that covers them."""
    smoke, gas, grid = smoke_of(scene), gas_of(state), state.grid
    for source in smoke.sources:
        if not source.start <= time <= source.end:
            continue
        cover = covered(source.shape, grid) * (parts > 0.0)
        before = float(np.sum(gas.density * parts))
        gas.density += cover * (source.density - gas.density)
        excess = 0.0 if source.temperature is None else source.temperature - smoke.ambient
        gas.excess += cover * (excess - gas.excess)
        gas.released += (float(np.sum(gas.density * parts)) - before) * grid.spacing**grid.dimension
        if source.velocity:
            _set_faces(state, source.shape, source.velocity)


@functools.lru_cache(maxsize=16)
def covered(shape: Shape, grid: Grid) -> Array:
    """How much of each cell lies in a shape, 0 to 1, for a surface that is flat over a cell."""
    out = np.clip(0.5 - sample(shape, grid, "cells") / grid.spacing, 0.0, 1.0).reshape(grid.shape3)
    out.setflags(write=False)
    return np.asarray(out)


def _set_faces(state: State, shape: Shape, velocity: tuple[float, ...]) -> None:
    """Faces in the region move with the source."""
    grid = state.grid
    for axis in range(grid.dimension):
        values = state.velocity.components[axis]
        lattice = values.shape[: grid.dimension]
        shift = tuple(0.0 if a == axis else c for a, c in enumerate(CENTRES))
        flat = values.reshape(lattice)
        for planes in grid.slabs(lattice):
            inside = np.broadcast_to(shape.distance(*grid.points(lattice, shift, planes)) < 0.0, flat[planes].shape)
            flat[planes][inside] = velocity[axis]
