"""What a step of a gas tells: the keys of a liquid's step, and what became of the smoke."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.fields import FaceField
from unstick.grid import Array
from unstick.liquid.bodies import BodyStage
from unstick.liquid.extrapolate import Valid
from unstick.liquid.report import Clock, StepReport
from unstick.liquid.state import State
from unstick.pressure.projection import Projected
from unstick.smoke.state import gas_of


@dataclass(frozen=True, slots=True)
class SmokeReport(StepReport):
    """`volume` is that of the gas; smoke is density times volume, in 2D per metre of depth."""

    smoke: float  # in the gas
    released: float  # by sources so far
    left: float  # through open sides, or faded, so far
    lost: float  # by advection in this step, beyond what could be given back
    hottest: float  # K above ambient


@dataclass(frozen=True, slots=True)
class Motion:
    """Of the gas when the pressure is done."""

    kinetic_energy: float
    max_speed: float

    @classmethod
    def of(cls, velocity: FaceField, valid: Valid, density: float) -> Motion:
        """From the faces that have a velocity of their own; the speed is that of the fastest components together."""
        squares, fastest = 0.0, 0.0
        for values, known in zip(velocity.components, valid, strict=True):
            square = np.square(values) * known
            squares += float(np.sum(square))
            fastest += float(np.max(square, initial=0.0))
        grid = velocity.grid
        return cls(0.5 * density * squares * grid.spacing**grid.dimension, float(np.sqrt(fastest)))


def report(
    state: State, projected: Projected, motion: Motion, parts: Array, lost: float, dt: float, clock: Clock, bodies: BodyStage | None
) -> SmokeReport:
    result, gas, grid = projected.result, gas_of(state), state.grid
    cell = grid.spacing**grid.dimension
    inside = parts * (state.phi < 0.0)
    return SmokeReport(
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
        contact=0,
        detached=0,
        repaired=result.notes,
        volume=float(np.sum(inside)) * cell,
        kinetic_energy=motion.kinetic_energy,
        max_divergence=float(np.max(np.abs(result.row_slack), initial=0.0)),
        max_speed=motion.max_speed,
        particles=0,
        seconds=clock.seconds,
        bodies={} if bodies is None else bodies.told(state),
        smoke=float(np.sum(gas.density * inside)) * cell,
        released=gas.released,
        left=gas.left,
        lost=lost,
        hottest=float(np.max(gas.excess * (inside > 0.0), initial=0.0)),
    )
