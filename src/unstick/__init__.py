"""Liquids that let go of walls: solvers for the mixed linear complementarity problem of separating solid boundaries."""

from unstick.checks import InvalidSystem
from unstick.problem import AIR, LIQUID, SOLID, PressureSystem, Stencil
from unstick.result import SolveError, SolveResult, Status, UnsupportedSystem
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS, solve

__version__ = "0.1.0"

__all__ = [
    "AIR",
    "LINEAR_SOLVERS",
    "LIQUID",
    "SOLID",
    "SOLVERS",
    "InvalidSystem",
    "PressureSystem",
    "SolveError",
    "SolveResult",
    "Status",
    "Stencil",
    "UnsupportedSystem",
    "__version__",
    "solve",
]
