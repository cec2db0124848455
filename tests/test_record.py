"""What runs write down, read back by the libraries that others use: trimesh, VTK, NumPy."""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest

from fake_run import MIDDLE, RADIUS, FakeSimulation, write_run
from unstick.checks import InvalidSystem
from unstick.geometry.motion import Motion, Pose
from unstick.geometry.shapes import Sphere
from unstick.grid import Grid
from unstick.liquid.scene import Solid
from unstick.liquid.simulation import Simulation
from unstick.record.files import save_arrays, write_bytes
from unstick.record.frames import AROUND, FrameRecorder, frame_path, list_frames, read_frame, solid_path
from unstick.record.ply import MeshRecorder, outlines, triangles
from unstick.record.surface import clipped, solid_at_centres
from unstick.record.table import RECORDERS
from unstick.record.vtk_xml import VtkRecorder
from unstick.scenes.table import SCENES


def lattice_distance(grid: Grid, radius: float) -> np.ndarray:
    lines = grid.points(grid.shape, (0.5,) * grid.dimension)
    return (np.sqrt(sum((x - MIDDLE) ** 2 for x in lines)) - radius).reshape(grid.shape3)


# Files ---------------------------------------------------------------------------------------------------------------------


def test_the_same_arrays_give_the_same_bytes(tmp_path: Path) -> None:
    arrays = {"x": np.arange(6.0).reshape(2, 3), "t": np.float64(0.1), "none": np.zeros((0, 3), np.float32), "turned": np.ones((3, 2)).T}
    save_arrays(tmp_path / "a.npz", arrays)
    save_arrays(tmp_path / "b.npz", arrays)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as back:
        assert set(back.files) == set(arrays)
        for name, values in arrays.items():
            assert back[name].dtype == values.dtype
            np.testing.assert_array_equal(back[name], values)


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.bin"
    write_bytes(path, b"old")
    with pytest.raises(TypeError):
        write_bytes(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == ["x.bin"]


# Frames --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_frame_comes_back(tmp_path: Path, dimension: int) -> None:
    simulation = FakeSimulation(16, dimension, frame=7)
    FrameRecorder(tmp_path).record(simulation)
    frame, state = read_frame(tmp_path, 7), simulation.state
    assert (frame.frame, frame.time, frame.grid) == (7, state.time, state.grid)
    np.testing.assert_array_equal(frame.position, state.particles.position.astype(np.float32))
    np.testing.assert_allclose(frame.speed, np.abs(state.particles.velocity[:, 0]), rtol=1e-6)
    np.testing.assert_array_equal(frame.p, state.guess.p.astype(np.float32))
    np.testing.assert_array_equal(frame.detached, np.flatnonzero(state.guess.detached))
    np.testing.assert_array_equal(frame.solid_phi, simulation.solid_phi.astype(np.float32))
    near = state.phi < AROUND * state.grid.spacing
    np.testing.assert_array_equal(frame.phi < 0, state.phi < 0)
    kept = frame.phi != np.float32(AROUND * state.grid.spacing)
    np.testing.assert_array_equal(frame.phi[kept], state.phi.astype(np.float32)[kept])
    assert (kept & near).sum() > 0.9 * near.sum()


def test_frames_of_the_same_state_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, 16, 3, 2)
    for file in ("frames/frame_000001.npz", "solid.npz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert list_frames(tmp_path / "a") == [0, 1]


def test_many_particles_are_thinned_evenly_in_3d(tmp_path: Path) -> None:
    simulation = FakeSimulation(16, 3)
    FrameRecorder(tmp_path, most_particles=1000).record(simulation)
    frame, n = read_frame(tmp_path, 0), len(simulation.state.particles)
    assert n / (n // 1000 + 1) - 1 <= len(frame.position) <= 1000
    np.testing.assert_allclose(frame.position.mean(axis=0), simulation.state.particles.position.mean(axis=0), atol=0.02)


@dataclasses.dataclass(frozen=True, slots=True)
class Away(Motion):
    def pose(self, t: float) -> Pose:
        zero = np.zeros(3)
        return Pose(np.eye(3), np.array([t, 0.0, 0.0]), zero, np.array([1.0, 0.0, 0.0]), zero)


def test_walls_are_written_once_unless_they_move(tmp_path: Path) -> None:
    simulation = FakeSimulation(8, 2)
    FrameRecorder(tmp_path / "still").record(simulation)
    assert solid_path(tmp_path / "still").exists()
    solid = Solid(name="ball", shape=Sphere((0.5, 0.5), 0.1), motion=Away())
    simulation.scene = dataclasses.replace(simulation.scene, solids=(solid,))
    recorder = FrameRecorder(tmp_path / "moving")
    for frame in (0, 1):
        simulation.state.frame = frame
        recorder.record(simulation)
        simulation.solid_phi = simulation.solid_phi + 0.01
    assert not solid_path(tmp_path / "moving").exists()
    first, second = (read_frame(tmp_path / "moving", frame).solid_phi for frame in (0, 1))
    np.testing.assert_allclose(second - first, 0.01, rtol=1e-4)


def test_missing_and_damaged_frames_are_refused_with_a_sentence(tmp_path: Path) -> None:
    write_run(tmp_path, 8, 2, 2)
    with pytest.raises(InvalidSystem, match="is not there"):
        read_frame(tmp_path, 5)
    path = frame_path(tmp_path, 1)
    whole = path.read_bytes()
    at = whole.index(np.float32(read_frame(tmp_path, 1).position[3, 0]).tobytes())
    for damaged in (whole[:-200], whole[:500], b"", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidSystem, match="cannot be read"):
            read_frame(tmp_path, 1)
    save_arrays(path, {"shape": np.array([3, 3])})
    with pytest.raises(InvalidSystem, match="no frame of unstick"):
        read_frame(tmp_path, 1)


def test_a_frame_with_no_liquid(tmp_path: Path) -> None:
    simulation = FakeSimulation(8, 3)
    state = simulation.state
    state.phi = np.abs(state.phi) + 1.0
    state.particles.position, state.particles.velocity, state.guess = np.zeros((0, 3)), np.zeros((0, 3)), None
    for name in RECORDERS:
        RECORDERS[name](tmp_path).record(simulation)
    frame = read_frame(tmp_path, 0)
    assert len(frame.position) == 0 and (frame.phi > 0).all() and not frame.p.any()


# Surface meshes ------------------------------------------------------------------------------------------------------------


def test_a_sphere_is_a_closed_mesh_of_the_right_volume(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    errors = []
    for cells in (16, 32):
        grid = Grid((cells,) * 3, 1.0 / cells)
        vertices, faces = triangles(grid, lattice_distance(grid, 0.3))
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        assert mesh.is_watertight
        errors.append(abs(mesh.volume / (4 / 3 * math.pi * 0.3**3) - 1))
    assert errors[0] < 0.03  # and positive: the faces look outwards
    assert errors[1] < 0.35 * errors[0]


def test_the_liquid_is_cut_off_at_the_walls(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    simulation = FakeSimulation(32, 3, frame=80)  # the drop lies in the water
    recorder = MeshRecorder(tmp_path)
    recorder.record(simulation)
    recorder.close()
    mesh = trimesh.load(tmp_path / "mesh" / "surface_000080.ply", process=False)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(2 / 3 * math.pi * RADIUS**3, rel=0.04)
    assert np.linalg.norm(mesh.vertices - MIDDLE, axis=1).max() < RADIUS + 0.2 / 32


def test_outlines_in_2d(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    grid = Grid((32, 32), 1 / 32)
    vertices, edges = outlines(grid, lattice_distance(grid, 0.3))
    start, end = (vertices[edges[:, side]] for side in (0, 1))
    twice = start[:, 0] * end[:, 1] - end[:, 0] * start[:, 1]
    assert 0.5 * twice.sum() == pytest.approx(math.pi * 0.3**2, rel=0.01)  # positive: the liquid lies at the left
    MeshRecorder(tmp_path).record(FakeSimulation(32, 2, frame=80))
    path = trimesh.load(tmp_path / "mesh" / "surface_000080.ply")
    corners = path.vertices[path.entities[0].points]
    assert len(path.entities) == 1
    x, y = corners[:, 0] - MIDDLE, corners[:, 1] - MIDDLE
    assert 0.5 * np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) == pytest.approx(0.5 * math.pi * RADIUS**2, rel=0.03)


def test_clipping_is_the_intersection() -> None:
    nodes = np.linspace(-1.0, 1.0, 5)[:, None, None] * np.ones((5, 5, 1))
    centres = solid_at_centres(nodes)
    np.testing.assert_allclose(centres[:, 0, 0], [-0.75, -0.25, 0.25, 0.75])
    assert centres.shape == (4, 4, 1)
    np.testing.assert_array_equal(clipped(np.full((4, 4, 1), -0.5), centres) < 0, centres > 0)


# VTK -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3])
def test_vtk_reads_fields_and_particles(tmp_path: Path, dimension: int) -> None:
    pv = pytest.importorskip("pyvista")
    simulation = FakeSimulation(12, dimension, frame=3)
    state, domain = simulation.state, simulation.scene.grid
    rng = np.random.default_rng(3)
    for component in state.velocity.components[:dimension]:
        component[...] = rng.normal(size=component.shape)
    VtkRecorder(tmp_path).record(simulation)
    inner = (slice(3, -3),) * dimension + (slice(None),) * (3 - dimension)

    image = pv.read(tmp_path / "vtk" / "fields_000003.vti")
    assert image.dimensions == (13, 13, 13 if dimension == 3 else 1)
    assert image.spacing == pytest.approx((domain.spacing,) * 3) and image.origin == pytest.approx((0, 0, 0))
    shape = domain.shape3

    def cells(name: str) -> np.ndarray:
        return np.asarray(image.cell_data[name]).reshape(shape, order="F")

    np.testing.assert_array_equal(cells("phi"), state.phi[inner].astype(np.float32))
    np.testing.assert_array_equal(cells("p"), state.guess.p[inner].astype(np.float32))
    np.testing.assert_array_equal(cells("detached"), state.guess.detached[inner])
    v = state.velocity.v[inner[0], :, inner[2]]
    middle = 0.5 * (v[:, 3:-4] + v[:, 4:-3])
    np.testing.assert_allclose(np.asarray(image.cell_data["velocity"])[:, 1].reshape(shape, order="F"), middle, rtol=1e-5, atol=1e-6)
    solid = np.asarray(image.point_data["solid_phi"]).reshape(domain.node_shape3, order="F")
    np.testing.assert_array_equal(solid, simulation.solid_phi[inner].astype(np.float32))

    points = pv.read(tmp_path / "vtk" / "particles_000003.vtp")
    assert points.n_points == points.n_verts == len(state.particles)
    np.testing.assert_array_equal(points.points[:, :dimension], state.particles.position[:, :dimension].astype(np.float32))
    np.testing.assert_array_equal(points.point_data["velocity"], state.particles.velocity.astype(np.float32))


def test_the_index_tells_the_times_of_the_frames_so_far(tmp_path: Path) -> None:
    pv = pytest.importorskip("pyvista")
    simulation = FakeSimulation(8, 2)
    recorder = VtkRecorder(tmp_path)
    for frame in (0, 1, 2, 1):  # gone back to frame 1 by a resumed run
        simulation.state.frame = frame
        recorder.record(simulation)
    recorder.close()
    for name in ("fields", "particles"):
        reader = pv.get_reader(tmp_path / "vtk" / f"{name}.pvd")
        assert reader.time_values == pytest.approx([0.0, 0.01])
        reader.set_active_time_point(1)
        assert reader.read()[0].n_points > 0


def test_the_snippet_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[1] / "docs" / "render.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    assert len(list((tmp_path / "out" / "vtk").glob("*.vti"))) == 3


def test_a_resumed_run_writes_the_same_frames(tmp_path: Path) -> None:
    """Frames are made of what checkpoints keep: a copy of the state, gone on with, writes the same bytes."""
    scene = SCENES["circle"](resolution=24)
    whole = Simulation(scene, recorders=[FrameRecorder(tmp_path / "whole")])
    whole.run(frames=2)
    kept = copy.deepcopy(whole.state)
    whole.run(frames=4)
    Simulation(scene, recorders=[FrameRecorder(tmp_path / "resumed")], state=kept).run(frames=4)
    for frame in (3, 4):
        assert frame_path(tmp_path / "whole", frame).read_bytes() == frame_path(tmp_path / "resumed", frame).read_bytes()
    assert solid_path(tmp_path / "whole").read_bytes() == solid_path(tmp_path / "resumed").read_bytes()
