"""The liquid rows of a grid system with their hierarchy of coarse levels: what the structured solvers work on.

Set-up packs the system's box into strips (see kernels/rows.py), scaled to mean a_ii = 1 and max|b| = 1. The finest level is kept
twice: in double precision for residuals, in single precision for the cycles. A 2D box is seen as one plane, rows along y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.kernels import rows_coarsen, rows_layout, rows_pack, rows_strips, rows_watch
from unstick.problem import Array, Stencil
from unstick.solvers.memory import zeros

LIGHT_ROWS = 128  # fewer than these are coarsened on one thread
BLOCK = 1024  # cells in a block: the unit of parallel work and of partial sums


@dataclass(slots=True, eq=False)
class Layout:
    """The tables that say where each row of each level is stored; 'fine' is level 0."""

    box: tuple[int, int, int]
    off: Array
    nbr: Array
    par: Array
    span: Array  # of each row: first m, one past the last computed m, one past the last cell's m
    child: Array
    strips: Array  # the same by colour and row, as the inner loops need it (kernels/rows.py)
    blocks: Array  # first row, one past the last, and whether most of its strips are uniform in part (kernels/rows_strips.py)
    place: Array  # (i, j, first m, number of m) of each row
    begin: Array  # first row of each level, and the end
    cut: Array  # first block of each level, and the end
    start: Array  # first stored position of each level, and the end
    width: int  # the longest row's cells, and some
    cells: Array  # of each level

    @property
    def levels(self) -> int:
        return len(self.begin) - 1

    @property
    def storage(self) -> int:
        return int(self.start[-1])


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass over the system tells before anything is allocated."""

    unknowns: int
    mean: float  # mean a_ii
    largest: float  # max|b|
    null_rows: int  # rows without coupling or excess whose b is not 0
    entries: int  # of the matrix


def planes(values: Array) -> Array:
    """A box array as the kernels see it: 2D boxes (nx, ny, 1) become one plane (1, nx, ny)."""
    nx, ny, nz = values.shape
    return values.reshape(1, nx, ny) if nz == 1 else values


def couplings(A: Stencil) -> tuple[Array, Array, Array, Array]:
    """wx, wy, wz, excess along the axes the kernels see."""
    if A.box[2] == 1:
        none = np.broadcast_to(np.zeros(1), (1, *A.box[:2]))
        return np.ascontiguousarray(none), planes(A.wx), planes(A.wy), planes(A.excess)
    return A.wx, A.wy, A.wz, A.excess


def scan(A: Stencil, b: Array) -> tuple[Scan, Array, Array]:
    """Size and scale of the system, and the range of cells of every row (i, j)."""
    wx, wy, wz, e = couplings(A)
    ni, nj, _ = e.shape
    k0, k1 = np.empty((ni, nj), dtype=np.int64), np.empty((ni, nj), dtype=np.int64)
    total, largest = np.zeros((ni, 4)), np.zeros(ni)
    rows_layout.row_ranges(wx, wy, wz, e, k0, k1, total, largest, planes(b))
    diagonal, unknowns, null, links = total.sum(axis=0)
    top = float(largest.max(initial=0.0))
    return Scan(int(unknowns), diagonal / max(unknowns, 1), top, int(null), int(unknowns + 2 * links)), k0, k1


def lay_out(k0: Array, k1: Array, box: tuple[int, int, int]) -> Layout:
    """Tables for the finest level with the given ranges and for all coarser ones, down to a single cell."""
    ranges = [(k0, k1)]
    while max(*ranges[-1][0].shape, int(ranges[-1][1].max(initial=1))) > 1:
        ranges.append(rows_layout.coarse_ranges(*ranges[-1]))
    levels = len(ranges)
    begin, numbers = [0], []
    for _, ends in ranges:
        number = np.empty(ends.shape, dtype=np.int64)
        begin.append(int(rows_layout.number_rows(ends, number, begin[-1])))
        numbers.append(number)
    count = null = begin[-1]
    longest = int(k1.max(initial=1))
    nbr = np.full((4, count + 1), null, dtype=np.int64)
    child = np.full((4, count + 1), null, dtype=np.int64)
    par, span, place = (
        np.zeros(count + 1, dtype=np.int64),
        np.zeros((3, count + 1), dtype=np.int64),
        np.zeros((4, count + 1), dtype=np.int64),
    )
    off = np.zeros((2, count + 1), dtype=np.int64)
    for level, (first, last) in enumerate(ranges):
        fine = numbers[max(level - 1, 0)]
        rows_layout.fill_rows(first, last, numbers[level], fine, nbr, par, span, child, place, null, level > 0)
    off[:, null] = 1  # the shared row of zeros stands in front
    width = longest + 4 * rows_strips.STEP
    start = [width]
    for level in range(levels):
        up = (begin[level + 1], begin[level + 2]) if level + 1 < levels else (0, 0)
        start.append(int(rows_layout.fill_offsets(begin[level], begin[level + 1], *up, nbr, span, child, off, start[-1], null)))
    strips = np.empty((2, count + 1, rows_strips.COLUMNS), dtype=np.uint32)
    rows_layout.fill_strips(off, nbr, par, span, strips)
    blocks, cut = np.zeros((count + 1, 3), dtype=np.int64), [0]
    for level in range(levels):
        cut.append(int(rows_layout.fill_blocks(begin[level], begin[level + 1], span, BLOCK, blocks, cut[-1])))
    return Layout(
        box=box,
        off=off,
        nbr=nbr,
        par=par,
        span=span,
        child=child,
        strips=strips,
        blocks=blocks[: cut[-1]].copy(),
        place=place,
        begin=np.array(begin),
        cut=np.array(cut),
        start=np.array(start),
        width=width,
        cells=2 * np.add.reduceat(place[3], begin[:-1]),
    )


@dataclass(slots=True, eq=False)
class Levels:
    """The matrices of all levels in single precision and the work vectors of the cycle."""

    wx: Array
    wy: Array
    wz: Array
    e: Array
    inv: Array  # 1 / a_ii, zero on detached cells of the level on top
    x: Array
    f: Array
    r: Array
    d: Array
    q: Array
    v: Array
    s: Array  # the residual before conjugate gradients
    flag: Array  # rows whose detached set changed since the levels below were built
    todo: Array
    part: Array


@dataclass(slots=True, eq=False)
class Fine:
    """The system itself on strips, double precision: A p = g with p >= 0 on contact cells."""

    wx: Array
    wy: Array
    wz: Array
    e: Array
    g: Array
    p: Array
    d: Array
    contact: Array  # uint8, all levels


def pack_system(layout: Layout, A: Stencil, b: Array, contact: Array, mean: float, largest: float) -> Fine:
    rows = (0, int(layout.begin[1]))
    wx, wy, wz, e, g, p, d = vectors(7, int(layout.start[1]), np.float64)
    boxes = (*couplings(A), planes(b))
    for box, strips, factor in zip(boxes, (wx, wy, wz, e, g), (*(4 * [1.0 / mean]), -1.0 / largest), strict=True):
        rows_pack.pack(box, strips, factor, layout.off, layout.par, layout.place, *rows)
    touching = np.zeros(layout.storage, dtype=np.uint8)
    rows_pack.pack_mask(planes(contact.view(np.uint8)), touching, layout.off, layout.par, layout.place, *rows)
    rows_strips.find_uniform(touching, wx, wy, wz, e, layout.strips, layout.blocks, 0, int(layout.cut[1]), rows_strips.LEAST)
    return Fine(wx, wy, wz, e, g, p, d, touching)


def vectors(count: int, size: int, dtype: type) -> list[Array]:
    """Zeroed vectors from one allocation, which the system can map by large pages, each from the beginning of a cache line; their
    distance avoids multiples of a page."""
    pitch = size + (-size) % 64 + 64 * (1 + (size // 64) % 2)
    whole = zeros(count * pitch + 64, dtype)
    shift = (-whole.ctypes.data % 64) // whole.itemsize
    return [whole[shift + n * pitch : shift + n * pitch + size] for n in range(count)]


def make_levels(layout: Layout, fine: Fine) -> Levels:
    """Single-precision copies of the finest level; the coarser ones are still empty."""
    wx, wy, wz, e, inv, x, f, r, d, q, v, s = vectors(12, layout.storage, np.float32)
    for source, target in ((fine.wx, wx), (fine.wy, wy), (fine.wz, wz), (fine.e, e)):
        rows_pack.convert(source, target, int(layout.start[0]), int(layout.start[1]))
    count, first = len(layout.par), int(layout.begin[1])
    todo = np.empty(count, dtype=np.int64)
    todo[:first] = np.arange(first)
    rows_coarsen.invert(inv, wx, wy, wz, e, layout.off, layout.nbr, layout.par, layout.span, todo, first)
    flag = np.zeros(count, dtype=np.bool_)
    return Levels(wx, wy, wz, e, inv, x, f, r, d, q, v, s, flag, todo, np.zeros((len(layout.blocks), 5)))


def rebuild(layout: Layout, levels: Levels, top: int, all_below: bool = False) -> float:
    """Recompute the coarse matrices below level `top` above flagged rows, from the second one on everywhere if `all_below`.
    Returns the share of rows of level `top` that were read."""
    w = levels.wx, levels.wy, levels.wz, levels.e
    tables = layout.off, layout.nbr, layout.par, layout.span, layout.child, layout.begin
    count = np.zeros(layout.levels, dtype=np.int64)
    rows_coarsen.rebuild(top, all_below, *w, levels.inv, *tables, levels.flag, levels.todo, count, layout.width, LIGHT_ROWS)
    below = slice(top + 1, layout.levels)
    share = count[below] / np.diff(layout.begin)[below] * layout.cells[top : layout.levels - 1]
    return float(share.sum() / layout.cells[top])


def positions(layout: Layout, cells: Array) -> Array:
    """Where cells (n, 3), along the axes the kernels see, stand in the strips of level 0."""
    count = int(layout.begin[1])
    number = np.zeros((int(layout.place[0, :count].max()) + 1, int(layout.place[1, :count].max()) + 1), dtype=np.int64)
    number[layout.place[0, :count], layout.place[1, :count]] = np.arange(count)
    i, j, k = cells.T
    return np.asarray(layout.off[(i + j + k) & 1, number[i, j]] + (k >> 1))


def contact_cells(layout: Layout, fine: Fine, levels: Levels) -> Array:
    """Positions of the contact cells of level 0 and of their six neighbours (7, n); nothing is detached yet."""
    blocks, last = layout.blocks, int(layout.cut[1])
    count = np.zeros(last + 1, dtype=np.int64)
    rows_watch.count_contact(fine.contact, levels.inv, layout.off, layout.span, blocks, 0, last, count)
    begin = np.cumsum(count)
    at = np.empty((7, int(begin[-1])), dtype=np.uint32)
    rows_watch.list_contact(fine.contact, levels.inv, layout.off, layout.nbr, layout.par, layout.span, blocks, 0, last, begin, at)
    return at


def pack_guess(layout: Layout, fine: Fine, guess: Array, factor: float) -> None:
    """A guess on the box as the start, projected onto the constraint."""
    rows_pack.pack(planes(np.ascontiguousarray(guess)), fine.p, factor, layout.off, layout.par, layout.place, 0, int(layout.begin[1]))
    touching = fine.contact[: len(fine.p)] != 0
    np.maximum(fine.p, 0.0, out=fine.p, where=touching)


def unpack(layout: Layout, strips: Array, box: Array, factor: float) -> None:
    """Write level-0 strips into a box array (2D boxes included)."""
    target = planes(box)
    rows_pack.unpack(strips, target, factor, layout.off, layout.par, layout.place, 0, int(layout.begin[1]))
