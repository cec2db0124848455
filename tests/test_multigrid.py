"""Transfers, coarse matrices and linear cycles of the multigrid on sparse matrices, against plain twins and published counts."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from unstick.bench.frames import FRAMES
from unstick.checks import InvalidSystem
from unstick.problem import PressureSystem
from unstick.result import Status, UnsupportedSystem
from unstick.solvers.compact import Lattice, compact
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.coarse import Aggregated, Direct, Galerkin
from unstick.solvers.multigrid.graph import graph_of, partition
from unstick.solvers.multigrid.hierarchy import Hierarchy
from unstick.solvers.multigrid.linear import Multigrid, MultigridCG, MultigridSolver, ReusedMultigrid
from unstick.solvers.multigrid.transfers import Transfer, interpolation


def poisson(shape: tuple[int, int, int], air: bool = False) -> tuple[sp.csr_array, Lattice]:
    """The Neumann Laplacian of a full box; with `air` above the last plane of the first axis."""
    number = np.arange(np.prod(shape)).reshape(shape)
    at, to = [], []
    for axis in range(3):
        low, high = np.moveaxis(number, axis, 0)[:-1].ravel(), np.moveaxis(number, axis, 0)[1:].ravel()
        at += [low, high]
        to += [high, low]
    i, j = np.concatenate(at), np.concatenate(to)
    W = sp.csr_array((np.ones(i.size), (i, j)), shape=(number.size, number.size))
    d = np.asarray(W.sum(axis=1)).reshape(-1)
    if air:
        d[number[-1].ravel()] += 2.0
    A = sp.csr_array(sp.diags_array(d) - W)
    A.sort_indices()
    return A, Lattice(shape, np.argwhere(np.ones(shape, dtype=bool)).astype(np.int32))


def sphere(n: int, name: str = "sphere") -> tuple[sp.csr_array, Lattice]:
    system = FRAMES[name](n).system()
    rows = compact(system, system.row_contact)
    assert rows.lattice is not None
    return rows.A, rows.lattice


@pytest.mark.parametrize(
    ("kind", "size", "count"),
    [("barycentric", 8, 1664), ("trilinear", 8, 2744), ("barycentric", 64, 1_024_000), ("trilinear", 64, 2_000_376)],
)
@pytest.mark.parametrize("options", [{}, {"components": False}, {"components": False, "one_sided": False, "rescaled": False}])
def test_transfers_have_the_published_numbers_of_entries(kind: str, size: int, count: int, options: dict[str, bool]) -> None:
    A, lattice = poisson((size, size, size))
    assert interpolation(A, lattice, Transfer(kind=kind, **options)).nnz == count  # Lai, figures 5.6 and 5.7


@pytest.mark.parametrize("shape", [(9, 6, 5), (7, 12, 1), (1, 11, 1)])
@pytest.mark.parametrize("kind", ["barycentric", "trilinear", "constant"])
def test_full_box_weights_equal_a_plain_twin(shape: tuple[int, int, int], kind: str) -> None:
    A, lattice = poisson(shape)
    P = interpolation(A, lattice, Transfer(kind=kind, components=False, one_sided=False, rescaled=False)).toarray()
    halved = [1 if s > 1 else 0 for s in shape]
    coarse = [(s - 1 >> h) + 1 for s, h in zip(shape, halved, strict=True)]
    twin = np.zeros((np.prod(shape), np.prod(coarse)))
    axes = [d for d in range(3) if halved[d]]
    for row, cell in enumerate(itertools.product(*map(range, shape))):
        block = [c >> h for c, h in zip(cell, halved, strict=True)]
        for steps in itertools.product((0, 1), repeat=len(axes)):
            share = np.prod([0.25 if s else 0.75 for s in steps])
            if kind == "barycentric":
                share = (1 - 0.25 * len(axes)) if not any(steps) else 0.25 if sum(steps) == 1 else 0.0
            if kind == "constant":
                share = 0.0 if any(steps) else 1.0
            there = list(block)
            for d, s in zip(axes, steps, strict=True):
                there[d] += s * (2 * (cell[d] & 1) - 1)
            if all(0 <= t < c for t, c in zip(there, coarse, strict=True)):
                twin[row, np.ravel_multi_index(there, coarse)] += share
    np.testing.assert_allclose(P, twin, atol=1e-15)


@pytest.mark.parametrize("kind", ["barycentric", "trilinear", "constant"])
@pytest.mark.parametrize("shape", [(12, 9, 10), (17, 20, 1)])
def test_rows_sum_to_one_without_air(kind: str, shape: tuple[int, int, int]) -> None:
    A, lattice = poisson(shape)
    total = interpolation(A, lattice, Transfer(kind=kind)).sum(axis=1)
    np.testing.assert_allclose(total, 1.0, atol=1e-14)


def test_rows_lose_weight_only_to_air() -> None:
    A, lattice = sphere(32, "double-sphere")
    total = np.asarray(interpolation(A, lattice, Transfer()).sum(axis=1)).reshape(-1)
    assert (total <= 1.0 + 1e-12).all()
    assert (total > 0.2).all()
    assert np.count_nonzero(np.abs(total - 1.0) < 1e-12) > 0.8 * total.size


def test_a_wall_inside_a_block_splits_it() -> None:
    A, lattice = poisson((2, 8, 1))
    cut = A.copy().tolil()
    for y in range(8):  # close all faces between the two columns, which share every block
        i, j = y, 8 + y
        cut[i, j] = cut[j, i] = 0.0
        cut[i, i] -= 1.0
        cut[j, j] -= 1.0
    closed = sp.csr_array(cut)
    closed.eliminate_zeros()
    assert partition(graph_of(A, lattice), True, 0.02).count == 4
    assert partition(graph_of(closed, lattice), True, 0.02).count == 8
    P = interpolation(closed, lattice, Transfer()).toarray()
    left, right = P[:8].any(axis=0), P[8:].any(axis=0)
    assert not (left & right).any()


def test_components_equal_scipy_inside_blocks() -> None:
    A, lattice = sphere(24, "double-sphere")
    found = partition(graph_of(A, lattice), True, 0.0)
    block = np.unique(lattice.ijk >> 1, axis=0, return_inverse=True)[1].reshape(-1)
    inside = A.tocoo()
    same = block[inside.row] == block[inside.col]
    graph = sp.csr_array((np.ones(same.sum()), (inside.row[same], inside.col[same])), shape=A.shape)
    count, label = sp.csgraph.connected_components(graph, directed=False)
    assert found.count == count
    pairs = np.unique(np.stack([found.part, label]), axis=1)
    assert pairs.shape[1] == count


@pytest.mark.parametrize("transfer", [Transfer(), Transfer(kind="trilinear"), Transfer(kind="constant"), Transfer(components=False)])
@pytest.mark.parametrize("frame", ["sphere", "circle"])
def test_galerkin_products_equal_scipy_and_are_symmetric(transfer: Transfer, frame: str) -> None:
    A, lattice = sphere(24, frame)
    hierarchy = Hierarchy.build(A, lattice, transfer, Galerkin(), Ledger(A.nnz))
    random = np.random.default_rng(1)
    hierarchy.levels[0].free[:] = random.random(A.shape[0]) > 0.1
    hierarchy.fill()
    for fine, coarse in itertools.pairwise(hierarchy.levels):
        assert fine.down is not None
        P = sp.diags_array(fine.free.astype(float)) @ fine.down.P.to_scipy(coarse.n)
        twin = (P.T @ fine.A.to_scipy(fine.n) @ P * fine.down.scale).toarray()
        ours = coarse.A.to_scipy(coarse.n).toarray()
        np.testing.assert_allclose(ours, twin, atol=1e-12 * abs(twin).max())
        np.testing.assert_allclose(ours, ours.T, atol=1e-12 * abs(twin).max())


def test_direct_matrices_average_the_coefficients() -> None:
    A, lattice = poisson((8, 8, 8))
    hierarchy = Hierarchy.build(A, lattice, Transfer(components=False), Direct(), Ledger(A.nnz))
    hierarchy.fill()
    coarse = hierarchy.levels[1].A.to_scipy(64).toarray()
    twin, _ = poisson((4, 4, 4))
    np.testing.assert_allclose(coarse, twin.toarray() / 4, atol=1e-14)  # the same stencil at 2 h


@pytest.mark.parametrize("frame", ["sphere", "double-sphere", "maze"])
def test_incremental_rebuild_equals_a_full_one_bit_for_bit(frame: str) -> None:
    A, lattice = sphere(32, frame)
    random = np.random.default_rng(2)
    hierarchy = Hierarchy.build(A, lattice, Transfer(), Galerkin(), Ledger(A.nnz))
    hierarchy.fill()
    before = hierarchy.ledger.entries["setup"]
    free = hierarchy.levels[0].free
    for _ in range(3):
        flipped = np.flatnonzero(random.random(A.shape[0]) < 0.002)
        free[flipped] = ~free[flipped]
        hierarchy.change(0, flipped)
        hierarchy.refresh()
    assert 0 < hierarchy.ledger.entries["setup"] - before < 3 * 0.8 * before
    whole = Hierarchy.build(A, lattice, Transfer(), Galerkin(), Ledger(A.nnz))
    whole.levels[0].free[:] = free
    whole.fill()
    for ours, theirs in zip(hierarchy.levels, whole.levels, strict=True):
        assert np.array_equal(ours.A.val, theirs.A.val)
        assert np.array_equal(ours.inv, theirs.inv)


def test_same_bits_with_any_number_of_threads() -> None:
    A, lattice = sphere(32)
    found = []
    before = numba.get_num_threads()
    try:
        for threads in range(1, min(numba.config.NUMBA_NUM_THREADS, 4) + 1):
            numba.set_num_threads(threads)
            hierarchy = Hierarchy.build(A, lattice, Transfer(), Galerkin(), Ledger(A.nnz))
            hierarchy.fill()
            found.append([level.A.val.tobytes() + level.A.idx.tobytes() for level in hierarchy.levels])
    finally:
        numba.set_num_threads(before)
    assert all(f == found[0] for f in found)


@pytest.mark.parametrize(
    ("frame", "n", "options", "most"),
    [
        ("sphere", 64, {}, 0.2),
        ("circle", 128, {}, 0.25),
        ("sphere", 32, {"shape": "W"}, 0.2),
        ("sphere", 32, {"shape": "F"}, 0.2),
        ("sphere", 32, {"shape": "full"}, 0.15),
        ("sphere", 32, {"transfer": Transfer(kind="trilinear")}, 0.2),
        ("sphere", 32, {"boundary_sweeps": 2}, 0.15),
        ("sphere", 32, {"transfer": Transfer(kind="constant"), "coarse": Aggregated()}, 0.45),
    ],
)
def test_reduction_per_cycle(frame: str, n: int, options: dict[str, object], most: float) -> None:
    result = MultigridSolver(tolerance=1e-9, **options).solve(FRAMES[frame](n).system())  # type: ignore[arg-type]
    assert result.status is Status.CONVERGED
    r = np.array(result.residuals[:-1])
    assert (r[-1] / r[1]) ** (1 / (r.size - 2)) < most


def test_boundary_sweeps_help() -> None:
    system = FRAMES["double-sphere"](48).system()
    plain = MultigridSolver(tolerance=1e-9).solve(system)
    extra = MultigridSolver(tolerance=1e-9, boundary_sweeps=2).solve(system)
    assert extra.iterations < plain.iterations


def test_counts_hardly_grow_with_the_size() -> None:
    counts = [MultigridSolver(tolerance=1e-8).solve(FRAMES["sphere"](n).system()).iterations for n in (16, 32, 64)]
    assert counts[-1] <= counts[0] + 3


@pytest.mark.parametrize("method", [Multigrid(), MultigridCG()])
@pytest.mark.parametrize("shape", [(13, 10, 9), (37, 22, 1), (3, 3, 70), (2, 90, 1)])
def test_solves_like_a_direct_method_on_boxes_of_any_size(method: Multigrid, shape: tuple[int, int, int]) -> None:
    A, lattice = poisson(shape, air=True)
    random = np.random.default_rng(3)
    rhs = random.standard_normal(A.shape[0])
    free = random.random(A.shape[0]) > 0.2
    found = method.prepare(A, lattice, Ledger(A.nnz), free).solve(rhs, np.zeros(A.shape[0]), 1e-9, 200)
    assert found.status is Status.CONVERGED
    exact = spsolve(sp.csc_array(A[free][:, free]), rhs[free])
    np.testing.assert_allclose(found.x[free], exact, atol=1e-8 * max(1.0, abs(exact).max()))
    assert not found.x[~free].any()


def test_reused_hierarchies_give_the_same_solution() -> None:
    A, lattice = sphere(32)
    random = np.random.default_rng(5)
    rhs = random.standard_normal(A.shape[0])
    ledger = Ledger(A.nnz)
    reused = ReusedMultigrid(multigrid=Multigrid())
    free = random.random(A.shape[0]) > 0.01
    for _ in range(3):
        free[random.integers(0, A.shape[0], 20)] ^= True
        again = reused.prepare(A, lattice, ledger, free).solve(rhs, np.zeros(A.shape[0]), 1e-8, 60)
        exact = spsolve(sp.csc_array(A[free][:, free]), rhs[free])
        np.testing.assert_allclose(again.x[free], exact, atol=1e-6 * abs(exact).max())
    # The penalty form: the same rows, held by a large diagonal.
    penalised = sp.csr_array(A + sp.diags_array(np.where(free, 0.0, 1e9 * A.diagonal())))
    penalised.sort_indices()
    held = reused.prepare(penalised, lattice, ledger).solve(rhs, np.zeros(A.shape[0]), 1e-6, 60)
    np.testing.assert_allclose(held.x[free], exact, atol=1e-6 * abs(exact).max())
    assert ledger.events["builds"] == 1
    assert ledger.totals()["setup_units"] < 2 * 27


def test_a_closed_box_is_solved_up_to_a_shift() -> None:
    A, lattice = poisson((12, 12, 12))
    rhs = np.random.default_rng(4).standard_normal(A.shape[0])
    rhs -= rhs.mean()
    found = Multigrid().prepare(A, lattice, Ledger(A.nnz)).solve(rhs, np.zeros(A.shape[0]), 1e-10, 60)
    assert found.status is Status.CONVERGED
    assert np.abs(found.x).max() < 1e3


def test_table_of_levels() -> None:
    A, lattice = sphere(32)
    hierarchy = Hierarchy.build(A, lattice, Transfer(), Galerkin(), Ledger(A.nnz))
    text = str(hierarchy)
    assert str(A.nnz) in text
    assert f"operator complexity {hierarchy.operator_complexity:.2f}" in text
    assert 1.2 < hierarchy.operator_complexity < 2.2
    assert max(hierarchy.levels[-1].box) <= 4


def test_refusals() -> None:
    A, _ = poisson((4, 4, 1), air=True)
    system = PressureSystem.from_matrix(A, np.ones(16), np.zeros(16, dtype=bool))
    with pytest.raises(UnsupportedSystem, match=r"needs a grid.*'pcg'"):
        MultigridSolver().solve(system)
    with pytest.raises(InvalidSystem, match="barycentric, trilinear"):
        Transfer(kind="quintic")  # type: ignore[arg-type]
    with pytest.raises(InvalidSystem, match="components=False"):
        Transfer(one_sided=False)
    with pytest.raises(InvalidSystem, match="at least one sweep"):
        Multigrid(pre=0, post=0)
