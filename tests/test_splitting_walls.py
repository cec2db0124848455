"""What the splittings see of a flow: the matrix without walls, the closed parts, flags; and the methods that accelerate."""

from __future__ import annotations

import numpy as np
import pytest

from splitting_cases import difference, flow
from unstick.grid import Array
from unstick.kernels import splitting as kernels
from unstick.pressure.assemble import assemble
from unstick.pressure.project import project
from unstick.pressure.projection import Flow
from unstick.pressure.splitting.accelerate import Anderson, Nesterov, OverRelaxation, Plain
from unstick.pressure.splitting.flags import cell_flags, flags_system, open_faces
from unstick.pressure.splitting.inners import INNERS
from unstick.pressure.splitting.multigrid import OnRows
from unstick.pressure.splitting.outer import Angle, Penalty, best_penalty
from unstick.pressure.splitting.walls import Parts, Rows, Setting, letting_go, list_parts, with_free_parts, without_walls
from unstick.problem import AIR, LIQUID, SOLID, Stencil
from unstick.result import Status
from unstick.solvers.ledger import Ledger

SETTINGS = [
    ({"round_walls": True, "shape": (11, 12)}, "fractions"),
    ({"round_walls": True, "shape": (8, 9, 7)}, "fractions"),
    ({"shape": (9, 8, 7)}, "flags"),
    ({"shape": (11, 12), "moving": True}, "flags"),
]


def parts_in_loops(setting: Setting, rows: Rows) -> list[tuple[int, int, int, tuple[int, ...], float]]:
    """The twin of `list_parts`: (low, high, axis, face, weight), in no particular order."""
    found = []
    corner = np.array(setting.stencil.corner)
    number = {tuple(corner + c): n for n, c in enumerate(rows.lattice.ijk)}
    for cell, n in number.items():
        for axis in range(setting.flow.grid.dimension):
            step = np.eye(3, dtype=int)[axis]
            for side in (0, 1):
                other = number.get(tuple(np.array(cell) + (2 * side - 1) * step), -1)
                face = tuple(int(i) for i in np.array(cell) + side * step)
                shut = 1.0 - setting.opened[axis][face]
                if shut > 0.0 and not (side == 1 and other >= 0):
                    found.append((other if side == 0 else n, n if side == 0 else other, axis, face, float(shut)))
    return found


@pytest.mark.parametrize(("options", "walls_from"), SETTINGS)
def test_parts_are_those_of_the_loops(options: dict[str, object], walls_from: str) -> None:
    setting = Setting.of(flow(**options), walls_from)  # type: ignore[arg-type]
    rows = Rows.of(setting.stencil)
    parts = list_parts(setting, rows)
    listed = [
        (int(a), int(b), int(f[0]), tuple(int(i) for i in f[1:]), float(w))
        for a, b, f, w in zip(parts.low, parts.high, parts.face.T, parts.weight, strict=True)
    ]
    assert sorted(listed) == sorted(parts_in_loops(setting, rows))


@pytest.mark.parametrize(("options", "walls_from"), SETTINGS)
def test_walls_are_what_the_two_matrices_differ_by(options: dict[str, object], walls_from: str) -> None:
    """A0 p + D G p = A p: closing all parts again gives the equation with walls; and A0 couples all rows alike."""
    setting = Setting.of(flow(**options), walls_from)  # type: ignore[arg-type]
    rows = Rows.of(setting.stencil)
    parts = list_parts(setting, rows)
    free = without_walls(setting, rows)
    for w in (free.wx, free.wy, free.wz):
        assert set(np.unique(w)) <= {0.0, setting.coupling}
    p = np.random.default_rng(3).standard_normal(len(rows.index))
    left = rows.problem(free, setting.coupling).A @ p
    parts.scatter(parts.trace(p, setting.gradient), left)
    np.testing.assert_allclose(left, rows.take(setting.stencil.apply(rows.spread(p))), atol=1e-12)
    # Some parts free: the same with those left out.
    loose = np.random.default_rng(4).random(len(parts)) < 0.5
    left = rows.problem(free, setting.coupling).A @ p
    attached = parts.only(~loose)
    attached.scatter(attached.trace(p, setting.gradient), left)
    freed = with_free_parts(setting, rows, parts.only(loose))
    np.testing.assert_allclose(left, rows.take(freed.apply(rows.spread(p))), atol=1e-12)


@pytest.mark.parametrize("shape", [(11, 12), (9, 8, 7)])
def test_on_walls_along_the_grid_flags_are_the_cut_cells(shape: tuple[int, ...]) -> None:
    problem = flow(shape, moving=True, walls="separating", expansion=0.1)
    types = cell_flags(problem.grid, problem.liquid_phi, problem.solid_phi)
    system = flags_system(problem, types)
    centred = np.where(types == LIQUID, -1.0, 0.0)  # the surface in the centres of cells of air
    other = assemble(problem.grid, centred, problem.solid_phi, problem.velocity, problem.dt, solid_velocity=problem.solid_velocity)
    assert isinstance(system.A, Stencil)
    assert isinstance(other.A, Stencil)
    assert system.A.corner == other.A.corner
    for name in ("wx", "wy", "wz", "excess"):
        np.testing.assert_allclose(getattr(system.A, name), getattr(other.A, name), atol=1e-14)
    np.testing.assert_array_equal(system.row_contact, other.row_contact)
    wanted = np.where(system.A.rows() & ~system.row_contact, 0.1, 0.0)
    np.testing.assert_allclose(system.row_b, other.row_b - wanted, atol=1e-13)
    assert {SOLID, LIQUID, AIR} == set(np.unique(types))


def test_faces_take_the_gradient_that_project_gives_them() -> None:
    problem = flow((13, 12), round_walls=True)
    setting = Setting.of(problem, "fractions")
    p = np.random.default_rng(5).standard_normal(problem.grid.shape3) * (setting.liquid < 0)
    expected = project(problem.grid, problem.velocity, p, problem.liquid_phi, problem.solid_phi, problem.dt)
    mine = problem.velocity.copy()
    top = 0.0
    for axis in range(2):
        args = (setting.liquid, setting.opened[axis], axis, setting.gradient, problem.theta_min)
        kernels.subtract_open(mine.components[axis], p, *args, setting.stencil.corner, setting.stencil.box)
        part = np.zeros(setting.stencil.box[0] + 1)
        kernels.fastest(problem.velocity.components[axis], p, *args, setting.stencil.corner, setting.stencil.box, part)
        top = max(top, part.max())
    assert difference(mine, expected, tuple(np.ones_like(x) for x in mine.components)) < 1e-14
    moved = [np.abs(a[a != b]).max() for a, b in zip(mine.components[:2], problem.velocity.components, strict=False)]
    assert top == max(moved)


def test_a_solid_cell_lets_go_as_a_whole_and_sticking_walls_never() -> None:
    """Algorithm 3 on a corner of solid between two liquid cells: one of them leaves it, so that it is air for the other too."""
    solid = np.ones((5, 5, 1))
    solid[3:, :2] = -1.0  # cells (3, 0) and beyond are solid
    problem = Flow(flow((4, 4)).grid, np.full((4, 4, 1), -0.5), solid, flow((4, 4)).velocity, 0.5)
    setting = Setting.of(problem, "flags")
    rows = Rows.of(setting.stencil)
    parts = list_parts(setting, rows)
    inside = ~((parts.face[1:3] == 0) | (parts.face[1:3] == 4)).any(axis=0)
    assert inside.sum() >= 2
    leaving = np.flatnonzero(inside)[0]
    velocity = np.where(parts.low < 0, -1.0, 1.0)  # all towards their walls
    velocity[leaving] *= -1.0
    loose = letting_go(setting, rows, parts, np.ones(len(rows.index)), velocity, "velocity")
    cells = [_behind(parts, n) for n in range(len(parts))]
    assert [bool(x) for x in loose] == [c == cells[leaving] for c in cells]
    stuck = Setting.of(Flow(problem.grid, problem.liquid_phi, solid, problem.velocity, 0.5, walls="sticking"), "flags")
    assert not letting_go(stuck, rows, parts, -np.ones(len(rows.index)), -velocity, "pressure").any()


def _behind(parts: Parts, n: int) -> tuple[int, ...]:
    axis, *cell = (int(x) for x in parts.face[:, n])
    if parts.low[n] < 0:
        cell[axis] -= 1
    return tuple(cell)


def test_flags_close_faces_of_solid_cells_only() -> None:
    types = np.full((3, 3, 1), LIQUID, dtype=np.int8)
    types[1, 1] = SOLID
    u, v, w = open_faces(types)
    assert u.sum() == 2 * 3 - 2
    assert v.sum() == 2 * 3 - 2
    assert not w.any()


def contraction(n: int = 12, largest: float = 0.98) -> tuple[Array, Array]:
    """A symmetric K with eigenvalues in [0, largest], and the fixed point of x -> K x + f."""
    rng = np.random.default_rng(6)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return q @ np.diag(np.linspace(0.0, largest, n)) @ q.T, rng.standard_normal(n)


def test_anderson_solves_linear_equations_in_as_many_steps_as_they_have_unknowns() -> None:
    K, x = contraction(8)
    f = x - K @ x
    state, step = np.zeros(8), Anderson(10)
    for _ in range(10):
        state = step(state, K @ state + f)
    np.testing.assert_allclose(state, x, atol=1e-6)


def test_methods_that_accelerate_need_fewer_steps_to_the_same() -> None:
    K, x = contraction()
    f = x - K @ x
    steps = {}
    for name, step in (("plain", Plain()), ("over", OverRelaxation(1.9)), ("momentum", Nesterov()), ("anderson", Anderson(5))):
        state, count = np.zeros_like(x), 0
        while np.abs(state - x).max() > 1e-6:
            state, count = step(state, K @ state + f), count + 1
        steps[name] = count
    assert steps["anderson"] < steps["momentum"] < steps["over"] < 0.6 * steps["plain"]


def test_the_angle_is_found_from_below() -> None:
    K, _ = contraction(20, 0.95)
    rng = np.random.default_rng(7)
    angle, x, seen = Angle(np.ones(20)), rng.standard_normal(20), []
    for _ in range(8):
        seen.append(angle.see(x, K @ x))
        x = K @ x
    assert seen == sorted(seen)
    assert 0.9 < seen[-1] <= 0.95 + 1e-12


@pytest.mark.parametrize("sine", [0.5, 0.2, 0.05])
def test_the_best_penalty_is_the_best(sine: float) -> None:
    """Two lines at an angle: the spectral radius of one ADMM iteration on (a, c) over all penalties is least there."""

    def factor(rho: float) -> float:
        tau, square = Penalty(rho).tau, 1.0 - sine**2
        # y = tau (a + c), t = cos^2 y; c <- c + t - y, a <- t
        T = np.array([[square * tau, square * tau], [(square - 1.0) * tau, 1.0 + (square - 1.0) * tau]])
        return float(np.abs(np.linalg.eigvals(T)).max())

    best = best_penalty(1.0 - sine**2)
    assert factor(best) <= min(factor(best * s) for s in (0.5, 0.8, 1.25, 2.0))
    assert factor(best) < 1.0 - 0.7 * sine
    assert factor(1e12) == pytest.approx(np.sqrt(1.0 - sine**2), abs=1e-6)  # as published: cos(theta)


@pytest.mark.parametrize("shape", [(44, 44), (14, 16, 15)])
def test_multigrid_inside_solves_one_right_hand_side_after_another(shape: tuple[int, ...]) -> None:
    """On liquid rows: more than a few hundred of them. Each solve starts afresh, though they share their tables."""
    setting = Setting.of(flow(shape, round_walls=True, surface=0.7), "fractions")
    rows = Rows.of(setting.stencil)
    problem = rows.problem(without_walls(setting, rows), setting.coupling)
    solve = INNERS["mgpcg"].prepare(problem, Ledger(problem.A.nnz))
    assert isinstance(solve, OnRows)
    rng = np.random.default_rng(8)
    for goal in (1e-2, 1e-6, 1e-10):
        for r in (rng.standard_normal(len(rows.index)), np.eye(1, len(rows.index), 5)[0], 1e-7 * rng.random(len(rows.index))):
            found = solve(r, goal * np.abs(r).max(), 100)
            assert found.status is Status.CONVERGED
            np.testing.assert_allclose(found.residual, r - problem.A @ found.x, atol=1e-12 * np.abs(r).max())
            assert np.abs(found.residual).max() == found.norm <= goal * np.abs(r).max()
            assert found.iterations <= 25
