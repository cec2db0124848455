"""Runs that are stopped, killed, damaged and gone on with: what comes out is what an uninterrupted run gives, bit for bit."""

from __future__ import annotations

import inspect
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from unstick import cli
from unstick.runs.command import run_command
from unstick.runs.settings import FREE
from unstick.runs.stats import KEYS

SCENE = ("circle", "--resolution", "20", "--checkpoint-every", "2")
FRAMES = 7


def run(*words: str) -> int:
    return cli.run(["run", *words])


def process(*words: str, cwd: Path, limit: int | None = None) -> subprocess.Popen[str]:
    def lower() -> None:
        import resource

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell that runs the tests in the background has it ignored
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = {**os.environ, "COLUMNS": "300", "OMP_WAIT_POLICY": "passive"}
    return subprocess.Popen(
        [sys.executable, "-m", "unstick.cli", "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=environment,
        preexec_fn=lower,
    )


def finish(running: subprocess.Popen[str]) -> int:
    running.communicate(timeout=300)
    return running.returncode


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "stats.jsonl").read_text().splitlines()]


def content(directory: Path) -> dict[str, Any]:
    """All that a run leaves: bytes of its checkpoints, frames and pictures, and statistics without seconds."""
    found: dict[str, Any] = {
        str(path.relative_to(directory)): path.read_bytes()
        for part in ("checkpoints", "frames", "pictures", "mesh", "vtk")
        for path in sorted((directory / part).rglob("*"))
        if path.is_file()
    }
    found["stats"] = [{key: value for key, value in line.items() if key != "seconds"} for line in lines(directory)]
    return found


def assert_same(directory: Path, straight: Path) -> None:
    mine, theirs = content(directory), content(straight)
    assert list(mine) == list(theirs)
    assert [name for name in mine if mine[name] != theirs[name]] == []


def everything(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run; tests do not write to it."""
    directory = tmp_path_factory.mktemp("straight") / "run"
    assert run(*SCENE, "--frames", str(FRAMES), "--out", str(directory)) == 0
    return directory


def copy(straight: Path, target: Path) -> Path:
    import shutil

    return Path(shutil.copytree(straight, target))


def test_what_a_run_leaves(straight: Path) -> None:
    manifest = json.loads((straight / "run.json").read_text())
    assert {"scene": "circle", "resolution": 20, "walls": "separating", "frames": FRAMES, "dimension": 2}.items() <= manifest.items()
    assert [p.name for p in sorted((straight / "frames").iterdir())] == [f"frame_{n:06d}.npz" for n in range(FRAMES + 1)]
    assert [p.name for p in sorted((straight / "checkpoints").iterdir())] == [f"frame_{n:06d}.npz" for n in (2, 4, 6, 7)]
    told = lines(straight)
    assert [line["step"] for line in told] == list(range(1, len(told) + 1))
    assert all(tuple(line) == KEYS for line in told)
    assert all(line["status"] == "CONVERGED" for line in told)
    assert told[-1]["frame"] == FRAMES
    assert told[-1]["time"] == pytest.approx(0.01 * FRAMES)
    assert cli.run(["check", str(straight)]) == 0


def test_resumed_to_a_later_end(straight: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert run(*SCENE, "--frames", "3", "--out", out) == 0
    assert run("circle", "--frames", str(FRAMES), "--out", out, "--resume") == 0  # the run remembers its resolution
    assert_same(tmp_path / "run", straight)
    before = everything(tmp_path / "run")
    assert run("circle", "--out", out, "--resume") == 0
    assert "there already" in capfd.readouterr().err
    assert everything(tmp_path / "run") == before


def test_one_thread_or_two_give_the_same(straight: Path, tmp_path: Path) -> None:
    import numba

    if int(numba.config.NUMBA_NUM_THREADS) < 2:
        pytest.skip("one thread only")
    before = numba.get_num_threads()
    try:
        for threads in (1, 2):
            out = tmp_path / str(threads)
            assert run(*SCENE, "--frames", str(FRAMES), "--threads", str(threads), "--out", str(out)) == 0
            assert_same(out, straight)
    finally:
        numba.set_num_threads(before)


def kill(out: Path, words: tuple[str, ...], after_lines: int, delay: float, number: int = signal.SIGKILL) -> subprocess.Popen[str]:
    """Start or go on with a run, and send a signal once so many lines of statistics are there."""
    running = process(*words, "--out", str(out), "--resume", cwd=out.parent)
    end = time.monotonic() + 120
    while running.poll() is None and time.monotonic() < end:
        if (out / "stats.jsonl").exists() and (out / "stats.jsonl").read_bytes().count(b"\n") >= after_lines:
            time.sleep(delay)
            running.send_signal(number)
            break
        time.sleep(0.002)
    return running


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_twice_and_gone_on_with(straight: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "run", (*SCENE, "--frames", str(FRAMES))
    steps = len(lines(straight))
    for after, delay in ((steps // 3, 0.004), (2 * steps // 3, 0.011)):
        kill(out, words, after, delay).communicate()
    assert run(*words, "--out", str(out), "--resume") == 0
    assert_same(out, straight)
    assert cli.run(["check", str(out)]) == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_killed_at_five_moments_pictures_too(tmp_path: Path, threads: int) -> None:
    pytest.importorskip("PIL")
    rng = random.Random(threads)
    words = ("circle", "--resolution", "32", "--frames", "12", "--threads", str(threads))
    straight, out = tmp_path / "straight", tmp_path / "run"
    assert finish(process(*words, "--out", str(straight), cwd=tmp_path)) == 0
    steps = len(lines(straight))
    for part in range(5):
        kill(out, words, part * steps // 5, rng.uniform(0.0, 0.3)).communicate()
    assert finish(process(*words, "--out", str(out), "--resume", cwd=tmp_path)) == 0
    for directory in (straight, out):
        assert cli.run(["render", str(directory), "--no-film"]) == 0
    assert any(name.endswith(".png") for name in content(straight))
    assert_same(out, straight)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_saves_and_says_how_to_go_on(straight: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "run", (*SCENE, "--frames", str(FRAMES))
    running = kill(out, words, 3, 0.0, signal.SIGINT)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 130, errors
    assert f"unstick run circle --out {out} --resume" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert run("circle", "--out", str(out), "--resume") == 0
    assert_same(out, straight)


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes")
@pytest.mark.parametrize("limit", [3_000, 20_000, 40_000, 80_000])
def test_a_file_size_limit(straight: Path, tmp_path: Path, limit: int) -> None:
    out, words = tmp_path / "run", (*SCENE, "--frames", str(FRAMES))
    running = process(*words, "--out", str(out), cwd=tmp_path, limit=limit)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 1, errors
    assert "could not be written" in errors.splitlines()[-1]
    assert "--resume" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    assert run(*words, "--out", str(out), "--resume") == 0
    assert_same(out, straight)


@pytest.mark.parametrize("harm", ["flip", "cut", "empty"])
def test_a_damaged_checkpoint_is_passed_over(straight: Path, tmp_path: Path, harm: str, capfd: pytest.CaptureFixture[str]) -> None:
    out = copy(straight, tmp_path / "run")
    newest = out / "checkpoints" / "frame_000007.npz"
    data = bytearray(newest.read_bytes())
    if harm == "flip":
        data[len(data) // 2] ^= 4
    newest.write_bytes(data if harm == "flip" else data[: len(data) // 2] if harm == "cut" else b"")
    assert cli.run(["check", str(out)]) == 1
    assert "frame_000007.npz is damaged" in capfd.readouterr().out
    assert run("circle", "--out", str(out), "--resume") == 0
    told = capfd.readouterr().err
    assert "frame_000007.npz is damaged" in told
    assert "frame 7 of 7" in told
    assert_same(out, straight)


def test_all_checkpoints_damaged_starts_again(straight: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = copy(straight, tmp_path / "run")
    for path in (out / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert run("circle", "--out", str(out), "--resume") == 0
    assert "starting from the first frame" in capfd.readouterr().err
    assert_same(out, straight)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("--resolution", "24"), ["scene.resolution: 20 -> 24"]),
        (("--walls", "sticking"), ['solid.vessel.walls: "separating" -> "sticking"', 'sides.top: "separating" -> "sticking"']),
        (("--set", "numerics.flip=0.5", "--set", "scene.density=900"), ["numerics.flip: 0.97 -> 0.5", "scene.density: 1000.0 -> 900.0"]),
    ],
)
def test_a_changed_scene_is_refused(straight: Path, words: tuple[str, ...], keys: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    before = everything(straight)
    assert run("circle", "--out", str(straight), "--resume", *words) == 2
    told = capfd.readouterr().err
    assert all(key in told for key in keys)
    assert everything(straight) == before


def test_a_changed_file_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "mine.toml", tmp_path / "run"
    assert cli.run(["show-config", "circle", "--resolution", "16"]) == 0
    file.write_text(capfd.readouterr().out)
    assert run(str(file), "--frames", "2", "--out", str(out)) == 0
    file.write_text(file.read_text().replace("density = 1000.0", "density = 800.0"))
    assert run(str(file), "--frames", "3", "--out", str(out), "--resume") == 2
    assert "scene.density: 1000.0 -> 800.0" in capfd.readouterr().err


def test_a_failed_solve_saves_and_another_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert run(*SCENE, "--frames", "2", "--out", str(out), "--set", "numerics.tolerance=1e-17") == 1
    told = capfd.readouterr().err
    assert "raise the tolerance" in told
    assert "--resume --solver" in told
    assert lines(out)[-1]["status"] in ("STAGNATED", "ITERATION_LIMIT")
    assert tuple(lines(out)[-1]) == KEYS
    assert cli.run(["check", str(out)]) == 0
    assert run("circle", "--frames", "2", "--out", str(out), "--resume", "--solver", "pi-pcg", "--set", "numerics.tolerance=1e-6") == 0
    assert {line["solver"] for line in lines(out)} == {"pi-pcg"}
    assert cli.run(["check", str(out)]) == 0


def test_from_a_frame_nothing_is_lost(straight: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = copy(straight, tmp_path / "run")
    assert run("circle", "--out", str(out), "--from-frame", "5") == 0
    assert "Frames after 4" in capfd.readouterr().err
    assert_same(out, straight)
    aside = out / "set-aside-1"
    assert (aside / "frames" / "frame_000007.npz").read_bytes() == (straight / "frames" / "frame_000007.npz").read_bytes()
    assert lines(aside) == lines(straight)
    assert run("circle", "--out", str(out), "--from-frame", "0") == 0
    assert_same(out, straight)
    assert run("circle", "--out", str(out), "--from-frame", "8") == 2
    assert "from 0 to 7" in capfd.readouterr().err


def test_a_directory_that_is_taken(straight: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = everything(straight)
    assert run("circle", "--out", str(straight)) == 2
    assert "--resume" in capfd.readouterr().err
    assert everything(straight) == before
    (tmp_path / "file").write_text("mine")
    for below in ("file", "file/a", "file/a/b"):
        assert run("circle", "--out", str(tmp_path / below)) == 2
        assert "is a file" in capfd.readouterr().err
    assert run("circle", "--out", str(tmp_path)) == 2
    assert "other files" in capfd.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="locks")
def test_one_process_at_a_time(straight: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import fcntl

    with (straight / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert run("circle", "--out", str(straight), "--resume") == 2
    assert "another process" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("circle", "--frames", "0"), "--frames is 0"),
        (("circle", "--resolution", "-3"), "--resolution is -3"),
        (("circle", "--threads", "1000"), "--threads is 1000"),
        (("circle", "--checkpoint-every", "0"), "--checkpoint-every is 0"),
        (("circle", "--solver", "pgss"), "Did you mean pgs?"),
        (("circle", "--solver", "pcg", "--walls", "both"), "walls that stick"),
        (("circle", "--record", "msh"), "Did you mean mesh?"),
        (("circle", "--from-frame", "3"), "holds no run"),
        (("circel",), "circle"),
        (("circle", "--set", "numerics.filp=1"), "flip"),
    ],
)
def test_bad_input_is_one_sentence(words: tuple[str, ...], said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(*words, "--out", str(tmp_path / "run")) == 2
    told = capfd.readouterr()
    assert said in told.err
    assert told.out == ""
    assert not (tmp_path / "run").exists()


def test_check_finds_what_is_wrong(straight: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def wrong(name: str) -> tuple[Path, list[str]]:
        return copy(straight, tmp_path / name), []

    def problems(out: Path) -> str:
        assert cli.run(["check", str(out)]) == 1
        return capfd.readouterr().out

    out, _ = wrong("frame")
    (out / "frames" / "frame_000003.npz").unlink()
    (out / "frames" / "frame_000005.npz").write_bytes(b"x")
    told = problems(out)
    assert "lacks frame 3; --from-frame 2" in told
    assert "frame 5 cannot be read; --from-frame 4" in told
    assert run("circle", "--out", str(out), "--from-frame", "2") == 0
    assert_same(out, straight)
    out, _ = wrong("stats")
    text = (out / "stats.jsonl").read_text().splitlines(keepends=True)
    (out / "stats.jsonl").write_text("".join(text[:2] + text[3:]))
    assert "step 4 follows step 2" in problems(out)
    (out / "stats.jsonl").write_text("".join(text)[:-5])
    assert "cannot be understood after line" in problems(out)
    out, _ = wrong("manifest")
    (out / "run.json").write_text((out / "run.json").read_text().replace("1000.0", "1000.5"))
    assert "has been changed" in problems(out)
    (out / "run.json").write_text("{")
    assert "cannot be read" in problems(out)
    assert cli.run(["check", str(tmp_path / "nowhere")]) == 2


def test_a_solver_that_cannot_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert run("circle", "--resolution", "16", "--frames", "1", "--solver", "fft", "--out", out) == 2
    assert "fft" in capfd.readouterr().err
    assert run("circle", "--out", out, "--resume", "--solver", "mgpcg") == 0


def test_the_page_knows_all_keys_and_options() -> None:
    page = (Path(__file__).parents[1] / "docs" / "runs.md").read_text()
    assert all(f"`{key}`" in page for key in KEYS)
    options = [name for name, parameter in inspect.signature(run_command).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    assert all(f"`--{name.replace('_', '-')}" in page for name in options)
    assert all(f"`{key}`" in page for key in FREE if key not in ("scene.name", "scene.about"))


def test_a_linear_solver_sticks(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("circle", "--resolution", "16", "--frames", "1", "--solver", "pcg", "--out", str(out)) == 0
    assert json.loads((out / "run.json").read_text())["walls"] == "sticking"
    assert lines(out)[0]["contact"] == 0


def test_both_walls_and_the_film(tmp_path: Path) -> None:
    pytest.importorskip("av")
    out = tmp_path / "two"
    words = ("circle", "--resolution", "16", "--frames", "1", "--walls", "both", "--out", str(out))
    assert run(*words) == 0
    for walls in ("sticking", "separating"):
        assert json.loads((out / walls / "run.json").read_text())["walls"] == walls
    assert (out / "film.mp4").stat().st_size > 1000
    assert len(list((out / "pictures").glob("*.png"))) == 2
    assert cli.run(["check", str(out)]) == 0
    assert run(*words) == 2
    assert run(*words, "--resume") == 0
