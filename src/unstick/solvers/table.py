"""The solvers by name. A new one is a file, and a line here: tests, command line, benches and docs go through these tables."""

from __future__ import annotations

from unstick.checks import InvalidSystem
from unstick.problem import Array, PressureSystem
from unstick.result import Guess, SolveResult
from unstick.solvers.active_mg import PenaltyMG, PolicyMG
from unstick.solvers.default import Default, MultigridPCG
from unstick.solvers.fas import FasMg
from unstick.solvers.fas_literal import FasLiteral
from unstick.solvers.fft import FFT
from unstick.solvers.fullmg import FullMultigrid
from unstick.solvers.mprgp import MPRGP
from unstick.solvers.multigrid.linear import MultigridSolver
from unstick.solvers.newton import Newton
from unstick.solvers.pcg import PCG
from unstick.solvers.penalty import PenaltyPCG
from unstick.solvers.pgs import PGS
from unstick.solvers.policy import PolicyPCG
from unstick.solvers.protocol import Solver

SOLVERS: dict[str, type[Solver]] = {
    "default": Default,
    "pi-pcg": PolicyPCG,
    "pi-mg": PolicyMG,
    "pe-pcg": PenaltyPCG,
    "pe-mg": PenaltyMG,
    "fas-mg": FasMg,
    "fas-literal": FasLiteral,
    "fmg": FullMultigrid,
    "newton": Newton,
    "mprgp": MPRGP,
    "pgs": PGS,
}

# Without separation: A p + b = 0 on every row.
LINEAR_SOLVERS: dict[str, type[Solver]] = {
    "pcg": PCG,
    "fft": FFT,
    "mg": MultigridSolver,
    "mgpcg": MultigridPCG,
}


def solve(
    system: PressureSystem, solver: str = "default", tolerance: float = 1e-6, guess: Array | Guess | SolveResult | None = None
) -> SolveResult:
    """Solve a system with the solver of that name from SOLVERS or LINEAR_SOLVERS; for further options take the class itself."""
    return make_solver(solver, tolerance).solve(system, guess)


def make_solver(name: str, tolerance: float = 1e-6) -> Solver:
    """The solver of that name from SOLVERS or LINEAR_SOLVERS."""
    known = {**LINEAR_SOLVERS, **SOLVERS}
    if name not in known:
        raise InvalidSystem(
            f"there is no solver {name!r}; choose one of {', '.join(SOLVERS)} or, without separation, {', '.join(LINEAR_SOLVERS)}"
        )
    return known[name](tolerance=tolerance)
