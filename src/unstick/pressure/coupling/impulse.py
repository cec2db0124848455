"""The impulse form of the coupling: a pressure for each liquid cell and an impulse for each face between liquid and body (Aanjaneya 2018,
eq. 15 to 17, after Robinson-Mosher, Schroeder and Fedkiw 2011).

Cells are liquid, air, wall or body as a whole, by their centres. The face between a liquid and a body cell has liquid momentum of its
own, beta = rho h^3, and an impulse that makes it move with the body. With impulses written as pressures, mu = lambda / (h^2 dt), and
k = dt / (rho h^2), everything in 1/s:

    A11 p + A12 mu + b = 0        A11: faces to bodies count as if the pressure were zero behind them
    A12^T p + A22 mu + c = 0      A22 = k I + h dt F M^-1 F^T, F = W J, c = (W u* - F v*) / h

Every such face touches one liquid cell, so A12 A12^T = k^2 N is diagonal, N the number of such faces of a cell, and with the small
m x m factor K = k M / (h dt) + F^T F the solid block and the Schur complement are

    A22^-1 = (I - F K^-1 F^T) / k,        Sigma = A11 - A12 A22^-1 A12^T = (A11 - k N) + A12 F K^-1 F^T A12^T / k:

the plain matrix with closed faces, and a term of low rank as in the cut-cell form, but for bodies that carry the liquid of the faces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unstick.checks import InvalidSystem
from unstick.geometry.liquid import liquid_at_cells
from unstick.grid import Array
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.coupling.faces import Faces, motion
from unstick.pressure.coupling.lowrank import CoupledSystem, LowRank
from unstick.pressure.inputs import read_velocity
from unstick.pressure.projection import Flow
from unstick.problem import Stencil

FREE, AIR, WALL, BODY = 0, 1, 2, 3  # a cell with a row, and what is none; bodies are BODY + number


@dataclass(frozen=True, slots=True, eq=False)
class ImpulseSystem:
    """Eq. 17 on the whole grid."""

    A11: Stencil
    first_order: Array  # excess of A11 with the surface half a cell away (theta = 1), for the preconditioner
    b: Array
    c: Array  # one entry for each solid face
    cell: Array  # flat index of the liquid cell of each solid face
    sign: Array  # +1 where that cell is below the face, -1 where it is above
    F: Array  # (faces, m)
    mass: Array
    k: float
    h: float
    dt: float
    bodies: Bodies

    @classmethod
    def of(cls, flow: Flow) -> ImpulseSystem:
        if flow.bodies is None:
            raise InvalidSystem("the flow has no bodies; give Flow(bodies=...)")
        bodies, grid = flow.bodies.checked(flow.grid), flow.grid
        h, d = grid.spacing, grid.dimension
        k = flow.dt / (flow.density * h * h)
        kind = cell_kinds(flow, bodies)
        liquid = liquid_at_cells(grid, flow.liquid_phi).astype(np.float64)
        faces = read_velocity("velocity", grid, flow.velocity)
        stencil = Stencil(np.zeros(grid.shape3), np.zeros(grid.shape3), np.zeros(grid.shape3), np.zeros(grid.shape3))
        first, b = np.zeros(grid.shape3), np.zeros(grid.shape3)
        found: list[tuple[Array, Array, Array, Array]] = []
        for axis in range(d):
            lower, upper = [slice(None)] * 3, [slice(None)] * 3
            lower[axis], upper[axis] = slice(None, -1), slice(1, None)
            low, high = tuple(lower), tuple(upper)
            a, z = kind[low], kind[high]
            (stencil.wx, stencil.wy, stencil.wz)[axis][high] = np.where((a == FREE) & (z == FREE), k, 0.0)
            inner = tuple(slice(1, -1) if x == axis else slice(None) for x in range(3))
            u = faces[axis][inner].astype(np.float64)
            for mine, way, own, other in ((low, 1.0, a, z), (high, -1.0, z, a)):
                theirs = high if way > 0 else low
                free = own == FREE
                air, body = free & (other == AIR), free & (other >= BODY)
                part = liquid[mine] / np.where(air, liquid[mine] - liquid[theirs], 1.0)
                stencil.excess[mine] += np.where(air, k / np.maximum(part, flow.theta_min), 0.0) + np.where(body, k, 0.0)
                first[mine] += np.where(air | body, k, 0.0)
                b[mine] += np.where(free & (other != WALL), way * u / h, 0.0)
                at = np.argwhere(body)
                face = at + np.eye(3, dtype=np.int64)[axis]
                near = at if way > 0 else face
                number = np.ravel_multi_index(tuple(near.T), grid.shape3)
                found.append((number, np.full(len(at), way), motion_of(flow, bodies, axis, face, other[body] - BODY), u[body]))
        cell, sign, columns, u = (np.concatenate([f[n] for f in found]) for n in range(4))
        c = (u - columns @ bodies.velocity) / h
        return cls(stencil, first, b, c, cell, sign, columns, bodies.mass, k, h, flow.dt, bodies)

    @property
    def faces(self) -> int:
        return len(self.cell)

    @property
    def unit(self) -> float:
        return self.h * self.dt

    def a12(self, index: Array) -> sp.csr_array:
        """A12 on the rows `index` (ascending flat indices of cells)."""
        place = np.searchsorted(index, self.cell)
        return sp.csr_array((self.k * self.sign, (place, np.arange(self.faces))), shape=(len(index), self.faces))

    def a22(self) -> Array:
        """The solid block as a dense matrix: for small systems and tests."""
        return np.asarray(self.k * np.eye(self.faces) + self.unit * self.F @ np.linalg.solve(self.mass, self.F.T))

    def small(self) -> Array:
        """K^-1."""
        block = self.k * self.mass / self.unit + self.F.T @ self.F
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(block), np.eye(len(block))))

    def solve_a22(self, x: Array, small: Array) -> Array:
        """A22^-1 x, with `small` from `small()`."""
        return np.asarray((x - self.F @ (small @ (self.F.T @ x))) / self.k)

    def closed_faces(self) -> Array:
        """N on the grid."""
        return np.bincount(self.cell, minlength=self.b.size).reshape(self.b.shape).astype(np.float64)

    def complement(self) -> CoupledSystem:
        """Sigma p + f = 0 as a coupled system of the form that the default solves."""
        small = self.small()
        rows, place = np.unique(self.cell, return_inverse=True)
        spread = sp.csr_array((self.k * self.sign, (place, np.arange(self.faces))), shape=(len(rows), self.faces))
        factor = sp.csr_array(spread @ self.F)
        factor.sort_indices()
        excess = self.A11.excess - self.k * self.closed_faces()
        excess[np.abs(excess) <= 8 * np.finfo(float).eps * self.A11.excess] = 0.0
        f = self.b.reshape(-1).copy()
        f[rows] -= spread @ self.solve_a22(self.c, small)
        shape = self.b.shape[:2] if self.b.shape[2] == 1 else self.b.shape
        A = replace(self.A11, excess=excess)
        term = LowRank(rows, factor, small / self.k)
        return CoupledSystem(A, f.reshape(self.b.shape), np.zeros(self.b.shape, dtype=np.bool_), shape, None, term)

    def impulses(self, p: Array) -> Array:
        """mu, in pascal, from the pressure: step 4 of section 3.1."""
        return -self.solve_a22(self.k * self.sign * p.reshape(-1)[self.cell] + self.c, self.small())

    def velocity(self, p: Array) -> Array:
        """(m,): the bodies' generalised velocity, eq. 16."""
        impulse = self.h**2 * self.dt * self.impulses(p)
        return np.asarray(self.bodies.velocity - np.linalg.solve(self.mass, self.F.T @ impulse))


def cell_kinds(flow: Flow, bodies: Bodies) -> Array:
    """FREE (a liquid cell), AIR, WALL, or BODY + number, by the distances at the cells' centres; the nearest wall counts."""
    grid = flow.grid
    solid = _at_centres(np.asarray(flow.solid_phi, dtype=np.float64).reshape(grid.node_shape3))
    kind = np.where(liquid_at_cells(grid, flow.liquid_phi) < 0.0, FREE, AIR)
    kind[solid < 0.0] = WALL
    nearest = np.full(grid.shape3, np.inf)
    for body, phi in enumerate(bodies.phi):
        distance = _at_centres(phi)
        mine = (distance < 0.0) & (distance < nearest) & (distance <= solid + 1e-12 * grid.spacing)
        kind[mine], nearest[mine] = BODY + body, distance[mine]
    return kind


def _at_centres(phi: Array) -> Array:
    for axis in range(3):
        if phi.shape[axis] > 1:
            low, high = [slice(None)] * 3, [slice(None)] * 3
            low[axis], high[axis] = slice(None, -1), slice(1, None)
            phi = 0.5 * (phi[tuple(low)] + phi[tuple(high)])
    return phi


def motion_of(flow: Flow, bodies: Bodies, axis: int, face: Array, body: Array) -> Array:
    """Velocity along `axis` of the middles of faces by the bodies' generalised velocity: rows of W J."""
    listed = Faces(body, np.full(len(body), axis), face, np.ones(len(body)))
    twist = motion(flow.grid, bodies, listed)
    return np.asarray(np.einsum("nt,ntm->nm", twist, bodies.jacobian[body]))
