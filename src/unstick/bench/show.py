"""A report on the screen, and in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from unstick.bench.harness import Cell, Report, Table


def show(report: Report, console: Console) -> None:
    for table in report.tables:
        grid = _grid(table)
        if not console.is_terminal:  # a file or a pipe has no width
            console.width = max(console.width, console.measure(grid, options=console.options.update(width=1000)).maximum)
        console.print(grid)
        if table.note:
            console.print(Text(table.note, style="dim"))
        console.print()
    for note in report.notes:
        console.print(Text(note))
    for picture in report.pictures:
        console.print(Text(f"picture: {picture}"))
    for failure in report.failures:
        console.print(Text(f"not shown: {failure}", style="bold red"))
    console.print(Text(" · ".join(f"{key} {value}" for key, value in report.machine.items()), style="dim"))


def _grid(table: Table) -> Grid:
    grid = Grid(title=table.title, title_justify="left", title_style="bold", header_style="", pad_edge=False)
    for at, column in enumerate(table.columns):
        numbers = any(isinstance(row[at], (int, float, np.number)) for row in table.rows)
        grid.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(text_of(value) for value in row))
    return grid


def text_of(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        size = abs(float(value))
        if size == 0:
            return "0"
        if not np.isfinite(size):
            return str(value)
        return f"{value:.1e}" if size < 1e-3 or size >= 1e6 else f"{value:.0f}" if size >= 1000 else f"{value:.3g}"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}" if abs(int(value)) >= 10_000 else str(value)
    return value


def markdown(report: Report) -> str:
    """The report as a page for docs/results/."""
    lines = [f"# {report.name}", ""]
    for table in report.tables:
        lines += [f"## {table.title}", "", "| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
        lines += ["| " + " | ".join(text_of(value) for value in row) + " |" for row in table.rows]
        lines += ["", table.note, ""] if table.note else [""]
    lines += [*(f"- {note}" for note in report.notes), *(f"- **not shown**: {failure}" for failure in report.failures), ""]
    lines.append("Machine: " + ", ".join(f"{key} {value}" for key, value in report.machine.items()))
    return "\n".join(lines) + "\n"


def write(report: Report, path: Path) -> None:
    """Write JSON, or markdown where the name ends in .md; whole or not at all."""
    text = markdown(report) if path.suffix == ".md" else json.dumps(report.as_json(), indent=1) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
