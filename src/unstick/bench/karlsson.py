"""Karlsson's experiments: a few multigrid cycles against PCG (his figure 18), and what too few cycles lose (his figure 17)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from unstick.bench import plots
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.two_runs import Watched, difference, watch
from unstick.liquid.scene import Scene
from unstick.pressure.project import project
from unstick.pressure.projection import Flow, PressureProjection, Projected, Projection, system_of
from unstick.problem import Array
from unstick.result import Guess, SolveResult, Status
from unstick.scenes.table import SCENES
from unstick.solvers.fullmg import PLAIN
from unstick.solvers.multigrid.coarse import Direct
from unstick.solvers.multigrid.linear import MultigridSolver
from unstick.solvers.pcg import PCG
from unstick.solvers.protocol import Solver

FRAME = 70
SWEEPS, CYCLES = 10, 4  # Karlsson's settings: 10 sweeps, 4 full and 4 V-cycles
SAME = 0.05  # part of the liquid in which two pictures that look alike may differ, or half as much again as those of PCG and PCG do
ROUGH = "IC-PCG, 1e-6"  # as tight as a run asks for: splashes magnify any difference
SHAPES: tuple[Literal["full", "V"], ...] = ("full", "V")
CFL = 1.0  # longer steps lose volume in whatever way the pressure is found
ROUNDING = 1e-12  # the number of cycles ends a solve, and not a tolerance
LOSS = 1.5  # volume lost by too few cycles, in terms of what PCG loses


class EndedOnPurpose(SolveResult):
    """A result that a step may use although its iterations were limited: the number of cycles was the choice."""

    __slots__ = ()

    def require(self) -> Array:
        return self.p if self.status is Status.ITERATION_LIMIT else SolveResult.require(self)


@dataclass(frozen=True, slots=True)
class LimitedProjection:
    """Runs methods one after the other, from p = 0, and takes what they reach within their limits (Karlsson, algorithm 8)."""

    methods: tuple[Solver, ...]
    name: str

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        system = system_of(flow)
        result: SolveResult | None = None
        used = 0
        for method in self.methods:
            result = method.solve(system, np.zeros(system.shape) if result is None else result)
            used += result.iterations
        assert result is not None
        values = {f.name: getattr(result, f.name) for f in fields(SolveResult)}
        reached = EndedOnPurpose(**{**values, "solver": self.name, "iterations": used})
        velocity = project(flow.grid, flow.velocity, reached.p, flow.liquid_phi, flow.solid_phi, flow.dt, flow.density, flow.theta_min)
        return Projected(velocity, reached)


def cycles(full: int, v: int, sweeps: int = SWEEPS) -> LimitedProjection:
    """So many full cycles and then V-cycles, with his parts: bilinear transfers that do not look at walls, and coarse matrices from
    averaged coefficients."""
    made = {
        shape: MultigridSolver(tolerance=ROUNDING, shape=shape, pre=sweeps, post=sweeps, transfer=PLAIN, coarse=Direct())
        for shape in SHAPES
    }
    methods = tuple(replace(made[shape], max_iterations=n) for shape, n in zip(SHAPES, (full, v), strict=True) if n)
    return LimitedProjection(methods, f"{full} full + {v} V, {sweeps} sweeps" if full else f"{v} V, {sweeps} sweep{'s' * (sweeps > 1)}")


def described(size: int) -> Scene:
    """His half disc as he computes it: FLIP, midpoint paths, walls that stick, and nothing that keeps the volume but the pressure."""
    scene = SCENES["half-disc"](resolution=size, walls="sticking")
    his = replace(scene.numerics, transfer="flip", paths="rk2", cfl=CFL, volume_source=False, reseed=False)
    return replace(scene, numerics=his)


def run(options: Options) -> Report:
    size, frames = options.sizes_or(128)[0], options.frames_or(FRAME)
    scene = described(size)
    runs: dict[str, Projection] = {
        "IC-PCG": PressureProjection(PCG(tolerance=1e-10, modification=0.0)),
        ROUGH: PressureProjection(PCG(tolerance=scene.numerics.tolerance, modification=0.0)),
        "multigrid": cycles(CYCLES, CYCLES),
        "2 + 2 cycles": cycles(2, 2),
        "1 + 1 cycles": cycles(1, 1),
        "1 V-cycle": cycles(0, 1),
        "1 V-cycle, 1 sweep": cycles(0, 1, 1),
    }
    shots = sorted({max(1, frames // 2), frames})
    found: dict[str, Watched] = {}
    with options.meter.steps(len(runs) * frames, "half-disc") as step:
        for name, projection in runs.items():
            found[name] = watch(scene, projection, frames, shots, lambda what, n=name: step(f"{n}, {what}"))  # type: ignore[misc]
    return report(size, frames, shots, found, options)


def report(size: int, frames: int, shots: list[int], found: dict[str, Watched], options: Options) -> Report:
    pcg, failures = found["IC-PCG"], []
    rows: list[tuple[Cell, ...]] = []
    for name, w in found.items():
        rows.append(
            (
                name,
                sum(w.iterations) / len(w.iterations),
                max(w.residuals),
                100 * (w.volumes[-1] / w.volumes[0] - 1.0),
                *(100 * difference(pcg.filled[f], w.filled[f]) for f in shots),
            )
        )
    part = difference(pcg.filled[frames], found["multigrid"].filled[frames])
    allowed = max(SAME, 1.5 * difference(pcg.filled[frames], found[ROUGH].filled[frames]))
    if part > allowed:
        failures.append(f"multigrid and PCG differ in {100 * part:.1f} % of the liquid at frame {frames}, not {100 * allowed:.1f}")
    lost = {name: 1.0 - w.volumes[-1] / w.volumes[0] for name, w in found.items()}
    worst = list(found)[-1]
    if frames >= FRAME and lost[worst] < max(LOSS * lost["IC-PCG"], 0.01):
        failures.append(
            f"{worst} loses {100 * lost[worst]:.1f} % of the volume, PCG {100 * lost['IC-PCG']:.1f} %: too few cycles are enough"
        )
    columns = ("solver", "iterations", "largest residual, 1/s", "volume %", *(f"frame {f}: differs from PCG in %" for f in shots))
    table = Table(
        f"half-disc at {size}, {frames} frames",
        columns,
        tuple(rows),
        "Differences: area that only one of the two liquids covers, as a part of PCG's. Volume: change since the first step.",
    )
    pictures = []
    if options.plots is not None:
        drawn = {name: list(found[name].shots.values()) for name in ("IC-PCG", "multigrid", worst)}
        pictures.append(plots.snapshots(options.plots / "karlsson-frames.png", f"half-disc at {size} (Karlsson, figures 17 and 18)", drawn))
        curves = {name: (range(len(w.volumes)), [v / w.volumes[0] for v in w.volumes]) for name, w in found.items()}
        title = f"half-disc at {size}: volume (Karlsson, figure 17)"
        pictures.append(plots.lines(options.plots / "karlsson-volume.png", title, "frame", "part of the first volume", curves, y_log=False))
    notes = (
        f"multigrid: Karlsson's {CYCLES} full and {CYCLES} V-cycles with {SWEEPS} sweeps, from p = 0 in every step (algorithm 8).",
        f"Sticking walls, FLIP, at most {CFL:g} cell a step, no volume source, no reseeding.",
        f"IC-PCG goes to 1e-10 of max |b|, {ROUGH} to 1e-6; the cycles end where their number says, whatever residual is left.",
    )
    return Report("karlsson", (table,), notes, tuple(failures), tuple(pictures))
