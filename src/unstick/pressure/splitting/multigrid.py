"""Multigrid inside a splitting: the machinery of the solver `default` on liquid rows, set up once for all solves of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unstick.kernels import csr, rows_pack
from unstick.kernels.reduce import max_abs
from unstick.pressure.splitting.inner import Correction, FreeProblem, MethodInner, PreparedInner, ending
from unstick.problem import Array, Stencil
from unstick.solvers.krylov import csr_arrays
from unstick.solvers.ledger import Ledger
from unstick.solvers.multigrid.linear import MultigridCG
from unstick.solvers.rows import contact_cells, lay_out, make_levels, pack_system, planes, scan
from unstick.solvers.structured import FINEST, SINGLE_FLOOR, Run, Tuning, count_entries

SMALL = 700  # rows below which the tables cost more than they save
IDLE = 3  # corrections that gain less than a half, after which single precision has given what it can


@dataclass(frozen=True, slots=True)
class RowsInner:
    """Conjugate gradients with one multigrid cycle, in single precision on residuals in double."""

    name: str = "mgpcg"
    tuning: Tuning = field(default_factory=Tuning)

    def prepare(self, problem: FreeProblem, ledger: Ledger) -> PreparedInner:
        if problem.stencil is None or problem.A.shape[0] < SMALL:
            return MethodInner(self.name, MultigridCG()).prepare(problem, ledger)
        return OnRows(problem, problem.stencil, ledger, self.tuning)


class OnRows:
    """The tables and levels of one matrix, and arrays to carry vectors between its rows and strips."""

    def __init__(self, problem: FreeProblem, stencil: Stencil, ledger: Ledger, tuning: Tuning) -> None:
        box = stencil.box
        nothing = np.zeros(box)
        size, k0, k1 = scan(stencil, nothing)
        layout = lay_out(k0, k1, box)
        fine = pack_system(layout, stencil, nothing, np.zeros(box, dtype=np.bool_), size.mean, 1.0)
        levels = make_levels(layout, fine)
        self.run = Run(
            layout=layout,
            fine=fine,
            levels=levels,
            weight=0.0,
            goal=0.0,
            ledger=ledger,
            tuning=tuning,
            nnz=count_entries(layout, size.entries),
            hit=np.zeros(len(layout.par), dtype=np.bool_),
            contact_at=contact_cells(layout, fine, levels),
            light=int(np.count_nonzero(layout.cells >= tuning.parallel_cells)),
        )
        levels.flag[: int(layout.begin[1])] = True
        self.run.rebuild(0)
        self.mean = size.mean
        self.matrix = csr_arrays(problem.A)
        _, ny, nz = box
        i, j, k = problem.lattice.ijk.T.astype(np.int64)
        self.index = (i * ny + j) * nz + k
        self.box = np.zeros(box)

    def __call__(self, r0: Array, goal: float, limit: int) -> Correction:
        x, r = np.zeros_like(r0), r0
        norm = max_abs(r0)
        used, idle = 0, 0
        while np.isfinite(norm) and norm > goal and used < limit and idle < IDLE:
            step, steps = self._correct(r, norm, goal / norm, limit - used)
            used += steps
            x = x + step
            r = np.empty_like(r0)
            csr.residual(*self.matrix, r0, x, r)
            self.run.ledger.spend("matvecs", self.matrix[2].size)
            before, norm = norm, max_abs(r)
            idle = 0 if norm < 0.5 * before and steps else idle + 1
        return Correction(x, r, norm, used, ending(norm, goal, used >= limit))

    def _correct(self, r: Array, norm: float, goal: float, limit: int) -> tuple[Array, int]:
        """An approximate solution for r, scaled to 1, and the steps it took."""
        run, layout = self.run, self.run.layout
        begin, end = int(layout.start[0]), int(layout.start[1])
        tables = layout.off, layout.par, layout.place, 0, int(layout.begin[1])
        flat = self.box.reshape(-1)
        flat[self.index] = r
        rows_pack.pack(planes(self.box), run.fine.g, 1.0 / norm, *tables)
        rows_pack.convert(run.fine.g, run.levels.f, begin, end)
        run.carried = 0.0  # the direction of a solve for another right-hand side leads astray
        steps, v, _ = run.correct(0, max(FINEST / 4.0 * goal, SINGLE_FLOOR), min(limit, run.tuning.inner_limit))
        rows_pack.convert(v, run.fine.p, begin, end)
        rows_pack.unpack(run.fine.p, planes(self.box), norm / self.mean, *tables)
        return flat[self.index], steps
