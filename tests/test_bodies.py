"""Bodies before any liquid: their masses, their shapes, what MuJoCo makes of them, and what is refused."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull, cKDTree

from unstick.bodies import library
from unstick.bodies.mass import _by_cutting, moments
from unstick.bodies.parts import Control, Drive, Joint, Mjcf, RigidBody, Signal
from unstick.bodies.world import World
from unstick.checks import InvalidSystem
from unstick.geometry.mesh import merged, require_closed
from unstick.geometry.motion import Still, Translation, turn
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Box, Capsule, Plane, Sphere
from unstick.geometry.triangles import Hare, hare_triangles
from unstick.grid import Grid

pytest.importorskip("mujoco")
FLAT, ROOM = Grid((32, 32), 1 / 32), Grid((16, 16, 16), 1 / 16)
FALL = (0.0, -9.81, 0.0)


def world(*bodies: RigidBody, mjcf: Mjcf | None = None, solids=(), grid: Grid = FLAT) -> World:
    return World.of(bodies, mjcf, solids, grid)


def brick(name: str = "brick", position=(0.5, 0.5), **more) -> RigidBody:
    return RigidBody(name=name, shape=Box((-0.1, -0.05), (0.1, 0.05)), density=500.0, position=position, **more)


def cube(name: str = "cube", position=(0.5, 0.5, 0.5), **more) -> RigidBody:
    return RigidBody(name=name, shape=Box((-0.1, -0.05, -0.08), (0.1, 0.05, 0.08)), density=500.0, position=position, **more)


def test_an_ellipsoids_distance_is_that_of_its_nearest_point():
    rng = np.random.default_rng(0)
    size = np.array([0.5, 0.25, 0.1])
    n = rng.normal(size=(400_000, 3))
    surface = n / np.linalg.norm(n, axis=1)[:, None] * size
    x = rng.uniform(-0.6, 0.6, (500, 3))
    exact, _ = cKDTree(surface).query(x)
    found = Ellipsoid((0.1, 0.0, 0.0), tuple(size)).distance(*(x + np.array([0.1, 0.0, 0.0])).T)
    assert np.abs(found) == pytest.approx(exact, abs=3e-3)
    assert ((found < 0) == (((x / size) ** 2).sum(axis=1) < 1)).all()
    ball = rng.uniform(-1, 1, (3, 200))
    assert Ellipsoid((0.0,) * 3, (0.3,) * 3).distance(*ball) == pytest.approx(Sphere((0.0,) * 3, 0.3).distance(*ball), abs=1e-6)
    on = surface[:50] + np.array([0.1, 0.0, 0.0])
    assert np.abs(Ellipsoid((0.1, 0.0, 0.0), tuple(size)).distance(*on.T)).max() < 1e-9


def test_a_cylinder_is_a_disc_drawn_along_a_segment():
    can = Cylinder((0.0, -0.5, 0.0), (0.0, 0.5, 0.0), 0.2)
    points = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.7, 0.0], [0.23, 0.54, 0.0], [0.0, 0.45, 0.1], [0.2, 0.1, 0.0]])
    assert can.distance(*points.T) == pytest.approx([-0.2, 0.1, 0.2, 0.05, -0.05, 0.0], abs=1e-15)


SHAPES = [
    (Sphere((0.1, 0.2), 0.3), 2),
    (Capsule((0.0, 0.0), (0.3, 0.1), 0.1), 2),
    (Ellipsoid((0.0, 0.1), (0.3, 0.1)), 2),
    (Capsule((0.0, 0.0, 0.1), (0.3, 0.1, 0.0), 0.1), 3),
    (Ellipsoid((0.0, 0.1, 0.0), (0.3, 0.1, 0.2)), 3),
    (Cylinder((0.0, 0.0, 0.1), (0.3, 0.1, 0.0), 0.1), 3),
    (Box((-0.1, -0.2, 0.0), (0.2, 0.1, 0.3)).rotate(0.4, (1.0, 1.0, 0.0)).scale(1.2).translate((0.1, 0.0, 0.0)), 3),
    (Hare((0.1, 0.0, 0.0), 0.5, 0.004), 3),
]


@pytest.mark.parametrize(("shape", "d"), SHAPES, ids=lambda value: type(value).__name__)
def test_formulas_of_mass_agree_with_cutting_space_into_cells(shape, d):
    exact, cut = moments(shape, d, 1.0), _by_cutting(shape, d, 1.0)
    assert cut.volume == pytest.approx(exact.volume, rel=1e-3)
    assert cut.centre == pytest.approx(exact.centre, abs=1e-4)
    assert cut.spread == pytest.approx(exact.spread, abs=2e-3 * np.abs(exact.spread).max())


def test_a_shape_of_parts_weighs_what_its_union_holds():
    two = moments(Box((0.0, 0.0), (0.3, 0.1)) | Box((0.2, 0.0), (0.4, 0.1)), 2, 1.0)
    assert two.volume == pytest.approx(0.04, rel=1e-4) and two.centre == pytest.approx([0.2, 0.05], abs=1e-5)
    with pytest.raises(InvalidSystem, match="no end within"):
        moments(Plane((0.0, 0.0), (0.0, 1.0)), 2, 1.0)
    with pytest.raises(InvalidSystem, match="encloses nothing"):
        moments(Sphere((0.0, 0.0), 0.1) & Sphere((0.5, 0.0), 0.1), 2, 1.0)


def test_the_hare_is_closed_turned_outward_and_concave():
    corner = hare_triangles()
    points, number = np.unique(corner.reshape(-1, 3), axis=0, return_inverse=True)
    faces = number.reshape(-1, 3)
    assert len(merged(points, faces)) == 5120
    require_closed("hare", faces)
    volume = float(np.einsum("ti,ti->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2]))) / 6.0
    assert 0.0 < volume < 0.85 * ConvexHull(points).volume
    assert np.ptp(points[:, 1]) == pytest.approx(1.0)


@pytest.mark.parametrize("d", [2, 3])
def test_the_liquids_impulse_changes_the_velocity_by_mass_and_nothing_else(d):
    """M v = M v* + impulse, exactly, for free, jointed, damped and driven bodies: what the pressure stage counts with."""
    pad = (0.5,) * (d - 2)
    swing = Drive(kind="position", gain=3.0, signal=Signal(amplitude=0.5, frequency=2.0))
    arm = Capsule((0.0,) * d, (0.15, *(0.0,) * (d - 1)), 0.03)
    spin, hinge = (2.0, -1.0, 0.5)[: 2 * d - 3], Joint(kind="hinge", damping=0.3, drive=swing)
    rail, spring = Joint(kind="slide", axis=(0.0, 1.0, 0.0), damping=4.0), (Joint(kind="hinge", stiffness=2.0),)
    many = [
        (brick if d == 2 else cube)(position=(0.5, 0.7, *pad), angle=0.3, velocity=(0.2, 0.1, 0.3)[:d], spin=spin),
        RigidBody(name="arm", shape=arm, density=800.0, position=(0.3, 0.4, *pad), joints=(hinge,)),
        RigidBody(name="hand", shape=arm, density=800.0, position=(0.45, 0.4, *pad), parent="arm", joints=spring),
        RigidBody(name="lift", shape=Sphere((0.0,) * d, 0.04), density=900.0, position=(0.8, 0.3, *pad), joints=(rail,)),
    ]
    w = world(*many, grid=FLAT if d == 2 else ROOM)
    assert w.freedoms == (3 if d == 2 else 6) + 3
    state, rng = w.start(), np.random.default_rng(1)
    for step in range(5):
        free = w.free(state, 0.01 * step, 0.01, FALL[:d])
        impulse = rng.normal(size=w.freedoms) * 0.02
        state = w.advance(state, 0.01 * step, 0.01, FALL[:d], impulse)
        w.poses(state)
        assert free.mass @ w._data.qvel == pytest.approx(free.mass @ free.velocity + impulse, abs=1e-12)


def test_jacobians_are_the_rates_of_the_poses():
    w = world(cube(spin=(1.0, 2.0, 3.0), velocity=(0.1, 0.2, 0.3), angle=0.7, axis=(1.0, 1.0, 0.0)), grid=ROOM)
    state = w.start()
    before = w.poses(state)[0]
    assert before.linear == pytest.approx([0.1, 0.2, 0.3]) and before.angular == pytest.approx([1.0, 2.0, 3.0])
    assert before.rotation == pytest.approx(turn(0.7, np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0)), abs=1e-12)
    assert w.jacobians()[0] @ w._data.qvel == pytest.approx([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    after = w.poses(w.advance(state, 0.0, 1e-6, (0.0, 0.0, 0.0), np.zeros(6)))[0]
    assert (after.shift - before.shift) / 1e-6 == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)
    rate = (after.rotation @ before.rotation.T - np.eye(3)) / 1e-6
    assert rate == pytest.approx(np.cross([1.0, 2.0, 3.0], np.eye(3)).T, abs=1e-4)


def test_a_body_that_water_half_carries_lies_still_on_the_floor():
    """The contact knows the last impulse: velocity without the liquid, and the liquid's share on top of it, add up to nothing."""
    w = world(brick(position=(0.5, 0.05)))
    state, lift = w.start(), np.array([0.0, 0.5 * 500.0 * 0.02 * 9.81 * 0.01, 0.0])
    for step in range(60):
        free = w.free(state, 0.01 * step, 0.01, FALL[:2])
        state = w.advance(state, 0.01 * step, 0.01, FALL[:2], lift)
    assert free.velocity[1] == pytest.approx(-0.5 * 9.81 * 0.01, abs=1e-5)
    assert np.abs(free.velocity + np.linalg.solve(free.mass, lift)).max() < 1e-5
    assert w.poses(state)[0].shift[1] == pytest.approx(0.05, abs=1e-3)


def test_sides_and_solids_hold_bodies():
    solids = [(Plane((0.0, 0.2), (0.0, 1.0)), Still()), (Box((0.8, 0.0), (1.0, 1.0)), Translation((-0.2, 0.0)))]
    w = world(brick(position=(0.5, 0.3), velocity=(0.0, 0.0)), solids=solids)
    state = w.start()
    for step in range(120):
        state = w.advance(state, 0.01 * step, 0.01, FALL[:2], np.zeros(3))
    x, y = w.poses(state)[0].shift[:2]
    assert y == pytest.approx(0.25, abs=2e-3)
    assert x < 0.8 - 0.2 * 1.2 - 0.1 + 5e-3  # pushed along


MODEL = """<mujoco><option timestep="0.5"/><asset>
  <mesh name="wedge" vertex="0 0 0  0.2 0 0  0 0.3 0  0 0 0.25"/></asset><worldbody>
  <geom type="box" size="0.1 0.1 0.1" pos="0.3 0.3 0.1"/>
  <body name="stone" pos="0 0.1 0.5" euler="20 30 40"><freejoint/><geom type="mesh" mesh="wedge" density="700"/></body>
  <body name="arm" pos="-0.2 0 0.6"><joint name="elbow" axis="0 1 0"/><geom type="capsule" size="0.04" fromto="0 0 0 0 0 0.2"/>
    <geom type="sphere" size="0.3" contype="0" conaffinity="0" density="0"/></body></worldbody>
  <actuator><motor name="muscle" joint="elbow"/></actuator></mujoco>"""


def test_a_model_of_ones_own_stands_where_it_says_and_has_our_distances():
    mujoco = library.mujoco()
    w = world(mjcf=Mjcf(text=MODEL, position=(0.5, 0.0, 0.5)), grid=ROOM)
    assert [m.name for m in w.members] == ["stone", "arm"] and len(w.still) == 1
    inside = w.still[0][0].distance(*np.array([[0.8, 0.1, 0.2], [0.8, 0.1, 0.8], [0.3, 0.1, 0.3]]).T)
    assert inside == pytest.approx([-0.1, 0.5, math.hypot(0.4, 0.0)], abs=1e-12)  # z up became y up: model y is -z here
    poses = w.poses(w.start())
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.25], [0.05, 0.05, 0.05]])
    plain = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(plain)
    mujoco.mj_forward(plain, data)
    stone = data.xmat[1].reshape(3, 3) @ corners.T + data.xpos[1][:, None]
    up = turn(-0.5 * math.pi, np.array([1.0, 0.0, 0.0]))
    at = up @ stone + np.array([[0.5], [0.0], [0.5]])
    found = w.members[0].placed(poses[0], 3).distance(*at)
    assert np.abs(found[:4]).max() < 0.02 and found[4] < -0.01
    tip = w.members[1].placed(poses[1], 3)
    assert tip.distance(np.array([0.3]), np.array([0.8]), np.array([0.5])) == pytest.approx([-0.04], abs=1e-12)
    assert tip.distance(np.array([0.3]), np.array([0.95]), np.array([0.5]))[0] > 0.0  # the sphere that touches nothing is no wall
    still, driven = (
        world(mjcf=Mjcf(text=MODEL, position=(0.5, 0.0, 0.5), controls=controls), grid=ROOM)
        for controls in ((), (Control(actuator="muscle", signal=Signal(offset=2.0)),))
    )
    speed = [abs(v.free(v.start(), 0.0, 0.01, FALL).velocity[-1]) for v in (still, driven)]
    assert speed[0] < 1e-3 < speed[1]


SLIDER = '<mujoco><worldbody><body name="b"><joint type="{}" axis="{}"/><geom size="0.1"/></body></worldbody></mujoco>'


@pytest.mark.parametrize(
    ("bodies", "mjcf", "grid", "words"),
    [
        ((brick(), brick()), None, FLAT, "two bodies are called brick"),
        ((brick(parent="mast", joints=(Joint(kind="hinge"),)),), None, FLAT, "there is no body of that name"),
        ((brick("a", parent="b", joints=()), brick("b", parent="a", joints=())), None, FLAT, "hangs on itself"),
        ((brick(joints=()),), None, FLAT, "cannot move; make it a solid"),
        ((brick(joints=(Joint(), Joint(kind="hinge"))),), None, FLAT, "a free body has neither"),
        ((brick(joints=(Joint(kind="ball"),)),), None, FLAT, "leads out of the plane"),
        ((brick(joints=(Joint(kind="hinge"),), spin=(1.0,)),), None, FLAT, "only a free body"),
        ((cube(),), None, FLAT, "give 2 numbers"),
        ((), Mjcf(file="nowhere.xml"), ROOM, "there is no file nowhere.xml"),
        ((), Mjcf(text="<mujoco><wolrdbody/></mujoco>"), ROOM, "cannot be read: .*wolrdbody"),
        ((), Mjcf(text="<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>"), ROOM, "MuJoCo refuses the bodies"),
        ((), Mjcf(text='<mujoco><option integrator="RK4"/></mujoco>'), ROOM, 'asks for the integrator rk4; give integrator="Euler"'),
        ((), Mjcf(text='<mujoco><option integrator="implicitfast"/></mujoco>'), ROOM, "implicitfast"),
        ((), Mjcf(text=SLIDER.format("slide", "0 1 0"), controls=(Control(actuator="tail"),)), ROOM, "no actuator 'tail'; it has none"),
        ((), Mjcf(text=SLIDER.format("hinge", "1 0 0"), up="y"), FLAT, "can leave the plane of a scene of dimension 2"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(bodies, mjcf, grid, words):
    with pytest.raises(InvalidSystem, match=words) as caught:
        world(*bodies, mjcf=mjcf, grid=grid)
    assert "\n" not in str(caught.value) and not Path("MUJOCO_LOG.TXT").exists()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Joint(kind="free", drive=Drive(kind="force")), "only hinges and slides are driven"),
        (lambda: Joint(kind="hinge", range=(1.0, 0.0)), "a lower and a higher number"),
        (lambda: Joint(kind="hinge", axis=(0.0, 0.0, 0.0)), "not all zero"),
        (lambda: Drive(kind="force", gain=0.0), "positive number"),
        (lambda: Signal(times=(0.0, 1.0), values=(1.0,)), "as many of both"),
        (lambda: Signal(times=(1.0, 0.0), values=(1.0, 2.0)), "increasing"),
        (lambda: Mjcf(), "or neither"),
        (lambda: Ellipsoid((0.0, 0.0), (1.0, 0.0)), "positive numbers"),
        (lambda: Cylinder((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0), "two different points"),
        (lambda: Hare((0.0, 0.0), 1.0), "three finite numbers"),
    ],
)
def test_data_that_means_nothing_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_signals_wave_and_go_through_their_values():
    wave = Signal(offset=1.0, amplitude=2.0, frequency=0.5, phase=0.1, start=1.0)
    assert wave.at(0.5) == 1.0 and wave.at(1.5) == pytest.approx(1.0 + 2.0 * math.sin(0.5 * math.pi + 0.1))
    way = Signal(times=(0.0, 1.0, 3.0), values=(0.0, 2.0, 2.0))
    assert [way.at(t) for t in (-1.0, 0.0, 1.0, 2.0, 9.0)] == [0.0, 0.0, 2.0, 2.0, 2.0] and 0.0 < way.at(0.5) < 2.0


def test_without_mujoco_or_with_an_old_one_there_is_a_sentence(monkeypatch):
    library.mujoco.cache_clear()
    try:
        monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
        with pytest.raises(InvalidSystem, match=r"need MuJoCo: pip install 'unstick\[bodies\]'"):
            world(brick())
        monkeypatch.setattr(importlib, "import_module", lambda name: type("Old", (), {"__version__": "3.2.1"}))
        with pytest.raises(InvalidSystem, match=r"3\.2\.1 is installed"):
            library.mujoco()
    finally:
        monkeypatch.undo()
        library.mujoco.cache_clear()
