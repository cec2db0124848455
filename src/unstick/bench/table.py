"""The benches by name. A new one is a module with a `run`, and a line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from unstick.bench.harness import Options, Report


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench's module is imported only when it is run."""

    line: str  # what it shows, in one line
    module: str
    function: str = "run"

    def run(self, options: Options) -> Report:
        found = getattr(importlib.import_module(f"unstick.bench.{self.module}"), self.function)(options)
        assert isinstance(found, Report)
        return found


BENCHES: dict[str, Bench] = {}
