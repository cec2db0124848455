"""`unstick bench smoke`: what a gas must get right, each figure beside what is asked of it, and the plume with its ball in pictures."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.physics import Figure
from unstick.fields import FaceField
from unstick.grid import CENTRES, Array, Grid
from unstick.liquid.advect import PATHS
from unstick.liquid.scene import Scene
from unstick.liquid.simulation import Simulation, choose_projection
from unstick.pressure.project import divergence
from unstick.pressure.projection import Flow, Projected, Projection
from unstick.result import Guess
from unstick.scenes.table import SCENES
from unstick.smoke.advect import Passage, open_parts
from unstick.smoke.report import SmokeReport
from unstick.smoke.state import gas_of

MOST_DIVERGENCE = 1e-6  # of the largest speed, per cell
SHOTS = 5


@dataclass(slots=True)
class Watched:
    """A projection, and the largest |divergence| times the spacing over the largest speed that it left in any cell of gas."""

    inner: Projection
    simulation: Simulation | None = None  # of which walls that move with the gas are asked
    worst: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        out = self.inner(flow, guess)
        grid, walls = flow.grid, self._moving(flow, out)
        left = divergence(grid, out.velocity, flow.solid_phi, walls).reshape(grid.shape3)
        gas = (flow.liquid_phi < 0.0) & (open_parts(grid, flow.solid_phi) > 0.0)
        speed = math.hypot(*(float(np.max(np.abs(c))) for c in out.velocity.components))
        self.worst.append(float(np.max(np.abs(left[gas]))) * grid.spacing / speed if speed else 0.0)
        return out

    def _moving(self, flow: Flow, out: Projected) -> FaceField | None:
        simulation = self.simulation
        if simulation is None or simulation.bodies is None or out.bodies is None:
            return flow.solid_velocity
        immersed = simulation.bodies.placed(simulation.state)
        return simulation.walls.carried(simulation.state.time + flow.dt, immersed, immersed.moving(out.bodies)).velocity


def watched(scene: Scene) -> tuple[Simulation, Watched]:
    watch = Watched(choose_projection(scene))
    simulation = Simulation(scene, projection=watch)
    watch.simulation = simulation
    return simulation, watch


def last_report(simulation: Simulation) -> SmokeReport:
    report = simulation.last_report
    assert isinstance(report, SmokeReport)
    return report


def divergences(name: str, cells: int, frames: int, **options: Any) -> Iterator[Figure]:
    """Also what is kept and bounded on the way."""
    scene = SCENES[name](cells, **options)
    simulation, watch = watched(scene)
    least = most = 0.0
    while simulation.state.frame < frames:
        simulation.advance_frame()
        gas = gas_of(simulation.state)
        least, most = min(least, float(gas.density.min())), max(most, float(gas.density.max()))
    report = last_report(simulation)
    words = "".join(f", {key} {value}".lower() for key, value in options.items() if key != "dimension")
    what = f"{name} {scene.grid.dimension}D at {cells}{words}, {frames} frames"
    yield Figure(f"{what}: divergence x h / speed, worst cell of all steps", max(watch.worst), MOST_DIVERGENCE)
    yield Figure(f"{what}: smoke unaccounted for / released", abs(report.smoke + report.left - report.released) / report.released, 1e-9)
    yield Figure(f"{what}: density beyond 0 and 1", max(-least, most - 1.0), 0.0)


def symmetry(cells: int, steps: int) -> Iterator[Figure]:
    made = SCENES["plume-ball"](cells, dimension=2, coupled=False)
    simulation = Simulation(replace(made, numerics=replace(made.numerics, tolerance=1e-10)))
    while simulation.state.step < steps:
        simulation.advance_frame()
    state = simulation.state
    pairs = ((gas_of(state).density, 1.0), (state.velocity.v, 1.0), (state.velocity.u, -1.0))
    worst = max(float(np.max(np.abs(values - sign * values[::-1]))) for values, sign in pairs)
    yield Figure(f"plume-ball 2D at {cells}, prescribed ball, {steps} steps: asymmetry of density and velocity", worst, 1e-7)


def rising(cells: int, frames: int) -> Iterator[Figure]:
    """How far the top of a plume has come, and that it goes up in every frame."""
    simulation = Simulation(SCENES["plume"](cells))
    tops = []
    while simulation.state.frame < frames:
        simulation.advance_frame()
        tops.append(height(simulation))
    yield Figure(f"plume 2D at {cells}, {frames} frames: rise of the smoke's centre, m", tops[-1] - tops[0], 0.1, least=True)
    yield Figure(f"plume 2D at {cells}: frames in which the centre sank, after the first ten", float(np.sum(np.diff(tops[10:]) < 0.0)), 0.0)


def height(simulation: Simulation) -> float:
    """Of the smoke's centre."""
    grid, density = simulation.grid, gas_of(simulation.state).density
    y = grid.points(grid.shape, CENTRES)[1]
    return float(np.sum(density.reshape(grid.shape) * y) / np.sum(density))


def turned_square(cells: int) -> Iterator[Figure]:
    """A square of smoke after a whole turn, as each scheme leaves it: what is lost, and how much of it lies elsewhere."""
    grid = Grid((cells, cells), 2.0 / cells, (-1.0, -1.0))
    velocity = FaceField.from_function(grid, lambda x, y: (-y + 0.0 * x, x + 0.0 * y))
    x, y = grid.points(grid.shape, CENTRES)
    square = ((np.abs(x - 0.4) < 0.2) & (np.abs(y) < 0.2)).astype(np.float64)[:, :, None]
    far, steps, errors = np.full(grid.node_shape3, 1e3), 2 * cells, {}
    for scheme in ("linear", "maccormack", "cubic"):
        values: Array = square
        for _ in range(steps):
            values = Passage(velocity, 2.0 * math.pi / steps, PATHS["rk3"], scheme, far, far).carry_cells(values)[0][0]
        errors[scheme] = float(np.sum(np.abs(values - square)) / np.sum(square))
        drift = abs(float(np.sum(values) / np.sum(square)) - 1.0)
        yield Figure(f"square turned once, {cells} cells, {scheme}: drift of its smoke before it is given back", drift, 0.1)
    yield Figure(f"square turned once, {cells} cells: error of MacCormack's scheme / linear", errors["maccormack"] / errors["linear"], 0.7)
    yield Figure(f"square turned once, {cells} cells: error of cubic / MacCormack's scheme", errors["cubic"] / errors["maccormack"], 0.8)


def parts(options: Options) -> dict[str, Callable[[], Iterator[Figure]]]:
    """By title. `--sizes` are those of 2D and of 3D, `--frames` the steps and frames of all."""
    flat, deep = (*options.sizes_or(128, 48), *options.sizes_or(128, 48))[:2]
    long, short = options.frames_or(200), options.frames_or(60)
    return {
        "plume, 2D": lambda: divergences("plume", flat, long),
        "plume, 3D": lambda: divergences("plume", deep, short, dimension=3),
        "plume-ball, 2D, prescribed": lambda: divergences("plume-ball", flat, long, dimension=2, coupled=False),
        "plume-ball, 2D": lambda: divergences("plume-ball", flat, long, dimension=2),
        "plume-ball, 3D, prescribed": lambda: divergences("plume-ball", deep, short, coupled=False),
        "plume-ball, 3D": lambda: divergences("plume-ball", deep, short),
        "symmetry": lambda: symmetry(flat // 2, options.frames_or(50)),
        "rise": lambda: rising(3 * flat // 4, options.frames_or(100)),
        "schemes of advection": lambda: turned_square(flat // 2),
    }


def run(options: Options) -> Report:
    """All parts; `--count N` the first N of them. With `--out` pictures, up to frame `--frames`."""
    rows: list[tuple[Cell, ...]] = []
    failures: list[str] = []
    known = list(parts(options).items())
    chosen = known[: options.count_or(len(known))]
    with options.meter.steps(len(chosen), "smoke") as step:
        for title, part in chosen:
            step(title)
            for figure in part():
                rows.append((figure.what, figure.value, "at least" if figure.least else "at most", figure.bound, figure.holds))
                if not figure.holds:
                    failures.append(f"{figure.what}: {figure.value:.3g}, not {'at least' if figure.least else 'at most'} {figure.bound:g}")
    pictures = []
    if options.plots is not None:
        flat, deep = (*options.sizes_or(128, 64), 64)[:2]
        for dimension, cells in ((2, flat), (3, deep)):
            pictures.append(draw(options.plots, cells, dimension, options.frames_or(240)))
    columns = ("figure", "value", "asked", "bound", "holds")
    return Report("smoke", (Table("Smoke", columns, tuple(rows)),), (), tuple(failures), tuple(pictures))


def draw(to: Path, cells: int, dimension: int, frames: int) -> Path:
    """Frames of plume-ball beside each other."""
    from unstick.record.files import write_bytes
    from unstick.record.frames import FrameRecorder, read_frame
    from unstick.render.png import contact_sheet
    from unstick.render.smoke import SmokeFlatPainter, SmokeSpacePainter, smoke_scale

    simulation = Simulation(SCENES["plume-ball"](cells, dimension=dimension))
    tiles: list[Path | Array] = []
    with tempfile.TemporaryDirectory() as place:
        recorder = FrameRecorder(Path(place))
        while simulation.state.frame < frames:
            simulation.advance_frame()
            if simulation.state.frame % max(1, frames // SHOTS) == 0 and len(tiles) < SHOTS:
                recorder.record(simulation)
                frame = read_frame(Path(place), simulation.state.frame)
                painter = SmokeFlatPainter(frame, smoke_scale(1.0), "density") if dimension == 2 else SmokeSpacePainter(frame)
                tiles.append(painter.paint(frame))
    path = to / f"smoke-plume-ball-{dimension}d.png"
    write_bytes(path, contact_sheet(tiles, len(tiles)))
    return path
