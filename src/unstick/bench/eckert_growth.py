"""Eckert's figure 4.9: how counts grow with the grid on dam-2d; and what acceleration of ADMM and IOP saves there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unstick.bench import plots
from unstick.bench.eckert_flows import Moment, moments
from unstick.bench.eckert_methods import EXACT, PRACTICAL, Thresholds, call, compile_first, largest_difference, make
from unstick.bench.harness import Cell, Options, Report, Table, ratio
from unstick.bench.published_eckert import GRID, GROWTH_CG
from unstick.fields import FaceField

SIZES = (32, 48, 64, 96, 128, 192)
AT = (30, 80, 130, 180)
GROWN = ("OrigPS", "OrigPSSep", "ADMMVelSep", "IOPDivSep", "IOPDivSepBC", EXACT)
FINE = Thresholds(1e-7, 1e-5, 1e-5)  # at which results with and without acceleration are compared
AGREED = Thresholds(1e-10, 1e-8, 1e-8)  # of the solution to which all of them converge
BOUND = 10.0  # thresholds by which a result may differ from it, or as much as without acceleration
HALF = 0.5  # part of the outer iterations that acceleration may leave
LIMIT = 1000
OPTIONS: dict[str, tuple[str, ...]] = {
    "IOPDivSep": ("over-relaxation", "nesterov", "anderson"),
    "ADMMVelSep": ("over-relaxation", "adaptive", "anderson"),
    "ADMMDivSep": ("over-relaxation", "adaptive", "anderson"),
}


def figure_4_9(options: Options) -> Report:
    sizes, last = options.sizes_or(*SIZES), options.frames_or(max(AT))
    at = sorted({min(frame, last) for frame in AT})
    counts: dict[str, list[tuple[float, float]]] = {name: [] for name in GROWN}
    failures: list[str] = []
    with options.meter.steps(sum(float(s) ** 2 for s in sizes), "dam-2d") as step:
        for size in sizes:
            step(f"{size}", float(size) ** 2)
            found, ended = moments("dam-2d", size, at, make(EXACT))
            failures += [ended] if ended else []
            for name in GROWN:
                calls = [call(make(name), m.flow, m.guess if name == EXACT else None) for m in found]
                counts[name].append((float(np.mean([c.cg for c in calls])), float(np.mean([c.outer for c in calls]))))
    rows: list[tuple[Cell, ...]] = []
    for name in GROWN:
        for what, text in ((0, "CG or cycles"), (1, "outer")):
            if what and name in ("OrigPS", "OrigPSSep"):
                continue
            values = [pair[what] for pair in counts[name]]
            hers = GROWTH_CG.get(name) if not what else None
            rows.append((name, text, *values, power(sizes, values), "-" if hers is None else f"{hers[0]} to {hers[1]}"))
    columns = ("method", "count", *map(str, sizes), "grows like size^", "Eckert")
    table = Table("dam-2d: counts by the size of the grid (Eckert, figure 4.9)", columns, tuple(rows))
    notes = (
        f"Averages over the first steps of frames {', '.join(map(str, at))} of a run with the exact projection at each size. Cut cells.",
        "Eckert: CG of ADMM and IOP grows 'in an exponential manner', outer ones 'in a rather linear way', IOP's less than ADMM's.",
        "Her sizes are not printed; the counts of OrigPS are those of her smallest and largest grid.",
    )
    pictures = []
    if options.plots is not None:
        for what, text, part in ((0, "iterations of CG, or cycles", "a"), (1, "outer iterations", "b")):
            curves = {n: (sizes, [p[what] for p in counts[n]]) for n in GROWN if not what or n not in ("OrigPS", "OrigPSSep")}
            path = options.plots / f"eckert-fig-4.9{part}.png"
            pictures.append(plots.lines(path, f"dam-2d: {text} (Eckert, figure 4.9)", "cells along a side", text, curves, x_log=True))
    return Report("eckert-fig-4.9", (table,), notes, tuple(failures), tuple(pictures))


def power(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """The exponent of a fit by a power of the size."""
    if len(sizes) < 2 or min(values) <= 0.0:
        return None
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def acceleration(options: Options) -> Report:
    """Outer iterations with and without acceleration, and how far the results differ."""
    size, last = options.sizes_or(GRID)[0], options.frames_or(250)
    every = max(1, min(25, last))
    at = list(range(every, last + 1, every))
    with options.meter.steps(last, "dam-2d") as step:
        found, ended = moments("dam-2d", size, at, make(EXACT), step)
    compile_first(tuple(OPTIONS), found[0].flow)
    agreed = [call(make("IOPDivSep", AGREED, max_iterations=20 * LIMIT), m.flow).projected.velocity for m in found]
    rows: list[tuple[Cell, ...]] = []
    failures = [ended] if ended else []
    for name, ways in OPTIONS.items():
        base = _averages(name, {}, found)
        fine, practical = _gaps(name, "none", found, agreed)
        rows.append((name, "none", base[0], base[1], base[2], None, fine, practical, base[3]))
        best = math.inf
        for way in ways:
            made = _averages(name, {"accelerate": way}, found)
            left = ratio(made[0], base[0])
            near, far = _gaps(name, way, found, agreed)
            same = near <= max(BOUND * FINE.divergence, fine) and far <= max(BOUND * PRACTICAL.divergence, practical)
            rows.append((name, way, made[0], made[1], made[2], left, near, far, made[3]))
            if same and not made[3] and left is not None:
                best = min(best, left)
        if best > HALF:
            failures.append(f"acceleration leaves {100 * best:.0f} % of the outer iterations of {name}, not {100 * HALF:.0f} %")
    columns = (
        "method", "acceleration", "outer", "CG", "s", "outer: part of none", f"distance at {FINE.divergence:g}", "distance, practical",
        "not converged",
    )  # fmt: skip
    table = Table(
        f"dam-2d at {size}: acceleration",
        columns,
        tuple(rows),
        "Averages per step. Distance: largest difference of velocities from IOP with a threshold of 1e-8, cells per unit of time.",
    )
    notes = (
        f"First steps of every {every}th frame of a run with the exact projection.",
        f"Practical thresholds: epsilon_CG {PRACTICAL.cg:g}, velocity {PRACTICAL.velocity:g}, divergence {PRACTICAL.divergence:g}.",
        f"Fine ones: epsilon_CG {FINE.cg:g}, outer {FINE.divergence:g}.",
        f"Asked for: at most {100 * HALF:.0f} % of the outer iterations, at a distance of {BOUND:g} thresholds or of that without it.",
    )
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        groups = {f"{row[0]}, {row[1]}": [float(row[2] or 0.0), float(row[3] or 0.0)] for row in rows}
        title, path = f"dam-2d at {size}: acceleration", options.plots / "eckert-acceleration.png"
        pictures = (plots.bars(path, title, "", "per step", groups, ("outer iterations", "CG"), y_log=True),)
    return Report("eckert-acceleration", (table,), notes, tuple(failures), pictures)


def _averages(name: str, fields: dict[str, Any], found: Sequence[Moment]) -> tuple[float, float, float, int]:
    calls = [call(make(name, max_iterations=LIMIT, **fields), m.flow) for m in found]
    return (
        float(np.mean([c.outer for c in calls])),
        float(np.mean([c.cg for c in calls])),
        float(np.mean([c.seconds for c in calls])),
        sum(c.status != "converged" for c in calls),
    )


def _gaps(name: str, way: str, found: Sequence[Moment], agreed: Sequence[FaceField]) -> tuple[float, float]:
    """The largest distances from the solution that all agree on, by fine and by practical thresholds."""
    fields = {} if way == "none" else {"accelerate": way}
    out = []
    for thresholds in (FINE, PRACTICAL):
        projection = make(name, thresholds, max_iterations=10 * LIMIT, **fields)
        out.append(
            max(largest_difference(m.flow, call(projection, m.flow).projected.velocity, a) for m, a in zip(found, agreed, strict=True))
        )
    return out[0], out[1]
