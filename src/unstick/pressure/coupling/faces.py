"""How much of which face each body closes, and with it the matrix between the bodies' twists and the divergence of the cells.

A face that a body closes to the part s lets s u_b through, where u_b is the body's velocity at the middle of the face: the divergence
of the cell below it grows by s u_b / h, that of the cell above it falls by as much. The same numbers, transposed, turn a pressure into
force and torque: the body gets s h^2 (p_below - p_above) along the axis. Hence what the body gains the liquid and the other walls lose,
to rounding, in momentum and, since lever arms are those of the faces, in angular momentum (docs/coupling.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unstick.grid import Array, Grid
from unstick.kernels.body_faces import closed_of_cells, count_faces, list_faces
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.inputs import Domain
from unstick.problem import Stencil


@dataclass(frozen=True, slots=True, eq=False)
class Faces:
    """Closed faces beside rows, of all bodies and axes, one entry for each body that closes a part of it."""

    body: Array
    axis: Array
    index: Array  # (n, 3)
    share: Array  # the part that this body closes

    @classmethod
    def of(cls, domain: Domain, bodies: Bodies, rows: Array, corner: tuple[int, int, int]) -> Faces:
        d = domain.grid.dimension
        together = np.minimum.reduce(bodies.phi) if bodies.count else np.zeros((0, 0, 0))
        parts = [_listed(domain, phi, together, rows, corner, axis) for phi in bodies.phi for axis in range(d)]
        sizes = [len(part.share) for part in parts]
        body, axis = np.repeat(np.arange(len(parts)) // d, sizes), np.repeat(np.arange(len(parts)) % d, sizes)
        whole = _Listed.joined(parts)
        share = _shared(domain.grid, axis, whole)
        used = share > 0.0
        return cls(body[used], axis[used], whole.index[used], share[used])

    def below(self) -> Array:
        """(n, 3): the cells on the lower sides; those on the upper ones are `index` itself."""
        step = np.zeros_like(self.index)
        step[np.arange(len(step)), self.axis] = 1
        return np.asarray(self.index - step)


def displaced(grid: Grid, solid_phi: Array, bodies: Bodies) -> Array:
    """(n, 3): the liquid's volume each body takes the place of, as momentum along each axis sees it: the sum of its sections by the faces.

    It is what an immersed body must weigh to float on this grid. A body whose sides lie in planes of faces displaces half a cell more on
    each of these sides, one whose sides lie half-way between them its true volume.
    """
    domain = Domain.read(grid, np.zeros(grid.shape), solid_phi)
    faces = Faces.of(domain, bodies, np.ones(grid.shape3, dtype=np.bool_), (0, 0, 0))
    out = np.zeros((bodies.count, 3))
    np.add.at(out, (faces.body, faces.axis), faces.share * grid.spacing**3)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """Faces of one body normal to one axis."""

    index: Array
    share: Array  # the part the body closes
    closed: Array  # the part all walls close
    alone: Array  # bool: no wall but bodies is near

    @classmethod
    def empty(cls, n: int) -> _Listed:
        return cls(np.zeros((n, 3), dtype=np.int64), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_))

    @classmethod
    def joined(cls, parts: list[_Listed]) -> _Listed:
        if not parts:
            return cls.empty(0)
        columns = zip(*((p.index, p.share, p.closed, p.alone) for p in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


def _listed(domain: Domain, phi: Array, together: Array, rows: Array, corner: tuple[int, int, int], axis: int) -> _Listed:
    """The inner faces normal to `axis` that a body closes beside rows."""
    inside = phi <= domain.snap
    low, high = np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)
    for a in range(3):
        hit = np.flatnonzero(inside.any(axis=tuple(x for x in range(3) if x != a)))
        if hit.size == 0:
            return _Listed.empty(0)
        last = domain.grid.face_shape(axis)[a]
        low[a] = max(int(hit[0]) - (a != axis), int(a == axis))
        high[a] = min(int(hit[-1]) + 1, last - (a == axis))
    if (high <= low).any():
        return _Listed.empty(0)
    count = count_faces(phi, domain.snap, rows, corner, low, high, axis, domain.kz)
    begin = np.concatenate([[0], np.cumsum(count)])
    out = _Listed.empty(int(begin[-1]))
    solid = domain.solid.astype(np.float64, copy=False)
    list_faces(
        phi, together, solid, domain.snap, rows, corner, low, high, axis, domain.kz, begin, out.index, out.share, out.closed, out.alone
    )
    return out


def _shared(grid: Grid, axis: Array, faces: _Listed) -> Array:
    """What each body closes: its own cut, but all bodies of a face together no more than all walls do, and no less where no other wall
    is near (distances of several bodies, the least taken at each node, may close a little more than each by itself)."""
    if faces.share.size == 0:
        return faces.share
    _, y, z = grid.node_shape3
    index = faces.index
    key = axis + 3 * (index[:, 0] * (y + 1) * (z + 1) + index[:, 1] * (z + 1) + index[:, 2])
    _, place = np.unique(key, return_inverse=True)
    total = np.bincount(place, faces.share)[place]
    scaled = (total > faces.closed) | (faces.alone & (total < faces.closed))
    return np.asarray(np.where(scaled, faces.share * (faces.closed / total), faces.share))


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """The rows beside bodies, and what the bodies mean to them."""

    rows: Array  # flat index among the box's cells, ascending
    factor: sp.csr_array  # (len(rows), 6 n): divergence in 1/s by twist
    wall: Array  # the part of each row's closed faces that belongs to none of the bodies
    part: Array  # (len(rows), n): the part that belongs to each body

    @classmethod
    def of(cls, domain: Domain, bodies: Bodies, faces: Faces, A: Stencil, rows: Array) -> Contacts:
        grid, corner = domain.grid, np.array(A.corner)
        h = grid.spacing
        speed = motion(grid, bodies, faces)  # (faces, 6): velocity of the face's middle along its axis, by twist
        at, to, value, owner, amount = [], [], [], [], []
        for cells, sign in ((faces.below(), 1.0), (faces.index, -1.0)):
            place = cells - corner
            inside = ((place >= 0) & (place < np.array(A.box))).all(axis=1)
            number = np.zeros(len(cells), dtype=np.int64)
            number[inside] = np.ravel_multi_index(tuple(place[inside].T), A.box)
            inside[inside] = rows.reshape(-1)[number[inside]]
            at.append(np.repeat(number[inside], 6))
            to.append((6 * faces.body[inside][:, None] + np.arange(6)).reshape(-1))
            value.append((sign / h * faces.share[inside][:, None] * speed[inside]).reshape(-1))
            owner.append(np.stack([number[inside], faces.body[inside]]))
            amount.append(faces.share[inside])
        numbers, place = np.unique(np.concatenate(at), return_inverse=True)
        shape = len(numbers), 6 * bodies.count
        factor = sp.csr_array(sp.coo_array((np.concatenate(value), (place, np.concatenate(to))), shape=shape))
        factor.eliminate_zeros()
        factor.sort_indices()
        pairs = np.concatenate(owner, axis=1)
        part = np.zeros((len(numbers), bodies.count))
        np.add.at(part, (np.searchsorted(numbers, pairs[0]), pairs[1]), np.concatenate(amount))
        closed = np.zeros(len(numbers))
        cells = np.stack(np.unravel_index(numbers, A.box), axis=1).reshape(-1, 3) + corner
        closed_of_cells(domain.solid.astype(np.float64, copy=False), domain.snap, grid.shape3, cells, domain.kz, closed)
        return cls(numbers, factor, np.maximum(closed - part.sum(axis=1), 0.0), part)


def motion(grid: Grid, bodies: Bodies, faces: Faces) -> Array:
    """Along its axis e, a face's middle x moves with v . e + omega . ((x - centre) x e)."""
    middle = _middles(grid, faces)
    e = np.eye(3)[faces.axis]
    arm = middle - bodies.centre[faces.body]
    if grid.dimension == 2:
        arm[:, 2] = 0.0
    out = np.concatenate([e, np.cross(arm, e)], axis=1)
    if grid.dimension == 2:
        out[:, 2:5] = 0.0
    return out


def _middles(grid: Grid, faces: Faces) -> Array:
    shift = np.where(np.arange(3) == faces.axis[:, None], 0.0, 0.5)
    origin = np.array([*grid.origin, 0.0][:3])
    return np.asarray(origin + grid.spacing * (faces.index + shift))
