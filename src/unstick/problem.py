"""The pressure problem as data: find p with 0 <= p, A p + b >= 0, p (A p + b) = 0 where liquid touches a solid, A p + b = 0 elsewhere.

Lai 2021, eq. 4.15. Nothing here solves anything: a solver takes a `PressureSystem` and returns a `SolveResult`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from unstick.checks import (
    InvalidSystem,
    require_contact,
    require_finite,
    require_m_matrix,
    require_square,
    require_symmetric,
    require_vector,
)

Array = npt.NDArray[Any]

SOLID, LIQUID, AIR = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Stencil:
    """A symmetric matrix that couples face neighbours, on the box of grid cells that has rows.

    Row (i, j, k): (excess + sum of its six couplings) p_ijk - sum of coupling * p_neighbour.
    A cell without a row has zeros everywhere. Arrays have the box's shape; 2D boxes end in 1.
    """

    wx: Array  # coupling with (i-1, j, k), >= 0, zero in the first plane of the box
    wy: Array  # coupling with (i, j-1, k)
    wz: Array  # coupling with (i, j, k-1)
    excess: Array  # row sum: what couples the cell to air (p = 0), ghost-fluid factor included
    corner: tuple[int, int, int] = (0, 0, 0)  # grid index of the box's first cell

    @property
    def box(self) -> tuple[int, int, int]:
        x, y, z = self.excess.shape
        return x, y, z

    def diagonal(self) -> Array:
        d = self.excess.astype(np.float64)
        for axis, w in enumerate((self.wx, self.wy, self.wz)):
            lower, upper = _neighbours(axis)
            d += w
            d[lower] += w[upper]
        return d

    def apply(self, p: Array) -> Array:
        """A p for an array of the box's shape."""
        out: Array = self.diagonal() * p
        for axis, w in enumerate((self.wx, self.wy, self.wz)):
            lower, upper = _neighbours(axis)
            out[upper] -= w[upper] * p[lower]
            out[lower] -= w[upper] * p[upper]
        return out

    def rows(self) -> Array:
        """Bool, box's shape: the cells that have a row."""
        return np.asarray(self.diagonal() > 0)

    def to_csr(self, rows: Array) -> sp.csr_array:
        """The matrix of the cells where `rows` holds, numbered in C order."""
        number = np.full(self.box, -1, dtype=np.int64)
        count = int(np.count_nonzero(rows))
        number[rows] = np.arange(count)
        at, to, value = [number[rows]], [number[rows]], [self.diagonal()[rows]]
        for axis, w in enumerate((self.wx, self.wy, self.wz)):
            lower, upper = _neighbours(axis)
            both = (w[upper] != 0) & (number[lower] >= 0) & (number[upper] >= 0)
            a, c, v = number[lower][both], number[upper][both], -w[upper][both].astype(np.float64)
            at += [a, c]
            to += [c, a]
            value += [v, v]
        matrix = sp.csr_array((np.concatenate(value), (np.concatenate(at), np.concatenate(to))), shape=(count, count))
        matrix.sort_indices()
        return matrix


def _neighbours(axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    lower, upper = [slice(None)] * 3, [slice(None)] * 3
    lower[axis], upper[axis] = slice(None, -1), slice(1, None)
    return tuple(lower), tuple(upper)


@dataclass(frozen=True, slots=True, eq=False)
class PressureSystem:
    """A, b and the contact rows S. `row_b` and `row_contact` stand on A's own rows; `b` and `contact` have the system's shape."""

    A: Stencil | sp.csr_array
    row_b: Array  # shape of A's box, or (n,)
    row_contact: Array  # bool; the papers' set S
    shape: tuple[int, ...]  # of p: (nx, ny), (nx, ny, nz), or (n,)
    cell_types: Array | Callable[[], Array] | None = None  # int8 of the whole grid, or how to work it out: see `cells`

    @classmethod
    def from_matrix(cls, A: Any, b: Any, contact: Any, shape: tuple[int, ...] | None = None, cells: Any = None) -> PressureSystem:
        """A system from elsewhere. A: scipy.sparse (n, n), a symmetric M-matrix; b (n,); contact (n,) bool.

        With `shape=(nx, ny[, nz])`, n = prod(shape) in C order, and A may couple face neighbours only;
        rows outside the liquid are empty (or identity with b = 0).
        """
        matrix = require_square(A)
        n = matrix.shape[0]
        require_finite("A", matrix.data)
        require_symmetric(matrix)
        require_m_matrix(matrix)
        right = require_vector("b", b, n)
        touching = require_contact(contact, n)
        if shape is None:
            if cells is not None:
                raise InvalidSystem("cells were given without a shape; give shape=(nx, ny) or (nx, ny, nz) as well")
            return cls(matrix, right, touching, (n,))
        size = _require_shape(shape, n)
        types = None if cells is None else _require_cells(cells, size)
        box = (size[0], size[1], size[2] if len(size) == 3 else 1)
        return cls(_stencil_from_csr(matrix, box), right.reshape(box), touching.reshape(box), size, types)

    @property
    def cells(self) -> Array | None:
        """SOLID, LIQUID or AIR for every cell of the grid (int8), where known. Systems from `assemble` work it out at first use."""
        if callable(self.cell_types):
            object.__setattr__(self, "cell_types", self.cell_types())
        return self.cell_types  # type: ignore[return-value]

    @property
    def b(self) -> Array:
        return self.expand(self.row_b)

    @property
    def contact(self) -> Array:
        return self.expand(self.row_contact)

    @property
    def unknowns(self) -> int:
        """Number of rows, empty ones left out."""
        if isinstance(self.A, Stencil):
            return int(np.count_nonzero(self.A.rows()))
        return int(np.count_nonzero(self.A.diagonal() > 0))

    def expand(self, values: Array) -> Array:
        """Values on A's rows, as an array of the system's shape (zero or False elsewhere)."""
        if not isinstance(self.A, Stencil):
            return values
        whole = self.shape if len(self.shape) == 3 else (*self.shape, 1)
        if self.A.box == whole:
            return values.reshape(self.shape)
        out = np.zeros(whole, dtype=values.dtype)
        out[self._window()] = values
        return out.reshape(self.shape)

    def restrict(self, values: Array) -> Array:
        """Values of the system's shape (or flat), on A's rows."""
        if not isinstance(self.A, Stencil):
            return np.asarray(values).reshape(-1)
        whole = self.shape if len(self.shape) == 3 else (*self.shape, 1)
        return np.asarray(values).reshape(whole)[self._window()]

    def _window(self) -> tuple[slice, ...]:
        assert isinstance(self.A, Stencil)
        return tuple(slice(c, c + n) for c, n in zip(self.A.corner, self.A.box, strict=True))

    def apply(self, p: Array) -> Array:
        """A p on A's rows."""
        return self.A.apply(p) if isinstance(self.A, Stencil) else np.asarray(self.A @ p)

    def residual(self, p: Array) -> Array:
        """min(p, A p + b) on contact rows, A p + b elsewhere; p and the result have the system's shape. Zero exactly at the solution."""
        rows = self.restrict(p)
        slack = self.apply(rows) + self.row_b
        return self.expand(np.where(self.row_contact, np.minimum(rows, slack), slack))


def _require_shape(shape: Any, n: int) -> tuple[int, ...]:
    try:
        size = tuple(operator.index(s) for s in shape)
    except TypeError:
        size = ()
    if len(size) not in (2, 3) or min(size) < 1:
        raise InvalidSystem(f"shape is {shape}; it must be (nx, ny) or (nx, ny, nz) with positive entries")
    if math.prod(size) != n:
        raise InvalidSystem(f"shape {size} has {math.prod(size)} cells but A has {n} rows; they must be the same")
    return size


def _require_cells(cells: Any, shape: tuple[int, ...]) -> Array:
    types = np.asarray(cells)
    if types.size != math.prod(shape) or not np.isin(types, (SOLID, LIQUID, AIR)).all():
        raise InvalidSystem(
            f"cells has shape {types.shape}; it must have shape {shape} and hold only "
            "unstick.SOLID (0), unstick.LIQUID (1) and unstick.AIR (2)"
        )
    return types.reshape(shape).astype(np.int8)


def _stencil_from_csr(matrix: sp.csr_array, box: tuple[int, int, int]) -> Stencil:
    """Couplings of a matrix on a full grid; refuses couplings that are not between face neighbours."""
    n = matrix.shape[0]
    strides = (box[1] * box[2], box[2], 1)
    lower = sp.tril(matrix, -1).tocoo()
    row, gap, value = lower.row.astype(np.int64), (lower.row - lower.col).astype(np.int64), -lower.data
    index = np.unravel_index(row, box)
    weights = []
    known = value == 0
    for axis in range(3):
        hit = (gap == strides[axis]) & (index[axis] > 0) & ~known if box[axis] > 1 else np.zeros(len(row), dtype=bool)
        known |= hit
        w = np.zeros(n)
        w[row[hit]] = value[hit]
        weights.append(w.reshape(box))
    if not known.all():
        at = int(np.flatnonzero(~known)[0])
        raise InvalidSystem(
            f"A couples row {row[at]} with row {row[at] - gap[at]}, which are not face neighbours in a grid of shape {box}; "
            "leave out shape for a system without a grid"
        )
    d = matrix.diagonal()
    excess = np.asarray(matrix.sum(axis=1)).reshape(-1)
    # A row sum that is only the rounding of its terms is a pocket's exact zero.
    excess[np.abs(excess) <= 8 * np.finfo(float).eps * d] = 0.0
    return Stencil(weights[0], weights[1], weights[2], excess.reshape(box))
