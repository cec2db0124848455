"""Inflows let in exactly what flows, wherever the steps fall; outflows take what is there."""

import numpy as np
import pytest

from unstick.fields import FaceField
from unstick.geometry.shapes import Box, Plane, Sphere
from unstick.grid import Grid
from unstick.liquid.scene import Body, Inflow, Numerics, Outflow, Scene
from unstick.liquid.simulation import Simulation
from unstick.liquid.solids import Walls
from unstick.liquid.sources import apply_sources, hashed
from unstick.liquid.state import Particles, State, with_margin


def start(scene, affine=True):
    grid = with_margin(scene.grid)
    particles = Particles(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    return State(grid, particles, np.full(grid.shape3, 0.1), FaceField(grid)), Walls.of(scene, grid)


def run(scene, steps):
    """Particles move with their own velocity: all that a source needs of a time step."""
    state, walls = start(scene)
    state.volume = 0.0
    for dt in steps:
        state.particles.position[:] += dt * state.particles.velocity
        state.volume += apply_sources(scene, state, walls.at(state.time + dt), dt)
        state.time += dt
        state.step += 1
    return state


@pytest.mark.parametrize("jitter", [0.0, 1.0])
@pytest.mark.parametrize("d", [2, 3])
def test_an_inflow_lets_in_what_flows_through_its_region(d, jitter):
    """A jet of width 1/4 and speed 1/2 for one second, in any steps: its lattice stays whole, its volume is area x speed x time."""
    grid = Grid((32,) * d, 1 / 32)
    tap = Inflow(name="tap", shape=Box((0.0625, 0.5, 0.5)[:d], (0.1875, 0.75, 0.75)[:d]), velocity=(0.5, 0.0, 0.0)[:d])
    scene = Scene(name="jet", grid=grid, inflows=(tap,), numerics=Numerics(jitter=jitter))
    steps = np.diff(np.linspace(0.0, 1.0, 30) ** 1.3)
    state = run(scene, steps)
    expected = 0.25 ** (d - 1) * (0.125 + 0.5 * (1.0 - steps[0]) + 0.0)
    assert state.volume == pytest.approx(expected, rel=0.01 if jitter else 0.05)
    assert len(state.particles) * (1 / 64) ** d == pytest.approx(state.volume)
    site = np.floor((state.particles.position[:, :d] - 0.5 * state.time * np.eye(3)[0, :d]) * 64 + 1e-9)
    assert len(np.unique(site, axis=0)) == len(site)  # each point of the moving lattice once
    if d == 2:
        assert (state.particles.position[:, 2] == 0.5 / 32).all() and not state.particles.velocity[:, 2].any()
    again = run(scene, steps)
    assert again.particles.position.tobytes() == state.particles.position.tobytes()


def test_an_inflow_rules_its_region_only():
    grid = Grid((16, 16), 1 / 16)
    tap = Inflow(name="tap", shape=Sphere((0.5, 0.5), 0.2), velocity=(0.0, -1.0), start=0.1, end=0.2)
    scene = Scene(name="tap", grid=grid, inflows=(tap,))
    state, walls = start(scene)
    state.particles = Particles(np.array([[0.5, 0.5, 1 / 32], [0.1, 0.1, 1 / 32]]), np.ones((2, 3)), np.ones((2, 3, 3)))
    assert apply_sources(scene, state, walls.at(0.05), 0.05) == 0.0 and len(state.particles) == 2
    state.time = 0.1
    added = apply_sources(scene, state, walls.at(0.15), 0.05)
    assert added == pytest.approx(np.pi * 0.04, rel=0.05)
    assert state.particles.velocity[0].tolist() == [0.0, -1.0, 1.0] and state.particles.velocity[1].tolist() == [1.0, 1.0, 1.0]
    assert not state.particles.affine[0].any() and state.particles.affine[1].all()
    m = state.grid.shape[0] // 2
    assert state.phi[m, m, 0] < -0.1 and state.phi[3, 3, 0] == 0.1
    assert state.velocity.v[m, m, 0] == -1.0 and state.velocity.v[4, 4, 0] == 0.0
    # The particle in the region stands on its site: no second one comes there.
    site = np.floor(state.particles.position[:, :2] * 32)
    assert np.count_nonzero((site == 16).all(axis=1)) == 1
    state.time = 0.2
    assert apply_sources(scene, state, walls.at(0.25), 0.05) == 0.0


def test_liquid_does_not_come_into_walls():
    grid = Grid((16, 16), 1 / 16)
    tap = Inflow(name="tap", shape=Box((-0.2, 0.25), (0.25, 0.5)), velocity=(1.0, 0.0))
    state = run(Scene(name="tap", grid=grid, inflows=(tap,)), [0.01] * 20)
    assert len(state.particles) and (state.particles.position[:, 0] > 0).all()
    assert state.volume == pytest.approx(0.25 * (0.25 + 0.19), rel=0.05)


@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_an_outflow_takes_the_particles_in_its_region(transfer):
    grid = Grid((16, 16, 16), 1 / 16)
    drain = Outflow(name="drain", shape=Box((0.0, 0.0, 0.0), (1.0, 0.25, 1.0)))
    scene = Scene(name="drain", grid=grid, outflows=(drain,), numerics=Numerics(transfer=transfer))
    state, walls = start(scene)
    x = np.random.default_rng(0).uniform(0.0, 1.0, (1000, 3))
    state.particles = Particles(x.copy(), x.copy(), np.zeros((1000 if transfer == "apic" else 0, 3, 3)))
    state.phi[:] = -0.1
    gone = np.count_nonzero(x[:, 1] < 0.25)
    assert apply_sources(scene, state, walls.at(0.1), 0.1) == pytest.approx(-gone / 8 / 16**3)
    assert np.array_equal(state.particles.position, x[x[:, 1] >= 0.25])
    assert state.particles.carries_affine == (transfer == "apic")
    assert (state.phi[3:-3, 3:6, 3:-3] > 0).all() and (state.phi[3:-3, 9:, 3:-3] == -0.1).all()


def test_hashed_numbers_are_even_and_know_their_seed_and_channel():
    site = np.stack(np.meshgrid(*[np.arange(-20, 20)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    a, b, c = hashed(site, 1, 0), hashed(site, 1, 1), hashed(site, 2, 0)
    for values in (a, b, c):
        counts = np.histogram(values, 16, (0.0, 1.0))[0]
        assert ((counts - len(a) / 16) ** 2 / (len(a) / 16)).sum() < 40.0  # chi squared of 15
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.02 and abs(np.corrcoef(a, c)[0, 1]) < 0.02
    assert np.array_equal(hashed(site[5:9], 1, 0), a[5:9])


@pytest.mark.parametrize("surface", ["particles", "level-set"])
def test_a_tank_fills_through_its_wall_and_empties_through_a_drain(surface):
    """An inflow below the surface, at a wall, in a pool with a drain: the volume that is booked is the volume that is found."""
    tap = Inflow(name="tap", shape=Box((0.0, 0.1), (0.06, 0.25)), velocity=(0.5, 0.0))
    drain = Outflow(name="drain", shape=Box((0.9, -1.0), (2.0, 0.1)), start=0.15)
    pool = Body(shape=Plane((0.0, 0.4), (0.0, 1.0)))
    numerics = Numerics(surface=surface, volume_source=False)
    scene = Scene(name="pool", grid=Grid((32, 32), 1 / 32), liquid=(pool,), inflows=(tap,), outflows=(drain,), numerics=numerics)
    simulation = Simulation(scene)
    for frame in range(40):
        simulation.advance_frame()
        if frame == 13:
            assert simulation.state.volume == pytest.approx(0.4 + 0.14 * 0.5 * 0.15, rel=0.005)
            assert simulation.state.found == pytest.approx(simulation.state.volume, rel=0.02)
    assert simulation.state.volume < 0.37
    assert simulation.state.found == pytest.approx(simulation.state.volume, rel=0.05)
    assert np.abs(simulation.state.particles.velocity).max() < 4.0
