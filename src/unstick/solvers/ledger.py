"""Counts the work of a solve in units that do not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Ledger:
    """One work unit is one residual of the finest matrix: `nnz` multiply-adds (all rows, diagonal included).

    `spend(kind, entries)` books a pass over `entries` matrix entries under `kind` ("sweeps", "matvecs", "transfers",
    "coarse", "setup", ...); `count` books events ("cycles", "rebuilds"). Set-up work is kept apart and also totalled.
    """

    nnz: int
    entries: dict[str, float] = field(default_factory=dict)
    events: dict[str, float] = field(default_factory=dict)

    def spend(self, kind: str, entries: float) -> None:
        self.entries[kind] = self.entries.get(kind, 0.0) + float(entries)

    def count(self, kind: str, times: float = 1.0) -> None:
        self.events[kind] = self.events.get(kind, 0.0) + float(times)

    def totals(self) -> dict[str, float]:
        """Work units by kind ("units_sweeps", ...), `work_units` without set-up, `setup_units`, and the events."""
        unit = 1.0 / max(self.nnz, 1)
        by_kind = {f"units_{kind}": value * unit for kind, value in self.entries.items()}
        setup = self.entries.get("setup", 0.0) * unit
        whole = sum(self.entries.values()) * unit - setup
        return {"work_units": whole, "setup_units": setup, **by_kind, **self.events}
