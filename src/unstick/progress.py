"""Progress of long work, with the time left: a bar on a terminal, a line per step elsewhere, nothing unless asked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Meter:
    """Where progress is shown. Without a console it is silent, which is what tests and scripts want."""

    console: Console | None = None

    @contextlib.contextmanager
    def steps(self, total: float, title: str) -> Iterator[Callable[..., None]]:
        """`with meter.steps(weights, title) as step`: call `step(what, weight=1)` before each step; weights should sum to the total."""
        if self.console is None:
            yield lambda what, weight=1.0: None
        elif self.console.is_terminal:
            with _bar(self.console, total, title) as step:
                yield step
        else:
            yield _lines(self.console, total, title)


@contextlib.contextmanager
def _bar(console: Console, total: float, title: str) -> Iterator[Callable[..., None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn() if total == int(total) and total < 1000 else TextColumn("{task.percentage:3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        pending = 0.0

        def step(what: str, weight: float = 1.0) -> None:
            nonlocal pending
            bar.update(task, advance=pending, description=f"{title}: {what}")
            pending = weight

        yield step
        bar.update(task, advance=pending)


def _lines(console: Console, total: float, title: str) -> Callable[..., None]:
    """One line per step, at most one in two seconds, so that a log stays readable."""
    began = time.monotonic()
    done, pending, told = 0.0, 0.0, -2.0

    def step(what: str, weight: float = 1.0) -> None:
        nonlocal done, pending, told
        done, pending = done + pending, weight
        now = time.monotonic() - began
        if now - told < 2.0:
            return
        told = now
        left = f", about {now * (total - done) / done:.0f} s left" if done else ""
        console.print(f"{title}: {what} ({100 * done / total:.0f} %, {now:.0f} s{left})", highlight=False)

    return step
