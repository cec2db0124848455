"""Published solvers of the impulse form: conjugate gradients on the Schur complement preconditioned by P(s) (Aanjaneya eq. 10, Alg. 1), and
what he compares with: conjugate gradients on the full system and on the complement, and incomplete Cholesky with diagonal scaling.

All reduce the 2-norm of their own residual by a factor. The V-cycle is the published one: 3 sweeps near boundaries and 1 everywhere, down
and up. "High order defect correction" is read as in multigrid with two discretisations: the finest level smooths and forms residuals
with the second-order surface, all coarser ones come from the first-order one. Transfers are ours (aggregation), not trilinear.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy import ndimage

from unstick.checks import InvalidSystem
from unstick.grid import Array
from unstick.kernels import rows_pack
from unstick.kernels.rows_cycle import Grids, Matrix, Work
from unstick.kernels.rows_impulse import Near, schur_gradients
from unstick.pressure.coupling.impulse import ImpulseSystem
from unstick.pressure.coupling.term_rows import list_term, with_neighbours
from unstick.solvers.pcg import Factor
from unstick.solvers.rows import Layout, lay_out, make_levels, pack_system, planes, rebuild, scan, unpack


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Pressure on the grid, and the norm of the residual after each iteration."""

    p: Array
    history: Array
    converged: bool

    @property
    def iterations(self) -> int:
        return len(self.history) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SchurMultigrid:
    """Conjugate gradients on Sigma with P(order)."""

    order: int = 0
    boundary: int = 3
    interior: int = 1
    reduction: float = 1e-6
    limit: int = 1000
    band: int = 2  # cells from a boundary that are near it

    def __post_init__(self) -> None:
        if self.order < 0:
            raise InvalidSystem(f"order is {self.order}; it is s of P(s), at least 0")

    def solve(self, system: ImpulseSystem, start: Array | None = None) -> Reduced:
        complement = system.complement()
        A = system.A11
        b = np.ascontiguousarray(complement.row_b)
        size, k0, k1 = scan(A, b)
        layout = lay_out(k0, k1, A.box)
        fine = pack_system(layout, A, b, complement.row_contact, size.mean, size.largest)
        levels = make_levels(layout, fine)
        at = slice(int(layout.start[0]), int(layout.start[1]))
        first, exact = np.zeros(len(fine.e)), levels.e[at].copy()
        rows_pack.pack(planes(system.first_order), first, 1.0 / size.mean, layout.off, layout.par, layout.place, 0, int(layout.begin[1]))
        levels.e[at] = first[at]
        levels.flag[: int(layout.begin[1])] = True
        rebuild(layout, levels, 0)
        levels.e[at] = exact
        term = list_term(layout, complement, A, fine.g, size.mean)
        shift = self.shifts(system, complement.term.rows, A.box) / size.mean if complement.term is not None else np.zeros(0)
        n = len(fine.p)
        res, d, q, v = fine.g.copy(), np.zeros(n), np.zeros(n), np.zeros(n)
        grids = Grids(
            layout.off, layout.par, layout.span, layout.child, layout.strips, layout.blocks, layout.cut, layout.width,
            layout.levels - 1, int(np.count_nonzero(layout.cells >= 3000)),
        )  # fmt: skip
        work = Work(levels.inv, levels.x, levels.f, levels.r, levels.d, levels.q, levels.v)
        if start is not None:
            res = res - self.image(system, start, layout, n, size.mean, size.largest)
        history = schur_gradients(
            self.order, self.boundary, self.interior, self.limit, self.reduction, res, d, q, v,
            Matrix(fine.e, fine.wx, fine.wy, fine.wz), grids, Matrix(levels.e, levels.wx, levels.wy, levels.wz), work,
            near_boundaries(layout, A.rows(), A.excess > 0.0, self.band), levels.part[:, :2].copy(), term, shift,
            int(layout.start[0]), int(layout.start[-1]),
        )  # fmt: skip
        p = np.zeros(A.box)
        unpack(layout, v, p, size.largest / size.mean)
        if start is not None:
            p += start.reshape(A.box)
        history = history * size.largest
        return Reduced(p, history, bool(history[-1] <= self.reduction * history[0]))

    def shifts(self, system: ImpulseSystem, rows: Array, box: tuple[int, int, int]) -> Array:
        """k N on the cells beside bodies, in the order of the listed cells."""
        cells = np.stack(np.unravel_index(rows, box), axis=1)
        order = np.argsort(cells.sum(axis=1) & 1, kind="stable")
        return np.asarray(system.k * system.closed_faces().reshape(-1)[rows[order]])

    def image(self, system: ImpulseSystem, start: Array, layout: Layout, n: int, mean: float, largest: float) -> Array:
        """Sigma start, on strips in scaled units."""
        image = system.complement().apply(start.reshape(system.A11.box))
        out = np.zeros(n)
        rows_pack.pack(planes(image), out, 1.0 / largest, layout.off, layout.par, layout.place, 0, int(layout.begin[1]))
        del mean
        return out


def near_boundaries(layout: Layout, rows: Array, linked: Array, band: int) -> Near:
    """Cells of every level that have a neighbour without a row, or air or a body beside them, and all within `band` - 1 of those."""
    rows, linked = planes(rows), planes(linked)
    parts, begin = [], [0]
    for level in range(layout.levels):
        cross = ndimage.generate_binary_structure(3, 1)
        inner = rows & ndimage.binary_erosion(np.pad(rows, 1), cross)[1:-1, 1:-1, 1:-1] if rows.shape[0] > 1 else _inner_flat(rows)
        edge = rows & (linked | ~inner)
        if band > 1:
            edge = rows & ndimage.binary_dilation(edge, cross, iterations=band - 1)
        cells = np.argwhere(edge)
        colour = cells.sum(axis=1) & 1
        for c in range(2):
            parts.append(with_neighbours(layout, cells[colour == c], level))
            begin.append(begin[-1] + int(np.count_nonzero(colour == c)))
        rows, linked = _coarser(rows), _coarser(linked)
    return Near(np.concatenate(parts, axis=1), np.array(begin))


def _inner_flat(rows: Array) -> Array:
    """Rows of a plane all of whose four neighbours are rows."""
    plane = np.pad(rows[0], 1)
    inner = rows[0] & plane[:-2, 1:-1] & plane[2:, 1:-1] & plane[1:-1, :-2] & plane[1:-1, 2:]
    return np.asarray(inner[None])


def _coarser(mask: Array) -> Array:
    padded = np.pad(mask, [(0, n % 2) for n in mask.shape])
    if mask.shape[0] == 1:
        padded = padded[:1]
        padded = padded[:, ::2] | padded[:, 1::2]
        return np.asarray(padded[:, :, ::2] | padded[:, :, 1::2])
    a = padded[::2] | padded[1::2]
    b = a[:, ::2] | a[:, 1::2]
    return np.asarray(b[:, :, ::2] | b[:, :, 1::2])


Operator = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Eq. 17 on the rows that have entries."""

    index: Array
    A11: sp.csr_array
    A12: sp.csr_array
    b: Array

    @classmethod
    def of(cls, system: ImpulseSystem) -> Blocks:
        rows = system.A11.rows()
        index = np.flatnonzero(rows.reshape(-1))
        return cls(index, system.A11.to_csr(rows), system.a12(index), system.b.reshape(-1)[index])


def full_gradients(system: ImpulseSystem, reduction: float = 1e-6, limit: int = 20_000, cholesky: bool = False) -> Reduced:
    """Conjugate gradients on the full system: plain, or with incomplete Cholesky for the liquid and diagonal scaling for the impulses."""
    blocks, k, unit = Blocks.of(system), system.k, system.unit
    n = len(blocks.index)
    light = np.linalg.solve(system.mass, system.F.T)

    def apply(x: Array) -> Array:
        p, mu = x[:n], x[n:]
        return np.concatenate([blocks.A11 @ p + blocks.A12 @ mu, blocks.A12.T @ p + k * mu + unit * (system.F @ (light @ mu))])

    precondition: Operator | None = None
    if cholesky:
        factor = Factor(blocks.A11, np.ones(n, dtype=np.bool_), 0.0, 0.01)
        scale = 1.0 / (k + unit * np.einsum("fm,mf->f", system.F, light))

        def both(r: Array) -> Array:
            z = np.empty(n)
            factor.apply(np.ascontiguousarray(r[:n]), z)
            return np.concatenate([z, scale * r[n:]])

        precondition = both
    x, history = gradients(apply, precondition, -np.concatenate([blocks.b, system.c]), reduction, limit)
    return _reduced(system, blocks, x[:n], history, reduction)


def complement_gradients(system: ImpulseSystem, reduction: float = 1e-6, limit: int = 20_000) -> Reduced:
    """Conjugate gradients on the complement, without preconditioner."""
    blocks, small = Blocks.of(system), system.small()

    def apply(p: Array) -> Array:
        return np.asarray(blocks.A11 @ p - blocks.A12 @ system.solve_a22(blocks.A12.T @ p, small))

    x, history = gradients(apply, None, -(blocks.b - blocks.A12 @ system.solve_a22(system.c, small)), reduction, limit)
    return _reduced(system, blocks, x, history, reduction)


def _reduced(system: ImpulseSystem, blocks: Blocks, x: Array, history: list[float], reduction: float) -> Reduced:
    p = np.zeros(system.b.size)
    p[blocks.index] = x
    return Reduced(p.reshape(system.b.shape), np.array(history), history[-1] <= reduction * history[0])


def gradients(apply: Operator, precondition: Operator | None, b: Array, reduction: float, limit: int) -> tuple[Array, list[float]]:
    """Conjugate gradients from zero until the 2-norm of the residual has fallen by `reduction`."""
    x, r, d = np.zeros(len(b)), b.copy(), np.zeros(len(b))
    history = [math.sqrt(float(r @ r))]
    rho = 1.0
    for step in range(limit):
        z = r if precondition is None else precondition(r)
        new = float(r @ z)
        d = z + (new / rho if step else 0.0) * d
        rho = new
        q = apply(d)
        curvature = float(d @ q)
        if not curvature > 0.0:
            break
        x += rho / curvature * d
        r = r - rho / curvature * q
        history.append(math.sqrt(float(r @ r)))
        if history[-1] <= reduction * history[0]:
            break
    return x, history
