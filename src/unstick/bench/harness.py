"""What every bench shares: its options, its report, the machine it ran on, and clocks that can be believed on a busy one."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numba
import numpy as np
import scipy

from unstick.checks import InvalidSystem
from unstick.progress import Meter

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line may ask of any bench. Empty fields mean: the bench's own choice."""

    sizes: tuple[int, ...] = ()
    count: int | None = None
    frames: int | None = None
    threads: int | None = None
    plots: Path | None = None  # a directory for pictures; None draws nothing
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        for size in self.sizes:
            if size < 8:
                raise InvalidSystem(f"--sizes holds {size}; a size is the number of cells along a side, at least 8")
        if self.count is not None and self.count < 1:
            raise InvalidSystem(f"--count is {self.count}; it must be a whole number of at least 1")
        if self.frames is not None and self.frames < 1:
            raise InvalidSystem(f"--frames is {self.frames}; it must be a whole number of at least 1")
        available = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
        if self.threads is not None and not 1 <= self.threads <= available:
            raise InvalidSystem(f"--threads is {self.threads}; this process can use 1 to {available}")

    def sizes_or(self, *own: int) -> tuple[int, ...]:
        return self.sizes or own

    def count_or(self, own: int) -> int:
        return own if self.count is None else self.count

    def frames_or(self, own: int) -> int:
        return own if self.frames is None else self.frames


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a bench found. `failures` holds sentences about what it set out to show and could not."""

    name: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    pictures: tuple[Path, ...] = ()
    machine: dict[str, Cell] = field(default_factory=lambda: machine())

    def as_json(self) -> dict[str, object]:
        tables = [
            {"title": t.title, "columns": list(t.columns), "rows": [[_plain(c) for c in r] for r in t.rows], "note": t.note}
            for t in self.tables
        ]
        return {
            "bench": self.name,
            "machine": self.machine,
            "tables": tables,
            "notes": list(self.notes),
            "failures": list(self.failures),
            "pictures": [p.name for p in self.pictures],
        }


def _plain(value: object) -> Cell:
    """A value that JSON knows: NumPy scalars unpacked, infinities and NaN as null."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) else None


def machine() -> dict[str, Cell]:
    """Enough to judge the figures by, and nothing that names a host, a user or a place."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": int(numba.get_num_threads()),
        "system": platform.system(),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


@contextlib.contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Run with so many Numba threads (None: as they are)."""
    before = numba.get_num_threads()
    if count is not None:
        numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def cpu_seconds(job: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of `job` on one thread, the least of several runs: other programs on the machine do not count."""
    best = np.inf
    with using_threads(1), _no_collector():
        for _ in range(repeats):
            start = time.process_time()
            job()
            best = min(best, time.process_time() - start)
    return float(best)


def wall_seconds(job: Callable[[], object], threads: Sequence[int], repeats: int = 10) -> list[float]:
    """Wall seconds of `job` for each number of threads, least of `repeats`, taken in turn so that a slow spell hits all alike."""
    best = [np.inf] * len(threads)
    with _no_collector():
        for _ in range(repeats):
            for at, count in enumerate(threads):
                with using_threads(count):
                    start = time.perf_counter()
                    job()
                    best[at] = min(best[at], time.perf_counter() - start)
    return [float(b) for b in best]


def seconds_once(job: Callable[[], object]) -> float:
    """CPU seconds of one run on one thread, for jobs too long to repeat."""
    return cpu_seconds(job, repeats=1)


def ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None or not b else a / b


def peak_rss_bytes() -> int | None:
    """The largest resident memory this process ever had."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024
