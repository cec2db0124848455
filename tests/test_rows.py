"""The structured kernels against plain NumPy and SciPy twins, on boxes of every parity, in 2D and 3D."""

import mmap

import numpy as np
import pytest
import scipy.sparse as sp

from unstick.kernels import rows_watch
from unstick.kernels.rows_cycle import v_cycle
from unstick.problem import Stencil
from unstick.solvers.ledger import Ledger
from unstick.solvers.memory import LARGE, PAGE, zeros
from unstick.solvers.rows import (
    contact_cells,
    couplings,
    lay_out,
    make_levels,
    pack_guess,
    pack_system,
    planes,
    positions,
    rebuild,
    scan,
    unpack,
)
from unstick.solvers.structured import Run, Tuning, count_entries, iterate, nested_guess, write_slack

BOXES = [(7, 6, 9), (4, 8, 5), (1, 3, 2), (5, 1, 12), (9, 14, 1), (16, 7, 1), (2, 2, 2), (1, 1, 11)]


def random_stencil(box, seed, holes=0.2):
    """Random couplings with holes, so that rows have gaps, ends and empty neighbours."""
    rng = np.random.default_rng(seed)
    gone = rng.random(box) < holes
    weights = []
    for axis in range(3):
        w = rng.random(box) * (rng.random(box) < 0.8)
        first, lower, upper = [slice(None)] * 3, [slice(None)] * 3, [slice(None)] * 3
        first[axis], lower[axis], upper[axis] = 0, slice(None, -1), slice(1, None)
        w[gone] = 0
        w[tuple(upper)][gone[tuple(lower)]] = 0
        w[tuple(first)] = 0
        weights.append(w)
    excess = np.where(rng.random(box) < 0.4, rng.random(box), 0.0)
    excess[gone] = 0
    contact = (rng.random(box) < 0.5) & ~gone
    return Stencil(*weights, excess), rng.standard_normal(box) * ~gone, contact


def strips(box, seed, tuning=None):
    A, b, contact = random_stencil(box, seed)
    size, k0, k1 = scan(A, b)
    layout = lay_out(k0, k1, A.box)
    fine = pack_system(layout, A, b, contact, 1.0, 1.0)
    levels = make_levels(layout, fine)
    nnz = count_entries(layout, size.entries)
    run = Run(
        layout,
        fine,
        levels,
        0.0,
        1e-6,
        Ledger(int(nnz[0])),
        tuning or Tuning(),
        nnz,
        light=0,
        hit=np.zeros(len(layout.par), dtype=bool),
        contact_at=contact_cells(layout, fine, levels),
    )
    return A, b, contact, size, run


@pytest.mark.parametrize("count", [10, LARGE // 8, LARGE // 4 + 3])
def test_large_vectors_are_zero_and_begin_at_a_large_page(count):
    found = zeros(count, np.float64)
    assert found.shape == (count,) and found.dtype == np.float64 and not found.any()
    if found.nbytes >= LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        assert found.ctypes.data % PAGE == 0
    found[:] = 1.0
    again = zeros(count, np.float64)
    assert not again.any() and not np.shares_memory(found, again)


def on_box(run, values, box):
    out = np.zeros(box)
    unpack(run.layout, np.asarray(values, dtype=np.float64)[: len(run.fine.p)], out, 1.0)
    return out


def put(run, values):
    """A box array on strips."""
    pack_guess(run.layout, run.fine, values, 1.0)
    return run.fine.p


@pytest.mark.parametrize("box", BOXES)
def test_scan_sees_what_a_dense_look_sees(box):
    A, b, _, size, run = strips(box, 1)
    d = A.diagonal()
    assert size.unknowns == np.count_nonzero(d > 0)
    assert size.mean == pytest.approx(d[d > 0].mean(), rel=1e-14)
    assert size.largest == np.abs(b).max()
    assert size.null_rows == np.count_nonzero((d == 0) & (b != 0))
    assert run.nnz[0] == A.to_csr(d > 0).nnz


@pytest.mark.parametrize("box", BOXES)
def test_packing_and_unpacking_returns_every_row(box):
    A, b, contact, _, run = strips(box, 2)
    rows = A.rows()
    assert np.array_equal(on_box(run, run.fine.g, box)[rows], -b[rows])
    assert np.array_equal(on_box(run, run.fine.contact, box)[rows] != 0, contact[rows])


@pytest.mark.parametrize("box", BOXES)
def test_slack_equals_the_plain_product(box):
    A, b, contact, _, run = strips(box, 3)
    p = np.random.default_rng(4).standard_normal(box) * A.rows()
    p[contact] = np.maximum(p[contact], 0)
    put(run, p)
    write_slack(run)
    rows = A.rows()
    assert on_box(run, run.fine.d, box)[rows] == pytest.approx((A.apply(p) + b)[rows], abs=1e-13)


def gauss_seidel_twin(A, g, p, contact, colour):
    """One projected half-sweep, cell by cell, in the sense the kernels see the box: red where i + j + k is even."""
    matrix, rows = A.to_csr(A.rows()).toarray(), np.argwhere(A.rows())
    flat = [tuple(cell) for cell in rows]
    for n, cell in enumerate(flat):
        if sum(cell) % 2 != colour:
            continue
        rest = sum(matrix[n, m] * p[flat[m]] for m in np.flatnonzero(matrix[n]) if m != n)
        value = (g[cell] - rest) / matrix[n, n]
        p[cell] = max(value, 0.0) if contact[cell] else value


@pytest.mark.parametrize("box", BOXES)
def test_projected_sweeps_equal_the_cell_by_cell_twin(box):
    A, b, contact, _, run = strips(box, 5)
    p = np.zeros(box)
    for colour in (0, 1, 1, 0):
        run.sweep(0, run.fine.p, run.fine.g, (colour,))
        gauss_seidel_twin(A, -b, p, contact, colour)
    rows = A.rows()
    assert on_box(run, run.fine.p, box)[rows] == pytest.approx(p[rows], abs=1e-13)


@pytest.mark.parametrize("box", BOXES)
def test_inspection_equals_its_definition(box):
    A, b, contact, _, run = strips(box, 6)
    rng = np.random.default_rng(7)
    p = rng.standard_normal(box) * A.rows()
    p[contact] = np.maximum(p[contact], 0)
    put(run, p)
    look = run.inspect(0, run.fine.p, run.fine.g)
    slack, d = A.apply(p) + b, A.diagonal()
    slack[d == 0] = 0
    natural = np.where(contact, np.minimum(d * p, slack), slack)
    detached = contact & (p <= 0) & (slack >= 0) & (d > 0)
    assert look.natural == pytest.approx(np.abs(natural).max(), rel=1e-12)
    assert look.detached == np.count_nonzero(detached)
    assert look.changed == np.count_nonzero(detached)  # nothing was detached before
    assert look.finite
    assert on_box(run, run.levels.f, box) == pytest.approx(np.where(detached | (d == 0), 0.0, -slack), abs=1e-6)
    assert np.array_equal(on_box(run, run.levels.inv, box) == 0, detached | (d == 0))
    assert run.inspect(0, run.fine.p, run.fine.g).changed == 0


def aggregate(box):
    """Constant interpolation from 2 x 2 x 2 blocks of the box as the kernels see it."""
    ijk = np.argwhere(np.ones(box, dtype=bool)) // 2
    coarse = tuple((n + 1) // 2 for n in box)
    at = np.ravel_multi_index(tuple(ijk.T), coarse)
    n = len(at)
    return sp.csr_array((np.ones(n), (np.arange(n), at)), shape=(n, int(np.prod(coarse))))


@pytest.mark.parametrize("box", [box for box in BOXES if min(box[:2]) > 1 or box[2] > 1])
def test_coarse_matrix_is_half_the_galerkin_product_of_free_rows_but_for_the_excess(box):
    A, _, _, _, run = strips(box, 8)
    run.inspect(0, run.fine.p, run.fine.g)  # p = 0 detaches some rows
    seen = planes(np.zeros(box)).shape
    free = planes(on_box(run, run.levels.inv, box)) != 0
    run.levels.flag[: run.layout.begin[1]] = True
    rebuild(run.layout, run.levels, 0)
    whole = Stencil(*couplings(A)).to_csr(np.ones(seen, dtype=bool))
    keep = sp.diags_array(free.reshape(-1).astype(float))
    P = aggregate(seen)
    product = keep @ whole @ keep
    excess = P.T @ np.asarray(product.sum(axis=1)).reshape(-1)  # which counts three quarters, not half
    expected = 0.5 * (P.T @ product @ P).toarray() + np.diag(0.25 * excess)
    coarse = tuple((n + 1) // 2 for n in seen)
    layout, levels = run.layout, run.levels
    for row in range(layout.begin[1], layout.begin[2]):
        i, j = layout.place[:2, row]
        for k in range(2 * layout.span[0, row], min(2 * layout.span[2, row], coarse[2])):
            at = layout.off[(i + j + k) & 1, row] + (k >> 1)
            n = int(np.ravel_multi_index((i, j, k), coarse))
            assert (1.0 / levels.inv[at] if levels.inv[at] else 0.0) == pytest.approx(expected[n, n], rel=2e-6, abs=1e-12)
            for w, step in ((levels.wx, (1, 0, 0)), (levels.wy, (0, 1, 0)), (levels.wz, (0, 0, 1))):
                below = (i - step[0], j - step[1], k - step[2])
                value = -expected[n, np.ravel_multi_index(below, coarse)] if min(below) >= 0 else 0.0
                assert w[at] == pytest.approx(value, rel=2e-6, abs=1e-7)


@pytest.mark.parametrize("box", [(12, 11, 13), (21, 18, 1)])
def test_rebuilding_above_changed_rows_equals_a_full_rebuild_to_the_bit(box):
    *_, run = strips(box, 9)
    run.inspect(0, run.fine.p, run.fine.g)
    run.levels.flag[: run.layout.begin[1]] = True
    rebuild(run.layout, run.levels, 0)
    run.sweep(0, run.fine.p, run.fine.g, (0, 1))
    assert run.inspect(0, run.fine.p, run.fine.g).changed > 0
    rebuild(run.layout, run.levels, 0)
    parts = [array.copy() for array in (run.levels.wx, run.levels.wy, run.levels.wz, run.levels.e, run.levels.inv)]
    run.levels.flag[: run.layout.begin[1]] = True
    rebuild(run.layout, run.levels, 0)
    for before, after in zip(parts, (run.levels.wx, run.levels.wy, run.levels.wz, run.levels.e, run.levels.inv), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize("box", [(6, 5, 7), (9, 10, 1)])
@pytest.mark.parametrize("light", [0, 9])
def test_the_cycle_is_a_symmetric_positive_operator(box, light):
    A, _, _, _, run = strips(box, 10)
    run.light = light
    run.levels.flag[: run.layout.begin[1]] = True
    rebuild(run.layout, run.levels, 0)
    rows = A.rows()
    cells = np.argwhere(planes(rows))
    at = positions(run.layout, cells)
    B = np.empty((len(at), len(at)))
    single, work = run.parts()
    for column, position in enumerate(at):
        run.levels.f[run.layout.start[0] : run.layout.start[1]] = 0
        run.levels.f[position] = 1
        v_cycle(0, 2, run.grids(), single, work)
        B[:, column] = run.levels.x[at]
    assert np.abs(B - B.T).max() <= 2e-5 * np.abs(B).max()
    assert np.linalg.eigvalsh(0.5 * (B + B.T)).min() > 0


@pytest.mark.parametrize("box", BOXES)
def test_the_watch_counts_what_would_change_sides(box):
    A, b, contact, _, run = strips(box, 4)
    rows, rng, slip = A.rows(), np.random.default_rng(5), 1e-3
    touching = contact & rows
    away = touching & (rng.random(box) < 0.5)
    p = np.where(rows & ~away, rng.uniform(0.0, 1.0, box), 0.0)
    v = np.where(rows & ~away, rng.normal(0.0, 1.0, box), 0.0).astype(np.float32)
    step = put(run, v.astype(float)).copy()
    step[run.fine.contact[: len(step)] != 0] = 0.0  # `put` projects: contact cells are written one by one below
    at = on_box(run, np.arange(len(step)), box).astype(int)
    step[at[touching]] = v[touching]
    put(run, p)
    run.levels.inv[at[away]] = 0.0
    slack = A.apply(p + v.astype(float)) + b
    back = away & (slack < -slip)
    under = touching & ~away & ((p + v) * A.diagonal() < -slip)
    fine = run.fine
    found = rows_watch.would_change(
        fine.p, step.astype(np.float32), fine.g, run.levels.inv, slip, fine.wx, fine.wy, fine.wz, run.contact_at
    )
    assert run.contact_at.shape == (7, touching.sum())
    assert found == back.sum() + under.sum()


@pytest.mark.parametrize("box", [*BOXES, (6, 7, 40), (5, 4, 33)])
def test_what_lies_beyond_the_cells_stays_zero(box):
    """Loops may run past the last cell of a row, to whole vectors: what they compute there must be zero, on every level."""
    _, _, _, _, run = strips(box, 11)
    run.levels.flag[: int(run.layout.begin[1])] = True
    run.rebuild(0)
    nested_guess(run)
    iterate(run, 20, warm=False)
    layout, levels, fine = run.layout, run.levels, run.fine
    inside = np.zeros(layout.storage, dtype=bool)
    for row in range(len(layout.par) - 1):
        first, count = layout.place[2:, row]
        for colour in range(2):
            at = layout.off[colour, row] + first
            assert not inside[at : at + count].any()
            inside[at : at + count] = True
    level0 = inside[: len(fine.p)]
    for strip in (fine.wx, fine.wy, fine.wz, fine.e, fine.g, fine.p, fine.d):
        assert not strip[~level0].any()
    for strip in (levels.wx, levels.wy, levels.wz, levels.e, levels.inv, levels.x, levels.f, levels.r, levels.d, levels.q, levels.v):
        assert not strip[~inside].any()
