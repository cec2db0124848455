"""Residual against cycles, as in Lai's figures 6.9-6.11: FAS-MG, PI-MG, PE-MG (V-cycles in total) and FMG (full cycles)."""

from __future__ import annotations

import numpy as np

from unstick.bench.cases import LAI, solver, system_of
from unstick.bench.harness import Cell, Options, Report, Table
from unstick.bench.plots import lines
from unstick.bench.published import FRAME_COUNTS, lai
from unstick.result import SolveResult, UnsupportedSystem

METHODS = ("fas-mg", "pi-mg", "pe-mg", "fmg", "fmg-literal")
FIGURES = {"sphere": "6.9", "sphere-box": "6.10", "double-sphere": "6.11"}


def figure_6_9(options: Options) -> Report:
    return _figure("sphere", options)


def figure_6_10(options: Options) -> Report:
    return _figure("sphere-box", options)


def figure_6_11(options: Options) -> Report:
    return _figure("double-sphere", options)


def _figure(frame: str, options: Options) -> Report:
    number = FIGURES[frame]
    tables, pictures, failures = [], [], []
    for size in options.sizes_or(64):
        curves: dict[str, tuple[list[float], list[float]]] = {}
        rows: list[tuple[Cell, ...]] = []
        with options.meter.steps(len(METHODS) + 1, f"{frame} at {size}") as step:
            for name in (*METHODS, "default"):
                step(name)
                try:
                    result = solver(name, **LAI, max_iterations=2000).solve(system_of(frame, size))
                except UnsupportedSystem:
                    continue
                cycles, residuals = history(result)
                curves[name] = (cycles, residuals)
                rate = (residuals[-1] / residuals[0]) ** (1.0 / max(cycles[-1], 1.0)) if residuals[0] else np.nan
                published = lai(FRAME_COUNTS[frame].get(name.removesuffix("-literal")), 256)
                rows.append(
                    (name, result.iterations, result.outer_iterations, result.residual, rate, result.status.name.lower(), published)
                )
                if name == "fas-mg" and not result.converged:
                    failures.append(f"fas-mg on {frame} at {size} ended {result.status.name}")
        columns = ("solver", "cycles", "outer", "residual reached", "factor per cycle", "ended", "Lai's cycles at 256")
        tables.append(Table(f"{frame} at {size}: convergence (Lai, figure {number})", columns, tuple(rows)))
        tables.append(_trace(frame, size, curves))
        if options.plots is not None:
            title = f"{frame}, {size} cells a side (compare Lai 2021, figure {number})"
            path = options.plots / f"lai-fig-{number}-{size}.png"
            pictures.append(lines(path, title, "cycles", "max |min(p, A p + b)|", curves, level=LAI["tolerance"]))
    notes = (
        "Methods that record one residual an outer iteration are drawn with their cycles spread evenly over these.",
        "The thesis prints these figures as curves at 256 without numbers; its cycle counts stand in tables 6.4-6.6.",
    )
    return Report(f"lai-fig-{number}", tuple(tables), notes, tuple(failures), tuple(pictures))


def history(result: SolveResult) -> tuple[list[float], list[float]]:
    """Residuals against inner iterations spent; solvers that record one residual per outer iteration spread their cycles evenly."""
    residuals = [r for r in result.residuals[:-1] if np.isfinite(r)] or [result.residual]
    residuals[-1] = result.residual
    first = 1.0 if len(residuals) == result.iterations else 0.0  # nothing recorded before the first cycle
    return list(np.linspace(first, float(result.iterations), len(residuals))), residuals


def _trace(frame: str, size: int, curves: dict[str, tuple[list[float], list[float]]]) -> Table:
    """The first entries of each curve, as numbers."""
    shown = 12
    rows: list[tuple[Cell, ...]] = []
    for name, (_, residuals) in curves.items():
        cells: list[Cell] = [f"{r:.1e}" for r in residuals[:shown]]
        rows.append((name, *cells, *([None] * (shown - len(cells)))))
    return Table(f"{frame} at {size}: residuals as recorded", ("solver", *(str(i) for i in range(shown))), tuple(rows))
