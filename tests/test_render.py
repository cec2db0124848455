"""Pictures and films: what is on them, that the same frames give the same bytes, and a sentence for every refusal."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from fake_run import FakeSimulation, box_phi, write_run
from unstick import cli
from unstick.checks import InvalidSystem
from unstick.geometry.shapes import Box, sample
from unstick.grid import Array
from unstick.record.frames import FrameRecorder, read_frame
from unstick.render.colours import BOTH, ORANGE, WATER, Scale, pressure_scale, round_up, speed_scale
from unstick.render.draw import Look, render
from unstick.render.flat import FlatPainter, cell_values
from unstick.render.png import contact_sheet, encode, read_picture
from unstick.render.raster import Window, coverage, discs, spread
from unstick.render.run_files import RunFiles, labels

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("flat") / "separating", 48, 2, 3, "separating", 15)


@pytest.fixture(scope="module")
def stuck(flat: Path) -> Path:
    return write_run(flat.parent / "sticking", 48, 2, 2, "sticking", 15)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("space") / "separating", 24, 3, 2, "separating", 30)


def bluish(picture: Array) -> Array:
    r, g, b = (picture[..., c].astype(int) for c in range(3))
    return (b > r + 25) & (b >= g)


def near(picture: Array, colour: tuple[int, int, int], by: int = 40) -> Array:
    return np.abs(picture.astype(int) - colour).max(axis=-1) < by


# The raster ----------------------------------------------------------------------------------------------------------------


def test_the_window_interpolates_what_is_linear_exactly() -> None:
    window = Window(left=0.1, top=0.9, pixel=0.01, width=70, height=50)
    x, y = np.meshgrid((np.arange(12) + 0.5) / 10 - 0.1, (np.arange(14) + 0.5) / 10 - 0.2, indexing="ij")
    columns = 0.1 + (np.arange(70) + 0.5) * 0.01
    rows = 0.9 - (np.arange(50) + 0.5) * 0.01
    for cubic in (False, True):
        sampled = window.sample(2 * x - 3 * y, (-0.05, -0.15), 0.1, cubic)
        np.testing.assert_allclose(sampled, 2 * columns[None] - 3 * rows[:, None], atol=2e-6)


def test_edges_are_smooth_and_areas_right() -> None:
    window = Window(0.0, 1.0, 1 / 64, 64, 64)
    x, y = np.meshgrid(np.linspace(0, 1, 65), np.linspace(0, 1, 65), indexing="ij")
    part = coverage(window.sample(np.hypot(x - 0.5, y - 0.5) - 0.3, (0.0, 0.0), 1 / 64))
    assert part.sum() / 64**2 == pytest.approx(np.pi * 0.3**2, rel=0.002)
    assert ((part > 0.05) & (part < 0.95)).sum() > 60


def test_discs_do_not_depend_on_the_order_of_points() -> None:
    rng = np.random.default_rng(2)
    window = Window(0.0, 1.0, 1 / 40, 40, 40)
    x, y, values = rng.uniform(-0.1, 1.1, (3, 500))
    part, mean = discs(window, x, y, values, 1.4)
    turned = discs(window, x[::-1], y[::-1], values[::-1], 1.4)
    np.testing.assert_allclose(part, turned[0], atol=1e-12)
    np.testing.assert_allclose(mean, turned[1], atol=1e-9)
    one, _ = discs(window, np.array([0.5]), np.array([0.5]), np.array([1.0]), 3.0)
    assert one.sum() == pytest.approx(np.pi * 9, rel=0.02)


def test_values_are_carried_on_beyond_the_liquid() -> None:
    present = np.zeros((40, 30), dtype=bool)
    present[10:20, 5:25] = True
    np.testing.assert_allclose(spread(np.where(present, 7.0, -99.0), present, 0.8)[8:22, 4:26], 7.0, rtol=1e-4)


@pytest.mark.parametrize(
    ("value", "end"), [(0.93, 1.0), (1.0, 1.0), (1.01, 1.5), (2.4, 3.0), (0.0037, 0.004), (71.0, 80.0), (0.0, 1.0), (np.nan, 1.0)]
)
def test_scales_end_in_round_numbers(value: float, end: float) -> None:
    assert round_up(value) == pytest.approx(end, rel=1e-12)


def test_scales_name_their_unit_and_show_suction() -> None:
    assert (pressure_scale(0.0, 900.0).low, pressure_scale(0.0, 900.0).label) == (0.0, "pressure, Pa")
    both = pressure_scale(-800.0, 3900.0)
    assert (both.low, both.high, both.label) == (-0.8, 4.0, "pressure, kPa")
    assert np.ptp(both.colours(np.zeros(1))) < 20  # neither of the two
    np.testing.assert_allclose(both.colours(np.array([-2.0, 5.0])), [BOTH[0], BOTH[-1]])
    scale = speed_scale(2.7)
    np.testing.assert_allclose(scale.colours(np.array([-1.0, 0.0, 3.0, 9.0, np.nan])), [WATER[0], WATER[0], WATER[-1], WATER[-1], WATER[0]])


# 2D ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["particles", "surface"])
@pytest.mark.parametrize("colour", ["speed", "pressure"])
def test_a_flat_frame_shows_liquid_walls_and_marks(flat: Path, style: str, colour: str) -> None:
    frame = read_frame(flat, 1)
    scale = Scale("speed, m/s", 0.0, 2.0, ((40, 60, 200), (60, 80, 240)))
    painter = FlatPainter(frame, scale, colour, style, 300)
    picture = painter.paint(frame)
    assert picture.dtype == np.uint8 and picture.shape == (painter.size[1], painter.size[0], 3)
    inside = (2 * painter.window.width * 0.4 / (0.4 + 0.02 + 0.012)) ** 2
    blue = bluish(picture).sum() / (inside * np.pi / 16)
    assert 0.40 < blue < 0.60  # half full
    marks = near(picture, ORANGE)
    assert marks.sum() > 30
    assert np.nonzero(marks)[0].mean() < 0.5 * picture.shape[0]  # above the middle, where the fake says
    assert (picture[0, 0] == 255).all()  # behind the vessel's wall the page stays white
    without = FakeSimulation(48, 2, walls="sticking", frame=15)
    assert without.state.guess is not None and not without.state.guess.detached.any()


def test_solids_in_the_middle_are_filled(tmp_path: Path) -> None:
    simulation = FakeSimulation(48, 2)
    x, y = np.meshgrid(*[line.reshape(-1) for line in simulation.grid.points(simulation.grid.node_shape, (0.0, 0.0))], indexing="ij")
    simulation.solid_phi = np.minimum(simulation.solid_phi, (np.hypot(x - 0.5, y - 0.35) - 0.15)[:, :, None])
    FrameRecorder(tmp_path).record(simulation)
    frame = read_frame(tmp_path, 0)
    picture = FlatPainter(frame, speed_scale(1.0), longer=240).paint(frame)
    middle = picture[round(240 * 0.66), 120]
    assert np.ptp(middle.astype(int)) < 10 and 200 < middle[0] < 245


def test_pressure_is_not_darkened_at_walls(flat: Path) -> None:
    frame = read_frame(flat, 1)
    scale = pressure_scale(0.0, 4000.0)
    values = cell_values(frame, "pressure", scale)
    lowest = np.unravel_index(np.argmax(frame.p), frame.p.shape)
    beyond = values[lowest[0] - 1, lowest[1] - 1, 0]  # in the wall: outwards from the cell of the highest pressure
    assert beyond > 0.8 * frame.p.max() / 1000


# Films and sheets ----------------------------------------------------------------------------------------------------------


def test_render_writes_pictures_and_a_film(flat: Path, tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    drawn = render([flat], tmp_path / "out", Look(size=150))
    assert [path.name for path in drawn.pictures] == [f"frame_{n:06d}.png" for n in range(3)]
    size = read_picture(drawn.pictures[0]).shape
    assert size[0] % 2 == size[1] % 2 == 0
    with av.open(str(drawn.film)) as film:
        stream = film.streams.video[0]
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
    assert len(frames) == 3 and frames[0].shape == size
    assert np.abs(frames[2].astype(int) - read_picture(drawn.pictures[2])).mean() < 8
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["film.mp4", "pictures"]


def test_the_same_run_gives_the_same_bytes(flat: Path, tmp_path: Path) -> None:
    first, second = (render([flat], tmp_path / name, Look(size=120)) for name in "ab")
    for a, b in zip((*first.pictures, first.film), (*second.pictures, second.film), strict=True):
        assert a is not None and b is not None and a.read_bytes() == b.read_bytes()
    chunks = first.pictures[0].read_bytes()
    assert b"tIME" not in chunks and b"tEXt" not in chunks


def test_two_runs_beside_each_other(flat: Path, stuck: Path) -> None:
    drawn = render([stuck, flat], None, Look(size=150, every=1, film=False))
    assert drawn.film is None
    assert [path.parent for path in drawn.pictures] == [stuck / "beside" / "pictures"] * 2  # the frames that both have
    page = read_picture(drawn.pictures[1])
    half = page.shape[1] // 2
    assert page.shape[1] > 1.8 * 150
    assert near(page[:-20, half:], ORANGE).sum() > 5 and not near(page[:-20, :half], ORANGE).any()
    together = render([flat.parent], None, Look(size=150, film=False))  # the directory of both
    assert [path.parent for path in together.pictures] == [flat.parent / "pictures"] * 2
    assert together.pictures[1].read_bytes() == drawn.pictures[1].read_bytes()
    assert labels([RunFiles.open(stuck), RunFiles.open(flat)]) == ["sticking walls", "separating walls"]
    assert labels([RunFiles.open(flat), RunFiles.open(flat)]) == [str(flat), str(flat)]


def test_every_takes_every_nth_frame(flat: Path, tmp_path: Path) -> None:
    drawn = render([flat], tmp_path, Look(size=100, every=2, film=False))
    assert [path.name for path in drawn.pictures] == ["frame_000000.png", "frame_000002.png"]


def test_an_interrupted_film_leaves_nothing(flat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av")
    calls = iter((None, None, KeyboardInterrupt))

    def read(directory: Path, frame: int) -> object:
        stop = next(calls, KeyboardInterrupt)
        if stop is not None:
            raise stop
        return read_frame(directory, frame)

    files = RunFiles.open(flat)
    monkeypatch.setattr("unstick.render.run_files.read_frame", read)
    monkeypatch.setattr(RunFiles, "open", classmethod(lambda cls, directory: files))
    with pytest.raises(KeyboardInterrupt):
        render([flat], tmp_path / "out", Look(size=100, colour="speed"))
    assert not list((tmp_path / "out").glob("*.mp4")) and not list((tmp_path / "out").glob(".*"))


def test_contact_sheets_fit_into_their_bytes() -> None:
    rng = np.random.default_rng(5)
    noisy = [rng.integers(0, 255, (90, 120, 3), dtype=np.uint8) for _ in range(5)]
    data = contact_sheet(noisy, 3, most_bytes=30_000)
    assert len(data) <= 30_000
    images = pytest.importorskip("PIL.Image")
    with images.open(io.BytesIO(data)) as sheet:
        assert sheet.width / sheet.height == pytest.approx(3 * 120 / (2 * 90), rel=0.05)
    plain = np.full((30, 40, 3), 77, dtype=np.uint8)
    with images.open(io.BytesIO(contact_sheet([plain, plain], 2))) as sheet:
        assert sheet.size == (80, 30) and sheet.getpixel((60, 15)) == (77, 77, 77)
    with pytest.raises(InvalidSystem, match="at least one"):
        contact_sheet([], 2)


def test_few_colours_keep_the_marks() -> None:
    ramp = np.random.default_rng(3).integers(0, 2, (200, 300, 1)) * np.linspace(0, 255, 300)[None, :, None] * [0.3, 0.6, 1.0]
    picture = ramp.astype(np.uint8)
    picture[50:54, 100:120] = ORANGE
    images = pytest.importorskip("PIL.Image")
    with images.open(io.BytesIO(encode(picture, 128))) as few:
        assert near(np.asarray(few.convert("RGB")), ORANGE, 20).sum() == 80


def test_png_keeps_the_pixels(tmp_path: Path) -> None:
    picture = np.random.default_rng(1).integers(0, 255, (13, 17, 3), dtype=np.uint8)
    (tmp_path / "x.png").write_bytes(encode(picture))
    np.testing.assert_array_equal(read_picture(tmp_path / "x.png"), picture)


# 3D ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("style", "colour"), [(None, None), ("particles", None), ("surface", "pressure")])
def test_water_is_seen_through_glass(space: Path, tmp_path: Path, style: str | None, colour: str | None) -> None:
    pytest.importorskip("pyvista")
    drawn = render([space], tmp_path, Look(size=240, film=False, style=style, colour=colour))  # type: ignore[arg-type]
    page = read_picture(drawn.pictures[1])
    panel = page[20:-20]
    share = bluish(panel).mean()
    assert 0.1 < share < 0.5, share  # depth peeling with multisampling would lose the water, and say nothing
    assert near(page[25:30, 10:20], (255, 255, 255), 3).all()


def test_the_same_frame_in_space_gives_the_same_pixels(space: Path) -> None:
    pytest.importorskip("pyvista")
    from unstick.render.space import SpacePainter

    frame, other = read_frame(space, 1), read_frame(space, 0)
    painter = SpacePainter(frame, None, longer=200)
    first = painter.paint(frame)
    painter.paint(other)
    again = painter.paint(frame)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, SpacePainter(other, None, longer=200).paint(frame))


def test_a_box_is_drawn_as_a_box_and_bodies_in_it_are_closed(tmp_path: Path) -> None:
    pytest.importorskip("pyvista")
    from unstick.render.glass import CENTRE, NODE, at_points, bodies_in_box, contour, domain_sides, touches_sides, vessel_and_bodies

    ball = FakeSimulation(16, 3)
    FrameRecorder(tmp_path / "ball").record(ball)
    frame = read_frame(tmp_path / "ball", 0)
    assert not touches_sides(frame)
    assert list(vessel_and_bodies(contour(-frame.solid_phi, frame, NODE))) == ["glass"]
    step = sample(Box((0.6, -1.0, -1.0), (2.0, 0.3, 2.0)), ball.grid, "nodes")
    ball.solid_phi = np.minimum(box_phi(ball.grid), step)
    FrameRecorder(tmp_path / "box").record(ball)
    frame = read_frame(tmp_path / "box", 0)
    assert touches_sides(frame)
    np.testing.assert_allclose(domain_sides(frame.grid), [[0, 0, 0], [1, 1, 1]], atol=1e-12)
    body = contour(bodies_in_box(frame), frame, NODE)
    inset = 0.3 / 16
    np.testing.assert_allclose(body.bounds, [0.6, 1 - inset, inset, 0.3, inset, 1 - inset], atol=1e-6)
    assert body.is_manifold and body.volume == pytest.approx((0.4 - inset) * (0.3 - inset) * (1 - 2 * inset), rel=0.08)  # edges are cut
    x = np.random.default_rng(4).uniform(0.2, 0.8, (50, 3))
    centres = ball.grid.points(ball.grid.shape, CENTRE)
    np.testing.assert_allclose(at_points(centres[0] + 2 * centres[1] - centres[2], x, ball.grid, CENTRE), x @ [1, 2, -1], atol=1e-9)


def test_a_system_without_opengl_is_told_so(space: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from unstick.render import extras

    monkeypatch.setattr(extras, "PROBE", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    extras.need_opengl.cache_clear()
    assert "needs OpenGL" in refused(capsys, str(space), "--no-film")
    extras.need_opengl.cache_clear()


# Refusals ------------------------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.run(["render", *words]) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.strip().splitlines()) == 1
    return said.err


def test_the_command_says_what_it_made(flat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["render", str(flat), "--out", str(tmp_path / "o"), "--size", "100", "--no-film"]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == f"3 pictures: {tmp_path / 'o' / 'pictures'}"
    assert "left" in said.err or "pictures: frame" in said.err


def test_bad_directories_and_values_are_refused(flat: Path, space: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "run.json" in refused(capsys, str(tmp_path / "nowhere"))
    (tmp_path / "run.json").write_text("{")
    assert "cannot be read" in refused(capsys, str(tmp_path))
    (tmp_path / "run.json").write_text("[]")
    assert "no manifest" in refused(capsys, str(tmp_path))
    (tmp_path / "run.json").write_text(json.dumps({"scene": "dam"}))
    assert "no frames to draw" in refused(capsys, str(tmp_path))
    assert "from 64 to 4096" in refused(capsys, str(flat), "--size", "3")
    assert "--every is 0" in refused(capsys, str(flat), "--every", "0")
    assert "speed" in refused(capsys, str(flat), "--colour", "red")
    assert "2D" in refused(capsys, str(flat), str(space))
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(capsys, str(flat), "--out", str(tmp_path / "file" / "x"))


@pytest.mark.parametrize(("missing", "words"), [("av", ()), ("matplotlib", ("--no-film",)), ("pyvista", ("--no-film",))])
def test_missing_libraries_are_named(
    missing: str, words: tuple[str, ...], flat: Path, space: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    said = refused(capsys, str(space if missing == "pyvista" else flat), *words)
    assert missing in said and "pip install 'unstick[viz]'" in said
