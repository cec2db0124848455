"""Averages over a hundred frames beside Lai's: tables 6.1-6.3 (iterations), 6.7-6.8 (outer iterations), 6.9-6.11 (seconds), figure 6.8."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unstick.bench import plots
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.over_time import EVERY, EXACT, SOLVERS_OVER_TIME, trajectories
from unstick.bench.published import SIZES
from unstick.bench.published_over_time import ITERATIONS, OUTER, SECONDS, TABLE, Row
from unstick.bench.raw_counts import Trajectory

FRAMES = 100
PUBLISHED: dict[str, dict[str, dict[str, Row]]] = {"iterations": ITERATIONS, "outer": OUTER, "seconds": SECONDS}
WITH_OUTER = ("default", EXACT, "pi-pcg", "pi-mg", "pe-pcg", "pe-mg", "newton")
POLICY = (EXACT, "pi-pcg", "pi-mg")
CYCLES, STEPS, GROWTH, POLICY_OUTER = 14.0, 14.0, 1.5, 4.0
TITLES = {"iterations": "iterations", "outer": "outer iterations", "seconds": "CPU seconds on one thread"}


def table_6_1(options: Options) -> Report:
    return _averages("circle", "iterations", (32, 64, 128, 256), options)


def table_6_2(options: Options) -> Report:
    return _averages("sphere", "iterations", (32, 64, 128), options)


def table_6_3(options: Options) -> Report:
    return _averages("maze", "iterations", (32, 64, 128), options)


def table_6_7(options: Options) -> Report:
    return _averages("circle", "outer", (32, 64, 128, 256), options)


def table_6_8(options: Options) -> Report:
    return _averages("sphere", "outer", (32, 64, 128), options)


def table_6_9(options: Options) -> Report:
    return _averages("circle", "seconds", (32, 64, 128, 256), options)


def table_6_10(options: Options) -> Report:
    return _averages("sphere", "seconds", (32, 64, 128), options)


def table_6_11(options: Options) -> Report:
    return _averages("maze", "seconds", (32, 64, 128), options)


def _averages(scene: str, what: str, sizes: tuple[int, ...], options: Options) -> Report:
    made = trajectories(scene, options.sizes_or(*sizes), options.frames_or(FRAMES), SOLVERS_OVER_TIME, options)
    names = WITH_OUTER if what == "outer" else tuple(name for name in SOLVERS_OVER_TIME if name != EXACT)
    failures = [*_ended(made), *_not_converged(made, names)]
    if what != "seconds":
        failures += missed(made)
    tables = (facts_table(made), averages_table(scene, what, names, made))
    return Report(f"lai-table-{TABLE[what, scene]}", tables, _notes(what, made), tuple(failures))


def facts_table(made: Sequence[Trajectory]) -> Table:
    """How hard the systems of a trajectory are."""
    rows: list[tuple[Cell, ...]] = []
    for t in made:
        contact = sum(m.contact for m in t.moments)
        several = [s.outer > 1 for s in t.of(EXACT)]
        rows.append(
            (
                t.size,
                t.moments[-1].frame if t.moments else 0,
                len(t.moments),
                int(np.mean([m.unknowns for m in t.moments])) if t.moments else None,
                int(contact / len(t.moments)) if t.moments else None,
                100 * sum(m.detached for m in t.moments) / contact if contact else None,
                100 * float(np.mean(several)) if several else None,
            )
        )
    columns = ("cells", "frames", "solves", "unknowns", "contact rows", "detached %", "more than one linear system, %")
    return Table(
        f"{made[0].scene}: the trajectory", columns, tuple(rows), f"Unknowns and contact rows: averages. Linear systems: of {EXACT}."
    )


def averages_table(scene: str, what: str, names: Sequence[str], made: Sequence[Trajectory]) -> Table:
    """Ours beside Lai's; how many solves did not converge stands behind the average."""
    published = PUBLISHED[what].get(scene, {})
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        cells: list[Cell] = [f"{name} (every {EVERY[name]}th)" if name in EVERY else "pcg (No LCP)" if name == "pcg" else name]
        for t in made:
            mean, failed = t.mean(name, what), t.failed(name)
            cells += [f"{mean:.4g} ({failed} of {len(t.of(name))} failed)" if failed and mean is not None else mean]
            cells += [_lai(published.get(name), t.size)]
        rows.append(tuple(cells))
    columns = ("solver", *(c for t in made for c in (str(t.size), "Lai")))
    return Table(f"{scene}: average {TITLES[what]} per pressure solve (Lai, table {TABLE[what, scene]})", columns, tuple(rows))


def _lai(row: Row | None, size: int) -> str:
    if row is None or size not in SIZES or SIZES.index(size) >= len(row):
        return "-"
    value = row[SIZES.index(size)]
    return "-" if value is None else f"{value:g}"


def _notes(what: str, made: Sequence[Trajectory]) -> tuple[str, ...]:
    own = sorted({str(t.machine.get("processor")) for t in made})
    return (
        "The default makes the trajectory, with separating walls; every solver solves each of its systems from its own last result.",
        "Stopping test: max |min(p, A p + b)| <= 1e-6 with density 1 (Lai's absolute one).",
        f"newton solves every {EVERY['newton']}th system, from the default's last result. pcg and mgpcg: the sticking form of the systems.",
        "Lai's simulator is another one (semi-Lagrangian, his substeps), and so are its systems: compare growth with size first.",
        *((f"Seconds were taken on: {', '.join(own)}. Lai's are of another machine.",) if what == "seconds" else ()),
        *(
            (f"All but {EXACT} solve a linear system whose set is still wrong to a part of the residual, so that they take two at least.",)
            if what == "outer"
            else ()
        ),
        *(("Lai counts the steps of line searches as iterations of newton, ours do not.",) if what == "iterations" else ()),
    )


def _ended(made: Sequence[Trajectory]) -> list[str]:
    return [t.ended for t in made if t.ended]


def _not_converged(made: Sequence[Trajectory], names: Sequence[str]) -> list[str]:
    return [
        f"{name} on {t.scene} at {t.size}: {t.failed(name)} of {len(t.of(name))} solves did not converge"
        for t in made
        for name in names
        if t.failed(name)
    ]


def missed(made: Sequence[Trajectory]) -> list[str]:
    """The promises about averages: on the sphere at every size, and about growth from the smallest to the largest."""
    found = [f"{name} has no solve on {t.scene} at {t.size}" for t in made for name in SOLVERS_OVER_TIME if not t.of(name)]
    if made[0].scene == "sphere":
        for name, most, unit in (("fas-mg", CYCLES, "cycles"), ("default", STEPS, "steps of conjugate gradients")):
            means = [(t.size, t.mean(name, "iterations") or 0.0) for t in made if t.size <= 128]
            found += [f"{name} takes {mean:.1f} {unit} on average at {size}, not {most:.0f}" for size, mean in means if mean > most]
            (small, first), (large, last) = min(means, default=(0, 0.0)), max(means, default=(0, 0.0))
            if last > GROWTH * first:
                found.append(f"the {unit} of {name} grow {last / first:.2f} times from {small} to {large}, not {GROWTH}")
    for t in made:
        for name in POLICY:
            warm = [solve.outer for solve in t.of(name)][1:]  # the first starts from nothing
            outer = float(np.mean(warm)) if warm else 0.0
            if outer > POLICY_OUTER:
                found.append(f"{name} takes {outer:.2f} outer iterations on {t.scene} at {t.size} on average, warm, not {POLICY_OUTER:.0f}")
    return found


def figure_6_8(options: Options) -> Report:
    """How many solves needed how many outer iterations: sphere at 128."""
    size = options.sizes_or(128)[0]
    made = trajectories("sphere", (size,), options.frames_or(FRAMES), SOLVERS_OVER_TIME, options)
    t = made[0]
    names = [name for name in WITH_OUTER if name not in EVERY]
    counts = {name: Counter(solve.outer for solve in t.of(name)) for name in names}
    most = max((max(c, default=0) for c in counts.values()), default=0)
    rows: list[tuple[Cell, ...]] = [(k, *(counts[name].get(k, 0) for name in names)) for k in range(most + 1)]
    pictures: tuple[Path, ...] = ()
    if options.plots is not None:
        groups = {name: [float(counts[name].get(k, 0)) for k in range(most + 1)] for name in names}
        title = f"sphere at {size}: pressure solves by their outer iterations ({t.frames} frames)"
        pictures = (plots.bars(options.plots / "lai-fig-6.8.png", title, "outer iterations", "pressure solves", groups),)
    several = 100 * float(np.mean([solve.outer > 1 for solve in t.of(EXACT)])) if t.of(EXACT) else 0.0
    notes = (
        f"{several:.0f} % of the solves take more than one outer iteration of {EXACT}.",
        "Lai: about 93 % of his are LCP problems, and some of them take one.",
        "Warm starts. 0: the last result still solved the new system.",
    )
    table = Table(f"sphere at {size}: solves by outer iterations (Lai, figure 6.8)", ("outer", *names), tuple(rows))
    return Report("lai-fig-6.8", (facts_table(made), table), notes, (*_ended(made), *_not_converged(made, names)), pictures)
