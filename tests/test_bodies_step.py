"""Bodies in water: what the time step does with them, and what is kept between steps."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from unstick.bodies.parts import Drive, Joint, RigidBody, Signal
from unstick.checks import InvalidSystem
from unstick.fields import FaceField
from unstick.geometry.motion import Translation
from unstick.geometry.shapes import Box, Capsule, Sphere
from unstick.geometry.surfaces import Surface
from unstick.grid import Grid
from unstick.liquid.bodies import BodyStage
from unstick.liquid.particles import solid_at
from unstick.liquid.scene import Body, Gravity, Numerics, Scene, Solid
from unstick.liquid.simulation import Simulation
from unstick.liquid.solids import Walls
from unstick.liquid.state import MARGIN, Particles, State, with_margin
from unstick.record.frames import FrameRecorder, read_frame
from unstick.runs.checkpoint import Stamp, load, save
from unstick.scenes import SCENES
from unstick.scenes.scene_file import with_walls

pytest.importorskip("mujoco")
M = MARGIN
H = 1 / 24


def tank(*bodies: RigidBody, n: int = 24, level: float = 0.5, **more) -> Scene:
    return Scene(name="tank", grid=Grid((n, n), 1 / n), liquid=(Body(shape=Surface(level)),), bodies=bodies, **more)


def brick(density: float, at=(0.5, 0.3), name: str = "brick", **more) -> RigidBody:
    return RigidBody(name=name, shape=Box((-4 * H, -2 * H), (4 * H, 2 * H)), density=density, position=at, **more)


def test_light_bodies_rise_and_heavy_ones_sink():
    light, heavy = brick(300.0, (0.25, 0.3), "light"), brick(3000.0, (0.75, 0.3), "heavy")
    simulation = Simulation(tank(light, heavy))
    for _ in range(15):
        simulation.advance_frame()
        position = solid_at(simulation.state.particles.position, simulation.grid, simulation.walls_at(0.0).solid_phi)
        assert position.min() > -1e-9  # no particle is in a body
    told = simulation.last_report.bodies
    assert told["light"]["velocity"][1] > 0.1 and told["heavy"]["velocity"][1] < -0.1
    assert told["light"]["position"][1] > 0.3 > told["heavy"]["position"][1]
    assert simulation.last_report.status == "CONVERGED"


def test_a_heavy_body_ends_on_the_floor_and_stays_inside():
    simulation = Simulation(tank(brick(2500.0, (0.5, 0.25), angle=0.1)))
    for _ in range(40):
        simulation.advance_frame()
    told = simulation.last_report.bodies["brick"]
    assert told["position"][1] == pytest.approx(2 * H, abs=0.25 * H)
    assert math.hypot(*told["velocity"]) < 0.1


@pytest.mark.parametrize("walls", ["separating", "sticking"])
def test_a_body_as_heavy_as_water_at_rest_stays_at_rest(walls):
    """An aligned box: the volume that its closed faces displace is its own to rounding."""
    numerics = Numerics(surface="level-set", jitter=0.0, tolerance=1e-12, reseed=False, volume_source=False)
    scene = with_walls(tank(brick(1000.0, (0.5, 10 * H)), level=0.51 + H / 2, numerics=numerics), walls)
    simulation = Simulation(scene)
    for _ in range(5):
        simulation.advance_frame()
    told = simulation.last_report.bodies["brick"]
    assert np.abs(told["velocity"] + told["spin"]).max() < 1e-8
    assert simulation.last_report.max_speed < 1e-8


def test_in_free_fall_with_the_water_nothing_pushes():
    """Body and block of water fall together under a ceiling that lets go: no pressure, no impulse."""
    scene = tank(brick(700.0, (0.5, 0.75)), numerics=Numerics(reseed=False, volume_source=False))
    scene = dataclasses.replace(scene, liquid=(Body(shape=Box((-1.0, 0.5), (2.0, 2.0))),))
    simulation = Simulation(scene)
    for _ in range(5):
        simulation.advance_frame()
    told = simulation.last_report.bodies["brick"]
    assert told["velocity"][1] == pytest.approx(-9.81 * simulation.state.time, rel=1e-9)
    assert np.abs(simulation.last_pressure).max() < 1e-6


def test_faces_at_a_body_move_with_it_and_others_do_not():
    rod = Capsule((-0.2, 0.0), (0.2, 0.0), 0.08)
    paddle = RigidBody(name="paddle", shape=rod, density=500.0, position=(0.5, 0.5), spin=(2.0,), velocity=(0.3, 0.0))
    moving = Solid(name="slab", shape=Box((-1.0, -1.0), (2.0, 0.125)), motion=Translation((0.7, 0.0)), walls="sticking")
    scene = tank(paddle, n=32, solids=(moving,))
    simulation = Simulation(scene)
    stage, walls = simulation.bodies, simulation.walls
    there = stage.placed(simulation.state)
    still = walls.at(0.0, there)
    carried = walls.carried(0.0, there, there.poses)
    x, y = simulation.grid.points(simulation.grid.face_shape(0)[:2], (0.0, 0.5))
    near = np.abs(paddle.shape.distance(x - 0.5, y - 0.5)) < 1.5 / 32
    u = carried.velocity.u[:, :, 0]
    assert u[near] == pytest.approx(np.broadcast_to(0.3 - 2.0 * (y - 0.5), u.shape)[near], abs=1e-12)
    assert (u[M + 4 : -M, M + 3] == 0.7).all() and (carried.velocity.u[: M + 1, M + 10] == 0.0).all()
    alone, middle = walls.at(0.0).solid_phi, (M + 16, M + 16, 0)
    assert (alone >= still.solid_phi).all() and still.solid_phi[middle] < 0 < alone[middle]
    # The nearest wall decides whether liquid may let go: the paddle does, the slab does not.
    assert still.separating[M + 16, M + 12, 0] and not still.separating[M + 16, M + 4, 0]
    assert walls.at(0.0, there) is still and simulation.walls_at(0.0) is still


def test_a_fast_body_shortens_the_steps():
    slow, fast = (Simulation(tank(brick(500.0, (0.5, 0.8), velocity=(v, 0.0)), gravity=Gravity.constant(0.0, 0.0))) for v in (0.0, 30.0))
    assert slow.steps_left(0.01) == 1 and fast.steps_left(0.01) == math.ceil(30.0 * 0.01 / (3 * H))
    spun = Simulation(tank(brick(500.0, (0.5, 0.8), spin=(200.0,)), gravity=Gravity.constant(0.0, 0.0)))
    assert spun.steps_left(0.01) >= 200.0 * math.hypot(4 * H, 2 * H) * 0.01 / (3 * H)


def busy() -> Scene:
    """A free body that hits another, a driven arm with a hand, a moving wall."""
    swing = Drive(kind="position", gain=40.0, signal=Signal(amplitude=1.0, frequency=3.0))
    rod, wrist = Capsule((0.0, 0.0), (0.14, 0.0), 0.05), Joint(kind="hinge", range=(-0.5, 0.5))
    return tank(
        brick(300.0, (0.3, 0.3), angle=0.2),
        RigidBody(name="ball", shape=Sphere((0.0, 0.0), 0.09), density=2000.0, position=(0.3, 0.52), velocity=(0.0, -1.0)),
        RigidBody(name="arm", shape=rod, density=800.0, position=(0.6, 0.5), joints=(Joint(kind="hinge", damping=0.5, drive=swing),)),
        RigidBody(name="hand", shape=rod, density=800.0, position=(0.74, 0.5), parent="arm", joints=(wrist,)),
        solids=(Solid(name="slab", shape=Box((-1.0, 0.8), (2.0, 2.0)), motion=Translation((0.0, -0.2))),),
    )  # fmt: skip


def test_a_resumed_run_with_bodies_is_the_same_to_the_bit(tmp_path: Path):
    old = Simulation(busy())
    for _ in range(6):
        old.advance_frame()
    save(tmp_path / "c.npz", old.state, Stamp("0", "0"))
    new = Simulation(busy(), state=load(tmp_path / "c.npz", old.grid).state)
    assert new.walls_at(0.0).solid_phi.tobytes() == old.walls_at(0.0).solid_phi.tobytes()
    for _ in range(6):
        old.advance_frame()
        new.advance_frame()
    assert old.state.bodies.tobytes() == new.state.bodies.tobytes()
    assert old.state.particles.position.tobytes() == new.state.particles.position.tobytes()
    assert old.state.guess.p.tobytes() == new.state.guess.p.tobytes()
    assert old.last_report.bodies == new.last_report.bodies and set(old.last_report.bodies) == {"brick", "ball", "arm", "hand"}


def test_a_step_that_fails_leaves_the_bodies_where_they_were():
    simulation = Simulation(busy())
    simulation.advance_frame()
    before = simulation.state.bodies.tobytes()

    class Broken:
        name = "broken"

        def __call__(self, flow, guess=None):
            raise InvalidSystem("no")

    simulation.method = dataclasses.replace(simulation.method, projection=Broken())
    with pytest.raises(InvalidSystem, match="no"):
        simulation.advance_frame()
    assert simulation.state.bodies.tobytes() == before


def test_frames_hold_the_bodies_where_they_are(tmp_path: Path):
    simulation = Simulation(tank(brick(300.0), n=16), recorders=[FrameRecorder(tmp_path)])
    simulation.run(2)
    for frame in (0, 2):
        found = read_frame(tmp_path, frame)
        assert found.solid_phi[M + 8, M + 5, 0] < 0 and found.bodies.phi[M + 8, M + 5, 0] < 0 < found.bodies.phi[M + 1, M + 1, 0]
    assert found.bodies.position[0, :2] == pytest.approx(simulation.last_report.bodies["brick"]["position"])
    assert found.solid_phi == pytest.approx(np.asarray(simulation.walls_at(0.0).solid_phi, dtype=np.float32))


@pytest.mark.parametrize(
    ("bodies", "more", "words"),
    [
        ((brick(500.0, (0.5, 0.3)), brick(500.0, (0.6, 0.35), "other")), {}, "the bodies brick and other overlap at the start"),
        ((brick(500.0, (0.05, 0.3)),), {}, "the body brick lies outside of the domain"),
        ((brick(500.0, (5.0, 0.3)),), {}, "the body brick lies outside of the domain"),
        ((brick(500.0),), {"solids": (Solid(name="s", shape=Sphere((0.6, 0.3), 0.1)),)}, "the body brick overlaps a solid"),
        ((RigidBody(name="pin", shape=Sphere((0.0, 0.0), 0.01), density=500.0, position=(0.51, 0.51)),), {}, "too small for the grid"),
    ],
)
def test_bodies_that_cannot_begin_where_they_are_get_a_sentence(bodies, more, words):
    with pytest.raises(InvalidSystem, match=words):
        Simulation(tank(*bodies, **more))


def test_an_overlap_between_nodes_is_found_too():
    """Boxes that reach into each other by three quarters of a cell, where no node lies in both."""
    first, second = brick(500.0, (6 * H, 2.3 * H)), brick(500.0, (13.25 * H, 2.3 * H), "other")
    with pytest.raises(InvalidSystem, match="overlap at the start"):
        Simulation(tank(first, second))


def test_bodies_side_by_side_and_on_the_floor_may_begin():
    pair = brick(500.0, (6 * H, 2 * H)), brick(500.0, (14 * H, 2 * H), "other")
    Simulation(tank(*pair))


STARTS = [("boxes", 32, 6), ("mesh-pool", 24, 20), ("ladle-coupled", 24, 1), ("swimmer", 32, 4)]


@pytest.mark.parametrize(("name", "resolution", "count"), STARTS)
def test_scenes_with_bodies_begin_apart_and_inside(name, resolution, count):
    scene = with_walls(SCENES[name](resolution), "sticking")
    grid = with_margin(scene.grid)
    stage = BodyStage.of(scene, grid)
    walls = Walls.of(scene, grid, stage.world.still)
    state = State(grid, Particles.none(False), np.zeros(grid.shape3), FaceField(grid), bodies=stage.world.start())
    stage.require_apart(state, walls.at(0.0).solid_phi, scene.grid)
    assert len(stage.names) == count and set(stage.placed(state).walls) == {"sticking"}
