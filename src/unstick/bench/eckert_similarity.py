"""Eckert's section 4.3: table 4.3 and figures 4.8, 4.10, 4.11, 4.14, on identical inputs; and how far each answer is from the exact one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unstick.bench import plots, plots_fields
from unstick.bench.eckert_flows import Moment, moments
from unstick.bench.eckert_identical import EVERY, FRAMES, HIGH, LOW, METHODS, STICKING, Study, curve, over_frames, study
from unstick.bench.eckert_methods import EXACT, EXACT_STICKING, PRACTICAL, TIGHT, Units, call, make
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.published_eckert import (
    DIFFERENCE_STEPS,
    GRID,
    LOW_HIGH_BC,
    ORIGPS_SEP_DIFFERS,
    SAME_INPUT,
    SAME_INPUT_BC,
    SAME_INPUT_BC_OUTER,
    SIMILAR_PRACTICAL,
    SIMILAR_SEPARATING,
    SIMILAR_STICKING,
)
from unstick.grid import Array

# "To the order of the thresholds"
TIGHT_BOUND = 10.0 * TIGHT.velocity
PRACTICAL_BOUND = 10.0 * max(PRACTICAL.velocity, PRACTICAL.divergence)
LEAVES = 10.0 * PRACTICAL.divergence  # divergence that origps-sep leaves at detached walls, at least
OUTER = ("ADMMVelSep", "ADMMDivSep", "IOPDivSep")


def table_4_3(options: Options) -> Report:
    made = _study(options)
    rows: list[tuple[Cell, ...]] = []
    order = [name + how for name in (*METHODS, *STICKING) for how in (HIGH, LOW)]
    for label in [*order, EXACT, EXACT_STICKING]:
        if label not in made.calls:
            continue
        theirs = SAME_INPUT.get(label)
        hers = theirs or _also(label)
        failed = made.failed(label)
        rows.append(
            (
                label,
                len(made.calls[label]),
                made.mean(label, "cg"),
                "-" if hers is None else hers[0] if isinstance(hers, tuple) else hers.cg,
                made.mean(label, "outer"),
                "-" if theirs is None or theirs.outer is None else theirs.outer,
                made.mean(label, "seconds"),
                "-" if theirs is None else theirs.seconds,
                made.worst(label, "loose"),
                made.worst(label, "rest"),
                failed,
            )
        )
    columns = (
        "method", "flows", "CG or cycles", "Eckert", "outer", "Eckert", "s", "Eckert s", "divergence where it lets go", "elsewhere",
        "not converged",
    )  # fmt: skip
    counts = Table(
        f"{made.scene} at {made.size}: averages on identical inputs (Eckert, table 4.3)",
        columns,
        tuple(rows),
        "Divergence: the largest that is left, in cells and her unit of time. Where liquid lets go the exact answer opens a gap as well.",
    )
    return Report("eckert-table-4.3", (counts, _distances(made), _shown(made)), _notes(made), tuple(missed(made)))


def _also(label: str) -> tuple[int] | None:
    """Counts of section 4.4 by practical thresholds."""
    name = label.removesuffix(LOW)
    return (SAME_INPUT_BC[name],) if label.endswith(LOW) and name in ("OrigPSSep", "IOPDivSepBC") else None


def _study(options: Options) -> Study:
    return study(options.sizes_or(GRID)[0], options.frames_or(FRAMES), options)


def _notes(made: Study) -> tuple[str, ...]:
    return (
        f"Flows of every {EVERY}th frame of a run whose walls stick. High: {TIGHT.cg:g} inside, {TIGHT.velocity:g} outside.",
        f"Low: epsilon_CG and of velocities {PRACTICAL.cg:g}, of the divergence {PRACTICAL.divergence:g}. Cut cells, PCG inside.",
        f"Differences: largest over open faces beside liquid, in cells per unit of time. {EXACT}: tolerance 1e-10.",
        "The exact answer lets go where p = 0 and the gap opens; hers where the liquid moves away after one solve that sees no walls.",
        *((made.ended,) if made.ended else ()),
    )


def _distances(made: Study) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name in METHODS[1:]:
        rows.append((name, "separating", *_both(made, name, EXACT)))
    for name in ("OrigPS", *STICKING):
        rows.append((name, "sticking", *_both(made, name, EXACT_STICKING)))
    columns = ("method", "walls", "tight: median", "tight: largest", "practical: median", "practical: largest")
    return Table("How far each is from the exact answer", columns, tuple(rows), "In cells per unit of time, over the flows.")


def _both(made: Study, name: str, exact: str) -> tuple[Cell, ...]:
    out: list[Cell] = []
    for how in (HIGH, LOW):
        values = list(made.gap(name + how, exact).values())
        out += [float(np.median(values)), max(values)] if values else [None, None]
    return tuple(out)


@dataclass(frozen=True, slots=True)
class Claim:
    """A pair, or a divergence, with its bound."""

    what: str
    value: float | None
    bound: float
    least: bool = False  # the bound is a lower one
    hers: str = "-"

    @property
    def holds(self) -> bool:
        return self.value is None or (self.value >= self.bound if self.least else self.value <= self.bound)


def claims(made: Study) -> list[Claim]:
    def pair(a: str, b: str, how: str, hers: Sequence[float]) -> Claim:
        text = f"{hers[0]:g} to {hers[1]:g}"
        what = f"{a} and {b}, {'tight' if how == HIGH else 'practical'}"
        return Claim(what, made.largest(a + how, b + how), TIGHT_BOUND if how == HIGH else PRACTICAL_BOUND, hers=text)

    out = [pair(a, b, HIGH, SIMILAR_SEPARATING) for a, b in _combinations(OUTER)]
    out += [pair(a, b, HIGH, SIMILAR_STICKING) for a, b in _combinations(("OrigPS", *STICKING))]
    out += [pair(a, b, LOW, SIMILAR_PRACTICAL) for a, b in _combinations(OUTER)]
    out.append(Claim("OrigPSSep leaves divergence where it lets go", made.worst("OrigPSSepLow", "loose"), LEAVES, least=True, hers="yes"))
    return out


def _combinations(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def _shown(made: Study) -> Table:
    rows = [(c.what, c.value, f"{'at least' if c.least else 'at most'} {c.bound:g}", c.hers, c.holds) for c in claims(made)]
    note = f"Ten thresholds: tight {TIGHT.velocity:g}, practical {PRACTICAL.divergence:g}. Cells per unit of time."
    return Table("What it must show", ("difference of velocities", "largest", "bound", "Eckert", "holds"), tuple(rows), note)


def missed(made: Study) -> list[str]:
    found = [made.ended] if made.ended else []
    for c in claims(made):
        if not c.holds and c.value is not None:
            found.append(f"{c.what}: {c.value:.2g}, not {'at least' if c.least else 'at most'} {c.bound:g}")
    return found


def figure_4_8(options: Options) -> Report:
    """What each costs over the frames."""
    made = _study(options)
    names = [name + how for name in ("OrigPS", "OrigPSSep", *OUTER) for how in (LOW, HIGH) if name in OUTER or how == HIGH]
    rows: list[tuple[Cell, ...]] = [
        (label, made.mean(label, "cg"), made.worst(label, "cg"), made.mean(label, "outer"), made.worst(label, "outer"))
        for label in names
        if label in made.calls
    ]
    pictures: list[Path] = []
    if options.plots is not None:
        for what, text, part in (("cg", "iterations of CG", "a"), ("outer", "outer iterations", "b"), ("seconds", "CPU seconds", "c")):
            shown = [n for n in names if what != "outer" or n.startswith(("ADMM", "IOP"))]
            path = options.plots / f"eckert-fig-4.8{part}.png"
            title = f"{made.scene} at {made.size}: {text} per step (Eckert, figure 4.8 {part})"
            pictures.append(plots.lines(path, title, "frame", text, over_frames(made, shown, what)))
    columns = ("method", "CG, average", "CG, most", "outer, average", "outer, most")
    table = Table(f"{made.scene} at {made.size}: over the frames (Eckert, figure 4.8)", columns, tuple(rows))
    return Report("eckert-fig-4.8", (table,), _notes(made), (), tuple(pictures))


FIGURE_4_10: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "a": ("separating, tight", [(a + HIGH, b + HIGH) for a, b in _combinations(OUTER)]),
    "b": ("sticking, tight", [(a + HIGH, b + HIGH) for a, b in _combinations(("OrigPS", *STICKING))]),
    "c": ("separating, practical", [(a + LOW, b + LOW) for a, b in _combinations(OUTER)]),
    "d": ("OrigPSSep and the others, tight", [("OrigPSSep" + HIGH, name + HIGH) for name in OUTER]),
    "e": ("practical and tight ADMMVelSep", [(name + LOW, "ADMMVelSep" + HIGH) for name in OUTER]),
    "f": ("OrigPSSep tight, the others practical", [("OrigPSSep" + HIGH, name + LOW) for name in OUTER]),
    "exact": ("separating, practical, and the exact answer", [(name + LOW, EXACT) for name in METHODS[1:]]),
}
HERS_4_10 = {
    "a": "{:g} to {:g}".format(*SIMILAR_SEPARATING),
    "b": "{:g} to {:g}".format(*SIMILAR_STICKING),
    "c": "{:g} to {:g}".format(*SIMILAR_PRACTICAL),
    "d": f"about {ORIGPS_SEP_DIFFERS:g}",
    "f": f"about {ORIGPS_SEP_DIFFERS:g}",
}


def figure_4_10(options: Options) -> Report:
    made = _study(options)
    rows: list[tuple[Cell, ...]] = []
    pictures: list[Path] = []
    for part, (text, chosen) in FIGURE_4_10.items():
        values = [v for a, b in chosen for v in made.gap(a, b).values()]
        rows.append((part, text, min(values, default=None), float(np.median(values)) if values else None, max(values, default=None),
                     HERS_4_10.get(part, "-")))  # fmt: skip
        if options.plots is not None:
            curves = {f"{a} - {b}": curve(made.gap(a, b)) for a, b in chosen if made.gap(a, b)}
            title = f"{made.scene}: {text} (Eckert, figure 4.10)"
            pictures.append(plots.lines(options.plots / f"eckert-fig-4.10-{part}.png", title, "frame", "cells per unit of time", curves))
    columns = ("part", "methods", "least", "median", "largest", "Eckert")
    table = Table(f"{made.scene} at {made.size}: largest differences of velocities (Eckert, figure 4.10)", columns, tuple(rows))
    return Report("eckert-fig-4.10", (table, _shown(made)), _notes(made), tuple(missed(made)), tuple(pictures))


def figure_4_11(options: Options) -> Report:
    """Where practical answers differ from the tight one."""
    size, last = options.sizes_or(GRID)[0], options.frames_or(max(DIFFERENCE_STEPS))
    at = sorted({min(step, last) for step in DIFFERENCE_STEPS})
    with options.meter.steps(max(at), "dam-2d") as step:
        found, ended = moments("dam-2d", size, at, make(EXACT_STICKING), step)
    rows: list[tuple[Cell, ...]] = []
    panels: dict[str, list[plots_fields.Panel]] = {}
    for moment in found:
        agreed = call(make("ADMMVelSep", TIGHT, max_iterations=20_000), moment.flow).projected.velocity
        for name in OUTER:
            other = call(make(name, PRACTICAL), moment.flow).projected.velocity
            field = _difference_field(moment, agreed.components, other.components)
            largest = float(field.max(initial=0.0))
            rows.append((moment.frame, name, largest, 100.0 * float(np.mean(field > 0.1 * largest)) if largest else 0.0))
            panels.setdefault(name, []).append(plots_fields.Panel(f"frame {moment.frame}", field, moment.flow.liquid_phi[:, :, 0] < 0))
    pictures: tuple[Path, ...] = ()
    if options.plots is not None and panels:
        title = f"dam-2d at {size}: practical less tight ADMMVelSep, cells per unit of time (Eckert, figure 4.11)"
        pictures = (plots_fields.fields(options.plots / "eckert-fig-4.11.png", title, panels),)
    table = Table(
        f"dam-2d at {size}: where practical answers differ from tight ADMMVelSep (Eckert, figure 4.11)",
        ("frame", "method", "largest, cells per unit of time", "cells with more than a tenth of it, %"),
        tuple(rows),
    )
    notes = ("Speed of the difference at cell centres. Her frames are of another simulator: the moments are not the same.",)
    return Report("eckert-fig-4.11", (table,), notes, (ended,) if ended else (), pictures)


def _difference_field(moment: Moment, a: Sequence[Array], b: Sequence[Array]) -> Array:
    """|a - b| at the centres of liquid cells of a 2D flow, in the thesis' units."""
    u, v = (a[axis][:, :, 0] - b[axis][:, :, 0] for axis in range(2))
    speed = np.hypot(0.5 * (u[1:] + u[:-1]), 0.5 * (v[:, 1:] + v[:, :-1]))
    return np.where(moment.flow.liquid_phi[:, :, 0] < 0.0, speed * Units.of(moment.flow).speed(1.0), 0.0)


def figure_4_14(options: Options) -> Report:
    """How far OrigPSSep, IOPDivSep and IOPDivSepBC are from each other."""
    made = _study(options)
    sets: dict[str, tuple[str, list[tuple[str, str]]]] = {
        "a": ("OrigPSSep and IOPDivSepBC", [("OrigPSSep" + how, "IOPDivSepBC" + how) for how in (LOW, HIGH)]),
        "b": ("IOPDivSep and IOPDivSepBC", [("IOPDivSep" + how, "IOPDivSepBC" + how) for how in (LOW, HIGH)]),
        "c": ("IOPDivSepBC by practical and by tight thresholds", [("IOPDivSepBC" + LOW, "IOPDivSepBC" + HIGH)]),
    }
    rows: list[tuple[Cell, ...]] = []
    pictures: list[Path] = []
    for part, (text, chosen) in sets.items():
        for a, b in chosen:
            values = list(made.gap(a, b).values())
            hers = "{:g} to {:g}".format(*LOW_HIGH_BC) if part == "c" else "large" if part == "a" else "larger than OrigPSSep's"
            rows.append((part, f"{a} - {b}", float(np.median(values)) if values else None, max(values, default=None), hers))
        if options.plots is not None:
            curves = {f"{a} - {b}": curve(made.gap(a, b)) for a, b in chosen if made.gap(a, b)}
            title = f"{made.scene}: {text} (Eckert, figure 4.14)"
            pictures.append(plots.lines(options.plots / f"eckert-fig-4.14{part}.png", title, "frame", "cells per unit of time", curves))
    table = Table(
        f"{made.scene} at {made.size}: differences with boundaries known inside (Eckert, figure 4.14)",
        ("part", "pair", "median", "largest", "Eckert"),
        tuple(rows),
        f"Outer iterations of IOPDivSepBC: {made.mean('IOPDivSepBC' + LOW, 'outer') or 0.0:.2f} on average, hers {SAME_INPUT_BC_OUTER:g}.",
    )
    return Report("eckert-fig-4.14", (table,), _notes(made), (), tuple(pictures))
