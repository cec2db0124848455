"""Values on a staggered grid: cell centres hold scalars, faces hold the normal component of a velocity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from unstick.grid import CENTRES, Array, Grid

VelocityFunction = Callable[..., Sequence[Array | float]]  # (x, y[, z]) -> (u, v[, w])


@dataclass(frozen=True, slots=True, eq=False)
class CellField:
    """One number per cell, zero at first; `values` has shape (nx, ny, nz), with nz = 1 in 2D."""

    grid: Grid
    dtype: npt.DTypeLike = np.float64
    values: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.zeros(self.grid.shape3, dtype=self.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class FaceField:
    """Normal components on faces, zero at first: u (nx+1, ny, nz), v (nx, ny+1, nz), w (nx, ny, nz+1).

    In 2D nz = 1, and w stands for the closed front and back: it stays zero.
    """

    grid: Grid
    dtype: npt.DTypeLike = np.float64
    u: Array = field(init=False, repr=False)
    v: Array = field(init=False, repr=False)
    w: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for axis, name in enumerate("uvw"):
            object.__setattr__(self, name, np.zeros(self.grid.face_shape(axis), dtype=self.dtype))

    @classmethod
    def from_function(cls, grid: Grid, velocity: VelocityFunction, dtype: npt.DTypeLike = np.float64) -> FaceField:
        """Sample velocity(x, y[, z]) -> (u, v[, w]) at the centres of the faces, slab by slab."""
        out = cls(grid, dtype)
        for axis in range(grid.dimension):
            values = out.components[axis]
            shape = values.shape[: grid.dimension]
            shift = tuple(0.0 if a == axis else c for a, c in enumerate(CENTRES))
            flat = values.reshape(shape)
            for planes in grid.slabs(shape):
                answer = velocity(*grid.points(shape, shift, planes))
                if len(answer) != grid.dimension:
                    raise ValueError(
                        f"the velocity function gave {len(answer)} components; give {grid.dimension}, one for each axis of the grid"
                    )
                flat[planes] = answer[axis]
        return out

    @property
    def components(self) -> tuple[Array, Array, Array]:
        return self.u, self.v, self.w

    def copy(self) -> FaceField:
        out = FaceField(self.grid, self.dtype)
        for mine, theirs in zip(out.components, self.components, strict=True):
            mine[...] = theirs
        return out
