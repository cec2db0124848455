"""Progress of a run on stderr: a bar on a terminal, a line per frame elsewhere, with the count of the solver and the time left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from unstick.liquid.report import StepReport

UNKNOWN = "?"


@dataclass(slots=True)
class Pace:
    """How fast a run goes, in frames per second; recent frames count more, and what the first step compiles does not count."""

    began: float = field(default_factory=time.monotonic)
    seconds_per_frame: float | None = None
    frame_began: float | None = None

    def frame_done(self, now: float) -> None:
        if self.frame_began is not None:
            took = now - self.frame_began
            self.seconds_per_frame = took if self.seconds_per_frame is None else 0.8 * self.seconds_per_frame + 0.2 * took
        self.frame_began = now

    def left(self, frames: float) -> str:
        return UNKNOWN if self.seconds_per_frame is None else human_time(frames * self.seconds_per_frame)


@dataclass(slots=True)
class FrameMeter:
    """Told of each step and each complete frame."""

    console: Console
    title: str
    first: int
    last: int
    bar: Progress | None = None
    task: TaskID | None = None
    pace: Pace = field(default_factory=Pace)
    steps: int = 0
    counts: list[int] = field(default_factory=list)

    def step(self, report: StepReport) -> None:
        self.steps += 1
        self.counts.append(report.iterations)
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, info=self._info(report.frame))

    def frame(self, number: int) -> None:
        self.pace.frame_done(time.monotonic())
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=number - self.first, info=self._info(number))
        elif self.steps:
            say(self.console, f"{self.title}: {self._info(number)}")
        self.steps, self.counts = 0, []

    def _info(self, number: int) -> str:
        steps = f"{self.steps} step{'s' if self.steps != 1 else ''}"
        counts = f"{_range(self.counts)} iterations" if self.counts else "-"
        return f"frame {number} of {self.last}, {steps}, {counts}, {self.pace.left(self.last - number)} left"


@contextmanager
def frame_meter(console: Console, title: str, first: int, last: int) -> Iterator[FrameMeter]:
    if not console.is_terminal:
        yield FrameMeter(console, title, first, last)
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[info]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=max(1, last - first), info="starting")
        yield FrameMeter(console, title, first, last, bar, task)


def say(console: Console, sentence: str) -> None:
    """A sentence as it is: brackets in it are no markup, and lines break where the terminal's do."""
    console.print(Text(sentence), soft_wrap=True)


def human_time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low}-{high}"
