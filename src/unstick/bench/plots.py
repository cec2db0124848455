"""Lines on logarithmic axes, for the figures of the thesis; matplotlib is loaded only here and only when a picture is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from unstick.checks import InvalidSystem

STYLES = ("-", "--", "-.", ":")
COLOURS = ("#1f5fa8", "#d1661c", "#3a8a3f", "#a83232", "#6b4fa0", "#7a5a3a", "#444444")


def lines(
    path: Path,
    title: str,
    x_label: str,
    y_label: str,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    x_log: bool = False,
    level: float | None = None,
) -> Path:
    """Draw named curves and save them; `level` is a horizontal line (the tolerance)."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidSystem("pictures need matplotlib: pip install 'unstick[bench]', or leave out --out") from None
    figure = Figure(figsize=(7.0, 4.6), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for at, (name, (x, y)) in enumerate(curves.items()):
        style, colour = STYLES[at // len(COLOURS) % len(STYLES)], COLOURS[at % len(COLOURS)]
        axis.plot(x, y, style, color=colour, marker="o", markersize=3, linewidth=1.4, label=name)
    if level is not None:
        axis.axhline(level, color="#888888", linewidth=0.8)
    axis.set_yscale("log")
    if x_log:
        axis.set_xscale("log", base=2)
    axis.set_title(title, fontsize=11)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axis.legend(fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path
