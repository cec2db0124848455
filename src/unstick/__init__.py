"""Liquids that let go of walls: a simulator, and solvers for the mixed linear complementarity problem of separating solid boundaries."""

from unstick.checks import InvalidSystem
from unstick.fields import CellField, FaceField
from unstick.grid import Grid
from unstick.liquid.scene import Scene
from unstick.liquid.simulation import Simulation
from unstick.pressure.assemble import assemble
from unstick.pressure.project import divergence, project
from unstick.pressure.projection import PressureProjection
from unstick.pressure.splitting.table import PROJECTIONS
from unstick.problem import AIR, LIQUID, SOLID, PressureSystem, Stencil
from unstick.result import Guess, SolveError, SolveResult, Status, UnsupportedSystem
from unstick.scenes.table import SCENES
from unstick.solvers.table import LINEAR_SOLVERS, SOLVERS, solve

__version__ = "0.1.0"

__all__ = [
    "AIR",
    "LINEAR_SOLVERS",
    "LIQUID",
    "PROJECTIONS",
    "SCENES",
    "SOLID",
    "SOLVERS",
    "CellField",
    "FaceField",
    "Grid",
    "Guess",
    "InvalidSystem",
    "PressureProjection",
    "PressureSystem",
    "Scene",
    "Simulation",
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
