"""Eckert's projections by name; a new one is a class and a line here. And every way to find a pressure, by the names of all tables."""

from __future__ import annotations

from unstick.pressure.projection import PressureProjection, Projection
from unstick.pressure.splitting.alternating import ADMMSep, ADMMStick, IOPSep, IOPStick
from unstick.pressure.splitting.base import Splitting
from unstick.pressure.splitting.corrected import IOPSepBC, OrigPS, OrigPSSep
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS, make_solver

PROJECTIONS: dict[str, type[Splitting]] = {
    "origps": OrigPS,
    "origps-sep": OrigPSSep,
    "admm-sep": ADMMSep,
    "admm-stick": ADMMStick,
    "iop-sep": IOPSep,
    "iop-stick": IOPStick,
    "iop-sep-bc": IOPSepBC,
}

WHEN_PROJECTIONS: dict[str, str] = {
    "origps": "To compare with: conjugate gradients with walls that stick, stopped by Eckert's threshold.",
    "origps-sep": "Not for use: the same, then moves faces that let go as free surface, which leaves divergence there and can blow up.",
    "admm-sep": "To compare with: Eckert's ADMM, where the solve inside sees no walls; slow as published, five times fewer iterations with "
    "accelerate='adaptive'.",
    "admm-stick": "The same with walls that stick.",
    "iop-sep": "To compare with, or where only a fast Poisson solver is at hand: alternating projections; a tenth of the iterations with "
    "accelerate='anderson'.",
    "iop-stick": "The same with walls that stick.",
    "iop-sep-bc": "Where about two linear solves may be spent and a wall may let go by Eckert's rule: 'default' is exact at less.",
}

# All that may stand for `--solver` and numerics.solver; and those of them that solve for walls that stick.
KNOWN = (*SOLVERS, *LINEAR_SOLVERS, *PROJECTIONS)
STICKING = (*LINEAR_SOLVERS, "origps", "admm-stick", "iop-stick")


def make_projection(name: str, tolerance: float = 1e-6) -> Projection:
    """The one of that name from PROJECTIONS, which has thresholds of its own, or the pressure solve by a solver of the other tables."""
    return PROJECTIONS[name]() if name in PROJECTIONS else PressureProjection(make_solver(name, tolerance))
