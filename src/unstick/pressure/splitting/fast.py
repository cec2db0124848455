"""The fast Poisson solver as an inner solver: transforms of the box around the liquid, exact where the liquid fills it.

The thesis leaves this as its outlook (Eckert 2014, section 5.2): a projection that sees no solids may be solved "in the frequency domain".

Exact: the liquid fills its box, and each of the six sides is closed, or open to p = 0 in one way, as a whole: a closed box without a free
surface. One solve is then a transform forwards, a division, and one back.
Not exact: with a free surface, or with solids inside the box. p = 0 on an arbitrary surface is not diagonal in any trigonometric basis. The
box is then a preconditioner of conjugate gradients: solve on the whole box, and look at the answer in the liquid only. It is right for all
but the cells at the surface, where the box's answer goes on into the air instead of ending; two layers of cells there are swept before and
after it. Two simpler ways were tried: without sweeps it takes 1.6 times the iterations, and sources on the first layer of air instead
(the capacitance matrix of fictitious domains) take 1.3 to 1.8 times as many box solves as that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
import scipy.fft
import scipy.linalg

from unstick.checks import require_count
from unstick.kernels import csr
from unstick.kernels.reduce import max_abs
from unstick.kernels.sparse_relax import backward_at, forward_at, inverse_diagonal
from unstick.pressure.splitting.inner import Correction, FreeProblem, PreconditionedInner, PreparedInner, ending
from unstick.problem import Array
from unstick.solvers.fft import CENTRE, CLOSED, FACE, TRANSFORMS
from unstick.solvers.krylov import csr_arrays
from unstick.solvers.ledger import Ledger

REFINEMENTS = 4  # of an exact solve, each of which leaves rounding behind
EQUAL = 1e-10  # relative: what differs by less is equal
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)  # factors of lengths that an FFT likes; else the matrix of the transform is faster
LONGEST_DENSE = 256
PIECE, WIDTH = 1 << 18, 32  # multiplications, and columns, of a piece
ENDS = {CLOSED: 0.0, CENTRE: 1.0, FACE: 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class FastInner:
    """Transforms of the box around the liquid: a direct solver where the liquid fills it, a preconditioner elsewhere."""

    layers: int = 2  # of cells at the surface that are swept
    sweeps: int = 2  # before the transforms, and as many after them
    name: str = "fft"

    def __post_init__(self) -> None:
        require_count("layers", self.layers, 0)
        require_count("sweeps", self.sweeps, 0)

    def prepare(self, problem: FreeProblem, ledger: Ledger) -> PreparedInner:
        box = Box.around(problem)
        if box.exact:
            return Direct(problem, box, ledger)
        return PreconditionedInner(self.name, lambda p, to: Preconditioner(p, box, to, self)).prepare(problem, ledger)


def is_exact(problem: FreeProblem) -> bool:
    """Whether one transform there and back solves the problem."""
    return Box.around(problem).exact


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The second difference along a side of the box, and what diagonalises it."""

    eigenvalues: Array
    kind: str = ""  # of a transform of scipy.fft; "" where the matrix of eigenvectors is used
    type: int = 0
    vectors: Array | None = None  # (n, n), in columns

    @classmethod
    def of(cls, n: int, first: float, last: float) -> Axis:
        """n cells coupled by 1; `first` and `last` is what couples its ends to p = 0."""
        if n == 1:
            return cls(np.array([first + last]))
        found = TRANSFORMS.get((_named(first), _named(last)))
        if found is not None and n >= 3:
            kind, number, shift = found
            m = n + 1 if number == 1 else n
            values = 2.0 * (1.0 - np.cos(np.pi * (np.arange(n) + shift) / m))
            if _smooth(m) or n > LONGEST_DENSE:
                return cls(values, kind, number)
            transform: Callable[..., Array] = getattr(scipy.fft, kind)
            return cls(values, vectors=transform(np.eye(n), number, axis=0, norm="ortho").T)
        diagonal = np.full(n, 2.0)
        diagonal[0] += first - 1.0
        diagonal[-1] += last - 1.0
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, np.full(n - 1, -1.0))
        return cls(values, vectors=vectors)

    def single(self) -> Axis:
        """In single precision: enough for a preconditioner, and twice as fast."""
        vectors = None if self.vectors is None else self.vectors.astype(np.float32)
        return Axis(self.eigenvalues.astype(np.float32), self.kind, self.type, vectors)

    def forward(self, x: Array, at: int) -> Array:
        return self._apply(x, at, self.kind, None if self.vectors is None else self.vectors.T)

    def back(self, x: Array, at: int) -> Array:
        return self._apply(x, at, "i" + self.kind, self.vectors)

    def _apply(self, x: Array, at: int, kind: str, matrix: Array | None) -> Array:
        if self.kind:
            transform: Callable[..., Array] = getattr(scipy.fft, kind)
            return transform(x, self.type, axis=at, norm="ortho", workers=numba.get_num_threads(), overwrite_x=True)
        if matrix is None:
            return x
        if at == 2:
            return _pieces(matrix, x.reshape(-1, x.shape[2]).T).T.reshape(x.shape)
        return _pieces(matrix, x.reshape(x.shape[0], -1)).reshape(x.shape) if at == 0 else _planes(matrix, x)


def _pieces(matrix: Array, x: Array) -> Array:
    """matrix @ x, in pieces so small that the BLAS takes them on one thread: waiting for others costs more on a busy machine."""
    out = np.empty_like(x)
    rows = max(8, PIECE // (matrix.shape[0] * WIDTH))
    for start in range(0, x.shape[1], WIDTH):
        columns = slice(start, start + WIDTH)
        part = np.ascontiguousarray(x[:, columns])
        for first in range(0, matrix.shape[0], rows):
            out[first : first + rows, columns] = matrix[first : first + rows] @ part
    return out


def _planes(matrix: Array, x: Array) -> Array:
    """The same along the middle axis."""
    if x.shape[2] == 1:
        return _pieces(matrix, x[:, :, 0].T).T[:, :, None]
    out = np.empty_like(x)
    for plane, result in zip(x, out, strict=True):
        result[...] = _pieces(matrix, plane)
    return out


def _named(excess: float) -> str:
    return next((name for name, value in ENDS.items() if excess == value), "")


def _smooth(n: int) -> bool:
    for prime in PRIMES:
        while n % prime == 0:
            n //= prime
    return n == 1


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The box around the rows, with equal couplings along each axis, and where the rows stand in it."""

    shape: tuple[int, int, int]
    axes: tuple[Axis, Axis, Axis]
    coupling: float
    at: Array  # flat place of every row
    differs: Array  # bool, by row: the matrix has another row there than the box
    exact: bool

    @classmethod
    def around(cls, problem: FreeProblem) -> Box:
        ijk = problem.lattice.ijk
        corner = ijk.min(axis=0, initial=1 << 30)
        place = ijk - corner
        nx, ny, nz = (int(n) for n in place.max(axis=0, initial=0) + 1)
        shape = (nx, ny, nz)
        at = (place[:, 0].astype(np.int64) * ny + place[:, 1]) * nz + place[:, 2]
        neighbours = np.diff(problem.A.indptr) - 1
        excess = problem.A.diagonal() / problem.coupling - neighbours
        ends = _ends(excess, place, shape)
        expected, inner = np.zeros(shape), np.zeros(shape, dtype=np.int8)  # couplings of the box's cells with p = 0, and among them
        for axis, n in enumerate(shape):
            line = [-1 if a == axis else 1 for a in range(3)]
            open_ends, touching = np.zeros(n), np.full(n, 2, dtype=np.int8)
            open_ends[0] += ends[axis][0]
            open_ends[-1] += ends[axis][1]
            touching[0] -= 1
            touching[-1] -= 1
            expected += open_ends.reshape(line)
            inner += touching.reshape(line)
        differs = (neighbours != inner.reshape(-1)[at]) | (np.abs(excess - expected.reshape(-1)[at]) > EQUAL)
        exact = at.size == nx * ny * nz and not differs.any()
        axes = tuple(Axis.of(n, *pair) for n, pair in zip(shape, ends, strict=True))
        return cls(shape, (axes[0], axes[1], axes[2]), problem.coupling, at, differs, exact)

    @property
    def cells(self) -> int:
        return self.shape[0] * self.shape[1] * self.shape[2]

    def eigenvalues(self) -> Array:
        """Infinite where they are zero, so that the mean comes out as zero where it is free."""
        x, y, z = (axis.eigenvalues for axis in self.axes)
        total = self.coupling * (x[:, None, None] + y[None, :, None] + z[None, None, :])
        return np.where(total > 1e-14 * total.max(), total, np.inf)


def _ends(excess: Array, place: Array, shape: tuple[int, ...]) -> list[tuple[float, float]]:
    """What couples the two ends of each axis with p = 0: the least of their cells: those at an edge of the box have more than one end,
    and cells at the surface have air beside them."""
    out = []
    for axis, n in enumerate(shape):
        pair = []
        for index in (0, n - 1):
            here = excess[place[:, axis] == index]
            value = float(here.min()) if here.size and n > 1 else 0.0
            nearest = min(ENDS.values(), key=lambda known, v=value: abs(known - v))  # type: ignore[misc]
            pair.append(nearest if abs(nearest - value) <= EQUAL else value)
        out.append((pair[0], pair[1]))
    return out


def _solve(axes: tuple[Axis, ...], eigenvalues: Array, x: Array) -> Array:
    for at, axis in enumerate(axes):
        x = axis.forward(x, at)
    x = x / eigenvalues
    for at, axis in enumerate(axes):
        x = axis.back(x, at)
    return x


def _book(ledger: Ledger, box: Box) -> None:
    ledger.count("transforms", 2.0)
    ledger.spend("transform", 5.0 * box.cells * np.log2(max(box.cells, 2)))


class Direct:
    """Solves where the liquid fills its box. An iteration is a transform there and back; a second one mends rounding."""

    def __init__(self, problem: FreeProblem, box: Box, ledger: Ledger) -> None:
        self.matrix, self.box, self.ledger = csr_arrays(problem.A), box, ledger
        self.eigenvalues = box.eigenvalues()

    def __call__(self, r0: Array, goal: float, limit: int) -> Correction:
        x, r, norm, used = np.zeros_like(r0), r0, max_abs(r0), 0
        while norm > goal and used < min(limit, REFINEMENTS):
            # The rows stand in C order, so that a vector of rows is the box. The first transform may write over its argument.
            step = _solve(self.box.axes, self.eigenvalues, r.reshape(self.box.shape).copy()).reshape(-1)
            x = step if used == 0 else x + step
            r = np.empty_like(r0)
            csr.residual(*self.matrix, r0, x, r)
            self.ledger.spend("matvecs", self.matrix[2].size)
            _book(self.ledger, self.box)
            used += 1
            norm, before = max_abs(r), norm
            if not norm < 0.5 * before:
                break
        return Correction(x, r, norm, used, ending(norm, goal, used >= limit))


class Preconditioner:
    """Sweeps at the surface, the box for what they leave, and the same sweeps backwards: symmetric and positive definite."""

    def __init__(self, problem: FreeProblem, box: Box, ledger: Ledger, method: FastInner) -> None:
        self.matrix, self.box, self.ledger, self.sweeps = csr_arrays(problem.A), box, ledger, method.sweeps
        self.eigenvalues = box.eigenvalues().astype(np.float32)
        self.axes = tuple(axis.single() for axis in box.axes)
        n = problem.A.shape[0]
        self.inverse, self.lower, self.left = np.empty(n), np.full(n, -np.inf), np.empty(n)
        inverse_diagonal(*self.matrix, self.inverse)
        self.rim = self._rim(method.layers if method.sweeps else 0)
        ledger.spend("setup", problem.A.nnz)

    def _rim(self, layers: int) -> Array:
        """The rows at which the box is wrong and those around them, one colour of the chequerboard after the other."""
        if not layers:
            return np.empty(0, dtype=np.int64)
        ptr, idx, val = self.matrix
        near, reached, pattern = self.box.differs.astype(np.float64), np.empty(self.inverse.size), np.ones_like(val)
        for _ in range(layers - 1):
            csr.multiply(ptr, idx, pattern, near, reached)
            near = (reached > 0.0).astype(np.float64)
        members = np.flatnonzero(near)
        colour = sum(np.unravel_index(self.box.at[members], self.box.shape)) % 2
        return members[np.argsort(colour, kind="stable")]

    def __call__(self, r: Array, out: Array) -> None:
        out[:] = 0.0
        left = r
        if self.rim.size:
            forward_at(*self.matrix, self.inverse, r, self.lower, out, self.rim, self.sweeps)
            csr.residual(*self.matrix, r, out, self.left)
            left = self.left
        field = np.zeros(self.box.cells, dtype=np.float32)
        field[self.box.at] = left
        x = _solve(self.axes, self.eigenvalues, field.reshape(self.box.shape))
        out += x.reshape(-1)[self.box.at]
        _book(self.ledger, self.box)
        if self.rim.size:
            backward_at(*self.matrix, self.inverse, r, self.lower, out, self.rim, self.sweeps)
            self.ledger.spend("sweeps", self.matrix[2].size + 14 * self.sweeps * self.rim.size)
