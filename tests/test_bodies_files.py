"""Bodies in scene files, on the command line and in pictures."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from unstick import cli
from unstick.bodies.parts import Control, Drive, Joint, Mjcf, RigidBody, Signal
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Box
from unstick.geometry.triangles import Hare
from unstick.grid import Grid
from unstick.liquid.scene import Scene
from unstick.record.frames import FrameRecorder, read_frame
from unstick.render.colours import WOOD, speed_scale
from unstick.render.flat import FlatPainter
from unstick.runs.memory import need
from unstick.runs.settings import changes, settings_of
from unstick.scenes import SCENES, SceneError, load, to_toml
from unstick.scenes.read import scene_from

GOOD = """
[scene]
dimension = 2
size = [1, 1]
resolution = 16

[[liquid]]
shape = { type = "surface", level = 0.4 }

[[body]]
name = "raft"
shape = { type = "box", lower = [-0.2, -0.08], upper = [0.2, 0.08] }
density = 400
position = [0.5, 0.5]

[[body]]
name = "arm"
shape = { type = "ellipsoid", centre = [0.1, 0.0], semi_axes = [0.12, 0.08] }
density = 900
position = [0.5, 0.8]
joints = [{ type = "hinge", at = [0.5, 0.85], damping = 1, drive = { type = "position", gain = 5, amplitude = 0.5, frequency = 2 } }]
walls = "sticking"
"""


def errors(text: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(SceneError) as caught:
        load(path)
    return str(caught.value).replace("s.toml: ", "").splitlines()


def test_bodies_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD)
    scene = load(tmp_path / "s.toml", sets=["body.0.density=350"])
    raft, arm = scene.bodies
    assert raft == RigidBody(name="raft", shape=Box((-0.2, -0.08), (0.2, 0.08)), density=350, position=(0.5, 0.5))
    drive = Drive(kind="position", gain=5, signal=Signal(amplitude=0.5, frequency=2))
    assert arm.joints == (Joint(kind="hinge", at=(0.5, 0.85), damping=1, drive=drive),)
    assert arm.shape == Ellipsoid((0.1, 0.0), (0.12, 0.08)) and arm.walls == "sticking" and scene.has_bodies
    assert changes(settings_of(load(tmp_path / "s.toml")), settings_of(scene)) == ["body.raft.density: 400.0 -> 350.0"]


def test_all_that_bodies_may_be_is_written_and_read_back() -> None:
    signal = Signal(offset=0.1, amplitude=0.2, frequency=3.0, phase=0.4, start=0.5, times=(0.0, 1.0), values=(0.0, 2.0))
    joints = (
        Joint(kind="slide", axis=(1.0, 0.0, 0.0), range=(-0.1, 0.2), stiffness=3.0, drive=Drive(kind="velocity", gain=2.0, signal=signal)),
        Joint(kind="ball", at=(0.1, 0.2, 0.3), damping=0.5),
    )
    middle, can = (0.5, 0.5, 0.5), Cylinder((0.0, 0.0, 0.0), (0.0, 0.1, 0.0), 0.1)
    bodies = (
        RigidBody(name="free", shape=can, density=1.5, position=middle, velocity=(1.0, 0.0, 0.0), spin=(0.0, 1.0, 2.0)),
        RigidBody(
            name="held", shape=Hare((0.0, 0.0, 0.0), 0.2), density=2.0, position=middle, angle=0.3, axis=(1.0, 1.0, 0.0), joints=joints,
            friction=0.1, walls="sticking",
        ),
        RigidBody(name="fixed", shape=Box((0.0,) * 3, (0.1,) * 3), density=3.0, position=middle, parent="held", joints=()),
    )  # fmt: skip
    model, told = "<mujoco>\n  <worldbody/>\n</mujoco>\n", (Control(actuator="a", signal=signal),)
    own = Mjcf(text=model, up="y", position=(0.1, 0.2, 0.3), walls="sticking", controls=told)
    scene = Scene(name="all", grid=Grid((8, 8, 8), 0.125), bodies=bodies, mjcf=own)
    text = to_toml(scene)
    assert "'''\n<mujoco>\n" in text
    assert scene_from(tomllib.loads(text), "all") == scene


def test_a_model_lies_beside_its_scene_file_and_its_content_counts(tmp_path: Path) -> None:
    head = GOOD.split("[[body]]")[0].replace("dimension = 2", "dimension = 3").replace("[1, 1]", "[1, 1, 1]")
    (tmp_path / "s.toml").write_text(head + '[bodies]\nmjcf = "m.xml"\nposition = [0.5, 0.5, 0.5]\n')
    (tmp_path / "m.xml").write_text("<mujoco/>")
    scene = load(tmp_path / "s.toml")
    assert scene.mjcf == Mjcf(file=str(tmp_path / "m.xml"), position=(0.5, 0.5, 0.5))
    before = settings_of(scene)
    (tmp_path / "m.xml").write_text("<mujoco model='other'/>")
    assert [line.split(":")[0] for line in changes(before, settings_of(scene))] == ["bodies.content"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("density = 400", "density = -1", "body.0.density: -1 given; allowed: more than 0"),
        ("density = 400", "densty = 400", "body.0.densty: unknown key (did you mean density?)"),
        ("position = [0.5, 0.5]", "position = [0.5]", "body.0.position: [0.5] given; allowed: 2 numbers"),
        ('type = "hinge"', 'type = "hing"', "body.1.joints.0.type: 'hing' given (did you mean hinge?); allowed: free, hinge, slide, ball"),
        ("damping = 1", "dampng = 1", "body.1.joints.0.dampng: unknown key (did you mean damping?)"),
        ("gain = 5", "gian = 5", "body.1.joints.0.drive.gian: unknown key (did you mean gain?)"),
        ("gain = 5", "gain = 0", "body.1.joints.0.drive.gain: 0 given; allowed: more than 0"),
        ('type = "position"', 'type = "push"', "body.1.joints.0.drive.type: 'push' given; allowed: position, velocity, force"),
        ('walls = "sticking"', "spin = [1, 2, 3]", "body.1: spin is [1.0, 2.0, 3.0] in a scene of dimension 2; allowed: one rate, or []"),
        ("semi_axes = [0.12, 0.08]", "semi_axes = [0.12]", "body.1.shape: the ellipsoid's semi_axes are (0.12,); give 2 positive numbers"),
        ('walls = "sticking"', '[bodies]\nup = "x"', "bodies.up: 'x' given; allowed: y, z"),
        ('walls = "sticking"', '[bodies]\nup = "y"', "bodies: mjcf and text given, or neither"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_told_where_they_are(old: str, new: str, line: str, tmp_path: Path) -> None:
    assert old in GOOD
    assert any(found.startswith(line) for found in errors(GOOD.replace(old, new), tmp_path)), errors(GOOD.replace(old, new), tmp_path)


def test_memory_grows_with_bodies() -> None:
    with_bodies, without = need(SCENES["boxes"](64)), need(SCENES["still-tank"](64))
    assert with_bodies.bodies == 6 and without.bodies == 0 and need(SCENES["swimmer"](32)).bodies == 4


def test_a_run_with_bodies_is_resumed_to_the_same_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "s.toml").write_text(GOOD)
    at = [str(tmp_path / "s.toml"), "--checkpoint-every", "2"]
    assert cli.run(["run", *at, "--frames", "4", "--out", str(tmp_path / "whole")]) == 0
    assert cli.run(["run", *at, "--frames", "2", "--out", str(tmp_path / "parts")]) == 0
    assert cli.run(["run", *at, "--frames", "4", "--out", str(tmp_path / "parts"), "--resume"]) == 0
    for name in ("frames/frame_000004.npz", "checkpoints/frame_000004.npz"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "parts" / "stats.jsonl").read_text().splitlines()]
    assert set(lines[-1]["bodies"]) == {"raft", "arm"} and len(lines[-1]["bodies"]["raft"]["position"]) == 2
    assert cli.run(["check", str(tmp_path / "parts")]) == 0
    sunk = GOOD.replace("position = [0.5, 0.5]", "position = [0.5, 1.5]")
    (tmp_path / "s.toml").write_text(sunk)
    assert cli.run(["run", *at, "--out", str(tmp_path / "out")]) == 2
    assert "the body raft lies outside of the domain" in " ".join(capsys.readouterr().err.split())


def test_bodies_are_drawn_in_wood(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    from unstick.liquid.simulation import Simulation

    (tmp_path / "s.toml").write_text(GOOD)
    simulation = Simulation(load(tmp_path / "s.toml"), recorders=[FrameRecorder(tmp_path)])
    simulation.run(0)
    frame = read_frame(tmp_path, 0)
    painter = FlatPainter(frame, speed_scale(1.0), longer=200)
    picture = painter.paint(frame)
    x, y = painter.window.pixels(np.array([0.5]), np.array([0.5]))
    assert tuple(picture[int(y[0]), int(x[0])]) == WOOD
    x, y = painter.window.pixels(np.array([0.1]), np.array([0.9]))
    assert tuple(picture[int(y[0]), int(x[0])]) == (255, 255, 255)
