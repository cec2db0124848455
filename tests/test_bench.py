"""Benches at tiny sizes: they run through every solver, and their figures are what the solvers say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from unstick.bench import convergence, counts, harness, peers, published, show, warm_start
from unstick.bench.cases import LAI, solver, system_of
from unstick.bench.harness import Options, Report, Table
from unstick.bench.table import BENCHES
from unstick.solvers.table import SOLVERS

TINY: dict[str, tuple[int, ...]] = {
    "kernels": (16,),
    "frames": (16,),
    "frames-2d": (32,),
    "warm": (16,),
    "ablations": (16,),
    "empty-space": (16,),
    "memory": (16,),
    "peers": (16,),
    "speed": (16,),
    "lai-table-5.1": (16,),
    "lai-table-6.4": (16,),
    "lai-table-6.5": (16,),
    "lai-table-6.6": (16,),
    "lai-fig-6.9": (16,),
    "lai-fig-6.10": (16,),
    "lai-fig-6.11": (16,),
    "lai-fig-6.12": (16,),
    "exact": (),
    "physics": (),
    "coupling": (),
    "smoke": (16,),
    "step": (16,),
    "memory-run": (16,),
    "lai-table-6.1": (16,),
    "lai-table-6.2": (16,),
    "lai-table-6.3": (16,),
    "lai-table-6.7": (16,),
    "lai-table-6.8": (16,),
    "lai-table-6.9": (16,),
    "lai-table-6.10": (16,),
    "lai-table-6.11": (16,),
    "lai-fig-6.7": (24,),
    "lai-fig-6.8": (16,),
    "andersen-overhead": (24,),
    "andersen-fig-4": (24,),
    "andersen-fig-5": (24,),
    "andersen-fig-6": (24,),
    "andersen-fig-7": (24,),
    "andersen-fig-8": (24,),
    "karlsson": (16,),
    "eckert-table-4.1": (16,),
    "eckert-table-4.2": (16,),
    "eckert-table-4.3": (16,),
    "eckert-table-4.4": (16,),
    "eckert-table-4.5": (16,),
    "eckert-table-4.6": (16,),
    "eckert-fig-4.3": (16,),
    "eckert-fig-4.4": (16,),
    "eckert-fig-4.5": (16,),
    "eckert-fig-4.6": (16,),
    "eckert-fig-4.7": (16,),
    "eckert-fig-4.8": (16,),
    "eckert-fig-4.9": (16,),
    "eckert-fig-4.10": (16,),
    "eckert-fig-4.11": (16,),
    "eckert-fig-4.12": (16,),
    "eckert-fig-4.13": (16,),
    "eckert-fig-4.14": (16,),
    "eckert-fig-4.15": (16,),
    "eckert-fig-4.22": (16,),
    "eckert-acceleration": (16,),
    "eckert-fft": (16,),
    "aanjaneya-table-1": (16,),
    "aanjaneya-table-2": (16,),
    "aanjaneya-fig-10": (16,),
}
DRAWN = (
    "lai-fig-",
    "andersen-",
    "karlsson",
    "eckert-f",
    "eckert-acceleration",
    "aanjaneya-fig-",
    "smoke",
)


def test_every_bench_is_run_here() -> None:
    assert set(TINY) == set(BENCHES)


@pytest.mark.parametrize("name", BENCHES)
def test_bench_runs_and_fills_its_tables(name: str, tmp_path: Path) -> None:
    report = BENCHES[name].run(Options(sizes=TINY[name], count=3, frames=2, plots=tmp_path))
    assert report.name == name
    assert report.tables
    for table in report.tables:
        assert table.rows, table.title
        assert {len(row) for row in table.rows} == {len(table.columns)}
    json.dumps(report.as_json(), allow_nan=False)
    assert show.markdown(report).startswith(f"# {name}")
    show.show(report, Console(quiet=True))
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in report.pictures)
    assert bool(report.pictures) == name.startswith(DRAWN)


def test_counts_are_those_of_the_solvers() -> None:
    report = counts.compare("frames", ("sphere",), (24,), ("default", "pgs"), Options())
    table = next(t for t in report.tables if t.title.startswith("sphere: iterations"))
    for name, found, _ in table.rows:
        assert found == solver(str(name), **counts.options_of(str(name))).solve(system_of("sphere", 24)).iterations


def test_facts_of_a_frame() -> None:
    f = counts.facts("sphere", 24)
    system = system_of("sphere", 24)
    result = SOLVERS["mprgp"](tolerance=1e-9).solve(system)
    assert f.unknowns == system.unknowns
    assert f.contact == system.contact.sum()
    assert f.detached == pytest.approx(result.detached.sum() / system.contact.sum(), abs=2 / f.contact)


def test_published_counts_stand_beside_the_right_sizes() -> None:
    assert published.lai(published.FRAME_COUNTS["sphere"]["fas-mg"], 256) == "9"
    assert published.lai(published.ABLATIONS["simple boundaries"], 128) == "diverged"
    assert published.lai(published.ABLATIONS["simple boundaries"], 48) == "-"


@pytest.mark.parametrize("prepare", [peers.pyamg_rebuilt, peers.pyamg_projected])
def test_the_peer_solves_the_same_problem(prepare: object) -> None:
    pytest.importorskip("pyamg")
    system = system_of("sphere", 24)
    found = peers.active_set(peers.rows_of(system), prepare)  # type: ignore[arg-type]
    ours = solver("default", **LAI).solve(system)
    assert found.residual <= LAI["tolerance"]
    p = np.zeros(ours.row_p.size)
    p[peers.compact(system, system.row_contact).index] = found.p
    assert np.max(np.abs(p - ours.row_p.ravel())) <= 1e-5 * ours.row_p.max()


def test_the_change_of_the_warm_bench_is_what_it_says() -> None:
    before = system_of("sphere", 24)
    after = warm_start.changed(before, 0.05)
    moved = np.abs(after.row_b - before.row_b)
    assert 0 < moved.max() <= 0.05 * np.abs(before.row_b).max()
    assert (moved <= 0.05 * np.abs(before.row_b) + 1e-15).all()


def test_residual_histories_end_at_the_residual() -> None:
    result = solver("fas-mg", **LAI).solve(system_of("sphere", 24))
    cycles, residuals = convergence.history(result)
    assert cycles[-1] == result.iterations
    assert residuals[-1] == result.residual
    assert len(cycles) == len(residuals)


def test_clocks_measure_the_job_alone() -> None:
    calls: list[int] = []
    seconds = harness.cpu_seconds(lambda: calls.append(sum(range(200_000))), repeats=4)
    assert len(calls) == 4
    assert 0 < seconds < 1.0
    assert len(harness.wall_seconds(lambda: None, (1,), 3)) == 1


def test_json_has_no_infinities_and_no_places(tmp_path: Path) -> None:
    report = Report("x", (Table("t", ("a", "b"), ((np.float64("inf"), np.int64(3)), (None, np.float64(0.5)))),))
    rows = report.as_json()["tables"]
    assert rows[0]["rows"] == [[None, 3], [None, 0.5]]  # type: ignore[index]
    show.write(report, tmp_path / "x.json")
    assert str(tmp_path) not in (tmp_path / "x.json").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / "x.json"]
