"""Smoke from a scene file to a picture: scenes there and back, runs that go on where they stopped, what is recorded, what is drawn."""

import dataclasses
import json
import tomllib

import numpy as np
import pytest

import unstick as us
from unstick import cli
from unstick.checks import InvalidSystem
from unstick.geometry.shapes import Box, Sphere
from unstick.liquid.scene import Smoke, SmokeSource
from unstick.record.frames import FrameRecorder, read_frame
from unstick.record.vtk_xml import VtkRecorder
from unstick.render.draw import Look, render
from unstick.runs.check import check
from unstick.runs.folder import RunFolder
from unstick.runs.memory import need
from unstick.scenes import SceneError, to_toml
from unstick.scenes.read import load, scene_from
from unstick.smoke.report import SmokeReport

STILL = ("coupled=false", "dimension=2")
SMALL = """
[scene]
dimension = 2
size = [1.0, 1.0]
resolution = 16
[smoke]
weight = 0.1
[[source]]
shape = { type = "sphere", centre = [0.5, 0.2], radius = 0.1 }
temperature = 350.0
velocity = [0.0, 0.5]
end = 2.0
[sides]
top = "open"
"""


def words(*sets):
    return [part for text in sets for part in ("--set", text)]


def run(*given):
    return cli.run(["run", *map(str, given)])


# --- scene files


def test_a_scene_file_of_smoke_and_back(tmp_path):
    (tmp_path / "mine.toml").write_text(SMALL)
    scene = load(tmp_path / "mine.toml")
    source = SmokeSource(name="source", shape=Sphere((0.5, 0.2), 0.1), temperature=350.0, velocity=(0.0, 0.5), end=2.0)
    assert scene.smoke == Smoke(sources=(source,), weight=0.1)
    assert scene.sides == ("sticking", "sticking", "sticking", "open", "sticking", "sticking")
    assert scene_from(tomllib.loads(to_toml(scene)), "again") == scene
    changed = load(tmp_path / "mine.toml", sets=["smoke.confinement=0.4", "source.0.density=0.5"])
    assert changed.smoke.confinement == 0.4 and changed.smoke.sources[0].density == 0.5
    assert us.SCENES["plume"](16, open_top=False).sides[3] == "sticking"


@pytest.mark.parametrize(("old", "new", "sentence"), [
    ("[smoke]\nweight = 0.1", "", "sources of smoke in a scene with a [smoke] table"),
    ("weight = 0.1", "wieght = 0.1", "did you mean weight"),
    ("weight = 0.1", "cooling = -1.0", "smoke.cooling: -1.0 given; allowed: at least 0"),
    ("weight = 0.1", 'advection = "upwind"', "allowed: cubic, maccormack, linear"),
    ("velocity = [0.0, 0.5]", "velocity = [0.0]", "2 numbers, one for each axis"),
    ("end = 2.0", "end = 0.0", "a start before the end"),
    ('top = "open"', 'top = "separating"', "A gas does not let go of a wall"),
    ("[sides]", '[[outflow]]\nshape = { type = "sphere", centre = [0.5, 0.9], radius = 0.1 }\n[sides]', "leaves by open sides"),
    ('top = "open"', '[[inflow]]\nvelocity = [0.0, 1.0]\nshape = { type = "sphere", centre = [0.5, 0.0], radius = 0.1 }', "nowhere to go"),
])  # fmt: skip
def test_what_is_wrong_in_a_scene_file_is_told(tmp_path, old, new, sentence):
    path = tmp_path / "mine.toml"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new))
    with pytest.raises(SceneError) as refusal:
        load(path)
    assert sentence in str(refusal.value) and str(refusal.value).startswith("mine.toml: ")


def test_liquids_have_no_open_sides_and_gases_no_separating_walls():
    with pytest.raises(SceneError, match="open side given without smoke"):
        load("still-tank", sets=["sides.top=open"])
    with pytest.raises(SceneError, match="does not let go of walls"):
        us.SCENES["plume"](16, walls="separating")


# --- runs


@pytest.mark.parametrize("coupled", [False, True])
def test_a_run_that_goes_on_is_bit_identical(tmp_path, coupled):
    if coupled:
        pytest.importorskip("mujoco")
    common = ("--resolution", 24, *words("dimension=2", f"coupled={str(coupled).lower()}"), "--checkpoint-every", 2)
    assert run("plume-ball", *common, "--frames", 6, "--out", tmp_path / "whole") == 0
    assert run("plume-ball", *common, "--frames", 3, "--out", tmp_path / "parts") == 0
    assert run("plume-ball", "--frames", 6, "--out", tmp_path / "parts", "--resume") == 0
    for name in ("checkpoints/frame_000006.npz", "frames/frame_000006.npz"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "parts" / "stats.jsonl").read_text().splitlines()]
    assert set(lines[-1]) == {field.name for field in dataclasses.fields(SmokeReport)}
    assert lines[-1]["frame"] == 6 and lines[-1]["smoke"] == pytest.approx(lines[-1]["released"], rel=1e-9)
    found = check(RunFolder(tmp_path / "parts"))
    assert not found.bad and "all 6 frames are done" in found.good[-1]


def test_a_mesh_of_smoke_is_refused_before_anything_is_written(tmp_path, capsys):
    assert run("plume", "--resolution", 16, "--record", "mesh", "--out", tmp_path / "out") == 2
    assert "no surface" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_memory_of_a_gas_is_that_of_all_cells():
    small, large = (need(us.SCENES["plume-ball"](n, coupled=False)) for n in (64, 128))
    assert small.liquid == 32 * 64 * 32 and small.particles == 0
    assert large.bytes - small.bytes > 400 * 7 * small.liquid


# --- recorders


@pytest.fixture(scope="module")
def flat():
    """A plume and a ball after a few frames, in 2D."""
    simulation = us.Simulation(us.SCENES["plume-ball"](48, dimension=2, coupled=False))
    for _ in range(6):
        simulation.advance_frame()
    return simulation


def test_a_frame_holds_smoke_and_heat(flat, tmp_path):
    FrameRecorder(tmp_path).record(flat)
    frame = read_frame(tmp_path, 6)
    assert (frame.frame, frame.time) == (6, flat.state.time)
    np.testing.assert_allclose(frame.density, flat.state.gas.density, atol=1e-4)
    np.testing.assert_allclose(frame.excess, flat.state.gas.excess, atol=1e-2)
    np.testing.assert_allclose(frame.solid_phi, flat.walls_at(flat.state.time).solid_phi, atol=1e-6)


def test_vtk_images_hold_what_the_state_holds(flat, tmp_path):
    pv = pytest.importorskip("pyvista")
    VtkRecorder(tmp_path).record(flat)
    assert sorted(path.name for path in (tmp_path / "vtk").iterdir()) == ["fields.pvd", "fields_000006.vti"]
    image, inner = pv.read(tmp_path / "vtk" / "fields_000006.vti"), (slice(3, -3), slice(3, -3), slice(None))
    assert set(image.cell_data.keys()) == {"density", "temperature", "p", "velocity"}
    gas = flat.state.gas
    np.testing.assert_allclose(image["density"].reshape(24, 48, 1, order="F"), gas.density[inner], atol=1e-6)
    np.testing.assert_allclose(image["temperature"].reshape(24, 48, 1, order="F"), 293.15 + gas.excess[inner], rtol=1e-6)


# --- pictures


def record(simulation, directory):
    FrameRecorder(directory).record(simulation)
    (directory / "run.json").write_text(json.dumps({"scene": "gas", "walls": "sticking"}))
    return directory


def picture(path):
    return np.asarray(pytest.importorskip("PIL.Image").open(path)).astype(int)


def test_flat_smoke_is_dark_where_it_is(flat, tmp_path):
    pytest.importorskip("matplotlib")
    directory = record(flat, tmp_path)
    smoke = picture(render([directory], look=Look(film=False, size=300)).pictures[0])
    warmth = picture(render([directory], tmp_path / "warm", Look(film=False, size=300, colour="temperature")).pictures[0])
    wide = smoke.shape[1]
    panel = smoke[40:-40, 10:-10]
    dark = (panel.sum(axis=2) < 200) & (np.ptp(panel, axis=2) < 40)
    row, column = np.nonzero(dark)
    share = flat.state.gas.density.sum() / (24 * 48) * panel.shape[0] * panel.shape[1]
    assert 0.4 * share < dark.sum() < 1.6 * share  # edges of walls are dark too
    assert np.median(row) > 0.6 * panel.shape[0] and abs(np.median(column) + 10 - wide / 2) < 0.05 * wide
    assert (warmth[..., 0] - warmth[..., 2] > 60).sum() > 100  # fire colours


def test_smoke_in_space_is_bright_on_dark_and_hides_what_is_behind(tmp_path):
    pytest.importorskip("matplotlib")
    made = us.SCENES["plume-ball"](24, coupled=False)
    simulation = us.Simulation(made)
    without = picture(render([record(simulation, tmp_path)], look=Look(film=False, size=200)).pictures[0])
    _, y, z = np.broadcast_arrays(*simulation.grid.points(simulation.grid.shape, (0.5, 0.5, 0.5)))
    simulation.state.gas.density[...] = (z > 0.7) & (y > 1.3) & (y < 1.9)  # before the ball
    hidden = picture(render([record(simulation, tmp_path)], look=Look(film=False, size=200)).pictures[0])
    ball = (without[..., 0] - without[..., 2] > 60) & (without[..., 0] > 110)
    assert ball.sum() > 100
    assert not ((hidden[..., 0] - hidden[..., 2] > 60) & (hidden[..., 0] > 110)).any()
    assert hidden[ball].mean() > 60  # lit smoke, not black
    row, column = (round(float(at.mean())) for at in np.nonzero(ball))
    assert abs(column - without.shape[1] / 2) < 0.1 * without.shape[1] and row < 0.5 * without.shape[0]


@pytest.mark.parametrize(("look", "words"), [
    (Look(film=False, colour="speed"), "density or temperature"),
    (Look(film=False, style="particles"), "smoke in the light"),
])  # fmt: skip
def test_looks_that_a_gas_does_not_have_are_refused(flat, tmp_path, look, words):
    with pytest.raises(InvalidSystem, match=words):
        render([record(flat, tmp_path)], look=look)


def test_a_source_in_the_margin_of_a_wall_counts_what_is_open():
    source = SmokeSource(name="s", shape=Box((0.25, -1.0), (0.5, 0.25)))
    made = dataclasses.replace(us.SCENES["plume"](16), smoke=Smoke(sources=(source,), expansion=0.0), grid=us.Grid((16, 16), 1 / 16))
    simulation = us.Simulation(made)
    simulation.advance_frame()
    assert simulation.last_report.released == pytest.approx(0.0625, rel=1e-12) == simulation.last_report.smoke
