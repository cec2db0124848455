"""The main job on one page: a half-full sphere, solved with walls that stick and with walls that let go, drawn side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from unstick.bench.frames import GRAVITY, Family, Frame, Motion, Surface
from unstick.checks import InvalidSystem
from unstick.geometry.shapes import Sphere
from unstick.grid import Array
from unstick.pressure.assemble import assemble
from unstick.pressure.project import project
from unstick.problem import LIQUID
from unstick.result import SolveResult
from unstick.solvers.table import SOLVERS

WATER = 1000.0
# Liquid in the left half of a ball, at rest until it begins to fall.
HALF_FULL = Family(
    "half-full sphere",
    Sphere((0.5, 0.5, 0.5), 0.4),
    Surface(level=0.5, slope=(0.15, 0.1), ripple=0.02, waves=3.0),
    Motion(swirl=0.0, strain=0.0, wave=0.0, waves=1.0),  # and a fall of one step
    3,
)


@dataclass(frozen=True, slots=True)
class Half:
    """One of the two solves."""

    walls: str
    result: SolveResult
    seconds: float  # wall time of the solve, best of three
    velocity: tuple[Array, Array]  # after the step, at cell centres of the slice


def run(size: int, out: Path, console: Console) -> int:
    """Solve, draw `half-full-sphere.png` in `out`, and say what was found. Returns the exit code."""
    if not 16 <= size <= 512:
        raise InvalidSystem(f"--size is {size}; give a number of cells along a side from 16 to 512")
    if out.exists() and not out.is_dir():
        raise InvalidSystem(f"--out is {out}, which is a file; give a directory")
    scene = HALF_FULL(size)
    halves = [solve(scene, walls) for walls in ("sticking", "separating")]
    for half in halves:
        console.print(sentence(half), highlight=False)
    picture = draw(scene, halves, out / "half-full-sphere.png")
    console.print(f"picture: {picture}", highlight=False, soft_wrap=True)
    return 0 if all(half.result.converged for half in halves) else 1


def solve(scene: Frame, walls: str) -> Half:
    system = assemble(scene.grid, scene.liquid_phi, scene.solid_phi, scene.velocity, scene.dt, WATER, walls=walls)
    solver = SOLVERS["default"]()
    solver.solve(HALF_FULL(32).system(walls))  # compile before the clock starts
    seconds = np.inf
    for _ in range(3):
        start = time.perf_counter()
        result = solver.solve(system)
        seconds = min(seconds, time.perf_counter() - start)
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
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSystem("the picture needs matplotlib: pip install 'unstick[bench]'") from None
    with matplotlib.rc_context({"font.size": 11, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(11.0, 6.1), dpi=100, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.015, right=0.885, top=0.86, bottom=0.12, wspace=0.03)
        liquid = np.asarray(halves[0].result.system.cells == LIQUID)
        reach = max(float(np.abs(half.result.p).max()) for half in halves)
        images = [panel(a, scene, half, liquid, reach) for a, half in zip(axes, halves, strict=True)]
        bar = figure.colorbar(images[0], cax=figure.add_axes((0.9, 0.17, 0.016, 0.64)))
        bar.set_label("pressure, Pa (water)")
        cells = scene.grid.shape[0]
        figure.suptitle("A half-full sphere when the liquid begins to fall", fontsize=15, x=0.45, y=0.975)
        about = (
            f"slice through the middle of {cells}³ cells · arrows: velocity after one step of {scene.dt:g} s · orange: cells that let go"
        )
        figure.text(0.45, 0.012, about, ha="center", fontsize=10, color="#555555")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    return path


def panel(axis: Any, scene: Frame, half: Half, liquid: Array, reach: float) -> Any:
    """A slice through the middle: pressure, wall, velocity after the step, and the cells that let go."""
    k = scene.grid.shape[2] // 2
    n, h = scene.grid.shape[0], scene.grid.spacing
    side = n * h
    nodes, centres = np.arange(n + 1) * h, (np.arange(n) + 0.5) * h
    p = np.ma.masked_where(~liquid[:, :, k], half.result.p[:, :, k])
    image = axis.imshow(p.T, origin="lower", extent=(0, side, 0, side), cmap="RdBu_r", vmin=-reach, vmax=reach, interpolation="nearest")
    surface = np.ma.masked_where(_inside_wall(scene, k), scene.liquid_phi[:, :, k])
    axis.contour(centres, centres, surface.T, levels=[0], colors=["#2b5c8a"], linewidths=1.2)
    i, j = np.nonzero(half.result.detached[:, :, k])
    marks = np.zeros((n, n, 4))
    marks[j, i] = (0.95, 0.56, 0.11, 1.0)
    axis.imshow(marks, origin="lower", extent=(0, side, 0, side), interpolation="nearest", zorder=2.7)
    axis.contourf(nodes, nodes, scene.solid_phi[:, :, k].T, levels=[-1e9, 0], colors=["#c9c9c9"], alpha=0.75, zorder=2.5)
    axis.contour(nodes, nodes, scene.solid_phi[:, :, k].T, levels=[0], colors=["#444444"], linewidths=1.3, zorder=3)
    every = max(1, n // 18)
    at = slice(every // 2, None, every)
    x, y = np.meshgrid(centres[at], centres[at], indexing="ij")
    solid = scene.solid_phi[:, :, k]
    clear = 0.25 * (solid[:-1, :-1] + solid[1:, :-1] + solid[:-1, 1:] + solid[1:, 1:]) > h  # no face of the cell is closed
    shown = (liquid[:, :, k] & clear)[at, at]
    u, v = (component[at, at] for component in half.velocity)
    longest = 1.0 * every * h / (scene.dt * GRAVITY)  # an arrow of free fall spans the gap between two
    axis.quiver(
        x[shown], y[shown], longest * u[shown], longest * v[shown],
        angles="xy", scale_units="xy", scale=1.0, color="#111111", width=0.0035, headwidth=4, zorder=4,
    )  # fmt: skip
    axis.set_title(f"{half.walls} walls", fontsize=13, pad=6)
    axis.text(0.5 * side, 0.04 * side, caption(half), ha="center", va="top", fontsize=11)
    margin = 0.06 * side
    axis.set(xlim=(margin, side - margin), ylim=(margin, side - margin), xticks=[], yticks=[])
    axis.set_frame_on(False)
    return image


def caption(half: Half) -> str:
    result = half.result
    if half.walls == "sticking":
        return f"the upper wall holds the liquid by suction, {result.p.min():.0f} Pa"
    contact, detached = int(np.count_nonzero(result.system.row_contact)), int(np.count_nonzero(result.row_detached))
    return f"walls only push: it falls off {detached:,} of {contact:,} wall cells"


def _inside_wall(scene: Frame, k: int) -> Array:
    """Cells of the slice whose four corners all lie in the wall."""
    solid = scene.solid_phi[:, :, k] < 0
    return np.asarray(solid[:-1, :-1] & solid[1:, :-1] & solid[:-1, 1:] & solid[1:, 1:])
