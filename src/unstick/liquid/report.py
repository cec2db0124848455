"""What a step tells: one object for each pressure solve, a line of stats.jsonl."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unstick.kernels.reduce_points import energy_and_speed

if TYPE_CHECKING:
    from unstick.liquid.bodies import BodyStage
    from unstick.liquid.scene import Scene
    from unstick.liquid.state import State
    from unstick.result import SolveResult


@dataclass(slots=True)
class Clock:
    """Wall seconds of the stages of a step: `with clock("pressure"): ...`."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class StepReport:
    """The keys are those of stats.jsonl. In 2D volumes are areas, and energies are per metre of depth."""

    frame: int  # the frame that the step belongs to; frame 1 leads from time 0 to frame_time
    step: int
    time: float  # after the step
    dt: float
    solver: str
    status: str
    iterations: int
    outer_iterations: int
    residual: float  # norm of the stopping test over its goal's reference: see tolerance
    unknowns: int
    contact: int
    detached: int
    repaired: tuple[str, ...]  # what was mended before the solve (closed pockets that are compressed, ...)
    volume: float
    kinetic_energy: float
    max_divergence: float  # 1/s, where nothing lets go; everywhere from Eckert's projections
    max_speed: float
    particles: int
    seconds: dict[str, float]  # wall time of each stage
    # By name: position, velocity, spin after the step.
    bodies: dict[str, dict[str, list[float]]] = field(default_factory=dict, kw_only=True)


def report(scene: Scene, state: State, result: SolveResult, dt: float, clock: Clock, bodies: BodyStage | None = None) -> StepReport:
    detached = result.row_detached
    # A complementarity solve promises nothing where it lets go, a projection of velocities does.
    promised = ~detached if result.row_let_go is None else np.ones_like(detached)
    cells = state.grid.spacing**state.grid.dimension
    energy, speed = particle_energy(state, scene.density * cells / scene.numerics.particles_per_axis**state.grid.dimension)
    return StepReport(
        frame=state.frame + 1,
        step=state.step,
        time=state.time,
        dt=dt,
        solver=result.solver,
        status=result.status.name,
        iterations=result.iterations,
        outer_iterations=result.outer_iterations,
        residual=result.residual,
        unknowns=result.system.unknowns,
        contact=int(np.count_nonzero(result.system.row_contact)),
        detached=int(np.count_nonzero(detached)),
        repaired=result.notes,
        volume=state.found,
        kinetic_energy=energy,
        max_divergence=float(np.max(np.abs(result.row_slack), where=promised, initial=0.0)),
        max_speed=speed,
        particles=len(state.particles),
        seconds=clock.seconds,
        bodies={} if bodies is None else bodies.told(state),
    )


def particle_energy(state: State, mass: float) -> tuple[float, float]:
    """Kinetic energy of particles of that mass, and the largest speed."""
    squares, largest = energy_and_speed(state.particles.velocity)
    return 0.5 * mass * float(squares), float(largest)
