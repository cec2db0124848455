"""The speed of a whole time step and of its stages: microseconds per liquid cell, share of the pressure, gain from a second thread."""

from __future__ import annotations

import copy
import gc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unstick.bench.harness import Cell, Options, Report, Table, using_threads
from unstick.bench.limit import available_threads
from unstick.bench.particle_speed import particle_kernel_times
from unstick.liquid.report import StepReport
from unstick.liquid.simulation import Simulation
from unstick.liquid.step import STAGES, step
from unstick.scenes.table import SCENES

SCENE, SIZE, FRAMES = "sphere", 128, 100
WHOLE_US = 1.5  # per liquid cell, at 8 particles per cell
PRESSURE_SHARE = 0.45
SAMPLES = 4  # moments of the run at which stages are timed with one and with several threads
BLOCK = 64
PARTICLE_NS = {
    "flip_to_grid": 8.0,
    "flip_to_particles": 4.0,
    "apic_to_grid": 12.0,
    "apic_to_particles": 6.0,
    "sort": 0.0,
    "move": 0.0,
    "push_out": 0.0,
}
GAIN, MATTERS = 0.85, 0.05  # a stage of at least this share of the step that keeps more than this part of its time is serial


@dataclass(frozen=True, slots=True)
class Stages:
    """Average seconds of each stage per step."""

    seconds: dict[str, float]
    cells: float
    particles: float

    @classmethod
    def of(cls, reports: Sequence[StepReport]) -> Stages:
        seconds = {name: float(np.mean([r.seconds.get(name, 0.0) for r in reports])) for name in STAGES}
        return cls(seconds, float(np.mean([r.unknowns for r in reports])), float(np.mean([r.particles for r in reports])))

    @property
    def whole(self) -> float:
        return sum(self.seconds.values())


def run(options: Options) -> Report:
    size, frames = options.sizes_or(SIZE)[0], options.frames_or(FRAMES)
    threads = options.threads or min(2, available_threads())
    simulation = Simulation(SCENES[SCENE](resolution=size))
    reports: list[StepReport] = []
    pairs: list[tuple[dict[str, float], dict[str, float]]] = []
    sampled = {max(1, round(frames * (k + 1) / (SAMPLES + 1))) for k in range(SAMPLES)}
    with options.meter.steps(frames, f"{SCENE} at {size}") as tell, using_threads(threads):
        for frame in range(1, frames + 1):
            tell(f"frame {frame}")
            simulation.advance_frame(reports.append)
            if frame in sampled and threads > 1:
                pairs.append(one_and_many(simulation, threads))
    # The first frame may hold compilation.
    later = [r for r in reports if r.frame > 1] or reports
    found = Stages.of(later)
    return _report(size, frames, threads, found, len(later), pairs)


def one_and_many(simulation: Simulation, threads: int, repeats: int = 2) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of the stages of the next step with one and with several threads, least of some repeats, taken in turn."""
    scene = simulation.scene
    dt = scene.frame_time / simulation.steps_left(scene.frame_time)
    best: dict[int, dict[str, float]] = {1: {}, threads: {}}
    for _ in range(repeats):
        for count in best:
            state = copy.deepcopy(simulation.state)
            gc.collect()
            with using_threads(count):
                seconds = step(scene, simulation.method, state, dt).seconds
            best[count] = {name: min(value, best[count].get(name, np.inf)) for name, value in seconds.items()}
    return best[1], best[threads]


def _report(
    size: int, frames: int, threads: int, found: Stages, steps: int, pairs: list[tuple[dict[str, float], dict[str, float]]]
) -> Report:
    rows: list[tuple[Cell, ...]] = []
    failures = []
    one = {name: sum(p[0].get(name, 0.0) for p in pairs) for name in STAGES}
    many = {name: sum(p[1].get(name, 0.0) for p in pairs) for name in STAGES}
    for name in STAGES:
        seconds = found.seconds[name]
        kept = many[name] / one[name] if one[name] else None
        rows.append((name, *_units(seconds, found), 100 * seconds / found.whole, kept))
        if kept is not None and kept > GAIN and seconds > MATTERS * found.whole:
            failures.append(f"{name} keeps {100 * kept:.0f} % of its time on {threads} threads: part of it is serial")
    kept = sum(many.values()) / sum(one.values()) if pairs else None
    rows.append(("whole step", *_units(found.whole, found), 100.0, kept))
    us = 1e6 * found.whole / found.cells
    share = found.seconds["pressure"] / found.whole
    if size >= SIZE and us > WHOLE_US:
        failures.append(f"a step takes {us:.2f} us per liquid cell, not {WHOLE_US}")
    if size >= SIZE and share > PRESSURE_SHARE:
        failures.append(f"the pressure stage takes {100 * share:.0f} % of the step, not {100 * PRESSURE_SHARE:.0f}")
    columns = ("stage", "us per liquid cell", "ns per particle", "ms per step", "%", f"{threads} threads / 1")
    note = (
        f"{steps} steps of {frames} frames (the first left out), {threads} threads, wall time; {found.cells:,.0f} liquid cells and "
        f"{found.particles / found.cells:.1f} particles per cell. Last column: the same steps at {len(pairs)} moments, least of 2."
    )
    table = Table(f"{SCENE} at {size}: stages of a step", columns, tuple(rows), note)
    particles, slow = particle_table(min(size, BLOCK))
    note = "Wall time is only worth something on a machine that does nothing else."
    return Report("step", (table, particles), (note,), (*failures, *slow))


def particle_table(cells: int) -> tuple[Table, list[str]]:
    """Nanoseconds of the transfers per particle and component on one thread, beside what they may take."""
    times = particle_kernel_times(cells)
    rows: list[tuple[Cell, ...]] = []
    failures = []
    for name, most in PARTICLE_NS.items():
        ns = float(getattr(times, name))
        rows.append((name.replace("_", " "), ns, most or None))
        if most and cells >= BLOCK and ns > most:
            failures.append(f"{name.replace('_', ' ')} takes {ns:.1f} ns, not {most:g}")
    note = "Transfers: per particle and component; the others: per particle. CPU time, least of several."
    return Table(f"Particles of a full block of {cells}^3 cells, one thread", ("work", "ns", "at most"), tuple(rows), note), failures


def _units(seconds: float, found: Stages) -> tuple[float, float, float]:
    return 1e6 * seconds / found.cells, 1e9 * seconds / found.particles, 1e3 * seconds
