"""Figure 6.7 of Lai: the maze by FAS multigrid and by the Newton method, each solver making its own trajectory."""

from __future__ import annotations

from pathlib import Path

from unstick.bench import plots
from unstick.bench.cases import solver
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.two_runs import Watched, difference, watch
from unstick.pressure.projection import PressureProjection
from unstick.scenes.table import SCENES

FRAMES = 100
SHOTS = (20, 40, 60, 80)
RUNS = {"fas-mg": {}, "newton": {"max_iterations": 1_000_000}}
SAME = 0.05  # part of the liquid in which two pictures that look alike may differ


def run(options: Options) -> Report:
    size, frames = options.sizes_or(128)[0], options.frames_or(max(SHOTS))
    shots = [f for f in SHOTS if f <= frames] or [frames]
    found: dict[str, Watched] = {}
    with options.meter.steps(len(RUNS) * frames, "maze") as step:
        for name, extra in RUNS.items():
            scene = SCENES["maze"](resolution=size, walls="separating")
            chosen = solver(name, tolerance=scene.numerics.tolerance, **extra)
            found[name] = watch(scene, PressureProjection(chosen), frames, shots, lambda what, n=name: step(f"{n}, {what}"))  # type: ignore[misc]
    first, second = found.values()
    rows: list[tuple[Cell, ...]] = []
    failures = []
    for frame in shots:
        part = difference(first.filled[frame], second.filled[frame])
        rows.append((frame, 100 * part))
        if part > SAME and frame == shots[0]:
            failures.append(f"the two runs differ in {100 * part:.1f} % of the liquid at frame {frame}, not {100 * SAME:.0f}")
    counts = tuple((name, len(w.iterations), sum(w.iterations) / len(w.iterations)) for name, w in found.items())
    tables = (
        Table(f"maze at {size}: area that only one of the two liquids covers", ("frame", "% of the liquid"), tuple(rows)),
        Table("The two runs", ("solver", "pressure solves", "iterations on average"), counts),
    )
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        drawn = {name: list(w.shots.values()) for name, w in found.items()}
        pictures = (plots.snapshots(options.plots / "lai-fig-6.7.png", f"maze at {size} (Lai, figure 6.7)", drawn),)
    note = "Both solve to the scene's own scale-free tolerance. Splashes magnify differences of the size of the tolerance as time goes on."
    return Report("lai-fig-6.7", tables, (note,), tuple(failures), pictures)
