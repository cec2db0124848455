"""Small random systems of every kind that a solver for users will meet; a name, a seed and a place bring one back.

Grid systems are cut-cell geometries made here from random level sets, without the package's own assembly: a second opinion on it.
Boxes have three axes; a plane one has a single layer, closed above and below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay

from unstick.problem import Array, PressureSystem

Generator = np.random.Generator


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    name: str
    seed: int
    place: int  # `case(seed, place)` is this one again
    system: PressureSystem


def random_systems(seed: int, count: int) -> Iterator[Case]:
    for place in range(count):
        yield case(seed, place)


def case(seed: int, place: int) -> Case:
    name = list(KINDS)[place % len(KINDS)]
    return Case(name, seed, place, KINDS[name](np.random.default_rng([seed, place])))


@dataclass(slots=True, eq=False)
class Cut:
    """A cut-cell geometry in the making."""

    box: tuple[int, int, int]
    faces: list[Array]  # per axis: open fraction of the lower face of each cell, and of the last upper one
    liquid: Array
    theta: list[Array]  # per axis and face: part of the way from the liquid's centre to the surface
    flow: list[Array]  # per axis and face: velocity before the pressure acts

    def extended(self, values: Array, axis: int, fill: float = 0.0) -> tuple[Array, Array]:
        """What lies below and above each face."""
        shape = list(self.box)
        shape[axis] = 1
        end = np.full(shape, fill, dtype=values.dtype)
        return np.concatenate([end, values], axis), np.concatenate([values, end], axis)


def cut(rng: Generator, planar: bool | None = None) -> Cut:
    planar = bool(rng.integers(2)) if planar is None else planar
    nx, ny, nz = (*rng.integers(8, 36, 2), 1) if planar else rng.integers(5, 13, 3)
    box = (int(nx), int(ny), int(nz))
    nodes = list(np.meshgrid(*(np.arange(s + 1) / max(box) for s in box), indexing="ij"))
    centres = list(np.meshgrid(*((np.arange(s) + 0.5) / max(box) for s in box), indexing="ij"))
    if planar:
        nodes[2] = np.zeros_like(nodes[2])
    solid = _wave(rng, nodes) + rng.uniform(0.3, 1.5)  # positive outside the solid
    surface = _wave(rng, centres) - rng.uniform(0.0, 1.0)  # negative in the liquid
    made = Cut(box, [], surface < 0, [], [])
    for axis in range(3):
        corners = [solid]
        for other in {0, 1, 2} - {axis}:
            corners = [np.delete(c, end, other) for c in corners for end in (-1, 0)]
        stack = np.array(corners)
        faces = np.clip(stack, 0.0, None).sum(0) / np.abs(stack).sum(0)
        ends = [slice(None)] * 3
        for at in (0, -1):  # the box has closed sides
            ends[axis] = slice(at, None if at else 1)
            faces[tuple(ends)] = 0.0
        made.faces.append(faces)
        below, above = made.extended(surface, axis, 1.0)
        gap = np.abs(below) + np.abs(above)
        made.theta.append(np.clip(np.minimum(below, above) / -gap, 0.01, 1.0))
        made.flow.append(rng.normal() + _wave(rng, [np.arange(s)[_along(d)] / max(box) for d, s in enumerate(faces.shape)]))
    return made


def _along(axis: int) -> tuple[slice | None, ...]:
    return tuple(slice(None) if d == axis else None for d in range(3))


def _wave(rng: Generator, points: list[Array]) -> Array:
    """A smooth random field of size about 1."""
    total = np.zeros(())
    for _ in range(5):
        phase = rng.uniform(0.0, 2.0 * np.pi)
        total = total + np.cos(sum((rng.normal(0.0, 5.0) * p for p in points), phase))
    return np.asarray(total / 2.0)


@dataclass(slots=True, eq=False)
class Draft:
    """A, b and the contact rows of all cells of a box, before they become a system."""

    A: sp.csr_array
    b: Array
    contact: Array
    shape: tuple[int, ...]

    def system(self) -> PressureSystem:
        return PressureSystem.from_matrix(self.A, self.b, self.contact, self.shape)


def draft(rng: Generator, made: Cut) -> Draft:
    """The five- or seven-point system of a geometry, in random units."""
    number = np.arange(made.liquid.size).reshape(made.box)
    i, j, v = [], [], []
    d, b = np.zeros(made.box), np.zeros(made.box)
    contact = np.zeros(made.box, dtype=bool)
    for axis in range(3):
        faces = made.faces[axis]
        below, above = made.extended(made.liquid, axis)
        coupled = below & above & (faces > 0)
        low, high = (a[coupled] for a in made.extended(number, axis))
        i += [low, high]
        j += [high, low]
        v += [-faces[coupled]] * 2
        weight = np.where(below & above, faces, np.where(below | above, faces / made.theta[axis], 0.0))
        upper, lower = [slice(None)] * 3, [slice(None)] * 3
        upper[axis], lower[axis] = slice(1, None), slice(None, -1)
        d += weight[tuple(upper)] + weight[tuple(lower)]
        flux = faces * made.flow[axis]
        b += flux[tuple(upper)] - flux[tuple(lower)]
        if made.box[axis] > 1:
            contact |= (faces[tuple(upper)] < 1.0) | (faces[tuple(lower)] < 1.0)
    rows = made.liquid.reshape(-1)
    i, j, v = [*i, number.reshape(-1)], [*j, number.reshape(-1)], [*v, np.where(rows, d.reshape(-1), 0.0)]
    n = rows.size
    unit = 10.0 ** rng.uniform(-3.0, 5.0)
    A = sp.csr_array((np.concatenate(v) * unit, (np.concatenate(i), np.concatenate(j))), shape=(n, n))
    shape = made.box[:2] if made.box[2] == 1 else made.box
    b = np.where(rows, b.reshape(-1), 0.0) * 10.0 ** rng.uniform(-3.0, 3.0)
    b[A.diagonal() == 0.0] = 0.0
    return Draft(A, b, contact.reshape(-1) & rows, shape)


def plant(rng: Generator, made: Draft) -> Draft:
    """Choose p and slack, then b: p = 0 with a slack on some contact rows, p > 0 on the others, p of any sign elsewhere."""
    n = made.b.size
    scale = 10.0 ** rng.uniform(-2.0, 2.0)
    p = rng.normal(size=n) * scale
    p[made.contact] = np.abs(p[made.contact])
    let_go = made.contact & (rng.random(n) < rng.uniform(0.1, 0.9))
    p[let_go] = 0.0
    slack = np.where(let_go, np.abs(rng.normal(size=n)) * scale * made.A.diagonal(), 0.0)
    empty = made.A.diagonal() == 0.0
    return Draft(made.A, np.where(empty, 0.0, slack - made.A @ p), made.contact, made.shape)


def smooth(rng: Generator) -> PressureSystem:
    return draft(rng, cut(rng)).system()


def planted(rng: Generator) -> PressureSystem:
    return plant(rng, draft(rng, cut(rng))).system()


def thin_walls(rng: Generator) -> PressureSystem:
    """Sheets of closed faces between liquid cells, with a few holes."""
    made = cut(rng)
    for _ in range(int(rng.integers(1, 4))):
        axis = int(rng.integers(0, 2 if made.box[2] == 1 else 3))
        at = [slice(None)] * 3
        at[axis] = slice(place := int(rng.integers(1, made.box[axis])), place + 1)
        sheet = made.faces[axis][tuple(at)]
        made.faces[axis][tuple(at)] = np.where(rng.random(sheet.shape) < 0.1, sheet, 0.0)
    return draft(rng, made).system()


def tiny_fractions(rng: Generator) -> PressureSystem:
    """Openings down to 1e-9, beside whole ones."""
    made = cut(rng)
    for axis in range(3):
        faces = made.faces[axis]
        small = rng.random(faces.shape) < 0.15
        made.faces[axis] = np.where(small, faces * 10.0 ** rng.uniform(-9.0, -1.0, faces.shape), faces)
    return draft(rng, made).system()


def pieces(rng: Generator) -> PressureSystem:
    """Dozens of disconnected pieces, many of one cell, some without air."""
    made = cut(rng)
    for axis in range(3):
        made.faces[axis] = np.where(rng.random(made.faces[axis].shape) < 0.5, 0.0, made.faces[axis])
    return draft(rng, made).system()


def _pocket(rng: Generator, inflow: float) -> PressureSystem:
    """A closed block of liquid with the given net expansion (as a part of its flows), beside liquid that meets air."""
    made = cut(rng)
    lo = [int(rng.integers(0, max(1, s - 3))) for s in made.box]
    hi = [min(s, low + int(rng.integers(2, 5))) for s, low in zip(made.box, lo, strict=True)]
    block = tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))
    made.liquid[block] = True
    for axis in range(3):
        inner = list(block)
        inner[axis] = slice(lo[axis], hi[axis] + 1)
        made.faces[axis][tuple(inner)] = 1.0 if rng.random() < 0.5 else rng.uniform(0.2, 1.0)
        for end in (lo[axis], hi[axis]):
            inner[axis] = slice(end, end + 1)
            made.faces[axis][tuple(inner)] = 0.0
    whole = draft(rng, made)
    mark = np.zeros(made.box, dtype=bool)
    mark[block] = True
    inside = mark.reshape(-1)
    b = whole.b[inside] + rng.normal(size=int(inside.sum())) * (np.abs(whole.b).max() or 1.0)
    whole.b[inside] = b - b.mean() + inflow * np.abs(b).mean()
    return whole.system()


def pocket_compressed(rng: Generator) -> PressureSystem:
    return _pocket(rng, -rng.uniform(0.01, 0.5))


def pocket_balanced(rng: Generator) -> PressureSystem:
    return _pocket(rng, 0.0)


def pocket_expanding(rng: Generator) -> PressureSystem:
    return _pocket(rng, rng.uniform(0.01, 0.5))


def all_contact(rng: Generator) -> PressureSystem:
    made = draft(rng, cut(rng))
    made.contact = made.A.diagonal() > 0
    return (plant(rng, made) if rng.random() < 0.5 else made).system()


def no_contact(rng: Generator) -> PressureSystem:
    made = draft(rng, cut(rng))
    made.contact = np.zeros_like(made.contact)
    return made.system()


def full_box(rng: Generator) -> PressureSystem:
    """A box full of liquid, some sides open to air as a whole, contact on the others: what fast transforms take."""
    made = cut(rng)
    A, contact = sp.csr_array((1, 1)), np.zeros(made.box, dtype=bool)
    for axis, n in enumerate(made.box):
        open_below, open_above = (rng.random(2) < (0.4 if n > 1 else 0.0)) if rng.random() < 0.8 else (False, False)
        T = sp.diags_array([[-1.0] * (n - 1), [2.0] * n, [-1.0] * (n - 1)], offsets=[-1, 0, 1]).tolil()
        for end, is_open in ((0, open_below), (n - 1, open_above)):
            T[end, end] += 1.0 if is_open else -1.0  # p = 0 on the face, or nothing beyond it
            at = [slice(None)] * 3
            at[axis] = slice(end, end + 1)
            contact[tuple(at)] |= n > 1 and not is_open
        T = sp.csr_array(T) * rng.uniform(0.5, 2.0)
        A = T if axis == 0 else sp.kronsum(T, A, format="csr")
    b = rng.normal(size=contact.size) + rng.normal()
    return Draft(sp.csr_array(A), b, contact.reshape(-1), made.box[:2] if made.box[2] == 1 else made.box).system()


def _graph(rng: Generator, points: Array, contact_part: float) -> Draft:
    """Random conductances on the edges of a triangulation; some outer nodes meet air."""
    mesh = Delaunay(points)
    n, corners = len(points), mesh.simplices.shape[1]
    i, j = (np.concatenate([mesh.simplices[:, c] for c in half]) for half in zip(*_pairs(corners), strict=True))
    pairs = np.unique(np.sort(np.stack([i, j], 1), 1), axis=0)
    w = 10.0 ** rng.uniform(-1.0, 1.0, len(pairs)) / np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    hull = np.unique(mesh.convex_hull)
    excess = np.zeros(n)
    airy = hull[points[hull, 1] > np.median(points[:, 1])]
    excess[airy] = 10.0 ** rng.uniform(0.0, 3.0, len(airy))
    lower = sp.csr_array((-w, (pairs[:, 1], pairs[:, 0])), shape=(n, n))
    A = lower + lower.T
    A = sp.csr_array(A + sp.diags_array(excess - np.asarray(A.sum(axis=1)).reshape(-1)))
    contact = np.zeros(n, dtype=bool)
    contact[np.setdiff1d(hull, airy)] = True
    contact |= rng.random(n) < contact_part
    return Draft(A, rng.normal(size=n) + np.cos(points @ rng.normal(0.0, 4.0, points.shape[1])), contact, (n,))


def _pairs(corners: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(corners) for b in range(a)]


def unstructured(rng: Generator) -> PressureSystem:
    """Triangulated planes and spaces: no grid, triangles in the graph."""
    dimension = int(rng.integers(2, 4))
    made = _graph(rng, rng.random((int(rng.integers(30, 600)), dimension)), rng.uniform(0.0, 0.4))
    made = plant(rng, made) if rng.random() < 0.5 else made
    return PressureSystem.from_matrix(made.A, made.b, made.contact)


KINDS: dict[str, Callable[[Generator], PressureSystem]] = {
    "smooth": smooth,
    "thin walls": thin_walls,
    "planted": planted,
    "tiny fractions": tiny_fractions,
    "pieces": pieces,
    "pocket, compressed": pocket_compressed,
    "pocket, balanced": pocket_balanced,
    "pocket, expanding": pocket_expanding,
    "all contact": all_contact,
    "no contact": no_contact,
    "full box": full_box,
    "unstructured": unstructured,
}
