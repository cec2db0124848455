"""The impulse form and its published solvers, other terms of low rank, closed pockets beside bodies, and the partitioned scheme."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import unstick as us
from coupled_cases import Recipe, box_distance, random_flow
from unstick.bench.aanjaneya_cases import box_lift, boxes, flow
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.coupling.impulse import ImpulseSystem
from unstick.pressure.coupling.lowrank import CoupledSystem, LowRank
from unstick.pressure.coupling.partitioned import PartitionedProjection
from unstick.pressure.coupling.pockets import find_closed
from unstick.pressure.coupling.projection import CoupledProjection
from unstick.pressure.coupling.schur import SchurMultigrid, complement_gradients, full_gradients
from unstick.pressure.coupling.solver import Coupled
from unstick.pressure.coupling.system import Coupling
from unstick.pressure.projection import Flow
from unstick.problem import Stencil
from unstick.result import Status


def dense_blocks(system: ImpulseSystem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows with entries, and the blocks of eq. 17."""
    rows = np.flatnonzero((system.A11.diagonal() > 0).reshape(-1))
    used = np.isin(np.arange(system.b.size), rows).reshape(system.b.shape)
    return rows, system.A11.to_csr(used).toarray(), system.a12(rows).toarray(), system.a22()


@pytest.mark.parametrize("seed", range(6))
def test_the_complement_and_its_steps_are_those_of_the_full_system(seed):
    system = ImpulseSystem.of(random_flow(Recipe(dimension=2 + seed % 2, cells=9 - 3 * (seed % 2), bodies=2, ratio=0.2, seed=seed)))
    rows, A11, A12, A22 = dense_blocks(system)
    full = np.block([[A11, A12], [A12.T, A22]])
    assert np.linalg.eigvalsh(full)[0] > -1e-12 * np.abs(full).max()
    x = np.linalg.lstsq(full, -np.concatenate([system.b.reshape(-1)[rows], system.c]), rcond=None)[0]
    complement = system.complement()
    result = Coupled(tolerance=1e-12).solve(complement)
    assert result.status is Status.CONVERGED
    p, mu = x[: len(rows)], x[len(rows) :]
    assert np.abs(result.row_p.reshape(-1)[rows] - p).max() <= 1e-8 * np.abs(p).max()
    assert np.abs(system.impulses(result.row_p) - mu).max(initial=0.0) <= 1e-8 * np.abs(mu).max(initial=0.0)
    sigma = A11 - A12 @ np.linalg.solve(A22, A12.T)
    probe = np.zeros(complement.row_b.size)
    probe[rows] = np.random.default_rng(seed).normal(size=len(rows))
    ours = complement.apply(probe.reshape(complement.row_b.shape)).reshape(-1)[rows]
    assert np.abs(ours - sigma @ probe[rows]).max() <= 1e-12 * np.abs(sigma).max() * np.abs(probe).max() * len(rows)


def test_published_solvers_agree_and_p_s_falls_with_s():
    system = ImpulseSystem.of(flow(24, 2, boxes()))
    exact = Coupled(tolerance=1e-12).solve(system.complement()).row_p
    counts = []
    for order in range(4):
        found = SchurMultigrid(order=order, reduction=1e-9).solve(system)
        counts.append(found.iterations)
        assert found.converged
        assert np.abs(found.p - exact).max() <= 1e-6 * np.abs(exact).max()
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    plain = complement_gradients(system, 1e-9)
    for found in (plain, full_gradients(system, 1e-9), full_gradients(system, 1e-9, cholesky=True)):
        assert found.converged
        assert np.abs(found.p - exact).max() <= 1e-6 * np.abs(exact).max()
    assert counts[0] < 0.5 * plain.iterations
    half = SchurMultigrid(reduction=1e-9).solve(system, start=exact)
    assert half.history[0] <= 1e-9 * np.abs(system.b).max() * system.b.size


def test_counts_do_not_depend_on_the_density():
    default, published = [], []
    for ratio in (1e-4, 1e-2, 1.0, 1e4):
        given = flow(32, 2, box_lift(ratio))
        system = Coupling.of(given).system
        result = Coupled(small=1).solve(system, np.zeros(system.shape))
        assert result.converged
        default.append(result.iterations)
        published.append(SchurMultigrid().solve(ImpulseSystem.of(given)).iterations)
    assert max(default) <= 10
    assert max(published) <= 1.3 * min(published) + 1


def test_deflation_pays_and_changes_nothing():
    system = Coupling.of(flow(32, 2, box_lift(1e-3))).system
    with_it, without = (Coupled(small=1, deflate=d, tolerance=1e-8).solve(system) for d in (True, False))
    assert with_it.converged
    assert without.converged
    assert with_it.iterations < 0.6 * without.iterations
    assert np.abs(with_it.p - without.p).max() <= 1e-5 * np.abs(with_it.p).max()


def test_threads_change_no_bit():
    import numba

    system = Coupling.of(flow(48, 2, boxes(), separating=True)).system
    before, found = numba.get_num_threads(), []
    for threads in (1, before):
        numba.set_num_threads(threads)
        found.append(Coupled().solve(system).p)
    numba.set_num_threads(before)
    assert np.array_equal(*found)


def test_a_term_that_takes_stiffness_away_is_a_bubble():
    """One unknown pressure in a hole of the liquid (eq. 20): the complement has a negative core, and the closed whole a null vector."""
    shape = (9, 9, 1)
    hole = np.zeros(shape, dtype=bool)
    hole[4, 4] = True
    wx, wy = np.ones(shape), np.ones(shape)
    wx[0], wy[:, 0] = 0.0, 0.0
    links = np.zeros(shape)
    for cell in ((3, 4), (5, 4), (4, 3), (4, 5)):
        links[cell] = 1.0
    wx[4:6, 4], wy[4, 4:6] = 0.0, 0.0
    rng = np.random.default_rng(0)
    b = np.where(hole, 0.0, rng.normal(size=shape))
    rows = np.flatnonzero(links.reshape(-1))
    for air in (0.0, 1.0):
        excess = links.copy()
        excess[:, -1, 0] += air * (~hole[:, -1, 0])
        stencil = Stencil(wx, wy, np.zeros(shape), excess)
        term = LowRank(rows, sp.csr_array(links.reshape(-1)[rows][:, None]), np.array([[-1.0 / links.sum()]]))
        system = CoupledSystem(stencil, b, np.zeros(shape, dtype=bool), (9, 9), None, term)
        closed = find_closed(system, system.row_contact)
        assert (closed is not None) == (air == 0.0)
        for small in (10**9, 1):
            result = Coupled(tolerance=1e-10, small=small).solve(system)
            assert result.converged, (air, small)
        # The bubble's own pressure is the mean of its neighbours', and no volume flows into it.
        p = result.row_p.reshape(-1)
        assert abs(links.reshape(-1)[rows] @ (p[rows] - p[rows].mean())) <= 1e-10 * np.abs(p).max()


def piston(liquid_above: bool, turn: float = 0.0) -> Flow:
    """A slab across a closed tank full of liquid, which may slide up and down."""
    grid = us.Grid((8, 12), 1 / 8)
    nodes = list(grid.points(grid.node_shape, (0.0, 0.0)))
    phi = box_distance(nodes, (0.5, 0.75), (2.0, 0.125), turn).reshape(grid.node_shape3)
    velocity = us.FaceField(grid)
    velocity.v[...] = -0.0981
    jacobian = np.zeros((1, 6, 1))
    jacobian[0, 1, 0] = 1.0
    bodies = Bodies((phi,), np.array([[0.5, 0.75, 0.0]]), jacobian, np.array([[50.0]]), np.array([-0.0981]), (False,))
    y = grid.points(grid.shape, (0.5, 0.5))[1]
    liquid = np.broadcast_to(np.full_like(y, -1.0) if liquid_above else y - 0.7, grid.shape).copy()
    return Flow(grid, liquid, phi, velocity, 0.01, 1000.0, None, "sticking", bodies=bodies)


def test_two_closed_pockets_share_one_null_vector_through_a_piston():
    given = piston(liquid_above=True)
    system = Coupling.of(given).system
    closed = find_closed(system, system.row_contact)
    assert closed is not None
    assert closed.null.shape == (2, 1)
    assert closed.null[0, 0] == pytest.approx(closed.null[1, 0])  # the same shift on both sides pushes it nowhere
    assert closed.notes == ()
    out = CoupledProjection(Coupled(tolerance=1e-11))(given)
    assert out.result.status is Status.CONVERGED
    assert abs(out.bodies[0]) <= 1e-12  # it cannot move: the liquid on both sides is closed in


def test_a_net_inflow_that_nothing_gives_way_to_is_removed_and_said():
    given = piston(liquid_above=True)
    inflow = np.zeros(given.grid.shape3)
    inflow[3, 1] = 2.0
    system = Coupling.of(given).system
    squeezed = replace(system, row_b=system.row_b - inflow[system._window()])
    result = Coupled(tolerance=1e-10).solve(squeezed)
    assert result.converged
    assert any("gives way" in note for note in result.notes)
    lone = Coupling.of(piston(liquid_above=False)).system
    assert find_closed(lone, lone.row_contact) is None  # a pocket whose lid may rise is no closed one


def test_turns_of_a_partitioned_scheme_settle_for_heavy_bodies_only():
    gaps = {}
    for ratio in (0.1, 8.0):
        given = flow(16, 2, box_lift(ratio))
        exact = CoupledProjection(Coupled(tolerance=1e-10))(given).bodies
        gaps[ratio] = [np.abs(PartitionedProjection(turns)(given).bodies - exact).max() for turns in (1, 3, 6)]
    assert gaps[8.0][0] > gaps[8.0][1] > gaps[8.0][2]
    assert gaps[8.0][2] < 0.05 * gaps[8.0][0]
    assert gaps[0.1][0] < gaps[0.1][1] < gaps[0.1][2]
    relaxed = PartitionedProjection(30, relaxation=0.1)(flow(16, 2, box_lift(0.1)))
    exact = CoupledProjection(Coupled(tolerance=1e-10))(flow(16, 2, box_lift(0.1))).bodies
    assert np.abs(relaxed.bodies - exact).max() < 0.05 * gaps[0.1][0]
    assert any("differ by" in note for note in relaxed.result.notes)
    with pytest.raises(us.InvalidSystem, match="relaxation"):
        PartitionedProjection(relaxation=0.0)
