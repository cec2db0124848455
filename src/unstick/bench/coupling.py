"""`unstick bench coupling`: figures that two-way coupling must get right, each beside what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unstick.bench.coupling_measures import added_mass, asymmetry, drift_at_rest, floating, imbalance, spinning
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.physics import Figure
from unstick.geometry.shapes import Box, Shape, Sphere
from unstick.scenes.table import SCENES

RATIOS = (0.3, 0.5, 0.8)


def momentum() -> Iterator[Figure]:
    for name, resolution in (("box-lift", 64), ("boxes", 96)):
        off = imbalance(SCENES[name](resolution, tolerance=1e-10), 10)
        yield Figure(f"{name} at {resolution}: momentum that the pressure stage makes / that bodies gain, 10 steps", off, 1e-8)


def rest() -> Iterator[Figure]:
    yield Figure("2D aligned box as heavy as water: speed, 20 steps, m/s", drift_at_rest(32, 2, 20), 1e-8)
    yield Figure("3D aligned box as heavy as water: speed, 5 steps, m/s", drift_at_rest(20, 3, 5), 1e-8)


def archimedes(dimension: int, n: int, frames: int) -> Iterator[Figure]:
    half = (0.18, 0.06, 0.18)[:dimension]
    shapes: dict[str, Shape] = {"box 3:1": Box(tuple(-s for s in half), half)}
    shapes["ball" if dimension == 3 else "disc"] = Sphere((0.0,) * dimension, 0.15)
    for name, shape in shapes.items():
        for ratio in RATIOS:
            off = floating(n, dimension, shape, ratio, frames)
            yield Figure(f"{dimension}D {name} of density ratio {ratio}, {n} cells: |depth - Archimedes|, cells", abs(off), 0.5)


def mass(dimension: int) -> Iterator[Figure]:
    sizes, name = ((32, 64, 128), "cylinder") if dimension == 2 else ((16, 32, 64), "sphere")
    for n in sizes:
        off = abs(added_mass(n, dimension) - 1.0)
        yield Figure(f"{name} released in a round tank, {n} cells: |acceleration / exact - 1|", off, 0.03 if n == sizes[-1] else 0.2)


def turning() -> Iterator[Figure]:
    losses = []
    for n in (32, 64):
        losses.append(abs(spinning(n, 100)))
        yield Figure(f"ellipse spinning in a round tank, {n} cells, 100 steps: change of angular momentum", losses[-1], 0.02)
    yield Figure("the same: change at 64 / change at 32", losses[1] / losses[0], 1.0)


def mirrored() -> Iterator[Figure]:
    yield Figure("light box in a mirrored tank, 50 steps: drift and turning, m, m/s, 1/s", asymmetry(48, 50), 1e-7)


PARTS: dict[str, Callable[[], Iterator[Figure]]] = {
    "body at rest": rest,
    "momentum": momentum,
    "mirror symmetry": mirrored,
    "added mass, 2D": lambda: mass(2),
    "angular momentum": turning,
    "floating depths, 2D": lambda: archimedes(2, 32, 400),
    "added mass, 3D": lambda: mass(3),
    "floating depths, 3D": lambda: archimedes(3, 24, 300),
}


def run(options: Options) -> Report:
    """All parts; `--count N` the first N of them."""
    rows: list[tuple[Cell, ...]] = []
    failures = []
    chosen = list(PARTS.items())[: options.count_or(len(PARTS))]
    with options.meter.steps(len(chosen), "coupling") as step:
        for title, part in chosen:
            step(title)
            for figure in part():
                rows.append((figure.what, figure.value, figure.bound, figure.holds))
                if not figure.holds:
                    failures.append(f"{figure.what}: {figure.value:.3g}, not at most {figure.bound:g}")
    table = Table("Two-way coupling", ("figure", "value", "at most", "holds"), tuple(rows))
    return Report("coupling", (table,), (), tuple(failures))
