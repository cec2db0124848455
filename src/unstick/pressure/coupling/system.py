"""From a flow with bodies to the coupled pressure system, cut-cell form, and from its pressure to what the bodies do.

v = v* + dt V M^-1 J^T F^T p is what the pressure does to the bodies (V the cell's volume), and the divergence of the cells becomes
A p + b + F J v. Eliminating v (docs/coupling.md):

    (A + dt V F J M^-1 J^T F^T) p + (b + F J v*) = divergence after the step,

symmetric positive semidefinite, an M-matrix no more. Batty et al. 2007, eq. 12, with face fractions instead of volumes; Aanjaneya's
eq. 17 with the impulses eliminated, on cut cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from unstick.checks import InvalidSystem
from unstick.grid import Array
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.coupling.faces import Contacts, Faces
from unstick.pressure.coupling.lowrank import CoupledSystem, LowRank
from unstick.pressure.inputs import Domain, read_solid_velocity, read_walls
from unstick.pressure.projection import Flow, expansion_of, system_of
from unstick.problem import Stencil


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """A flow's coupled system, with what turns a pressure into the motion of the bodies."""

    system: CoupledSystem
    bodies: Bodies
    faces: Faces
    factor: LowRank  # all 6 columns of every body
    per_pressure: Array  # (m, 6 n): dt V M^-1 J^T

    @classmethod
    def of(cls, flow: Flow) -> Coupling:
        if flow.bodies is None:
            raise InvalidSystem("the flow has no bodies; give Flow(bodies=...), or take PressureProjection")
        bodies = flow.bodies.checked(flow.grid)
        plain = system_of(replace(flow, expansion=0.0))
        A = plain.A
        assert isinstance(A, Stencil)
        domain = Domain.read(flow.grid, flow.liquid_phi, flow.solid_phi)
        rows = A.rows()
        faces = Faces.of(domain, bodies, rows, A.corner)
        beside = Contacts.of(domain, bodies, faces, A, rows)
        jacobian = bodies.jacobian.reshape(-1, bodies.freedoms)
        volume = flow.grid.spacing**3
        per_pressure = flow.dt * volume * _solve_mass(bodies.mass, jacobian.T)
        core = jacobian @ per_pressure
        term = LowRank(beside.rows, beside.factor, 0.5 * (core + core.T))
        b = plain.row_b.copy()
        term.add_to(b, jacobian @ bodies.velocity)
        _take_back(flow, A, rows, faces, b)
        contact = plain.row_contact.copy()
        contact.reshape(-1)[beside.rows] = _contact(flow, A, bodies, beside)
        system = CoupledSystem(A, b, contact, plain.shape, plain.cell_types, term.trimmed())
        system = replace(system, row_b=b - expansion_of(flow, system))
        return cls(system, bodies, faces, term, per_pressure)

    def velocity(self, row_p: Array) -> Array:
        """(m,): the generalised velocity of the bodies after a pressure on the box of rows."""
        return np.asarray(self.bodies.velocity + self.per_pressure @ self.factor.moments(row_p))

    def impulse(self, row_p: Array) -> Array:
        """(m,): the generalised impulse of that pressure."""
        return np.asarray(self.bodies.mass @ (self.per_pressure @ self.factor.moments(row_p)))


def _solve_mass(mass: Array, right: Array) -> Array:
    if not mass.size:
        return np.zeros(right.shape)
    return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(mass, lower=True), right))


def _take_back(flow: Flow, A: Stencil, rows: Array, faces: Faces, b: Array) -> None:
    """What the bodies close does not move with the prescribed walls, as whose part the assembly counted it."""
    if flow.solid_velocity is None:
        return
    moving, moves = read_solid_velocity(flow.grid, flow.solid_velocity, np.dtype(np.float64), A.corner, A.box)
    if not moves:
        return
    corner, box = np.array(A.corner), np.array(A.box)
    local = faces.index - corner
    through = np.zeros(len(local))
    for axis in range(flow.grid.dimension):
        values = moving[axis]
        own = (faces.axis == axis) & ((local >= 0) & (local < np.array(values.shape))).all(axis=1)
        through[own] = faces.share[own] * values[tuple(local[own].T)]
    for cells, sign in ((faces.below() - corner, 1.0), (local, -1.0)):
        inside = ((cells >= 0) & (cells < box)).all(axis=1)
        at = tuple(cells[inside].T)
        change = np.zeros(A.box)
        np.add.at(change, at, sign / flow.grid.spacing * through[inside])
        b -= np.where(rows, change, 0.0)


def _contact(flow: Flow, A: Stencil, bodies: Bodies, beside: Contacts) -> Array:
    """Whether the liquid may let go of the wall of each row beside a body: the wall that closes most of its faces decides."""
    separating = read_walls(flow.walls, flow.grid)
    cells = np.stack(np.unravel_index(beside.rows, A.box), axis=1).reshape(-1, 3) + np.array(A.corner)
    walls = separating[tuple(cells.T)] if separating.size > 1 else np.full(len(cells), separating[0, 0, 0])
    if bodies.count == 0:
        return np.asarray(walls)
    most = beside.part.argmax(axis=1)
    own = np.array(bodies.separating)[most]
    return np.asarray(np.where(beside.part[np.arange(len(most)), most] >= beside.wall, own, walls))
