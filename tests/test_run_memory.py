"""Before a run: what changed in a scene, and whether it fits into memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from test_runs import run
from unstick.liquid.scene import Scene
from unstick.runs.memory import available_bytes, largest_that_fits, need
from unstick.runs.settings import changes, scene_hash, settings_of
from unstick.scenes import load


def test_settings_name_what_changed() -> None:
    old, new = settings_of(load("circle", resolution=20)), settings_of(load("circle", resolution=20, walls="sticking"))
    assert scene_hash(old) != scene_hash(new)
    assert 'solid.vessel.walls: "separating" -> "sticking"' in changes(old, new)
    assert scene_hash(old) == scene_hash(old | {"numerics.solver": "pgs", "scene.frames": 3})
    assert changes(old, old | {"numerics.solver": "pgs"}) == []
    assert json.loads(json.dumps(old)) == old


def test_memory_is_estimated_and_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sphere: Scene = load("sphere", resolution=64)
    cells, liquid = 70**3, 0.5 * 4 / 3 * np.pi * 0.4**3 * 64**3
    found = need(sphere)
    assert found.cells == cells
    assert found.liquid == pytest.approx(liquid, rel=0.05)
    assert found.particles == 8 * found.liquid
    fits = largest_that_fits(sphere, 64, 0.9 * found.bytes)
    assert 8 <= fits < 64
    assert need(load("sphere", resolution=fits)).bytes <= 0.9 * found.bytes < need(load("sphere", resolution=fits + 8)).bytes
    there = available_bytes()
    assert there is not None and 1e6 < there < 1e14
    monkeypatch.setattr("unstick.runs.memory.available_bytes", lambda: 4.0 * 2**30)
    assert run("sphere", "--resolution", "512", "--out", str(tmp_path / "run")) == 2
    told = capfd.readouterr().err
    assert "GiB" in told and "largest resolution that fits is" in told
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="resource usage")
@pytest.mark.parametrize(("scene", "resolution"), [("sphere", 64), ("dam", 48), ("circle", 512)])
def test_memory_is_near_the_estimate(tmp_path: Path, scene: str, resolution: int) -> None:
    code = "import resource, sys; from unstick import cli; cli.run(sys.argv[1:]);print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    words = [sys.executable, "-c", code, "run", scene, "--resolution", str(resolution), "--frames", "3", "--out", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    peak = 1024 * int(done.stdout.splitlines()[-1])
    assert 0.7 * peak < need(load(scene, resolution=resolution), 3).bytes < 1.8 * peak
