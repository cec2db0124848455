"""Closed pockets on strips, while the default works on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.problem import Array
from unstick.solvers.rows import Fine, Layout, positions


@dataclass(slots=True, eq=False)
class Pins:
    """Closed pockets with contact rows. A pocket in which no row is detached is singular, and cannot be solved if it expands; its
    pressure is then shifted so that its least contact row stands at 0, and that row is held there for one inner solve."""

    cells: list[Array]  # strip positions of each pocket
    contact: list[Array]  # those of them in contact
    held: set[int]

    @classmethod
    def of(cls, layout: Layout, fine: Fine, cells: Array, label: Array, count: int) -> Pins:
        at = positions(layout, cells)
        pieces = [at[label == pocket] for pocket in range(count)]
        touching = [piece[fine.contact[piece] != 0] for piece in pieces]
        some = [number for number, piece in enumerate(touching) if len(piece)]
        return cls([pieces[n] for n in some], [touching[n] for n in some], set())

    def hold(self, p: Array, inv: Array, res: Array) -> tuple[bool, int]:
        """Pin what must be. Returns whether a row was pinned that was not before, and how many pins `inspect` took for changes."""
        before, again = self.held, sum(1 for row in self.held if inv[row] != 0)
        self.held = set()
        for cells, contact in zip(self.cells, self.contact, strict=True):
            if (inv[contact] == 0).any():
                continue
            row = int(contact[np.argmin(p[contact])])
            p[cells] -= p[row]
            inv[row] = 0
            res[row] = 0
            self.held.add(row)
        return not self.held <= before, again
