"""Eckert's projections in runs: by name, with statistics, resumed bit for bit, and on his scenes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import unstick as us
from unstick import cli
from unstick.liquid.simulation import Simulation
from unstick.pressure.projection import Flow, PressureProjection, Projected, Projection
from unstick.pressure.splitting.alternating import ADMMSep, IOPSep
from unstick.pressure.splitting.table import KNOWN, WHEN_PROJECTIONS, make_projection
from unstick.result import Guess
from unstick.runs.checkpoint import Stamp, load, save
from unstick.runs.stats import KEYS
from unstick.scenes import load as load_scene
from unstick.solvers.default import Default


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small arrays are not worth waking threads for."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def run(*words: str) -> int:
    return cli.run(["run", *words])


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "stats.jsonl").read_text().splitlines()]


def bare(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "seconds"} for line in found]


@pytest.mark.parametrize("name", us.PROJECTIONS)
def test_runs_take_every_projection_by_name(name: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run("tall-stairs", "--resolution", "24", "--frames", "3", "--solver", name, "--out", str(out)) == 0
    found = lines(out)
    assert len(found) == 3
    sticks = name in ("origps", "admm-stick", "iop-stick")
    for line in found:
        assert set(line) == set(KEYS)
        assert (line["solver"], line["status"]) == (name, "CONVERGED")
        assert line["iterations"] >= 1
        assert line["outer_iterations"] >= (5 if "admm" in name or name in ("iop-sep", "iop-stick") else 1)
        assert (line["detached"] == 0) or not sticks
        assert (line["contact"] == 0) == sticks
        limit = {"origps-sep": 1e4, "admm-sep": 2.0, "admm-stick": 2.0}.get(name, 1e-2 * 0.5 / line["dt"])
        assert line["max_divergence"] <= limit
    assert (found[0]["detached"] > 0) != sticks
    assert name in WHEN_PROJECTIONS


def test_a_scene_file_takes_both_tables(tmp_path: Path) -> None:
    assert run("dam-2d", "--resolution", "16", "--frames", "1", "--set", 'numerics.solver="iop-sep"', "--out", str(tmp_path / "a")) == 0
    assert lines(tmp_path / "a")[0]["solver"] == "iop-sep"
    assert make_projection("iop-sep") == IOPSep()
    assert isinstance(make_projection("mgpcg"), PressureProjection)
    assert set(KNOWN) == {*us.SOLVERS, *us.LINEAR_SOLVERS, *us.PROJECTIONS}


def test_unknown_names_are_corrected(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("dam-2d", "--solver", "iop-sepp") == 2
    assert "Did you mean iop-sep?" in capfd.readouterr().err


def test_solvers_lists_them(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["solvers"]) == 0
    told = capfd.readouterr().out
    assert all(name in told for name in us.PROJECTIONS)


@pytest.mark.parametrize("name", ["iop-sep-bc", "admm-sep"])
def test_a_resumed_run_is_the_uninterrupted_one(name: str, tmp_path: Path) -> None:
    words = ("dam-2d", "--resolution", "20", "--solver", name, "--checkpoint-every", "2")
    assert run(*words, "--frames", "6", "--out", str(tmp_path / "whole")) == 0
    assert run(*words, "--frames", "4", "--out", str(tmp_path / "parts")) == 0
    assert run(*words, "--frames", "6", "--out", str(tmp_path / "parts"), "--resume") == 0
    assert bare(lines(tmp_path / "whole")) == bare(lines(tmp_path / "parts"))
    last = "checkpoints/frame_000006.npz"
    assert (tmp_path / "whole" / last).read_bytes() == (tmp_path / "parts" / last).read_bytes()


def test_a_warm_start_is_in_the_checkpoint(tmp_path: Path) -> None:
    scene = load_scene("dam-2d", resolution=20)
    method = IOPSep(warm_start=True, accelerate="anderson")
    whole = Simulation(scene, projection=method)
    whole.run(3)
    save(tmp_path / "c.npz", whole.state, Stamp("0", "0"))
    whole.run(5)
    again = Simulation(scene, projection=method, state=load(tmp_path / "c.npz", whole.grid).state)
    again.run(5)
    np.testing.assert_array_equal(whole.state.particles.position, again.state.particles.position)
    assert whole.state.guess is not None
    assert again.state.guess is not None
    np.testing.assert_array_equal(whole.state.guess.p, again.state.guess.p)


def test_a_step_at_its_limit_is_told_and_the_run_goes_on() -> None:
    scene = load_scene("dam-2d", resolution=20)
    told: list[str] = []
    Simulation(scene, projection=ADMMSep(max_iterations=5)).run(3, lambda report: told.append(report.status))
    assert told == ["ITERATION_LIMIT"] * 3
    with pytest.raises(us.SolveError):
        Simulation(scene, projection=ADMMSep(max_iterations=5, at_limit="stop")).run(1)


class Listener:
    """Lets the exact projection lead, and keeps the flows of some frames."""

    def __init__(self, every: int) -> None:
        self.leader, self.every, self.count = PressureProjection(Default()), every, 0
        self.flows: list[Flow] = []

    name = "listener"

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        self.count += 1
        if self.count % self.every == 0:
            self.flows.append(flow)
        return self.leader(flow, guess)


def test_acceleration_halves_the_outer_iterations_on_the_dam() -> None:
    listener = Listener(35)
    Simulation(load_scene("dam-2d", resolution=40), projection=listener).run(75)
    assert len(listener.flows) >= 2
    for flow in listener.flows[:2]:
        unit = flow.grid.spacing * 0.5 / flow.dt
        for plain, name in ((IOPSep(), "anderson"), (IOPSep(), "nesterov"), (ADMMSep(), "adaptive"), (ADMMSep(), "over-relaxation")):
            published, faster = plain(flow), type(plain)(accelerate=name)(flow)
            assert 2 * faster.result.outer_iterations <= published.result.outer_iterations
            loose = max(np.abs(a - b).max() for a, b in zip(_wet(published), _wet(faster), strict=True))
            assert loose <= 4e-2 * unit  # the largest of the thresholds is 1e-2
            np.testing.assert_array_equal(published.result.detached, faster.result.detached)


def _wet(found: Projected) -> list[np.ndarray]:
    """The velocity between two liquid cells."""
    p = found.result.p.reshape(found.velocity.grid.shape3) != 0.0
    return [found.velocity.u[1:-1] * (p[1:] & p[:-1]), found.velocity.v[:, 1:-1] * (p[:, 1:] & p[:, :-1])]


def test_tall_stairs_is_what_the_thesis_tells_of_it() -> None:
    """OrigPS sticks to the ceiling, OrigPSSep tears the block from it with energy from nowhere, the others let it fall."""
    scene = load_scene("tall-stairs", resolution=32)
    stuck = load_scene("tall-stairs", resolution=32, walls="sticking")
    energy: dict[str, float] = {}
    top: dict[str, float] = {}
    for name in ("default", "origps", "origps-sep", "admm-sep", "iop-sep", "iop-sep-bc"):
        projection: Projection = make_projection(name)
        simulation = Simulation(stuck if name == "origps" else scene, projection=projection)
        reports: list[float] = []
        simulation.run(10, lambda report, to=reports: to.append(report.kinetic_energy))
        energy[name] = reports[0]
        top[name] = float(simulation.state.particles.position[:, 1].max())
    fall = 2.0 - 0.5 * 9.81 * 0.1**2
    assert top["origps"] > 2.0 - 1 / 32
    for name in ("default", "admm-sep", "iop-sep", "iop-sep-bc"):
        assert top[name] < fall + 1 / 64
        assert energy[name] == pytest.approx(energy["default"], rel=0.15)
    assert energy["origps-sep"] > 1.5 * energy["default"]
