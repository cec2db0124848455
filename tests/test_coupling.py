"""Pressure and bodies in one system: against a plain twin and an exact reference, and what the physics demands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import unstick as us
from coupled_cases import Recipe, box_distance, coupling_matrix, random_flow
from unstick.bench.aanjaneya_exact import Mixed, MixedSolution, solve_mixed
from unstick.geometry.solid import face_fractions
from unstick.kernels.fractions import theta
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.coupling.faces import displaced
from unstick.pressure.coupling.pockets import find_closed
from unstick.pressure.coupling.projection import CoupledProjection
from unstick.pressure.coupling.solver import Coupled
from unstick.pressure.coupling.system import Coupling
from unstick.pressure.projection import Flow
from unstick.result import Status

SYSTEMS = 200


def recipe_of(seed: int, wide: bool) -> Recipe:
    rng = np.random.default_rng(1000 + seed)
    decades = 4 if wide else 2
    flat = seed % 3 != 0
    return Recipe(
        dimension=2 if flat else 3,
        cells=9 if flat else 6,
        bodies=1 + seed % 3,
        ratio=float(10 ** rng.uniform(-decades, decades)),
        level=float(rng.choice([0.3, 0.5, 0.8, 1.1])),
        separating=bool(rng.random() < 0.7),
        joint=seed % 5 == 0,
        touching=seed % 4 == 0,
        seed=seed,
    )


def reference(flow: Flow, coupling: Coupling) -> tuple[np.ndarray, MixedSolution, Mixed]:
    """The system from pressure and bodies apart, solved exactly; which cells of the box have rows comes first."""
    system = coupling.system
    rows = system.A.rows()
    columns = coupling.factor.on(np.flatnonzero(rows.reshape(-1)))
    motion = columns @ flow.bodies.jacobian.reshape(-1, flow.bodies.freedoms)
    plain = us.assemble(flow.grid, flow.liquid_phi, flow.solid_phi, flow.velocity, flow.dt, flow.density, None, flow.walls)
    b = plain.row_b[rows] + motion @ flow.bodies.velocity
    assert np.abs(b - system.row_b[rows]).max() <= 1e-11 * np.abs(b).max()
    mass = flow.bodies.mass / (flow.dt * flow.grid.spacing**3)
    mixed = Mixed(plain.A.to_csr(rows).toarray(), motion, mass, b, system.row_contact[rows])
    return rows, solve_mixed(mixed), mixed


def errors(flow: Flow, small: int) -> tuple[float, float, float, float] | None:
    """Relative errors of pressure, body velocity and impulse, and the backward error; None where p is not unique."""
    coupling = Coupling.of(flow)
    system = coupling.system
    if find_closed(system, system.row_contact) is not None:
        return None
    rows, exact, mixed = reference(flow, coupling)
    result = Coupled(tolerance=1e-12, small=small).solve(system)
    p, w = result.row_p[rows], np.asarray(exact.w, dtype=float)
    moved, v = coupling.velocity(result.row_p), flow.bodies.velocity
    top = max(np.abs(v + w).max(), np.abs(v).max())
    impulse, true = coupling.impulse(result.row_p), flow.bodies.mass @ w
    size = np.abs(mixed.A) + np.abs(mixed.G) @ np.abs(np.linalg.inv(mixed.M)) @ np.abs(mixed.G.T)
    backward = result.residual / ((size @ np.abs(p)).max() + np.abs(mixed.b).max())
    return (
        float(np.abs(p - exact.p).max() / np.abs(exact.p).max()),
        float(np.abs(moved - v - w).max() / top),
        float(np.abs(impulse - true).max() / max(np.abs(true).max(), 1e-300)),
        float(backward),
    )


def test_the_coupling_is_that_of_a_plain_twin():
    for seed in range(12):
        flow = random_flow(recipe_of(seed, False))
        coupling = Coupling.of(flow)
        rows = coupling.system.A.rows()
        whole = np.zeros(flow.grid.shape3, dtype=bool)
        whole[coupling.system._window()] = rows
        columns = coupling.factor.on(np.flatnonzero(rows.reshape(-1)))
        ours = columns @ flow.bodies.jacobian.reshape(-1, flow.bodies.freedoms)
        twin = coupling_matrix(flow, whole)
        assert np.abs(ours - twin).max() <= 1e-6 * np.abs(twin).max()  # where bodies touch a face in a point, the twin gives them nothing
        assert np.median(np.abs(ours - twin)) <= 1e-14 * np.abs(twin).max()


@pytest.mark.parametrize("wide", [False, True])
def test_random_systems_agree_with_the_exact_reference(wide):
    compared = 0
    for seed in range(wide, SYSTEMS, 2):
        found = errors(random_flow(recipe_of(seed, wide)), small=10**9)
        if found is None:
            continue
        compared += 1
        assert max(found[:3]) <= (1e-5 if wide else 1e-8), (seed, found)
        assert found[3] <= 1e-12, (seed, found)
    assert compared > 0.8 * SYSTEMS / 2


def test_multigrid_rows_agree_with_the_exact_reference():
    for seed in range(1, 40, 3):
        found = errors(random_flow(recipe_of(seed, False)), small=1)
        assert found is None or (max(found[:3]) <= 1e-8 and found[3] <= 1e-12), (seed, found)


def liquid_momentum(flow: Flow, velocity: us.FaceField) -> np.ndarray:
    """Of the dual cells: rho h^3 times the open part of the face, and at the surface times the liquid's part of the link."""
    grid = flow.grid
    open_part = face_fractions(grid, flow.solid_phi)
    phi = flow.liquid_phi.reshape(grid.shape3)
    out = np.zeros(3)
    for axis in range(grid.dimension):
        inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
        low = np.moveaxis(phi, axis, 0)[:-1]
        high = np.moveaxis(phi, axis, 0)[1:]
        part = np.ones(low.shape)
        for at in np.argwhere((low < 0) != (high < 0)):
            a, b = low[tuple(at)], high[tuple(at)]
            part[tuple(at)] = theta(min(a, b), max(a, b), flow.theta_min)
        part[(low >= 0) & (high >= 0)] = 0.0
        mass = flow.density * grid.spacing**3 * open_part.components[axis][inner] * np.moveaxis(part, 0, axis)
        out[axis] = float((mass * velocity.components[axis][inner]).sum())
    return out


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("separating", [False, True])
def test_momentum_changes_by_the_impulses_of_walls_only(dimension, separating):
    recipe = Recipe(dimension, cells=12 if dimension == 2 else 8, bodies=2, ratio=0.4, separating=separating, seed=3 + dimension)
    flow = random_flow(recipe)
    grid = flow.grid
    solid = np.minimum.reduce(flow.bodies.phi)  # no other walls than the domain's sides
    flow = replace(flow, solid_phi=solid)
    out = CoupledProjection(Coupled(tolerance=1e-10))(flow)
    twists = flow.bodies.jacobian[:, :3]
    assert flow.bodies.freedoms == flow.bodies.mass.shape[0]
    before = liquid_momentum(flow, flow.velocity)
    after = liquid_momentum(flow, out.velocity)
    masses = np.array([flow.bodies.mass[i, i] for i in range(flow.bodies.freedoms)])
    gained = np.zeros(3)
    for body in range(2):
        own = np.abs(twists[body]).sum(axis=0) > 0
        gained += twists[body][:, own] @ (masses[own] * (out.bodies - flow.bodies.velocity)[own])
    p = out.result.p.reshape(grid.shape3)
    walls = np.zeros(3)
    for axis in range(dimension):
        ends = np.moveaxis(p, axis, 0)
        walls[axis] = flow.dt * grid.spacing**2 * float(ends[0].sum() - ends[-1].sum())
    total = after - before + gained
    assert np.abs(total - walls).max() <= 1e-8 * np.abs(gained).max()
    assert np.abs(gained).max() > 0.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_body_of_the_liquids_density_at_rest_stays_at_rest(dimension):
    n, h = 10, 0.1
    grid = us.Grid((n, n) if dimension == 2 else (n, n, n), h)
    nodes = list(grid.points(grid.node_shape, (0.0,) * dimension))
    phi = box_distance(nodes, (0.5, 0.5, 0.5), (0.15, 0.15, 0.15)).reshape(grid.node_shape3)
    flow = falling(grid, phi, density=1.0, level=0.8, half=0.15)
    volume = displaced(grid, flow.solid_phi, flow.bodies)[0, 1]
    if dimension == 2:
        assert volume == pytest.approx(0.3**2 * h, rel=1e-12)  # sides half-way between nodes: the discrete volume is the true one
    heavy = replace(flow.bodies, mass=flow.bodies.mass * (1000.0 * volume / flow.bodies.mass[1, 1]))
    flow = replace(flow, bodies=heavy)
    out = CoupledProjection(Coupled(tolerance=1e-12))(flow)
    assert np.abs(out.bodies).max() <= 1e-8 * 9.81 * flow.dt
    assert max(np.abs(c[np.isfinite(c)]).max() for c in trimmed(out.velocity, flow)) <= 1e-8


def falling(grid: us.Grid, phi: np.ndarray, density: float, level: float, half: float = 0.2) -> Flow:
    """Everything has fallen for one step from rest: a cube-like body of side 2 half in a tank."""
    d, dt, rho = grid.dimension, 0.01, 1000.0
    volume = (2 * half) ** d * (grid.spacing if d == 2 else 1.0)
    m = rho * density * volume
    keep = [0, 1, 5] if d == 2 else list(range(6))
    mass = np.diag([m, m, m] + [m * (2 * half) ** 2 / 6] * 3)[np.ix_(keep, keep)]
    jacobian = np.eye(6)[None, :, keep]
    v = np.zeros(len(keep))
    v[1] = -9.81 * dt
    velocity = us.FaceField(grid)
    velocity.v[...] = -9.81 * dt
    y = grid.points(grid.shape, (0.5,) * d)[1]
    liquid = np.broadcast_to(y - level, grid.shape).copy()
    bodies = Bodies((phi,), np.array([[0.5, 0.5, 0.5]]), jacobian, mass, v, (True,))
    return Flow(grid, liquid, phi, velocity, dt, rho, bodies=bodies)


def trimmed(velocity: us.FaceField, flow: Flow) -> list[np.ndarray]:
    """Velocities on open faces with liquid on both sides."""
    open_part = face_fractions(flow.grid, flow.solid_phi)
    wet = flow.liquid_phi.reshape(flow.grid.shape3) < 0
    out = []
    for axis in range(flow.grid.dimension):
        inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
        both = np.moveaxis(np.moveaxis(wet, axis, 0)[:-1] & np.moveaxis(wet, axis, 0)[1:], 0, axis)
        chosen = both & (open_part.components[axis][inner] > 0)
        out.append(np.where(chosen, velocity.components[axis][inner], 0.0))
    return out


def test_a_lid_pulled_up_leaves_the_liquid_behind_unless_it_sticks():
    grid = us.Grid((12, 12), 1 / 12)
    nodes = list(grid.points(grid.node_shape, (0.0, 0.0)))
    phi = box_distance(nodes, (0.5, 0.75), (1.0, 0.25)).reshape(grid.node_shape3)
    flow = falling(grid, phi, density=5.0, level=0.6)
    up = np.array([0.0, 1.0, 0.0])
    upright = flow.bodies.jacobian * up
    for separating in (True, False):
        bodies = replace(flow.bodies, velocity=up, separating=(separating,), jacobian=upright)
        given = replace(flow, bodies=bodies, liquid_phi=np.full(grid.shape, -1.0), walls="separating" if separating else "sticking")
        out = CoupledProjection(Coupled(tolerance=1e-10))(given)
        assert out.result.status is Status.CONVERGED
        if separating:
            assert out.bodies[1] == pytest.approx(1.0, abs=1e-12)  # nothing holds it
            assert out.result.detached.any()
        else:
            assert out.bodies[1] < 0.05  # a closed pocket of liquid does not grow: the body must stay


def test_the_liquid_of_a_closed_pocket_carries_a_piston():
    """A body across the whole tank, liquid below it and none above: it cannot sink, and the liquid's pressure carries its weight."""
    grid = us.Grid((8, 12), 1 / 8)
    nodes = list(grid.points(grid.node_shape, (0.0, 0.0)))
    phi = box_distance(nodes, (0.5, 0.875), (2.0, 0.125)).reshape(grid.node_shape3)
    flow = falling(grid, phi, density=3.0, level=0.75)
    only_up = np.zeros((1, 6, 1))
    only_up[0, 1, 0] = 1.0
    bodies = replace(flow.bodies, jacobian=only_up, mass=np.array([[7.0]]), velocity=np.array([-9.81 * flow.dt]))
    out = CoupledProjection(Coupled(tolerance=1e-12))(replace(flow, bodies=bodies))
    assert abs(out.bodies[0]) <= 1e-10
    assert out.impulse[0] == pytest.approx(7.0 * 9.81 * flow.dt, rel=1e-9)
    top = out.result.p[:, 5]
    assert top.sum() * grid.spacing**2 == pytest.approx(7.0 * 9.81, rel=1e-9)
    assert out.result.p[:, 0] - top == pytest.approx(5 / 8 * 9810.0, rel=1e-9)


def test_bodies_that_do_not_fit_are_refused_in_a_sentence():
    flow = random_flow(Recipe())
    bodies = flow.bodies
    for wrong, says in (
        (replace(bodies, mass=-bodies.mass), "not positive definite"),
        (replace(bodies, velocity=np.zeros(2)), "shape"),
        (replace(bodies, separating=()), "True or False for each body"),
        (replace(bodies, phi=(np.zeros(3),)), "one value for each node"),
        (replace(bodies, jacobian=np.ones_like(bodies.jacobian)), "2D grid"),
    ):
        with pytest.raises(us.InvalidSystem, match=says):
            CoupledProjection()(replace(flow, bodies=wrong))
    with pytest.raises(us.UnsupportedSystem, match="CoupledProjection"):
        us.PressureProjection()(flow)


def test_a_flow_without_bodies_is_the_plain_projection():
    flow = replace(random_flow(Recipe(ratio=2.0)), bodies=None)
    assert np.array_equal(CoupledProjection()(flow).result.p, us.PressureProjection()(flow).result.p)
