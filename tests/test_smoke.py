"""A gas in time: what must be kept is kept, what must rise rises, and every cell lets out as much as it lets in."""

import dataclasses

import numba
import numpy as np
import pytest

import unstick as us
from unstick.bench.smoke import Watched, height, watched
from unstick.bodies.parts import RigidBody
from unstick.checks import InvalidSystem
from unstick.geometry.motion import Oscillation, Rotation
from unstick.geometry.shapes import Box, Sphere
from unstick.liquid.scene import Body, Inflow, Numerics, Outflow, Scene, Smoke, SmokeSource, Solid
from unstick.pressure.projection import PressureProjection
from unstick.smoke.advect import open_parts
from unstick.smoke.simulation import SmokeSimulation
from unstick.smoke.step import STAGES
from unstick.solvers.default import Default

TIGHT = Numerics(tolerance=1e-10)
SIDES = ("sticking",) * 6
OPEN_TOP = ("sticking", "sticking", "sticking", "open", "sticking", "sticking")


def scene(shape=(16, 16), sides=SIDES, numerics=TIGHT, solids=(), inflows=(), **smoke):
    return Scene(
        name="gas",
        grid=us.Grid(shape, 1.0 / shape[0]),
        smoke=Smoke(**smoke),
        sides=sides,
        numerics=numerics,
        solids=solids,
        inflows=inflows,
    )


def run(simulation, frames):
    reports = []
    for _ in range(frames):
        simulation.advance_frame(reports.append)
    return reports


def fill(simulation, density=None, excess=None):
    """Set what the gas carries, as functions of the coordinates of cell centres."""
    grid, gas = simulation.grid, simulation.state.gas
    for values, given in ((gas.density, density), (gas.excess, excess)):
        if given is not None:
            values.reshape(grid.shape)[...] = given(*grid.points(grid.shape, (0.5, 0.5, 0.5)))


def blob(*x):
    return (sum((a - 0.4) ** 2 for a in x) < 0.04).astype(float)


def watch_of(tolerance):
    return Watched(PressureProjection(Default(tolerance=tolerance)))


# --- the promise of the projection


@pytest.mark.parametrize(("name", "cells", "options"), [
    ("plume", 32, {}), ("plume", 32, {"open_top": False}), ("plume-ball", 32, {"dimension": 2, "coupled": False}),
    ("plume-ball", 16, {"coupled": False}),
])  # fmt: skip
def test_every_cell_lets_out_what_it_lets_in(name, cells, options):
    """At most a millionth of the velocity, also in a closed box, whose pressure is known but for a constant, and beside a moving ball."""
    described = us.SCENES[name](cells, **options)
    simulation, watch = watched(described)
    simulation.state.time, simulation.state.frame = 0.5, 50  # while the ball falls
    reports = run(simulation, 12)
    assert max(watch.worst) < 1e-6
    assert all(report.status == "CONVERGED" and not report.repaired for report in reports)


def test_every_cell_lets_out_what_it_lets_in_beside_a_body_that_moves_with_the_gas():
    pytest.importorskip("mujoco")
    described = us.SCENES["plume-ball"](48, dimension=2)
    simulation, watch = watched(described)
    reports = run(simulation, 12)
    assert max(watch.worst) < 1e-6
    ball = [report.bodies["ball"]["velocity"][1] for report in reports]
    # The gas takes part at once: a cylinder drags as much along as it displaces, and more between walls.
    assert -2.5 < ball[0] < 0.95 * -2.5 * 1.0 / (1.0 + 1.2) and (np.diff(ball) > 0).all()


def test_a_body_as_heavy_as_the_gas_stays_where_it_is():
    pytest.importorskip("mujoco")
    body = RigidBody(name="box", shape=Box((-0.125, -0.1875), (0.125, 0.1875)), density=1.2, position=(0.5, 0.5), walls="sticking")
    quiet = dataclasses.replace(scene(), bodies=(body,), density=1.2, numerics=Numerics(tolerance=1e-12))
    report = run(us.Simulation(quiet), 10)[-1]
    assert report.max_speed < 1e-8 and max(map(abs, report.bodies["box"]["velocity"])) < 1e-8


def test_two_closed_rooms_have_a_pressure_each():
    wall = Solid(name="wall", shape=Box((0.45, -1.0), (0.55, 2.0)), walls="sticking")
    watch = watch_of(1e-9)
    simulation = us.Simulation(scene(solids=(wall,)), projection=watch)
    fill(simulation, excess=lambda x, y: 50.0 * (np.hypot(x - 0.2, y - 0.3) < 0.15) + 20.0 * (np.hypot(x - 0.8, y - 0.5) < 0.1))
    reports = run(simulation, 4)
    assert max(watch.worst[1:]) < 1e-8 and not reports[-1].repaired and reports[-1].max_speed > 0.01


# --- forces


def test_gas_in_layers_stays_at_rest_and_the_pressure_carries_it():
    simulation = us.Simulation(scene((12, 16), expansion=0.01))
    fill(simulation, excess=lambda x, y: 40.0 * y + 0.0 * x)
    reports = run(simulation, 3)
    assert reports[-1].max_speed < 1e-9
    p = simulation.last_pressure[6, 3:-3, 0]
    y = (np.arange(16) + 0.5) / 12
    expected = 1000.0 * 9.81 * 0.01 * 40.0 * y**2 / 2  # Scene's density; dp/dy = rho g expansion excess
    np.testing.assert_allclose(p - p.mean(), expected - expected.mean(), atol=2e-3 * np.ptp(expected))


@pytest.mark.parametrize("dimension", [2, 3])
def test_hot_smoke_rises_and_heavy_smoke_sinks(dimension):
    shape = (16, 16, 16)[:dimension]
    for sign, made in ((1.0, {"expansion": 1 / 300}), (-1.0, {"weight": 0.3, "expansion": 0.0})):
        simulation = us.Simulation(scene(shape, **made))
        fill(simulation, blob, lambda *x: 100.0 * blob(*x))
        heights = [height(simulation)]
        for _ in range(4):
            run(simulation, 4)
            heights.append(height(simulation))
        assert (sign * np.diff(heights) > 0).all()
        # As a blob of its weight in a gas of equal inertia (added mass), early on.
        pull = 9.81 * (100 / 300 if sign > 0 else 0.3)
        travelled = sign * (heights[1] - heights[0])
        assert 0.3 < travelled / (0.5 * pull * 0.04**2) < 0.9


def test_confinement_keeps_a_vortex_alive():
    energies = []
    for strength in (0.0, 2.0):
        simulation = us.Simulation(scene((24, 24), confinement=strength, advection="linear"))
        simulation.state.velocity = us.FaceField.from_function(
            simulation.grid,
            lambda x, y: tuple(s * np.exp(-40 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)) for s in (0.5 - y + 0 * x, x - 0.5 + 0 * y)),
        )
        reports = run(simulation, 20)
        energies.append(reports[-1].kinetic_energy)
    assert energies[1] > 1.1 * energies[0]


# --- what is kept


@pytest.mark.parametrize("scheme", ["cubic", "maccormack", "linear"])
@pytest.mark.parametrize("moving", [False, True])
def test_smoke_and_heat_are_kept_and_nothing_new_comes_up(scheme, moving):
    paddle = Solid(name="paddle", shape=Box((0.45, 0.2), (0.55, 0.8)), walls="sticking", motion=Rotation((0.5, 0.5), 6.0))
    simulation = us.Simulation(scene((24, 24), advection=scheme, expansion=0.01, solids=(paddle,) if moving else ()))
    fill(simulation, blob, lambda x, y: 60.0 * blob(x, y) - 20.0 * (x > 0.7) * (y > 0.6))
    parts = open_parts(simulation.grid, simulation.walls_at(0.0).solid_phi)
    gas = simulation.state.gas
    smoke, heat = float((gas.density * parts).sum()), float((gas.excess * parts).sum())
    for _ in range(5):
        run(simulation, 4)
        gas = simulation.state.gas
        parts = open_parts(simulation.grid, simulation.walls_at(simulation.state.time).solid_phi)
        assert gas.density.min() >= 0.0 and gas.density.max() <= 1.0
        assert gas.excess.min() >= -20.0 and gas.excess.max() <= 60.0
        assert float((gas.density * parts).sum()) == pytest.approx(smoke, rel=1e-12)
        assert float((gas.excess * parts).sum()) == pytest.approx(heat, rel=1e-11)
    assert np.sum(gas.density * (1 - gas.density)) > 1.0  # it has been stirred


def test_without_giving_back_smoke_drifts_by_little():
    simulation = us.Simulation(scene((32, 32), conserve=False))
    fill(simulation, blob, lambda x, y: 100.0 * blob(x, y))
    first = float(simulation.state.gas.density.sum())
    reports = run(simulation, 40)
    drift = abs(float(simulation.state.gas.density.sum()) / first - 1.0)
    assert 1e-6 < drift < 0.1
    assert sum(report.lost for report in reports) * 32**2 == pytest.approx(first - float(simulation.state.gas.density.sum()), abs=0.05)


def test_smoke_that_was_released_is_there_or_has_left():
    made = dataclasses.replace(us.SCENES["plume"](24), numerics=Numerics(tolerance=1e-7))
    made = dataclasses.replace(made, grid=us.Grid((24, 16), 1 / 24), smoke=dataclasses.replace(made.smoke, expansion=0.03, fading=0.1))
    simulation = us.Simulation(made)
    report = run(simulation, 60)[-1]
    assert report.left > 0.01 * report.released > 0
    assert report.smoke + report.left == pytest.approx(report.released, rel=1e-9)
    assert simulation.state.gas.density[:, -3:].max() == 0.0  # beyond the open side


def test_what_flows_in_flows_out_at_the_open_side():
    made = scene((16, 16), OPEN_TOP, inflows=(Inflow(name="vent", shape=Box((0.3, -0.2), (0.7, 0.01)), velocity=(0.0, 1.0)),))
    watch = watch_of(1e-9)
    simulation = us.Simulation(made, projection=watch)
    run(simulation, 3)
    assert max(watch.worst) < 1e-8
    flux = []
    step = watch.inner

    def catch(flow, guess=None):
        out = step(flow, guess)
        flux.append((float(out.velocity.v[3:-3, 3 + 16].sum()), float(flow.solid_velocity.v[3:-3, 3].sum())))
        return out

    simulation.method = dataclasses.replace(simulation.method, projection=catch)
    run(simulation, 1)
    assert flux[-1][0] == pytest.approx(flux[-1][1], rel=1e-6) and flux[-1][1] > 5.0


# --- symmetry, dimensions, threads


def test_a_mirrored_scene_stays_mirrored():
    made = us.SCENES["plume-ball"](32, dimension=2, coupled=False)
    simulation = us.Simulation(dataclasses.replace(made, numerics=TIGHT))
    run(simulation, 50)
    for values, sign in ((simulation.state.gas.density, 1), (simulation.state.velocity.v, 1), (simulation.state.velocity.u, -1)):
        np.testing.assert_allclose(values, sign * values[::-1], atol=1e-7)


def test_two_dimensions_are_three_that_do_not_vary():
    shapes = (((12, 12), Box((0.35, 0.2), (0.65, 0.4))), ((12, 12, 5), Box((0.35, 0.2, -1.0), (0.65, 0.4, 2.0))))
    flat, deep = (
        us.Simulation(scene(shape, conserve=False, sources=(SmokeSource(name="s", shape=source, temperature=400.0),)))
        for shape, source in shapes
    )
    for simulation in (flat, deep):
        run(simulation, 8)
    for a, b in zip((flat.state.gas.density, flat.state.velocity.v), (deep.state.gas.density, deep.state.velocity.v), strict=True):
        np.testing.assert_allclose(np.broadcast_to(a, b[:, :, 3:-3].shape), b[:, :, 3:-3], atol=1e-7)
    assert np.abs(deep.state.velocity.w[3:-3, 3:-3, 3:-3]).max() < 1e-7


def test_one_and_two_threads_give_the_same_bits():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread is all there is")
    before, states = numba.get_num_threads(), []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        simulation = us.Simulation(us.SCENES["plume-ball"](24, coupled=False))
        run(simulation, 3)
        states.append(simulation.state)
    numba.set_num_threads(before)
    for a, b in zip(
        (states[0].gas.density, *states[0].velocity.components), (states[1].gas.density, *states[1].velocity.components), strict=True
    ):
        np.testing.assert_array_equal(a, b)


# --- walls, the step, refusals


def test_a_solid_that_moves_pushes_the_gas_and_smoke_goes_around_it():
    piston = Solid(name="ball", shape=Sphere((0.5, 0.5), 0.2), walls="sticking", motion=Oscillation((0.1, 0.0), 1.0))
    simulation = us.Simulation(scene((24, 24), solids=(piston,)))
    fill(simulation, lambda x, y: (x > 0.5) * (y > -1.0))
    report = run(simulation, 1)[-1]
    assert 0.5 < report.max_speed / (2 * np.pi * 0.1) < 3.0
    smoke = [report.smoke for report in run(simulation, 12)]
    assert np.ptp(smoke) < 1e-12 * smoke[0] + 1e-14
    assert abs(smoke[0] - report.smoke) < 1e-12


def test_the_step_has_the_liquids_stages_and_a_gas_makes_its_own_simulation():
    simulation = us.Simulation(scene())
    assert type(simulation) is SmokeSimulation and isinstance(simulation, us.Simulation)
    report = run(simulation, 1)[0]
    assert tuple(report.seconds) == STAGES
    assert (report.particles, report.detached, report.contact) == (0, 0, 0)
    assert report.volume == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("changes", "words"), [
    ({"liquid": (Body(shape=Sphere((0.5, 0.5), 0.2)),)}, "no liquid and no outflows"),
    ({"outflows": (Outflow(name="o", shape=Sphere((0.5, 0.5), 0.2)),)}, "open a side"),
    ({"inflows": (Inflow(name="i", shape=Sphere((0.5, 0.0), 0.2), velocity=(0.0, 1.0)),)}, "nowhere to go"),
    ({"smoke": Smoke(advection="macormack")}, "Did you mean maccormack"),
])  # fmt: skip
def test_what_a_gas_cannot_have_is_refused_with_a_sentence(changes, words):
    with pytest.raises(InvalidSystem, match=words):
        us.Simulation(dataclasses.replace(scene(), **changes))
