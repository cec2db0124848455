"""Benches over time: every solver sees the systems of one trajectory, and what is written down is what the solvers did."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unstick.bench import lai_over_time, over_time, raw_counts
from unstick.bench.andersen import phases
from unstick.bench.andersen_convergence import history, last_order
from unstick.bench.cases import LAI, solver
from unstick.bench.frames import frame
from unstick.bench.harness import Options
from unstick.bench.karlsson import LimitedProjection, cycles
from unstick.bench.raw_counts import Moment, Solve, Trajectory
from unstick.bench.two_runs import difference
from unstick.liquid.report import StepReport
from unstick.liquid.simulation import Simulation
from unstick.pressure.project import divergence
from unstick.pressure.projection import Flow, PressureProjection
from unstick.problem import PressureSystem
from unstick.result import Guess, SolveError
from unstick.scenes.table import SCENES
from unstick.solvers.multigrid.linear import MultigridSolver
from unstick.solvers.newton import Newton
from unstick.solvers.pcg import PCG

NAMES = ("default", "pi-pcg", "newton", "pcg")


def flow(size: int = 24, density: float = 1000.0) -> Flow:
    f = frame("circle", size)
    return Flow(f.grid, f.liquid_phi, f.solid_phi, f.velocity, f.dt, density)


@pytest.fixture(scope="module")
def made() -> Trajectory:
    return over_time.trajectory("circle", 16, 3, NAMES)


def test_units_of_the_thesis_keep_the_problem() -> None:
    system = PressureProjection()(flow()).result.system
    thesis = over_time.in_thesis_units(system, 1000.0)
    p = np.random.default_rng(1).standard_normal(system.shape)
    np.testing.assert_allclose(thesis.apply(thesis.restrict(p / 1000.0)), system.apply(system.restrict(p)), rtol=1e-12, atol=1e-9)
    direct = PressureProjection()(flow(density=1.0)).result.system
    np.testing.assert_allclose(thesis.A.diagonal(), direct.A.diagonal(), rtol=1e-13)


def test_bystanders_solve_the_leaders_system_from_their_own_last_result() -> None:
    seen: list[tuple[str, PressureSystem, object]] = []

    class Spy(PCG):
        name = "spy"

        def solve(self, system, guess=None):  # type: ignore[no-untyped-def]
            seen.append((self.name, system, guess))
            return PCG.solve(self, system, guess)

    both = over_time.Bystanders(PressureProjection(), {"often": Spy(**LAI), "seldom": Spy(**LAI)}, {"seldom": 2})
    calls = []
    for _ in range(3):
        seen.clear()
        projected = both(flow())
        calls.append(([g for _, _, g in seen], set(both.found)))
        assert all(np.allclose(s.A.diagonal(), 1000.0 * projected.result.system.A.diagonal()) for _, s, _ in seen)
    (first, names), (second, fewer), (third, _) = calls
    assert names == {"often", "seldom"} and fewer == {"often"}
    assert first == [None] * 4  # each twice: the first time compiles
    assert len(second) == 1 and len(third) == 2
    sticking = PCG(**LAI).solve(over_time.in_thesis_units(projected.result.system, 1000.0))
    assert isinstance(second[0], Guess) and np.allclose(second[0].p, sticking.p, atol=1e-4)
    # The one that sat out goes on from the leader's pressure, in its own units.
    assert isinstance(third[1], Guess) and np.allclose(third[1].p, projected.result.p / 1000.0)


def test_the_trajectory_is_the_one_of_the_default_alone(made: Trajectory) -> None:
    simulation = Simulation(SCENES["circle"](resolution=16, walls="separating"))
    reports: list[StepReport] = []
    for _ in range(3):
        simulation.advance_frame(reports.append)
    assert [(m.frame, m.unknowns, m.contact, m.detached) for m in made.moments] == [
        (r.frame, r.unknowns, r.contact, r.detached) for r in reports
    ]


def test_counts_of_a_trajectory(made: Trajectory) -> None:
    assert not made.ended
    assert made.solvers == NAMES
    assert len(made.of("newton")) == -(-len(made.moments) // over_time.EVERY["newton"])
    assert len(made.of("pcg")) == len(made.moments)
    assert made.mean("pcg", "iterations") == np.mean([s.iterations for s in made.of("pcg")])
    assert made.mean("pgs", "iterations") is None
    assert all(made.failed(name) == 0 for name in NAMES)


def test_a_trajectory_is_kept_and_recalled(made: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw_counts.keep(tmp_path, made)
    again = raw_counts.recall(tmp_path, "circle", 16, 3, NAMES)
    assert again is not None
    assert [m.frame for m in again.moments] == [m.frame for m in made.moments]
    assert again.mean("pi-pcg", "iterations") == made.mean("pi-pcg", "iterations")
    assert again.mean("pi-pcg", "seconds") == pytest.approx(made.mean("pi-pcg", "seconds"), rel=1e-3)
    told: list[str] = []
    assert over_time.trajectory("circle", 16, 3, NAMES, tmp_path, told.append).moments == again.moments
    assert len(told) == 3
    assert raw_counts.recall(tmp_path, "circle", 16, 3, (*NAMES, "pgs")) is None
    assert raw_counts.recall(tmp_path, "circle", 16, 4, NAMES) is None
    path = raw_counts.file_of(tmp_path, "circle", 16, 3)
    path.write_text(path.read_text()[:-20])
    assert raw_counts.recall(tmp_path, "circle", 16, 3, NAMES) is None
    raw_counts.keep(tmp_path, made)
    monkeypatch.setattr(raw_counts, "__version__", "0.0.0.other")
    assert raw_counts.recall(tmp_path, "circle", 16, 3, NAMES) is None


def synthetic(size: int, count: float, outer: int = 2, failed: int = 0, scene: str = "sphere") -> Trajectory:
    def solve(at: int) -> Solve:
        return Solve(int(count), outer, 0.1, 1.0, "stagnated" if at < failed else "converged")

    return Trajectory(scene, size, 4, tuple(Moment(1, 0.01, 9, 3, 1, {n: solve(k) for n in over_time.SOLVERS_OVER_TIME}) for k in range(4)))


def test_promises_about_averages() -> None:
    assert not lai_over_time.missed([synthetic(32, 10), synthetic(128, 14)])
    slow = lai_over_time.missed([synthetic(32, 15), synthetic(128, 15)])
    assert len(slow) == 4 and all("not 14" in s for s in slow)
    grown = lai_over_time.missed([synthetic(32, 6), synthetic(128, 10)])
    assert len(grown) == 2 and "fas-mg grow 1.67 times" in grown[0] and "default grow 1.67 times" in grown[1]
    assert len(lai_over_time.missed([synthetic(64, 5, outer=5)])) == 3
    missing = synthetic(32, 5)
    gone = replace(missing, moments=tuple(replace(m, solves={k: v for k, v in m.solves.items() if k != "fmg"}) for m in missing.moments))
    assert lai_over_time.missed([gone]) == ["fmg has no solve on sphere at 32"]


def test_failed_solves_are_shown() -> None:
    t = synthetic(32, 10, failed=3)
    table = lai_over_time.averages_table("sphere", "iterations", ("default", "newton"), [t])
    assert table.rows[0][1:] == ("10 (3 of 4 failed)", "-")
    assert table.rows[1] == ("newton (every 10th)", "10 (3 of 4 failed)", "1901.69")
    assert "default on sphere at 32: 3 of 4 solves did not converge" in lai_over_time._not_converged([t], ("default",))


def test_a_trajectory_that_ends_early_says_so(tmp_path: Path) -> None:
    stopped = over_time.trajectory("circle", 16, 2, ("default",), tmp_path, tell=lambda what: None)
    assert not stopped.ended
    raw_counts.keep(tmp_path, replace(stopped, ended="it ended"))
    assert raw_counts.recall(tmp_path, "circle", 16, 2, ("default",)) is None  # and is made again


def test_published_columns_stand_beside_their_sizes(made: Trajectory) -> None:
    t = replace(made, size=128)
    row = lai_over_time.averages_table("circle", "outer", ("pi-pcg",), [t]).rows[0]
    assert row[0] == "pi-pcg" and row[2] == "1.34"


def test_cycles_that_end_on_purpose_leave_a_residual_and_are_taken() -> None:
    few, many = cycles(0, 1, 1), cycles(4, 4)
    tank = flow()
    rough, fine = few(tank), many(tank)
    assert rough.result.iterations == 1 and 3 < fine.result.iterations <= 8
    assert rough.result.status.name == "ITERATION_LIMIT"  # it says what it is
    assert rough.result.require() is not None
    assert fine.result.residual < 1e-3 * rough.result.residual
    exact = PressureProjection(PCG(tolerance=1e-10))(replace(tank, walls="sticking"))
    wet = exact.result.system.A.rows()
    off = [
        float(np.abs(exact.result.system.restrict(divergence(tank.grid, p.velocity, tank.solid_phi).reshape(tank.grid.shape))[wet]).max())
        for p in (rough, fine)
    ]
    np.testing.assert_allclose(off, [rough.result.residual, fine.result.residual], rtol=1e-6, atol=1e-9)


def test_only_the_limit_is_excused() -> None:
    stuck = LimitedProjection((MultigridSolver(tolerance=1e-30, max_iterations=300),), "stuck")(flow())
    with pytest.raises(SolveError):
        stuck.result.require()


def test_orders_and_histories() -> None:
    assert last_order((1.0, 1e-1, 1e-2, 1e-4, 1e-8)) == pytest.approx(2.0)
    assert last_order((1.0, 0.1)) is None
    system = PressureProjection()(flow(48)).result.system
    for method in (solver("pcg"), solver("mg"), Newton(), solver("pi-pcg"), solver("default")):
        result = method.solve(system, np.zeros(system.shape))
        count = result.iterations if method.name in ("pcg", "mg") else result.outer_iterations
        steps = history(result, count)
        assert len(steps) == count + 1
        assert steps[0] == pytest.approx(1.0, rel=0.5) and steps[-1] <= 1e-6
    assert history(solver("mgpcg").solve(system), 1000) == []


def test_phases_are_those_of_a_solve() -> None:
    system = PressureProjection()(flow(48)).result.system
    for method in (PCG(**LAI), Newton(**LAI)):
        spent = phases(method, system)
        assert all(s >= 0 for s in spent) and sum(spent) > 0


def test_difference_of_two_liquids() -> None:
    a = np.zeros((8, 8))
    a[:4] = 1.0
    assert difference(a, a) == 0.0
    assert difference(a, np.roll(a, 1, axis=0)) == pytest.approx(0.5)


def test_frames_option(tmp_path: Path) -> None:
    assert Options(frames=7).frames_or(3) == 7 and Options().frames_or(3) == 3
    with pytest.raises(ValueError, match="--frames is 0"):
        Options(frames=0)
    report = lai_over_time.table_6_1(Options(sizes=(16,), frames=2, plots=tmp_path))
    raw = json.loads((tmp_path / "runs" / "circle-16-2.json").read_text())
    assert {m["frame"] for m in raw["moments"]} == {1, 2}
    assert [row[0] for row in report.tables[1].rows][:2] == ["default", "fas-mg"]
    assert len(report.tables[1].rows) == len(over_time.SOLVERS_OVER_TIME) - 1  # all but the one for outer iterations
