"""The globalised active-set method on liquid rows: the work horse behind `default` and the linear `mgpcg`.

One outer iteration: projected Gauss-Seidel sweeps; detached set {contact, p <= 0, A p + b >= 0}; conjugate gradients on the free
cells, preconditioned by a single-precision multigrid cycle of the truncated matrix, to the tolerance or until the correction would
change that set; projection onto p >= 0; exact line search. The search makes the energy fall monotonically
(Graeser and Sander's truncated nonsmooth Newton multigrid); without it inexact active-set iterations cycle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unstick.kernels import rows_contact, rows_guess, rows_pack
from unstick.kernels.rows_cycle import Grids, Matrix, Watch, Work, conjugate_gradients, put
from unstick.problem import Array
from unstick.result import Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.pins import Pins
from unstick.solvers.rows import Fine, Layout, Levels, rebuild, vectors

RED, BLACK = 0, 1
GIVE_UP = 8  # outer iterations without progress
DOUBLE_FLOOR = 1e-10  # an inner solve in double precision is not trusted beyond this reduction
STENCIL = 7  # entries of a full row; a pass over vectors is booked as so much less than one over the matrix
STEP_VECTORS = 5  # such passes in a step of conjugate gradients
LOCAL_RINGS = 3  # rows around those with a residual that local sweeps take in
LOCAL_SWEEPS = 30
LOCAL_UNITS = 4.0  # work that local sweeps may cost, else they are none
MEND_ROUNDS = 2
FIRST_CELLS = 50  # at most, on the level where a nested start begins
FINEST = 2.0  # goals at which an inner solve ends: what is left is small enough for a sweep or two
SINGLE_FLOOR = 5e-6  # an inner solve in single precision is not trusted beyond this reduction


@dataclass(frozen=True, slots=True)
class Tuning:
    """What may be tuned without changing the solution."""

    early: float = 0.1  # reduction of the residual after which an inner solve ends as soon as its result would change the detached set
    sweeps: int = 2  # of the smoother, before and after each coarse correction
    inner_steps: int = 2  # of conjugate gradients on the first coarse level (0: V-cycle)
    parallel_cells: int = 3_000  # smaller levels run on one thread
    inner_limit: int = 60
    nested: int = 0  # truncated cycles on each coarse level before the first outer iteration; 0: one in 3D, two in 2D
    outer_sweeps: tuple[int, ...] = (0, 1, 0)  # colours of the projected half-sweeps before each choice of the detached set


@dataclass(frozen=True, slots=True)
class Look:
    """What one inspection of the iterate tells."""

    natural: float
    free: float
    changed: int
    detached: int
    finite: bool


@dataclass(slots=True, eq=False)
class Run:
    """One solve in progress."""

    layout: Layout
    fine: Fine
    levels: Levels
    weight: float  # of the stopping test: 0 means a_ii
    goal: float
    ledger: Ledger
    tuning: Tuning
    nnz: Array  # of each level
    light: int  # the first level that runs on one thread
    hit: Array  # bool by row: holds cells that were clipped
    contact_at: Array  # positions of the contact cells of level 0 and of their neighbours: see `list_contact`
    pins: Pins | None = None
    carried: float = 0.0  # d . A d of the last direction of conjugate gradients on level 0, kept for the next solve
    below_is_old: bool = False  # the levels from the second coarse one on are truncated for another set than that of level 0
    # residual, direction, product, correction and the residual before, in double precision
    wide: tuple[Array, Array, Array, Array, Array] | None = None

    @property
    def bottom(self) -> int:
        return self.layout.levels - 1

    def tables(self) -> tuple[Array, Array, Array, Array]:
        return self.layout.off, self.layout.nbr, self.layout.par, self.layout.span

    def blocks(self, level: int) -> tuple[Array, int, int]:
        return self.layout.blocks, int(self.layout.cut[level]), int(self.layout.cut[level + 1])

    def single(self) -> tuple[Array, Array, Array, Array]:
        return self.levels.wx, self.levels.wy, self.levels.wz, self.levels.e

    def double(self) -> tuple[Array, Array, Array, Array]:
        return self.fine.wx, self.fine.wy, self.fine.wz, self.fine.e

    def matrix(self, p: Array) -> tuple[Array, Array, Array, Array]:
        """The couplings in the precision of p."""
        return self.double() if p.dtype == np.float64 else self.single()

    def sweep(self, level: int, p: Array, g: Array, colours: tuple[int, ...]) -> None:
        for c in colours:
            rows_contact.project_relax(c, p, g, self.fine.contact, *self.matrix(p), self.layout.strips, *self.blocks(level))
        self.ledger.spend("sweeps", 0.5 * len(colours) * self.nnz[level])

    def sweep_locally(self, p: Array, g: Array) -> bool:
        """When a settled set leaves a residual above the goal in few places only, sweep there, and say so.

        A single row that must still change leaves a defect of its own size; a cycle for it would cost as much as for all rows.
        """
        layout = self.layout
        last = int(layout.cut[1])
        wrong = np.flatnonzero(self.levels.part[:last, 0] > self.goal)
        chosen = np.zeros(len(layout.par), dtype=bool)
        for begin, end in layout.blocks[wrong, :2]:
            chosen[begin:end] = True
        for _ in range(LOCAL_RINGS):
            chosen[layout.nbr[:, chosen]] = True
        chosen[layout.begin[1] :] = False
        rows = np.flatnonzero(chosen)
        share = 2 * layout.place[3, rows].sum() / max(int(layout.cells[0]), 1)
        if LOCAL_SWEEPS * share > LOCAL_UNITS:
            return False
        blocks = np.stack([rows, rows + 1, np.zeros_like(rows)], axis=1)
        for _ in range(LOCAL_SWEEPS):
            for c in (RED, BLACK):
                rows_contact.project_relax(c, p, g, self.fine.contact, *self.matrix(p), layout.strips, blocks, 0, len(rows))
        self.ledger.spend("sweeps", LOCAL_SWEEPS * share * self.nnz[0])
        return True

    def inspect(self, level: int, p: Array, g: Array) -> Look:
        """Residual, detached set and norms; the free residual is left where `correct` looks for it."""
        part = self.levels.part
        rows_contact.inspect(
            p,
            g,
            self.fine.contact,
            *self.matrix(p),
            p.dtype.type(self.weight),
            self.wide[0] if self.wide is not None and level == 0 else self.levels.f,
            self.levels.inv,
            self.levels.flag,
            self.layout.strips,
            *self.blocks(level),
            self.layout.width,
            part,
        )
        self.ledger.spend("residuals", self.nnz[level])
        top, free, changed, detached, size = rows_contact.gather(part, *self.blocks(level)[1:])
        if self.pins is not None and level == 0:
            new, again = self.pins.hold(p, self.levels.inv, self.wide[0] if self.wide is not None else self.levels.f)
            if new:
                self.levels.flag[self.layout.begin[0] : self.layout.begin[1]] = True
            changed += int(new) - again
        return Look(top, free, changed, detached, math.isfinite(size))

    def correct(self, level: int, goal: float, limit: int, early: float = -1.0) -> tuple[int, Array, bool]:
        """An approximate solution v of A v = residual on the free cells of a level; returns the number of steps, v, and whether it
        ended before the goal because p + v would change the detached set (asked below a residual of `early` only)."""
        tuning, levels = self.tuning, self.levels
        single, work = self.parts()
        if self.wide is not None and level == 0:
            vectors, matrix = self.wide[:4], Matrix(self.fine.e, self.fine.wx, self.fine.wy, self.fine.wz)
        else:
            vectors, matrix = (levels.f, levels.d, levels.q, levels.v), single
        part = levels.part[:, :2].copy()
        res, before = self.residuals(level)
        put(before, res, level, self.grids())
        carried = self.carried if level == 0 else 0.0
        watch = Watch(self.contact_at, self.fine.p, self.fine.g, self.fine.wx, self.fine.wy, self.fine.wz)
        steps, _, curvature, looks, changed = conjugate_gradients(
            level,
            tuning.sweeps,
            tuning.inner_steps,
            limit,
            goal,
            carried,
            *vectors,
            matrix,
            self.grids(),
            single,
            work,
            part,
            early,
            self.goal,
            watch,
        )
        self.carried = curvature if level == 0 else 0.0
        self.ledger.spend("cycles", steps * self.cycle_entries(level))
        self.ledger.spend("matvecs", steps * self.nnz[level] + float(looks * self.contact_at.size))
        self.ledger.spend("vectors", (1 + STEP_VECTORS * steps) * self.nnz[level] / STENCIL)
        self.ledger.count("cycles", steps if level == 0 else 0)
        if steps == 0:
            vectors[3][int(self.layout.start[level]) : int(self.layout.start[level + 1])] = 0
        return int(steps), vectors[3], bool(changed)

    def parts(self) -> tuple[Matrix, Work]:
        """The matrices and vectors of the cycle."""
        levels = self.levels
        work = Work(levels.inv, levels.x, levels.f, levels.r, levels.d, levels.q, levels.v)
        return Matrix(levels.e, levels.wx, levels.wy, levels.wz), work

    def grids(self) -> Grids:
        layout = self.layout
        tables = layout.off, layout.par, layout.span, layout.child, layout.strips, layout.blocks, layout.cut
        return Grids(*tables, layout.width, self.bottom, self.light)

    def widen(self) -> None:
        """Run the conjugate gradients of the finest level in double precision from now on: pockets that hang on a tiny face make
        A too ill-conditioned for single precision."""
        size = len(self.fine.p)
        self.carried = 0.0
        self.wide = (np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))

    def cycle_entries(self, level: int) -> float:
        """Matrix entries touched by one cycle from `level`, transfers included: sweeps before and after, of which the first red
        half-sweep touches the diagonal only, and the residual of the red cells."""
        visit = 2 * self.tuning.sweeps + 0.5 - 0.5 * (1 - 1 / STENCIL) + 1 / STENCIL
        below = float(self.nnz[level + 1 :].sum()) * visit
        if self.tuning.inner_steps > 0 and level + 2 <= self.bottom:
            below = self.tuning.inner_steps * (below + float(self.nnz[level + 1]) * (1 + STEP_VECTORS / STENCIL))
        return float(self.nnz[level]) * visit + below

    def accept(self, level: int, p: Array, v: Array, d: Array) -> float:
        """Project p + v onto the constraint and search exactly along the way; returns the step length, 0 if it leads nowhere.

        p >= 0 allows no step beyond 1, and without clipped cells 1 is the minimum along v up to the inner residual.
        """
        part, blocks = self.levels.part, self.blocks(level)
        cut = slice(blocks[1], blocks[2])
        off, nbr, par, span = self.tables()
        count = part[:, 0].copy()
        hit = self.hit
        rows_contact.clip(d, p, v, self.fine.contact, hit, off, span, *blocks, count)
        alpha = 1.0
        if count[cut].sum() > 0:
            after, before = self.residuals(level)
            matrix = self.matrix(p)
            rows_contact.slope(d, v, before, after, hit, *matrix, off, nbr, par, span, *blocks, self.layout.width, part)
            begin, end = int(self.layout.begin[level]), int(self.layout.begin[level + 1])
            share = rows_contact.cells_of(hit, self.layout.place, begin, end) / max(int(self.layout.cells[level]), 1)
            self.ledger.spend("matvecs", share * self.nnz[level])
            up, curve = part[cut, :2].sum(axis=0)
            alpha = min(1.0, up / curve) if up > 0 and curve > 0 else 0.0
        self.ledger.spend("vectors", 2 * self.nnz[level] / STENCIL)
        if alpha > 0:
            rows_contact.advance(p, d, p.dtype.type(alpha), self.fine.contact, off, span, *blocks)
        return float(alpha)

    def residuals(self, level: int) -> tuple[Array, Array]:
        """The residual that the inner solve works down, and a copy of it from before."""
        if self.wide is not None and level == 0:
            return self.wide[0], self.wide[4]
        return self.levels.f, self.levels.s

    def rebuild(self, level: int, all_below: bool = False) -> None:
        """Coarse matrices for the present detached set: one pass over the couplings of the rows that are read, and one over those
        that are written (two work units when that is all of them)."""
        share = rebuild(self.layout, self.levels, level, all_below)
        self.ledger.spend("setup", 2.0 * share * self.nnz[level])
        self.ledger.count("rebuilds", share if level == 0 else 0.0)


def nested_guess(run: Run) -> None:
    """Start p from the solution of coarser problems: truncated cycles on each level, from one of few cells up.

    Needs the untruncated matrices on all levels. Leaves those below level 0 truncated for level 1.
    """
    layout, levels, fine = run.layout, run.levels, run.fine
    off, _, par, span = run.tables()
    cycles = run.tuning.nested or (2 if layout.box[2] == 1 else 1)
    first = min(int(np.count_nonzero(layout.cells > FIRST_CELLS)), run.bottom)
    g, y = vectors(2, layout.storage, np.float32)
    rows_pack.convert(fine.g, g, int(layout.start[0]), int(layout.start[1]))
    for level in range(1, first + 1):
        rows_guess.restrict_all(g, g, off, par, span, layout.child, *run.blocks(level), layout.width)
        rows_guess.contact_above(fine.contact, levels.inv, off, par, span, layout.child, *run.blocks(level), layout.width)
    for level in range(first, -1, -1):
        p, right = (fine.p, fine.g) if level == 0 else (y, g)
        if level < first:
            rows_guess.prolong_guess(
                p, y, p.dtype.type(0), fine.contact, levels.inv, *run.single(), *run.tables(), layout.child, *run.blocks(level + 1)
            )
        if level == 0:
            return
        run.sweep(level, p, right, (RED, BLACK, BLACK, RED))
        for _ in range(cycles if level < run.bottom else 0):
            look = run.inspect(level, p, right)
            if look.detached or run.below_is_old:
                run.rebuild(level, run.below_is_old)
                run.below_is_old = True
            _, v, _ = run.correct(level, 0.0, 1)
            run.accept(level, p, v, levels.d)
            run.sweep(level, p, right, (RED, BLACK))


@dataclass(frozen=True, slots=True)
class Ending:
    status: Status
    steps: int
    outer: int
    residuals: tuple[float, ...]


def iterate(run: Run, max_iterations: int, warm: bool, report: Callable[[int, float], None] | None = None) -> Ending:
    """Outer iterations on run.fine.p until the stopping test holds."""
    p, g = run.fine.p, run.fine.g
    residuals: list[float] = []
    steps, stale, best = 0, 0, np.inf
    sticking = not run.fine.contact.any()
    moved, settled = False, False
    for outer in range(max_iterations + 1):
        # A set that stood still was solved for to the tolerance, and a guess may be as good: look before sweeping.
        if not (settled or sticking or (warm and outer == 0)):
            run.sweep(0, p, g, run.tuning.outer_sweeps)
        look = run.inspect(0, p, g)
        moved = moved or look.changed > 0
        if settled and look.finite and look.natural > run.goal:
            look, changed = mend(run, look)
            moved = moved or changed
        residuals.append(look.natural)
        if report is not None:
            report(outer, look.natural)
        stale = 0 if look.natural < 0.9 * best else stale + 1
        best = min(best, look.natural)
        if not look.finite:
            return Ending(Status.DIVERGED, steps, outer, tuple(residuals))
        if look.natural <= run.goal:
            return Ending(Status.CONVERGED, steps, outer, tuple(residuals))
        if stale >= 2 and run.wide is None:
            run.widen()
            look = run.inspect(0, p, g)
        if stale > GIVE_UP:
            return Ending(Status.STAGNATED, steps, outer, tuple(residuals))
        if outer == max_iterations:
            return Ending(Status.ITERATION_LIMIT, steps, outer, tuple(residuals))
        if moved or run.below_is_old:
            run.rebuild(0, run.below_is_old)
            run.carried = 0.0
        moved = run.below_is_old = False
        floor = (SINGLE_FLOOR if run.wide is None else DOUBLE_FLOOR) * look.free
        finest = (FINEST if stale == 0 else 0.8) * run.goal
        used, v, changed = run.correct(0, max(finest, floor), run.tuning.inner_limit, run.tuning.early * look.free)
        run.accept(0, p, v, run.fine.d)
        settled = finest >= floor and not changed
        steps += used
    raise AssertionError("the loop returns")


def mend(run: Run, look: Look) -> tuple[Look, bool]:
    """The last inner solve went to the tolerance, and yet a residual is left, in rows that must change sides or everywhere but small:
    sweep where it is, or else everywhere, as long as that pays. Returns the last look and whether the detached set changed."""
    p, g = run.fine.p, run.fine.g
    changed = False
    for turn in range(MEND_ROUNDS):
        before = look.natural
        if not run.sweep_locally(p, g):
            if turn > 0 and before > FINEST * run.goal:
                break
            run.sweep(0, p, g, run.tuning.outer_sweeps)
        look = run.inspect(0, p, g)
        changed = changed or look.changed > 0
        if look.natural <= run.goal or look.natural > 0.7 * before:
            break
    return look, changed


def write_slack(run: Run) -> None:
    """fine.d = A p - g on all rows, in scaled units."""
    rows_contact.slack(run.fine.d, run.fine.p, run.fine.g, *run.double(), run.layout.strips, *run.blocks(0))


def count_entries(layout: Layout, finest: int) -> Array:
    """Matrix entries of each level; coarse levels are taken as full 7-point matrices of their cells."""
    return np.array([finest, *(7 * layout.cells[level] for level in range(1, layout.levels))], dtype=np.float64)
