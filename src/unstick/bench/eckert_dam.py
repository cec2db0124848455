"""Eckert's tables 4.1, 4.5, 4.6 and figure 4.6: what each method costs per step of dam, stairs and ledges at 96^3, beside the exact one.

A run with the exact projection makes the inputs; at a few of its steps every method is called on the same flow. Volume at the end is that
of runs in 2D, one with each method.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unstick.bench import plots
from unstick.bench.eckert_flows import Moment, walk
from unstick.bench.eckert_methods import EXACT, PRACTICAL, Thresholds, Units, call, compile_first, leftover, make
from unstick.bench.harness import Cell, Options, Report, Table, ratio
from unstick.bench.published_eckert import DAM_3D, GRID, LEDGES_3D, STAIRS_3D, STEPS, VOLUME_SAID, Row
from unstick.bench.two_runs import watch
from unstick.liquid.simulation import StepsExceeded
from unstick.result import Guess, SolveError
from unstick.scenes.table import SCENES
from unstick.solvers.compact import compact

AT = {"dam": (20, 65, 110), "stairs": (30, 80), "ledges": (25, 60)}  # frames whose first step is looked at; --count N: the first N
PUBLISHED: dict[str, dict[str, Row]] = {"dam": DAM_3D, "stairs": STAIRS_3D, "ledges": LEDGES_3D}
NUMBER = {"dam": "4.1", "stairs": "4.5", "ledges": "4.6"}
FLAGS = "flags"  # cells as the thesis has them
BOUNDARY_OUTER = 3.0  # outer iterations of iop-sep-bc on average
EQUAL = f"{EXACT}, to epsilon_CG"
AGAINST = {"ADMMVelSep": 25.0, "IOPDivSep": 15.0}  # times the exact one is faster than these as published
AGAINST_ACCELERATED = 5.0
AGAINST_ORIGPS = 1.5  # and how much longer than OrigPS it may take
ACCELERATED: dict[str, tuple[str, dict[str, Any]]] = {
    "IOPDivSep, over-relaxation": ("IOPDivSep", {"accelerate": "over-relaxation"}),
    "IOPDivSep, Anderson": ("IOPDivSep", {"accelerate": "anderson"}),
    "IOPDivSep, Anderson, mgpcg inside": ("IOPDivSep", {"accelerate": "anderson", "inner": "mgpcg"}),
    "ADMMVelSep, over-relaxation": ("ADMMVelSep", {"accelerate": "over-relaxation"}),
    "ADMMVelSep, adaptive": ("ADMMVelSep", {"accelerate": "adaptive"}),
    "ADMMVelSep, Anderson": ("ADMMVelSep", {"accelerate": "anderson"}),
}
VOLUMES = ("OrigPS", "OrigPSSep", "ADMMVelSep", "IOPDivSep", "IOPDivSepBC", EXACT)


@dataclass(frozen=True, slots=True)
class Call:
    frame: int
    cg: int
    outer: int
    seconds: float
    status: str
    loose: float
    rest: float


@dataclass(slots=True)
class Costs:
    scene: str
    size: int
    calls: dict[str, list[Call]] = field(default_factory=dict)
    unknowns: list[int] = field(default_factory=list)
    ended: str = ""

    def mean(self, label: str, what: str) -> float | None:
        values = [float(getattr(found, what)) for found in self.calls.get(label, [])]
        return float(np.mean(values)) if values else None


def table_4_1(options: Options) -> Report:
    return _table("dam", options)


def table_4_5(options: Options) -> Report:
    return _table("stairs", options)


def table_4_6(options: Options) -> Report:
    return _table("ledges", options)


def _table(scene: str, options: Options) -> Report:
    made = costs(scene, options)
    tables = [_counts(made), _shown(made)]
    failures = [*([made.ended] if made.ended else []), *missed(made)]
    if scene in VOLUME_SAID:
        volume, ended = _volumes(scene, options)
        tables.append(volume)
        failures += ended
    frames = sorted({c.frame for found in made.calls.values() for c in found})
    notes = (
        f"The exact projection makes the run; the first step of frames {', '.join(map(str, frames))} is given to all. A frame: 0.01 s.",
        f"Unknowns: {', '.join(f'{n:,}' for n in made.unknowns)}. Seconds: CPU, one thread, set-up and assembly included.",
        f"epsilon_CG and of velocities {PRACTICAL.cg:g}, of the divergence {PRACTICAL.divergence:g}; her methods start from p = 0.",
        f"{EXACT}: tolerance 1e-6 of max |b|, from the step before. The same to epsilon_CG, from there and from p = 0: residual as OrigPS.",
        "Hers are averages over the steps of a run with each method, on cell flags and without a ghost pressure; seconds of an i7-920.",
    )
    return Report(f"eckert-table-{NUMBER[scene]}", tuple(tables), notes, tuple(failures))


def figure_4_6(options: Options) -> Report:
    """The same as table 4.1, step by step."""
    made = costs("dam", options)
    labels = [label for label in made.calls if not label.endswith(FLAGS)]
    rows: list[tuple[Cell, ...]] = [
        (c.frame, label, c.cg, c.outer, c.seconds, c.status) for label in labels for c in sorted(made.calls[label], key=lambda c: c.frame)
    ]
    table = Table("dam: step by step (Eckert, figure 4.6)", ("frame", "method", "CG", "outer", "s", "status"), tuple(rows))
    notes = ("Hers: ADMM's outer iterations are nearly constant, and steps 0-50, 110-160 and from 240 on take most.",)
    return Report("eckert-fig-4.6", (table,), notes, (made.ended,) if made.ended else (), _figures(made, options, "eckert-fig-4.6"))


_made: dict[tuple[str, int, tuple[int, ...]], Costs] = {}


def costs(scene: str, options: Options) -> Costs:
    """Made once by a process."""
    size = options.sizes_or(GRID)[0]
    frames = tuple(sorted({min(f, options.frames_or(STEPS[scene])) for f in AT[scene][: options.count]}))
    key = (scene, size, frames)
    if key not in _made:
        with options.meter.steps(max(frames), f"{scene} at {size}") as step:
            _made[key] = _make(scene, size, frames, step)
    return _made[key]


def _make(scene: str, size: int, frames: Iterable[int], tell: Any) -> Costs:
    out = Costs(scene, size)
    names = [name for name in (*DAM_3D,) if name in PUBLISHED[scene]]

    def visit(moment: Moment) -> None:
        if not out.unknowns:
            compile_first([*names, EXACT], moment.flow)
        out.unknowns.append(moment.led.result.system.unknowns)
        equal = tolerance(moment, PRACTICAL)
        _add(out, moment, EXACT, make(EXACT), moment.guess, 2)
        _add(out, moment, EQUAL, make(EXACT, tolerance=equal), moment.guess, 2)
        _add(out, moment, f"{EQUAL}, from p = 0", make(EXACT, tolerance=equal), None, 2)
        for name in names:
            quick = name in ("OrigPS", "OrigPSSep", "IOPDivSepBC")
            _add(out, moment, name, make(name), None, 2 if quick else 1)
            if len(out.unknowns) == 1:  # counts, at the first of the steps
                _add(out, moment, f"{name}, {FLAGS}", make(name, walls_from="flags"), None, 1)
        if scene == "dam":
            for label, (name, fields) in ACCELERATED.items():
                _add(out, moment, label, make(name, **fields), None, 1)

    out.ended = walk(scene, size, frames, make(EXACT), visit, tell)
    return out


def _add(out: Costs, moment: Moment, label: str, projection: Any, guess: Guess | None, repeats: int) -> None:
    done = call(projection, moment.flow, guess, repeats)
    loose, rest = leftover(moment.flow, done)
    out.calls.setdefault(label, []).append(Call(moment.frame, done.cg, done.outer, done.seconds, done.status, loose, rest))


def tolerance(moment: Moment, thresholds: Thresholds) -> float:
    """The scale-free tolerance with which the exact answer has the residual of OrigPS: epsilon_CG over max |b|, both in 1/s."""
    system = moment.led.result.system
    largest = compact(system, system.row_contact).largest_b
    return min(0.5, thresholds.cg / Units.of(moment.flow).rate(largest)) if largest else 1e-6


def _counts(made: Costs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    published = PUBLISHED[made.scene]
    for label, found in made.calls.items():
        name, _, variant = label.partition(", ")
        hers = published.get(name) if variant in ("", FLAGS) else None
        failed = sum(c.status != "converged" for c in found)
        rows.append(
            (
                label,
                made.mean(label, "cg"),
                "-" if hers is None else hers.cg,
                made.mean(label, "outer"),
                "-" if hers is None or hers.outer is None else hers.outer,
                made.mean(label, "seconds"),
                "-" if hers is None else hers.seconds,
                max(c.loose for c in found),
                max(c.rest for c in found),
                failed,
            )
        )
    columns = (
        "method", "CG or cycles", "Eckert", "outer", "Eckert", "s", "Eckert s", "divergence where it lets go", "elsewhere", "not converged",
    )  # fmt: skip
    return Table(
        f"{made.scene} at {made.size}: averages per step (Eckert, table {NUMBER[made.scene]})",
        columns,
        tuple(rows),
        "Cut cells; flags: the thesis' cells, first step only. Divergence: the largest left, in cells and her unit of time.",
    )


@dataclass(frozen=True, slots=True)
class Claim:
    what: str
    value: float | None
    bound: float
    least: bool

    @property
    def holds(self) -> bool:
        return self.value is None or (self.value >= self.bound if self.least else self.value <= self.bound)


def claims(made: Costs) -> list[Claim]:
    exact = made.mean(EQUAL, "seconds")
    out = [Claim("outer iterations of IOPDivSepBC, average", made.mean("IOPDivSepBC", "outer"), BOUNDARY_OUTER, least=False)]
    for name, times in AGAINST.items():
        out.append(Claim(f"times the exact one is faster than {name}, as published", ratio(made.mean(name, "seconds"), exact), times, True))
    if made.scene == "dam":
        for label in ACCELERATED:
            found = ratio(made.mean(label, "seconds"), exact)
            out.append(Claim(f"times the exact one is faster than {label}", found, AGAINST_ACCELERATED, True))
    out.append(Claim("time of the exact one by that of OrigPS", ratio(exact, made.mean("OrigPS", "seconds")), AGAINST_ORIGPS, False))
    residual = max((c.rest for c in made.calls.get(EQUAL, [])), default=0.0)
    out.append(Claim("its residual where nothing lets go, by epsilon_CG", residual / PRACTICAL.cg, 1.0, False))
    return out


def _shown(made: Costs) -> Table:
    rows = [(c.what, c.value, f"{'at least' if c.least else 'at most'} {c.bound:g}", c.holds) for c in claims(made)]
    return Table("What it must show", ("what", "found", "bound", "holds"), tuple(rows), f"The exact one: {EQUAL}, from the step before.")


def missed(made: Costs) -> list[str]:
    if made.scene != "dam":
        return []
    return [f"{c.what}: {c.value:.3g}, not {'at least' if c.least else 'at most'} {c.bound:g}" for c in claims(made) if not c.holds]


def _figures(made: Costs, options: Options, name: str) -> tuple[Path, ...]:
    if options.plots is None:
        return ()
    labels = [label for label in made.calls if not label.endswith(FLAGS)]
    out = []
    for what, text in (("cg", "iterations of CG"), ("seconds", "CPU seconds")):
        curves = {label: ([c.frame for c in made.calls[label]], [float(getattr(c, what)) for c in made.calls[label]]) for label in labels}
        path = options.plots / f"{name}-{what}.png"
        out.append(plots.lines(path, f"{made.scene} at {made.size}: {text} per step", "frame", text, curves))
    return tuple(out)


def _volumes(scene: str, options: Options) -> tuple[Table, list[str]]:
    """Runs in 2D with each method, and nothing else that keeps the volume."""
    size, frames = options.sizes_or(GRID)[0], options.frames_or(STEPS[scene])
    described = SCENES[scene](resolution=size, dimension=2, walls="separating")
    described = replace(described, numerics=replace(described.numerics, volume_source=False))
    rows: list[tuple[Cell, ...]] = []
    ended: list[str] = []
    with options.meter.steps(frames * len(VOLUMES), f"{scene}, volume") as step:
        for name in VOLUMES:
            try:
                found = watch(described, make(name), frames, (), lambda what, n=name: step(f"{n}, {what}"))  # type: ignore[misc]
            except (SolveError, StepsExceeded) as error:
                ended.append(f"{scene} in 2D with {name} ended: {error}")
                rows.append((name, None, None, VOLUME_SAID[scene].get(name, "-")))
                continue
            parts = np.array(found.volumes) / found.volumes[0]
            rows.append((name, 100.0 * (parts[-1] - 1.0), 100.0 * (float(parts.max()) - 1.0), VOLUME_SAID[scene].get(name, "-")))
    columns = ("method", "volume at the end %", "most %", "Eckert")
    note = "Change since the first step, without the source that corrects volume. Eckert's words are about 3D."
    return Table(f"{scene} in 2D at {size}, {frames} frames: volume", columns, tuple(rows), note), ended
