"""stats.jsonl: one line for each pressure solve, on disk as soon as its step is done."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from unstick.liquid.report import StepReport
from unstick.liquid.state import State
from unstick.result import SolveResult

KEYS = tuple(f.name for f in dataclasses.fields(StepReport))


class StatsFile:
    """Appends lines; a line that could not be written whole is taken back."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        self._file = self.path.open("ab", buffering=0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def write(self, report: StepReport) -> None:
        self._append(dataclasses.asdict(report))

    def write_failed(self, state: State, result: SolveResult) -> None:
        """The line of a solve that failed: what only a complete step knows is null."""
        line = dict.fromkeys(KEYS) | {
            "frame": state.frame + 1,
            "step": state.step + 1,
            "solver": result.solver,
            "status": result.status.name,
            "iterations": result.iterations,
            "outer_iterations": result.outer_iterations,
            "residual": result.residual,
            "unknowns": result.system.unknowns,
            "contact": int(result.system.row_contact.sum()),
            "detached": int(result.row_detached.sum()),
            "repaired": result.notes,
            "seconds": {},
        }
        self._append(line)

    def _append(self, line: dict[str, Any]) -> None:
        whole = (json.dumps({key: _plain(value) for key, value in line.items()}) + "\n").encode()
        before = os.fstat(self._file.fileno()).st_size
        try:
            rest = whole
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            os.ftruncate(self._file.fileno(), before)
            raise


def _plain(value: Any) -> Any:
    """As JSON knows it; NaN and infinities are null."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(offset of its end, object) of each line, up to the first that is not whole."""
    end = 0
    with path.open("rb") as file:
        for raw in file:
            end += len(raw)
            try:
                line = json.loads(raw) if raw.endswith(b"\n") else None
            except ValueError:
                line = None
            if not isinstance(line, dict) or not isinstance(line.get("step"), int):
                return
            yield end, line


def keep_until(path: Path, step: int) -> int:
    """Drop the lines of later steps, and what is not whole. Returns how many steps up to `step` have no line."""
    if not path.exists():
        return step
    kept, steps = 0, 0
    for end, line in read_lines(path):
        if line["step"] > step:
            break
        kept, steps = end, steps + 1
    if path.stat().st_size > kept:
        os.truncate(path, kept)
    return step - steps
