"""Eckert's methods under her names, with her thresholds, and ours beside them; one call of each on a flow, with what it cost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unstick.bench.harness import using_threads
from unstick.bench.published_eckert import STEP
from unstick.fields import FaceField
from unstick.liquid.extrapolate import mark_valid
from unstick.pressure.projection import Flow, PressureProjection, Projected, Projection
from unstick.pressure.splitting.table import PROJECTIONS
from unstick.result import Guess
from unstick.solvers.default import Default
from unstick.solvers.pcg import PCG

EXACT = "exact MLCP, default"
EXACT_STICKING = "exact, walls stick"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "OrigPS": ("origps", {}),
    "OrigPSSep": ("origps-sep", {}),
    "ADMMVelSep": ("admm-sep", {"residual": "velocity"}),
    "ADMMDivSep": ("admm-sep", {"residual": "divergence"}),
    "IOPDivSep": ("iop-sep", {}),
    "IOPDivSepBC": ("iop-sep-bc", {}),
    "ADMMVelStick": ("admm-stick", {"residual": "velocity"}),
    "ADMMDivStick": ("admm-stick", {"residual": "divergence"}),
    "IOPDivStick": ("iop-stick", {}),
}
OUTER = ("ADMMVelSep", "ADMMDivSep", "IOPDivSep", "IOPDivSepBC", "ADMMVelStick", "ADMMDivStick", "IOPDivStick")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """In cells and the thesis' unit of time; `outer` is that of velocities, `divergence` that of the outer divergence."""

    cg: float = 1e-3
    velocity: float = 1e-3
    divergence: float = 1e-2

    def fields(self, name: str) -> dict[str, Any]:
        out: dict[str, Any] = {"epsilon_CG": self.cg}
        if name.startswith("ADMMVel"):
            return {**out, "epsilon_Aabs": self.velocity, "epsilon_Arel": self.velocity}
        if name.startswith("ADMMDiv"):
            return {**out, "epsilon_Adiv": self.divergence}
        if name == "IOPDivSepBC":
            return {**out, "epsilon_IdivBC": self.divergence}
        if name.startswith("IOP"):
            return {**out, "epsilon_Idiv": self.divergence}
        return out


PRACTICAL = Thresholds()
TIGHT = Thresholds(1e-12, 1e-9, 1e-9)


def make(name: str, thresholds: Thresholds = PRACTICAL, **options: Any) -> Projection:
    """The projection of that name; EXACT is ours."""
    if name == EXACT:
        return PressureProjection(Default(**options))
    if name == EXACT_STICKING:
        return PressureProjection(PCG(**options))
    known, own = METHODS[name]
    made: Projection = PROJECTIONS[known](**{**own, **thresholds.fields(name), **options})
    return made


@dataclass(frozen=True, slots=True)
class Units:
    """Of the thesis, in SI: her step of 0.5 is this step's dt, and her length is a cell."""

    time: float
    length: float

    @classmethod
    def of(cls, flow: Flow) -> Units:
        return cls(flow.dt / STEP, flow.grid.spacing)

    def speed(self, metres_per_second: float) -> float:
        return metres_per_second * self.time / self.length

    def rate(self, per_second: float) -> float:
        return per_second * self.time


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """One call of a projection."""

    projected: Projected
    seconds: float  # CPU seconds on one thread, set-up included

    @property
    def cg(self) -> int:
        return self.projected.result.iterations

    @property
    def outer(self) -> int:
        return self.projected.result.outer_iterations

    @property
    def status(self) -> str:
        return self.projected.result.status.name.lower()


def call(projection: Projection, flow: Flow, guess: Guess | None = None, repeats: int = 1) -> Done:
    best = np.inf
    with using_threads(1):
        for _ in range(repeats):
            start = time.process_time()
            projected = projection(flow, guess)
            best = min(best, time.process_time() - start)
    return Done(projected, best)


def compile_first(names: Sequence[str], flow: Flow, options: Mapping[str, Any] | None = None) -> None:
    """Call each once on a flow, so that no compilation is timed."""
    for name in names:
        most = {} if name in (EXACT, EXACT_STICKING) else {"max_iterations": 3, **(options or {})}
        make(name, **most)(flow)


def sticking(flow: Flow) -> Flow:
    return replace(flow, walls="sticking")


def largest_difference(flow: Flow, a: FaceField, b: FaceField) -> float:
    """Over the open faces that touch liquid, in the thesis' cells per unit of time."""
    valid = mark_valid(flow.grid, flow.liquid_phi, flow.solid_phi)
    worst = 0.0
    for axis in range(flow.grid.dimension):
        gap = np.abs(a.components[axis] - b.components[axis])
        worst = max(worst, float(np.max(gap, where=valid[axis] != 0, initial=0.0)))
    return Units.of(flow).speed(worst)


def leftover(flow: Flow, done: Done) -> tuple[float, float]:
    """The largest divergence after the step, of rows that let go and of all others, in the thesis' units."""
    result = done.projected.result
    units, slack = Units.of(flow), np.abs(result.row_slack)
    loose = result.row_detached
    return (
        units.rate(float(np.max(slack, where=loose, initial=0.0))),
        units.rate(float(np.max(slack, where=~loose, initial=0.0))),
    )
