"""`unstick bench physics`: figures that a simulator of liquids must get right, each beside what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.physics_keeping import asymmetry, energy_growth, hanging, keep
from unstick.bench.physics_rest import fall, rest, still
from unstick.bench.physics_waves import COLUMN_T, COLUMN_Z, lively, martin_moyce, standing_wave
from unstick.bench.plots import lines, snapshots
from unstick.scenes.table import SCENES

HEIGHTS = (17.3, 17.62, 17.9)  # of still water, in cells: surfaces at several places between cell centres
FALLS = {"sphere": 0.8, "dam": 2.0}  # the highest possible fall of a scene: the height of what holds the liquid
CLOSED = (  # scenes that start at rest: name, resolution, highest possible fall
    ("circle", 128, 0.8), ("square", 128, 0.8), ("maze", 128, 0.9), ("sphere-box", 48, 0.8), ("double-sphere", 64, 0.91),
    ("half-disc", 128, 0.35), ("two-discs", 80, 1.0), ("dam-2d", 96, 2.0), ("stairs", 48, 2.0), ("tall-stairs", 96, 2.0),
    ("ledges", 48, 2.0), ("ceiling-block", 64, 1.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """Something measured, and the most (or least) that is asked of it."""

    what: str
    value: float
    bound: float
    least: bool = False
    draw: Callable[[Path], Path] | None = None  # into a directory

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.least else self.value <= self.bound


def falling(dimension: int) -> Iterator[Figure]:
    n = 48 if dimension == 2 else 24
    free, hung = fall(n, dimension), fall(n, dimension, "sticking", until=0.4)
    yield Figure(f"{dimension}D block under a ceiling: |p| of the first step, Pa", free.first_pressure, 0.0)
    yield Figure(f"{dimension}D block: |p| of later steps / rho g H", free.pressure, 1e-12)
    yield Figure(f"{dimension}D block: |u - g t| / g t", free.velocity, 1e-12)
    yield Figure(f"{dimension}D block, sticking walls: fall / free fall", hung.fallen, 0.05)


def resting(dimension: int, slant: float) -> Iterator[Figure]:
    floor = "slanted floor" if slant else "flat floor"
    for height in HEIGHTS if dimension == 2 else HEIGHTS[:1]:
        found = rest(32 if dimension == 2 else 24, dimension, height if dimension == 2 else height - 4.0, slant, 100, still("level-set"))
        yield Figure(f"{dimension}D still water, {floor}, {height} cells: |p - rho g depth| / rho g H", found.pressure, 1e-9)
        yield Figure(f"{dimension}D still water, {floor}, {height} cells: speed after 100 steps, m/s", found.speed, 1e-9)


def resting_particles() -> Iterator[Figure]:
    found = rest(48, 2, 32.0, 0.0, 1000, still("particles", tolerance=1e-6, reseed=True, volume_source=True))
    yield Figure("2D still water of particles, 32 cells: rms speed / sqrt(g H), 1000 steps", found.rms, 0.02)


def waves() -> Iterator[Figure]:
    for transfer in ("apic", "flip"):
        errors = []
        for n in (32, 64, 128):
            wave = standing_wave(n, lively(transfer, "level-set"))
            errors.append(abs(wave.frequency - 1.0))
            yield Figure(f"standing wave, {transfer}, {n} cells: |frequency / theory - 1|", errors[-1], 0.02 if n == 128 else 0.2)
            if n == 128:
                yield Figure(f"standing wave, {transfer}, {n} cells: loss of amplitude in a period", wave.loss, 0.10)
        yield Figure(f"standing wave, {transfer}: error at 128 over error at 32", errors[2] / errors[0], 1.0)


def column() -> Iterator[Figure]:
    found = martin_moyce(64, lively("apic"))
    shifted = tuple(t - found.offset for t in found.times)
    curves = {"measured (Martin and Moyce 1952, figure 3)": (COLUMN_T, COLUMN_Z), "unstick, 64 cells per width": (shifted, found.fronts)}
    title = f"Front of a collapsing column, n² = 2, a = 2 1/4 in (offset of T {found.offset:+.3f})"

    def draw(to: Path) -> Path:
        return lines(to / "physics-martin-moyce.png", title, "T = t √(2g/a)", "Z = x/a", curves, y_log=False)

    what = f"Martin and Moyce, 64 cells, time offset {found.offset:+.3f}: difference of the front up to Z = 3.5"
    yield Figure(what, found.worst, 0.10, draw=draw)


def keeping() -> Iterator[Figure]:
    yield Figure("sloshing tank, APIC, 2000 steps: energy above rest / its first value", energy_growth(64, 2000), 1.01)
    for transfer in ("apic", "flip"):
        yield Figure(f"mirrored dams, {transfer}, 50 steps: asymmetry", asymmetry(48, 50, transfer), 1e-7)


def volumes(name: str, source: bool) -> Iterator[Figure]:
    found = keep(SCENES[name](resolution=64, volume_source=source), 500, FALLS[name])
    text = "with" if source else "without"
    yield Figure(f"{name} at 64, 500 frames, {text} volume source: drift of volume", found.drift, 0.02 if source else 0.08)
    yield Figure(f"{name} at 64, {text} volume source: largest speed / sqrt(2 g H)", found.speed, 2.5)


def speeds() -> Iterator[Figure]:
    for name, resolution, height in CLOSED:
        found = keep(SCENES[name](resolution=resolution), 100, height)
        yield Figure(f"{name} at {resolution}, 100 frames: largest speed / sqrt(2 g H)", found.speed, 2.5)


def substeps() -> Iterator[Figure]:
    found = keep(SCENES["sphere"](resolution=128), 100, FALLS["sphere"])
    yield Figure("sphere at 128, 100 frames: most steps in a frame", found.substeps, 4)
    yield Figure("sphere at 128, 100 frames: largest speed / sqrt(2 g H)", found.speed, 2.5)


def letting_go(name: str, resolution: int, frame: int) -> Iterator[Figure]:
    found = hanging(name, resolution, frame)
    yield Figure(f"{name} at {resolution}, frame {frame}, sticking walls: liquid at the ceiling", found.sticking, 0.002, least=True)

    def draw(to: Path) -> Path:
        return snapshots(to / f"physics-{name}.png", f"{name} at {resolution}, frame {frame}", {name: found.shots[::-1]})

    ratio = found.separating / max(found.sticking, 1e-300)
    yield Figure(f"{name} at {resolution}, frame {frame}: separating / sticking", ratio, 0.1, draw=draw)


PARTS: dict[str, Callable[[], Iterator[Figure]]] = {
    "a block under the ceiling, 2D": lambda: falling(2),
    "a block under the ceiling, 3D": lambda: falling(3),
    "still water, 2D": lambda: resting(2, 0.0),
    "still water, 2D, slanted": lambda: resting(2, 0.4),
    "still water, 3D": lambda: resting(3, 0.0),
    "still water, 3D, slanted": lambda: resting(3, 0.4),
    "still water of particles": resting_particles,
    "standing wave": waves,
    "Martin and Moyce": column,
    "energy and symmetry": keeping,
    "letting go: circle": lambda: letting_go("circle", 128, 20),
    "letting go: square": lambda: letting_go("square", 128, 20),
    "letting go: sphere": lambda: letting_go("sphere", 64, 20),
    "letting go: dam": lambda: letting_go("dam", 48, 120),
    "speeds": speeds,
    "steps in a frame": substeps,
    "volume of dam": lambda: volumes("dam", True),
    "volume of dam, no source": lambda: volumes("dam", False),
    "volume of sphere": lambda: volumes("sphere", True),
    "volume of sphere, no source": lambda: volumes("sphere", False),
}


def run(options: Options) -> Report:
    """All parts; `--count N` the first N of them."""
    rows: list[tuple[Cell, ...]] = []
    failures, pictures = [], []
    chosen = list(PARTS.items())[: options.count_or(len(PARTS))]
    with options.meter.steps(len(chosen), "physics") as step:
        for title, part in chosen:
            step(title)
            for figure in part():
                if figure.draw is not None and options.plots is not None:
                    pictures.append(figure.draw(options.plots))
                rows.append((figure.what, figure.value, "at least" if figure.least else "at most", figure.bound, figure.holds))
                if not figure.holds:
                    failures.append(f"{figure.what}: {figure.value:.3g}, not {'at least' if figure.least else 'at most'} {figure.bound:g}")
    columns = ("figure", "value", "asked", "bound", "holds")
    return Report("physics", (Table("Physics", columns, tuple(rows)),), (), tuple(failures), tuple(pictures))
