"""One trajectory of a scene, and every solver on each of its pressure systems (Lai, section 6.3: averages over a hundred frames).

The default solver makes the trajectory. At every pressure solve the others solve the same system, each from its own last result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unstick.bench.cases import LAI, Run, run_once, solver
from unstick.bench.harness import Options
from unstick.bench.raw_counts import Moment, Solve, Trajectory, keep, recall
from unstick.liquid.report import StepReport
from unstick.liquid.simulation import Simulation, StepsExceeded
from unstick.pressure.projection import Flow, PressureProjection, Projected, Projection
from unstick.problem import PressureSystem, Stencil
from unstick.result import Guess, SolveError
from unstick.scenes.table import SCENES
from unstick.solvers.protocol import Solver
from unstick.solvers.table import make_solver

REFERENCE = "default"
SOLVERS_OVER_TIME = ("default", "fas-mg", "pi-pcg", "pi-mg", "pe-pcg", "pe-mg", "fmg", "newton", "pcg", "mgpcg", "pi-pcg, exact")
EVERY = {"newton": 10}  # solves every tenth system only: it takes longer than all others together
NO_LIMIT = (
    "newton",
    "newton-cholesky",
    "pcg",
    "pi-pcg",
    "pe-pcg",
    "pi-pcg, exact",
)  # many cheap iterations: their limit must not be what stops them
EXACT = "pi-pcg, exact"  # solves each linear system to the end, as the text of the thesis has it
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "newton-cholesky": ("newton", {"preconditioner": "cholesky"}),
    EXACT: ("pi-pcg", {"inner": 1e-8}),
}


@dataclass(slots=True, eq=False)
class Bystanders:
    """A projection that lets `leader` find the velocity, and has all other solvers solve its system."""

    leader: Projection
    solvers: dict[str, Solver]
    every: dict[str, int] = field(default_factory=lambda: dict(EVERY))
    found: dict[str, Solve] = field(default_factory=dict)  # at the last system
    _last: dict[str, Guess] = field(default_factory=dict)  # what each solver starts from, in the units of the thesis
    _count: int = 0

    @property
    def name(self) -> str:
        return self.leader.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        projected = self.leader(flow, guess)
        system = in_thesis_units(projected.result.system, flow.density)
        self.found = {}
        for name, chosen in self.solvers.items():
            if self._count % self.every.get(name, 1) == 0:
                self.found[name] = self._solve(name, chosen, system)
        reached = Guess(projected.result.p / flow.density, projected.result.detached)
        # One that sits out a system goes on from the leader's answer: it is what it would have found, to the tolerance.
        self._last.update({name: reached for name in self.solvers if name not in self.found})
        self._count += 1
        return projected

    def _solve(self, name: str, chosen: Solver, system: PressureSystem) -> Solve:
        guess = self._last.get(name)
        if self._count == 0:
            chosen.solve(system, guess)  # compiles: not timed
        run: Run = run_once(chosen, system, guess)
        result = run.result
        if np.isfinite(result.row_p).all():
            self._last[name] = Guess(result.p, result.detached)
        return Solve(result.iterations, result.outer_iterations, run.seconds, float(run.work), result.status.name.lower())


def in_thesis_units(system: PressureSystem, density: float) -> PressureSystem:
    """The same system for p / density: A p + b stays in 1/s, and A = dt / h^2 (...) as in the thesis, where the density is 1."""
    A = system.A
    if isinstance(A, Stencil):
        scaled: Stencil = replace(A, wx=A.wx * density, wy=A.wy * density, wz=A.wz * density, excess=A.excess * density)
        return replace(system, A=scaled)
    return replace(system, A=A * density)


def chosen_solver(name: str) -> Solver:
    """The solver of that name with Lai's tolerance."""
    known, options = VARIANTS.get(name, (name, {}))
    return solver(known, **LAI, **options, **({"max_iterations": 1_000_000} if name in NO_LIMIT else {}))


def trajectory(
    scene: str,
    size: int,
    frames: int,
    names: Sequence[str] = SOLVERS_OVER_TIME,
    directory: Path | None = None,
    tell: Callable[[str], None] = lambda what: None,
) -> Trajectory:
    """The trajectory of a scene with the counts of those solvers, taken from `directory` if it was made before, and left there.

    `tell` is called before every frame.
    """
    known = recall(directory, scene, size, frames, names)
    if known is not None:
        for frame in range(frames):
            tell(f"frame {frame + 1}, from {directory}")
        return known
    chosen = {name: chosen_solver(name) for name in names}
    described = SCENES[scene](resolution=size, walls="separating")
    numerics = described.numerics
    bystanders = Bystanders(PressureProjection(make_solver(REFERENCE, numerics.tolerance)), chosen)
    moments: list[Moment] = []

    def on_step(report: StepReport) -> None:
        moments.append(
            Moment(report.frame, float(f"{report.dt:.6g}"), report.unknowns, report.contact, report.detached, dict(bystanders.found))
        )

    simulation = Simulation(described, projection=bystanders)
    ended = ""
    try:
        for frame in range(1, frames + 1):
            tell(f"frame {frame}")
            simulation.advance_frame(on_step)
    except (SolveError, StepsExceeded) as error:
        ended = f"{scene} at {size} ended in frame {simulation.state.frame + 1}: {error}"
    made = Trajectory(scene, size, frames, tuple(moments), ended)
    keep(directory, made)
    return made


_made: dict[tuple[object, ...], Trajectory] = {}


def trajectories(scene: str, sizes: Sequence[int], frames: int, names: Sequence[str], options: Options) -> list[Trajectory]:
    """One for each size, with progress; a process makes each of them only once, and --out keeps them for other tables."""
    directory = None if options.plots is None else options.plots / "runs"
    power = 3.5 if SCENES[scene](resolution=min(sizes)).grid.dimension == 3 else 2.5
    total = sum(frames * float(s) ** power for s in sizes)
    found = []
    with options.meter.steps(total, scene) as step:
        for size in sizes:
            key, weight = (scene, size, frames, tuple(names)), float(size) ** power
            if key in _made:
                keep(directory, _made[key])
            else:
                _made[key] = trajectory(scene, size, frames, names, directory, lambda what, s=size, w=weight: step(f"{s}, {what}", w))  # type: ignore[misc]
            found.append(_made[key])
    return found
