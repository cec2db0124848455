"""The command line as a user meets it: real processes, exit codes, one sentence for each refusal and never a traceback."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import unstick as us
from unstick.bench.table import BENCHES
from unstick.scenes import SCENES, load


def unstick(*words: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", **variables}
    return subprocess.run([sys.executable, "-m", "unstick.cli", *words], capture_output=True, text=True, cwd=cwd, env=environment)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    sentence = done.stderr.strip()
    assert len(sentence.splitlines()) == 1
    return sentence


def test_version() -> None:
    done = unstick("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"unstick {us.__version__}")


def test_solvers_lists_all_with_a_line_each() -> None:
    done = unstick("solvers")
    assert done.returncode == 0
    for name in (*us.SOLVERS, *us.LINEAR_SOLVERS):
        assert f"{name} " in done.stdout


def test_bench_without_a_name_lists_all() -> None:
    done = unstick("bench")
    assert done.returncode == 0
    for name, bench in BENCHES.items():
        assert f"{name} " in done.stdout
        assert bench.line in done.stdout


def test_unknown_names_get_the_nearest_known_one() -> None:
    assert "Did you mean frames?" in refused(unstick("bench", "frame"))
    assert "bench" in refused(unstick("banch"))
    assert "--sizes" in refused(unstick("bench", "frames", "--size", "16"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "frames", "--sizes", "x"), "int"),
        (("bench", "frames", "--sizes", "4"), "at least 8"),
        (("bench", "exact", "--count", "0"), "at least 1"),
        (("bench", "frames", "--threads", "4096"), "--threads is 4096"),
        (("run", "circle", "--resolution", "2"), "from 4 to 8192"),
    ],
)
def test_bad_values_say_what_is_allowed(words: tuple[str, ...], said: str) -> None:
    assert said in refused(unstick(*words))


def test_a_file_where_a_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in refused(unstick("run", "circle", "--resolution", "16", "--out", str(tmp_path / "file")))
    assert "file" in refused(unstick("bench", "warm", "--sizes", "16", "--json", str(tmp_path / "file" / "x.json")))


def test_bench_writes_json_and_pages(tmp_path: Path) -> None:
    done = unstick("bench", "empty-space", "--sizes", "16", "--json", "a/report.json", "--out", "pages", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr  # timings of so small a system may miss their aim
    report = json.loads((tmp_path / "a/report.json").read_text())
    assert report["bench"] == "empty-space"
    assert report["machine"]["cores"] >= 1
    assert not {"host", "user", "path"} & set(report["machine"])
    assert (done.returncode == 1) == bool(report["failures"])
    assert (tmp_path / "pages/empty-space.md").read_text().startswith("# empty-space")
    assert str(tmp_path) not in (tmp_path / "pages/empty-space.json").read_text()


def test_scenes_lists_all_with_a_line_each() -> None:
    done = unstick("scenes")
    assert done.returncode == 0
    for name, scene in SCENES.items():
        assert f"{name} " in done.stdout
        assert scene.about[:40] in done.stdout


def test_show_config_prints_a_file_that_gives_the_scene_back(tmp_path: Path) -> None:
    done = unstick("show-config", "sphere", "--resolution", "24", "--set", "numerics.transfer=flip")
    assert done.returncode == 0
    (tmp_path / "mine.toml").write_text(done.stdout)
    scene = load(tmp_path / "mine.toml")
    assert scene.grid.shape == (24, 24, 24)
    assert scene.numerics.transfer == "flip"
    assert unstick("show-config", str(tmp_path / "mine.toml")).stdout == done.stdout


def test_all_errors_of_a_scene_file_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("[scene]\ndimension = 4\nresolutoin = 3\n[numerics]\ncfl = -1\n")
    done = unstick("run", "wrong.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    told = done.stderr.strip().splitlines()
    assert len(told) >= 3
    assert all(line.startswith("wrong.toml: ") for line in told)
    assert any("resolution" in line for line in told)


def test_a_cold_cache_is_announced(tmp_path: Path) -> None:
    code = "from unstick.kernels import warm; warm.announce(); warm.announce()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, check=True
    )
    assert done.stderr.count("unstick warmup") == 1
    quiet = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "UNSTICK_QUIET": "1"}
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=quiet, check=True).stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_ends_with_130() -> None:
    words = [sys.executable, "-m", "unstick.cli", "bench", "exact", "--count", "100000"]
    # A shell that runs the tests in the background has SIGINT ignored, and children inherit that.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    assert process.stderr is not None
    process.stderr.readline()  # the first line of progress
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().endswith("Interrupted.")
    assert "Traceback" not in errors


@pytest.mark.slow
def test_warmup_leaves_nothing_to_compile(tmp_path: Path) -> None:
    done = unstick("warmup", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    code = "from unstick.kernels import warm; warm.announce()"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True).stderr == ""
