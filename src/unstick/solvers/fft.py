"""The fast Poisson solver: cosine and sine transforms on a full box of liquid whose couplings are equal along each axis.

The matrix is then T_x + T_y + T_z, one second difference per axis, and a trigonometric transform diagonalises each. Which one depends on
the two ends of the axis: closed (nothing beyond), p = 0 on the face of the last cell (excess 2 w), or p = 0 in the centre of the cell
beyond it (excess w).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
import scipy.fft

from unstick.kernels.reduce import max_abs
from unstick.problem import Array, PressureSystem, Stencil
from unstick.result import Status, UnsupportedSystem
from unstick.solvers.ledger import Ledger
from unstick.solvers.protocol import Outcome, Problem, Solver, Start

CLOSED, FACE, CENTRE = "closed", "p = 0 on the face", "p = 0 beyond it"
# Ends of an axis: the transform, and s in the eigenvalues 2 w (1 - cos(pi (k + s) / m)), m = n + (s == 1 and CENTRE).
TRANSFORMS = {
    (CLOSED, CLOSED): ("dct", 2, 0.0),
    (FACE, FACE): ("dst", 2, 1.0),
    (CENTRE, CENTRE): ("dst", 1, 1.0),
    (CLOSED, FACE): ("dct", 4, 0.5),
    (FACE, CLOSED): ("dst", 4, 0.5),
}
EQUAL = 1e-12  # relative: couplings that differ by less are equal


@dataclass(frozen=True, slots=True)
class Axis:
    kind: str
    type: int
    eigenvalues: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FFT(Solver):
    """Direct and fast, for a box full of liquid with equal couplings and sides that are closed or open as a whole."""

    name: ClassVar[str] = "fft"

    def contact_rows(self, system: PressureSystem) -> Array:
        return np.zeros_like(system.row_contact)

    def refuse(self, system: PressureSystem) -> None:
        if not isinstance(system.A, Stencil):
            raise UnsupportedSystem("fft needs a grid, and this system has none; 'pcg' takes it")
        A = system.A
        recognise((A.wx, A.wy, A.wz), A.excess)

    def iterate(self, problem: Problem, start: Start, ledger: Ledger) -> Outcome:
        assert problem.lattice is not None
        box = problem.lattice.box
        strides = (box[1] * box[2], box[2], 1)
        couplings = []
        for axis in range(3):
            w = np.zeros(problem.n)
            if box[axis] > 1:
                w[strides[axis] :] = -problem.A.diagonal(-strides[axis])
            couplings.append(w.reshape(box))
        excess = np.asarray(problem.A.sum(axis=1)).reshape(box)
        axes = recognise((couplings[0], couplings[1], couplings[2]), excess)
        p, residuals = np.zeros(problem.n), []
        for _ in range(3):  # the second time refines what rounding left
            r = -(problem.A @ p + problem.b)
            residuals.append(max_abs(r))
            if residuals[-1] <= problem.goal or (len(residuals) > 1 and residuals[-1] > 0.5 * residuals[-2]):
                break
            p = p + solve_box(axes, r.reshape(box)).reshape(-1)
            ledger.spend("transforms", 5.0 * problem.n * math.log2(max(problem.n, 2)))
            ledger.spend("matvecs", problem.A.nnz)
        else:
            residuals.append(max_abs(problem.A @ p + problem.b))
        if self.on_iteration is not None:
            self.on_iteration(len(residuals) - 1, residuals[-1])
        status = Status.CONVERGED if residuals[-1] <= problem.goal else Status.STAGNATED
        return Outcome(p, status, len(residuals) - 1, 1, tuple(residuals))


def recognise(couplings: tuple[Array, Array, Array], excess: Array) -> tuple[Axis, ...]:
    """The transform of each axis, or UnsupportedSystem with the reason."""
    box = excess.shape
    middle = tuple(n // 2 for n in box)
    scale = max(float(w.max(initial=0.0)) for w in couplings)
    axes, expected = [], np.zeros(box)
    for axis, n in enumerate(box):
        line = tuple(slice(None) if a == axis else m for a, m in enumerate(middle))
        inner = couplings[axis][tuple(slice(1, None) if a == axis else slice(None) for a in range(3))]
        w = float(inner.flat[0]) if inner.size else 0.0
        if inner.size and (w <= 0.0 or float(np.ptp(inner)) > EQUAL * w):
            raise UnsupportedSystem(
                "fft needs a box full of liquid with equal couplings, and those along "
                f"axis {axis} go from {inner.min():.3g} to {inner.max():.3g}; 'mgpcg' takes every grid"
            )
        if n == 1:
            axes.append(Axis("dct", 2, (0.0,)))
            continue
        if n < 3:
            raise UnsupportedSystem(f"fft needs at least 3 cells along an axis, and the box has shape {box}; 'pcg' takes it")
        ends = tuple(_end(float(e), w) for e in (excess[line][0], excess[line][-1]))
        found = TRANSFORMS.get((ends[0], ends[1]))
        if found is None:
            raise UnsupportedSystem(
                f"fft has no transform for an axis that ends in '{ends[0]}' and '{ends[1]}' (axis {axis}); 'mgpcg' takes every grid"
            )
        kind, number, shift = found
        k = np.arange(n) + shift
        m = n + 1 if ends[0] == CENTRE else n
        axes.append(Axis(kind, number, tuple(2.0 * w * (1.0 - np.cos(np.pi * k / m)))))
        for end, at in zip(ends, (0, n - 1), strict=True):
            expected[tuple(at if a == axis else slice(None) for a in range(3))] += {CLOSED: 0.0, FACE: 2.0, CENTRE: 1.0}[end] * w
    if float(np.abs(excess - expected).max()) > 1e-10 * scale:
        raise UnsupportedSystem("fft needs sides that are closed, or open to air, as a whole; 'mgpcg' takes every grid")
    return tuple(axes)


def _end(excess: float, w: float) -> str:
    for name, value in ((CLOSED, 0.0), (FACE, 2.0), (CENTRE, 1.0)):
        if abs(excess - value * w) <= 1e-10 * w:
            return name
    raise UnsupportedSystem(
        "fft needs sides that are closed, or open at the face or one cell beyond: the coupling "
        f"with air is {excess / w:.3g} times an inner one; 'mgpcg' takes every grid"
    )


def solve_box(axes: tuple[Axis, ...], rhs: Array) -> Array:
    """x with A x = rhs; the mean is zero where A is singular (all sides closed)."""
    workers = numba.get_num_threads()
    x = rhs
    total = np.zeros(rhs.shape)
    for at, axis in enumerate(axes):
        x = getattr(scipy.fft, axis.kind)(x, axis.type, axis=at, norm="ortho", workers=workers)
        total += np.array(axis.eigenvalues).reshape([-1 if a == at else 1 for a in range(3)])
    singular = total <= 1e-14 * total.max()
    x = np.where(singular, 0.0, x / np.where(singular, 1.0, total))
    for at, axis in enumerate(axes):
        x = getattr(scipy.fft, "i" + axis.kind)(x, axis.type, axis=at, norm="ortho", workers=workers)
    return np.asarray(x)
