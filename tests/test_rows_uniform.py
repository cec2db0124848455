"""Strips that are uniform in part: the loops that skip couplings there give the bits of those that read them."""

import numpy as np
import pytest

from unstick.kernels import rows, rows_cg, rows_contact, rows_strips
from unstick.problem import Stencil
from unstick.solvers.rows import Fine, Layout, Levels, lay_out, make_levels, pack_system, scan, unpack

BOXES = [(6, 7, 70), (3, 40, 90), (40, 75, 1)]
STEP = rows_strips.STEP


def partly_uniform(box, seed):
    """Couplings of 1 but for a few random ones, holes, excess, and contact cells far from any of these."""
    rng = np.random.default_rng(seed)
    gone = rng.random(box) < 0.004
    weights = []
    for axis in range(3):
        w = np.where(rng.random(box) < 0.004, rng.random(box), 1.0)
        first, lower, upper = [slice(None)] * 3, [slice(None)] * 3, [slice(None)] * 3
        first[axis], lower[axis], upper[axis] = 0, slice(None, -1), slice(1, None)
        w[gone] = 0
        w[tuple(upper)][gone[tuple(lower)]] = 0
        w[tuple(first)] = 0
        weights.append(w)
    excess = np.where(rng.random(box) < 0.004, 0.7, 0.0) * ~gone
    contact = (rng.random(box) < 0.01) & ~gone
    return Stencil(*weights, excess), rng.standard_normal(box) * ~gone, contact


def packed(box, seed) -> tuple[Stencil, np.ndarray, np.ndarray, Layout, Fine, Levels]:
    A, b, contact = partly_uniform(box, seed)
    _, k0, k1 = scan(A, b)
    layout = lay_out(k0, k1, A.box)
    fine = pack_system(layout, A, b, contact, 1.0, 1.0)
    return A, b, contact, layout, fine, make_levels(layout, fine)


def mark(layout, fine, least):
    rows_strips.find_uniform(fine.contact, fine.wx, fine.wy, fine.wz, fine.e, layout.strips, layout.blocks, 0, int(layout.cut[1]), least)


def strip_is_uniform(fine, strip):
    """Cell by cell: one coupling, no excess, no contact; and that coupling, for all cells of a strip."""
    own, n, _, xp, _, yp, _, zp = (int(v) for v in strip[:8])
    at = np.arange(n)
    around = [fine.wx[own + at], fine.wx[xp + at], fine.wy[own + at], fine.wy[yp + at], fine.wz[own + at], fine.wz[zp + at]]
    same = np.all([w == around[0] for w in around], axis=0) & (around[0] > 0)
    return same & (fine.e[own + at] == 0) & (fine.contact[own + at] == 0), around[0]


@pytest.mark.parametrize("box", BOXES[:2])
def test_the_uniform_part_is_the_longest_of_whole_steps(box):
    *_, layout, fine, _ = packed(box, 1)
    mark(layout, fine, STEP)
    lengths = []
    for row in range(int(layout.begin[1])):
        for c in range(2):
            even, w = strip_is_uniform(fine, layout.strips[c, row])
            a, b = (int(v) for v in layout.strips[c, row, 8:10])
            assert a % STEP == b % STEP == 0
            assert even[a:b].all() and len(np.unique(w[a:b])) <= 1
            whole = even.reshape(-1, STEP).all(axis=1)
            runs = "".join("x" if good else " " for good in whole).split()
            assert b - a == STEP * max((len(run) for run in runs), default=0)
            lengths.append(b - a)
    assert 0 < np.mean(lengths) < layout.strips[:, : layout.begin[1], 1].mean()


def test_short_uniform_parts_and_blocks_with_few_of_them_are_left_alone():
    *_, layout, fine, _ = packed(BOXES[0], 2)
    last = int(layout.cut[1])
    assert not layout.blocks[:, 2].any() and not layout.strips[..., 8:].any()  # no strip is LEAST cells long
    mark(layout, fine, 2 * STEP)
    found = layout.strips[..., 9] > layout.strips[..., 8]
    assert found.any() and (layout.strips[..., 9] - layout.strips[..., 8])[found].min() >= 2 * STEP
    for begin, end, even in layout.blocks[:last]:
        assert even == (found[:, begin:end].mean() > 0.5)
    assert not layout.blocks[last:, 2].any()


def all_kernels(layout, fine, levels, seed):
    """What every kernel that knows of uniform parts writes, level 0, both colours."""
    rng = np.random.default_rng(seed)
    tables = layout.strips, layout.blocks, 0, int(layout.cut[1])
    size = len(fine.p)
    inside = np.flatnonzero(levels.inv[:size] != 0)
    found = []
    p = np.zeros(size)
    p[inside] = rng.standard_normal(len(inside))
    part = np.zeros((len(layout.blocks), 5))
    for dtype, w in ((np.float64, (fine.wx, fine.wy, fine.wz)), (np.float32, (levels.wx, levels.wy, levels.wz))):
        x, g, e = p.astype(dtype), fine.g.astype(dtype), fine.e.astype(dtype)
        out, r, inv = np.zeros_like(x), np.zeros(size, dtype=np.float32), levels.inv[:size].copy()
        flag = np.zeros(len(layout.par), dtype=bool)
        rows_contact.slack(out, x, g, *w, e, *tables)
        rows_contact.inspect(x, g, fine.contact, *w, e, dtype(0), r, inv, flag, *tables, layout.width, part)
        found += [out.copy(), r, inv, flag, part.copy()]
        rows_cg.apply_dot(out, x, e, levels.inv, *w, *tables, part[:, :2].copy())
        for c in (0, 1):
            rows_contact.project_relax(c, x, g, fine.contact, *w, e, *tables)
        found += [out, x]
    x, g = p.astype(np.float32), fine.g.astype(np.float32)
    r = np.zeros_like(x)
    single = levels.wx, levels.wy, levels.wz
    for c in (1, 0):
        rows.relax(c, x, g, levels.inv, *single, *tables)
        rows.residual(1 - c, r, x, g, levels.e, levels.inv, *single, *tables)
    return [*found, x, r]


@pytest.mark.parametrize("box", BOXES)
def test_kernels_that_skip_couplings_give_the_bits_of_those_that_do_not(box):
    *_, layout, fine, levels = packed(box, 3)
    expected = all_kernels(layout, fine, levels, 4)
    mark(layout, fine, STEP)
    layout.blocks[: int(layout.cut[1]), 2] = 1
    if box[2] > 1:
        assert (layout.strips[..., 9] > layout.strips[..., 8]).any()
    for one, other in zip(expected, all_kernels(layout, fine, levels, 4), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("box", BOXES[:2])
def test_they_equal_the_plain_product_and_leave_no_contact_cell_below_zero(box):
    A, b, contact, layout, fine, _ = packed(box, 5)
    mark(layout, fine, STEP)
    layout.blocks[: int(layout.cut[1]), 2] = 1
    tables = layout.strips, layout.blocks, 0, int(layout.cut[1])
    cells, p = A.rows(), np.zeros(box)
    for c in (0, 1, 0, 1):
        rows_contact.project_relax(c, fine.p, fine.g, fine.contact, fine.wx, fine.wy, fine.wz, fine.e, *tables)
        colour = cells & (np.indices(box).sum(axis=0) % 2 == c)
        value = p - np.divide(A.apply(p) + b, A.diagonal(), where=cells, out=np.zeros(box))
        p[colour] = np.where(contact, np.maximum(value, 0), value)[colour]
    rows_contact.slack(fine.d, fine.p, fine.g, fine.wx, fine.wy, fine.wz, fine.e, *tables)
    found, slack = np.zeros(box), np.zeros(box)
    unpack(layout, fine.p, found, 1.0)
    unpack(layout, fine.d, slack, 1.0)
    assert found[cells] == pytest.approx(p[cells], abs=1e-12)
    assert slack[cells] == pytest.approx((A.apply(p) + b)[cells], abs=1e-12)
    assert (p[contact & cells] == 0).any() and (found[contact & cells] >= 0).all()
