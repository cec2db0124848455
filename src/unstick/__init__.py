"""Liquids that let go of walls: solvers for the mixed linear complementarity problem of separating solid boundaries."""

from unstick.checks import InvalidSystem
from unstick.fields import CellField, FaceField
from unstick.grid import Grid
from unstick.pressure.assemble import assemble
from unstick.pressure.project import divergence, project
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
    "CellField",
    "FaceField",
    "Grid",
    "InvalidSystem",
    "PressureSystem",
    "SolveError",
    "SolveResult",
    "Status",
    "Stencil",
    "UnsupportedSystem",
    "__version__",
    "assemble",
    "divergence",
    "project",
    "solve",
]
