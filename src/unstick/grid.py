"""A box of square (2D) or cubic (3D) cells, and where their centres, nodes and faces are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CENTRES = (0.5, 0.5, 0.5)
NODES = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Grid:
    """shape=(nx, ny) or (nx, ny, nz) cells of side `spacing`; `origin` is the corner of the first cell. y is up."""

    shape: tuple[int, ...]
    spacing: float
    origin: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _require_cells(self.shape))
        object.__setattr__(self, "spacing", _require_spacing(self.spacing))
        object.__setattr__(self, "origin", _require_origin(self.origin, len(self.shape)))

    @property
    def dimension(self) -> int:
        return len(self.shape)

    @property
    def shape3(self) -> tuple[int, int, int]:
        """(nx, ny, nz), with nz = 1 in 2D."""
        return self.shape[0], self.shape[1], self.shape[2] if self.dimension == 3 else 1

    @property
    def node_shape(self) -> tuple[int, ...]:
        return tuple(n + 1 for n in self.shape)

    @property
    def node_shape3(self) -> tuple[int, int, int]:
        """Nodes as the kernels take them: one layer in 2D."""
        x, y, z = self.shape3
        return x + 1, y + 1, z + 1 if self.dimension == 3 else 1

    @property
    def extent(self) -> tuple[float, ...]:
        """Side lengths of the whole box."""
        return tuple(n * self.spacing for n in self.shape)

    def face_shape(self, axis: int) -> tuple[int, int, int]:
        """Faces normal to `axis`, in three dimensions also in 2D."""
        x, y, z = self.shape3
        return x + (axis == 0), y + (axis == 1), z + (axis == 2)

    def points(self, shape: tuple[int, ...], shift: tuple[float, ...], planes: slice = slice(None)) -> tuple[Array, ...]:
        """Coordinates of a lattice of the given shape, as arrays that broadcast; `shift` in cells, CENTRES or NODES."""
        lines = []
        for axis in range(self.dimension):
            index = np.arange(shape[axis], dtype=np.float64)
            if axis == 0:
                index = index[planes]
            line = self.origin[axis] + (index + shift[axis]) * self.spacing
            lines.append(line.reshape([-1 if a == axis else 1 for a in range(self.dimension)]))
        return tuple(lines)

    def slabs(self, shape: tuple[int, ...], entries: int = 1 << 19) -> Iterator[slice]:
        """Cut a lattice along x into slabs of about that many entries, so that temporaries stay in cache."""
        thick = max(1, entries // max(1, math.prod(shape[1:])))
        for start in range(0, shape[0], thick):
            yield slice(start, min(start + thick, shape[0]))


def _require_cells(shape: Any) -> tuple[int, ...]:
    try:
        size = tuple(shape)
    except TypeError:
        size = ()
    whole = all(isinstance(s, (int, np.integer)) and not isinstance(s, bool) and s > 0 for s in size)
    if len(size) not in (2, 3) or not whole:
        raise ValueError(f"the grid's shape is {shape!r}; give (nx, ny) or (nx, ny, nz) with positive whole numbers")
    return tuple(int(s) for s in size)


def _require_spacing(spacing: Any) -> float:
    try:
        h = float(spacing)
    except (TypeError, ValueError):
        h = math.nan
    if not (math.isfinite(h) and h > 0):
        raise ValueError(f"the grid's spacing is {spacing!r}; give one positive number, the side of a cell")
    return h


def _require_origin(origin: Any, dimension: int) -> tuple[float, ...]:
    try:
        corner = tuple(float(x) for x in origin) or (0.0,) * dimension
    except (TypeError, ValueError):
        corner = ()
    if len(corner) != dimension or not all(math.isfinite(x) for x in corner):
        raise ValueError(f"the grid's origin is {origin!r}; give {dimension} finite numbers, one for each axis of the grid")
    return corner
