"""Lines, bars and snapshots for the figures of the papers; matplotlib is loaded only here and only when a picture is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.grid import Array

STYLES = ("-", "--", "-.", ":")
COLOURS = ("#1f5fa8", "#d1661c", "#3a8a3f", "#a83232", "#6b4fa0", "#7a5a3a", "#444444")
WATER, SOLID = "#2f7fc1", "#d9d4cc"

Curve = tuple[Sequence[float], Sequence[float]]


def figure_of(width: float, height: float) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSystem("pictures need matplotlib: pip install 'unstick[bench]', or leave out --out") from None
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def _label(axis: Any, title: str, x_label: str, y_label: str) -> None:
    axis.set_title(title, fontsize=11)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.legend(fontsize=9)


def lines(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    curves: Mapping[str, Curve],
    x_log: bool = False,
    level: float | None = None,
    y_log: bool = True,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]] | None = None,
) -> Path:
    """Draw named curves and save them; `level` is a horizontal line (the tolerance); a band (x, low, high) is that of its curve."""
    figure = figure_of(7.0, 4.6)
    axis = figure.subplots()
    for at, (name, (x, y)) in enumerate(curves.items()):
        style, colour = STYLES[at // len(COLOURS) % len(STYLES)], COLOURS[at % len(COLOURS)]
        axis.plot(x, y, style, color=colour, marker="o" if len(x) <= 100 else None, markersize=3, linewidth=1.4, label=name)
        if bands is not None and name in bands:
            axis.fill_between(*bands[name], color=colour, alpha=0.2, linewidth=0)
    if level is not None:
        axis.axhline(level, color="#888888", linewidth=0.8)
    if y_log:
        axis.set_yscale("log")
    if x_log:
        axis.set_xscale("log", base=2)
    _label(axis, title, x_label, y_label)
    return save(figure, path)


def bars(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    groups: Mapping[str, Sequence[float]],
    ticks: Sequence[str] = (),
    y_log: bool = False,
) -> Path:
    """Draw named groups of bars beside each other and save them; bar k of each group stands at k."""
    figure = figure_of(7.0, 4.6)
    axis = figure.subplots()
    width = 0.84 / max(1, len(groups))
    for at, (name, values) in enumerate(groups.items()):
        x = np.arange(len(values)) - 0.42 + (at + 0.5) * width
        axis.bar(x, values, width, color=COLOURS[at % len(COLOURS)], label=name)
    length = max((len(values) for values in groups.values()), default=0)
    if y_log:
        axis.set_yscale("log")
    axis.set_xticks(range(length), ticks or [str(k) for k in range(length)])
    _label(axis, title, x_label, y_label)
    return save(figure, path)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Particles of a 2D run and the walls around them."""

    label: str
    points: Array  # (n, 2)
    nodes_x: Array
    nodes_y: Array
    solid: Array  # distance at nodes, negative inside the solid


def snapshots(path: Path, title: str, rows: Mapping[str, Sequence[Snapshot]]) -> Path:
    """Draw rows of snapshots, one for each run, and save them."""
    columns = max(len(row) for row in rows.values())
    figure = figure_of(2.6 * columns + 0.3, 2.75 * len(rows) + 0.4)
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for line, (name, row) in zip(axes, rows.items(), strict=True):
        for axis, shot in zip(line, row, strict=False):
            axis.contourf(shot.nodes_x, shot.nodes_y, shot.solid.T, levels=[-1e9, 0.0], colors=[SOLID])
            axis.scatter(shot.points[:, 0], shot.points[:, 1], s=max(0.2, min(3.0, 8000 / max(len(shot.points), 1))), c=WATER, linewidths=0)
            axis.set_aspect("equal")
            axis.set_xlim(shot.nodes_x[0], shot.nodes_x[-1])
            axis.set_ylim(shot.nodes_y[0], shot.nodes_y[-1])
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(f"{name}, {shot.label}", fontsize=9)
    figure.suptitle(title, fontsize=11)
    return save(figure, path)
