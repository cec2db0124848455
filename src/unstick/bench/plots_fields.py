"""Pictures of fields on 2D grids beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unstick.bench.plots import figure_of, save
from unstick.grid import Array


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    label: str
    values: Array  # (nx, ny)
    shown: Array  # bool: cells that have a value


def fields(path: Path, title: str, rows: Mapping[str, Sequence[Panel]]) -> Path:
    """One row of panels for each name; every panel has its own scale, whose top stands in its title."""
    columns = max(len(row) for row in rows.values())
    figure = figure_of(2.6 * columns + 0.3, 2.75 * len(rows) + 0.4)
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for line, (name, row) in zip(axes, rows.items(), strict=True):
        for axis, panel in zip(line, row, strict=False):
            top = float(np.max(panel.values, where=panel.shown, initial=0.0))
            shown = np.where(panel.shown, panel.values, np.nan)
            axis.imshow(shown.T, origin="lower", cmap="magma_r", vmin=0.0, vmax=top or 1.0, interpolation="nearest")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(f"{name}, {panel.label}, to {top:.1g}", fontsize=8)
    figure.suptitle(title, fontsize=10)
    return save(figure, path)
