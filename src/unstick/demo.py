"""The main job on one page: a half-full sphere, solved with walls that stick and with walls that let go, drawn side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from unstick.bench.frames import Frame, frame
from unstick.checks import InvalidSystem
from unstick.grid import Array
from unstick.pressure.assemble import assemble
from unstick.pressure.project import project
from unstick.problem import LIQUID
from unstick.result import SolveResult
from unstick.solvers.table import SOLVERS

WATER = 1000.0


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two solves."""

    walls: str
    result: SolveResult
    seconds: float  # wall time of the solve
    velocity: tuple[Array, Array]  # after the step, at cell centres of the slice


def run(size: int, out: Path, console: Console) -> int:
    """Solve, draw `half-full-sphere.png` in `out`, and say what was found. Returns the exit code."""
    if not 16 <= size <= 512:
        raise InvalidSystem(f"--size is {size}; give a number of cells along a side from 16 to 512")
    if out.exists() and not out.is_dir():
        raise InvalidSystem(f"--out is {out}, which is a file; give a directory")
    scene = frame("sphere", size)
    halves = [solve(scene, walls) for walls in ("sticking", "separating")]
    for half in halves:
        console.print(sentence(half), highlight=False)
    picture = draw(scene, halves, out / "half-full-sphere.png")
    console.print(f"picture: {picture}", highlight=False, soft_wrap=True)
    return 0 if all(half.result.converged for half in halves) else 1


def solve(scene: Frame, walls: str) -> Half:
    system = assemble(scene.grid, scene.liquid_phi, scene.solid_phi, scene.velocity, scene.dt, WATER, walls=walls)
    solver = SOLVERS["default"]()
    solver.solve(frame("sphere", 16).system(walls))  # compile before the clock starts
    start = time.perf_counter()
    result = solver.solve(system)
    seconds = time.perf_counter() - start
    after = project(scene.grid, scene.velocity, result.p, scene.liquid_phi, scene.solid_phi, scene.dt, WATER)
    k = scene.grid.shape[2] // 2
    u = 0.5 * (after.u[:-1, :, k] + after.u[1:, :, k])
    v = 0.5 * (after.v[:, :-1, k] + after.v[:, 1:, k])
    return Half(walls, result, seconds, (u, v))


def sentence(half: Half) -> str:
    result, system = half.result, half.result.system
    ended = f"{half.walls:10} {system.unknowns:,} unknowns, {result.iterations} iterations, {half.seconds:.2f} s"
    lowest = float(result.p.min())
    if half.walls == "sticking":
        return f"{ended}: {result.status.name.lower()}; the walls hold the liquid with a suction of down to {lowest:.0f} Pa"
    contact, detached = int(np.count_nonzero(system.row_contact)), int(np.count_nonzero(result.row_detached))
    share = 100 * detached / contact
    return f"{ended}: {result.status.name.lower()}; the liquid lets go of {detached:,} of {contact:,} wall cells ({share:.0f} %)"


def draw(scene: Frame, halves: list[Half], path: Path) -> Path:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"font.size": 11, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(11.0, 6.0), dpi=110, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.02, right=0.89, top=0.86, bottom=0.14, wspace=0.04)
        liquid = np.asarray(halves[0].result.system.cells == LIQUID)
        reach = max(float(np.abs(half.result.p).max()) for half in halves)
        images = [panel(a, scene, half, liquid, reach) for a, half in zip(axes, halves, strict=True)]
        bar = figure.colorbar(images[0], cax=figure.add_axes((0.905, 0.2, 0.016, 0.6)))
        bar.set_label("pressure, Pa")
        figure.suptitle("A half-full sphere one step after the liquid begins to fall", fontsize=14, x=0.455, y=0.97)
        figure.savefig(path_ready(path))
    return path


def panel(axis: Any, scene: Frame, half: Half, liquid: Array, reach: float) -> Any:
    """A slice through the middle: pressure, wall, velocity after the step, and the cells that let go."""
    k = scene.grid.shape[2] // 2
    n, h = scene.grid.shape[0], scene.grid.spacing
    p = np.ma.masked_where(~liquid[:, :, k], half.result.p[:, :, k])
    side = n * h
    image = axis.imshow(p.T, origin="lower", extent=(0, side, 0, side), cmap="RdBu_r", vmin=-reach, vmax=reach, interpolation="nearest")
    nodes = np.arange(n + 1) * h
    axis.contourf(nodes, nodes, scene.solid_phi[:, :, k].T, levels=[-10, 0], colors=["#c9c9c9"])
    axis.contour(nodes, nodes, scene.solid_phi[:, :, k].T, levels=[0], colors=["#555555"], linewidths=1.0)
    centres = (np.arange(n) + 0.5) * h
    axis.contour(centres, centres, scene.liquid_phi[:, :, k].T, levels=[0], colors=["#2b5c8a"], linewidths=0.8)
    every = max(1, n // 20)
    start = every // 2
    x, y = np.meshgrid(centres[start::every], centres[start::every], indexing="ij")
    shown = liquid[start::every, start::every, k]
    u, v = (c[start::every, start::every] for c in half.velocity)
    axis.quiver(x[shown], y[shown], u[shown], v[shown], color="#222222", scale=2.2, scale_units="inches", width=0.0028, alpha=0.8)
    detached = half.result.detached[:, :, k]
    i, j = np.nonzero(detached)
    axis.scatter(
        centres[i], centres[j], marker="s", s=(150.0 / n) ** 2 * 4, color="#f28e1c", linewidths=0, label="wall cells the liquid lets go of"
    )
    axis.set_title(f"{half.walls} walls", fontsize=13)
    axis.set_xlim(0, side)
    axis.set_ylim(0, side)
    axis.set_xticks([])
    axis.set_yticks([])
    return image


def path_ready(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
