"""FAS multigrid with one part replaced by the simpler or the usual one (Lai, table 6.12), on the sphere."""

from __future__ import annotations

from typing import Any

from unstick.bench.cases import LAI, compile_first, run_once, system_of
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.published import ABLATIONS, lai
from unstick.solvers.fas import FasMg
from unstick.solvers.multigrid.coarse import Direct, Galerkin
from unstick.solvers.multigrid.transfers import Transfer

LIMIT = 700  # the longest published count is 616


def variant(**parts: Any) -> FasMg:
    """Plain cycles, as in the thesis: the line search of `fas-mg` would lengthen the steps of a slow cycle and hide what is slow."""
    return FasMg(**LAI, max_iterations=LIMIT, **{"line_search": False, **parts})


# title -> (solver, whether it is expected to be far worse)
VARIANTS: dict[str, tuple[FasMg, bool]] = {
    "barycentric (ours)": (variant(), False),
    "trilinear": (variant(transfer=Transfer(kind="trilinear")), False),
    "piecewise constant": (variant(transfer=Transfer(kind="constant")), True),
    "simple boundaries": (variant(transfer=Transfer(one_sided=False, rescaled=False, components=False)), True),
    "direct discretisation": (variant(coarse=Direct()), True),
    "active rows kept in coarse matrices": (variant(coarse=Galerkin(truncated=False)), False),
    "one unknown per block": (variant(transfer=Transfer(components=False)), False),
    "no full-multigrid start": (variant(start="none"), False),
    "ours with line search (fas-mg)": (variant(line_search=True), False),
    "piecewise constant with line search": (variant(transfer=Transfer(kind="constant"), line_search=True), False),
}
FAR = 2.0  # times the cycles of ours at the largest size, or no convergence


def run(options: Options) -> Report:
    sizes = options.sizes_or(32, 64, 128)
    counts: dict[str, list[Cell]] = {title: [] for title in VARIANTS}
    costs: list[tuple[Cell, ...]] = []
    ours: list[int] = []
    failures = []
    with options.meter.steps(sum(s**3 * (8.0 if bad else 1.0) for s in sizes for _, bad in VARIANTS.values()), "ablations") as step:
        for size in sizes:
            for title, (chosen, bad) in VARIANTS.items():
                step(f"{title} at {size}", size**3 * (8.0 if bad else 1.0))
                compile_first(chosen)
                done = run_once(chosen, system_of("sphere", size))
                result = done.result
                counts[title].append(done.iterations)
                if title in ABLATIONS:
                    counts[title].append(lai(ABLATIONS[title], size))
                setup = result.work.get("setup_units", 0.0)
                costs.append((title, size, done.iterations, done.work - setup, setup, done.seconds, result.residual))
                if title == "barycentric (ours)":
                    ours.append(result.iterations)
                if size == sizes[-1] >= 64 and bad and result.converged and result.iterations < FAR * ours[-1]:
                    failures.append(f"{title} needs {result.iterations} cycles at {size}, not far more than the {ours[-1]} of ours")
                if not bad and title in ABLATIONS and not result.converged:
                    failures.append(f"{title} at {size} ended {result.status.name}")
    rows = tuple((t, *(c for at in range(len(sizes)) for c in _pair(t, counts[t], at))) for t in VARIANTS)
    tables = (
        Table(
            "Cycles on the sphere, cold, absolute tolerance 1e-6 (Lai, table 6.12)",
            ("variant", *(c for s in sizes for c in (str(s), "Lai"))),
            rows,
        ),
        Table("Cost", ("variant", "cells", "cycles", "work units", "set-up units", "seconds", "residual"), tuple(costs)),
    )
    notes = (
        "The first five are those of the thesis, the others show what else the method stands on.",
        "Without the line search of fas-mg, which the thesis does not have: it changes nothing for ours, and hides half of what is slow.",
    )
    return Report("ablations", tables, notes, tuple(failures))


def _pair(title: str, cells: list[Cell], at: int) -> tuple[Cell, Cell]:
    return (cells[2 * at], cells[2 * at + 1]) if title in ABLATIONS else (cells[at], None)
