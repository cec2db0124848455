"""Coupled systems on liquid rows: the default's active-set method with the bodies' term in every part of it.

One outer iteration is that of solvers/structured.py: projected sweeps, the detached set, conjugate gradients on the free cells, projection,
exact line search. Three things are new.
* Sweeps relax the cells beside bodies with the whole diagonal, each against the bodies' latest motion. Frozen bodies would make
  sweeps climb: the energy then falls no more, and it is the energy that carries the method, as A is no M-matrix.
* The multigrid cycle preconditions the plain matrix only. A body lighter than the liquid it displaces leaves eigenvalues of the size of
  that ratio, as many as it has freedoms; conjugate gradients pay an iteration or more for each. They are deflated: W, half a cycle
  applied to F, is solved for exactly and kept out of all directions. W may be rough: with kappa >= 1 measuring how far it is from
  A^-1 F, the largest eigenvalue left is at most 1 + sqrt(kappa), whatever the densities (docs/coupling.md).
* Conjugate gradients run in double precision where the term is stiff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unstick.grid import Array
from unstick.kernels import rows_contact, rows_guess
from unstick.kernels.rows_coupled import (
    Deflation,
    Term,
    add_term,
    against,
    coupled_gradients,
    moments,
    relax_listed,
    times_core,
    write_right,
)
from unstick.kernels.rows_cycle import Matrix, Watch, Work, ascend, inner, multiply, put, v_cycle
from unstick.pressure.coupling.lowrank import CoupledSystem
from unstick.pressure.coupling.pockets import Closed
from unstick.pressure.coupling.term_rows import list_term, stiff_columns, stiffness
from unstick.problem import Stencil
from unstick.result import Status
from unstick.solvers.ledger import Ledger
from unstick.solvers.memory import zeros
from unstick.solvers.pins import Pins
from unstick.solvers.rows import Layout, contact_cells, lay_out, make_levels, pack_guess, pack_system, scan, unpack
from unstick.solvers.structured import (
    DOUBLE_FLOOR,
    FINEST,
    GIVE_UP,
    SINGLE_FLOOR,
    Ending,
    Look,
    Run,
    Tuning,
    count_entries,
    nested_guess,
    write_slack,
)

RED, BLACK = 0, 1
WORTH = 0.7  # ratio of the term to the plain matrix, as found, below which a direction is not worth deflating
HOLDS, HALF = 4, 0.5  # how often clipped cells are held within a step, and the step length that needs none of it
DEPENDENT = 1e-5
STIFF = 30.0  # ratio of the term to the plain matrix from which single precision is not trusted


@dataclass(frozen=True, slots=True)
class Options:
    """What a solver asks for; see `Coupled`."""

    tolerance: float
    max_iterations: int
    absolute: bool
    tuning: Tuning
    small: int
    deflate: bool
    on_iteration: Callable[[int, float], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """p on the box of rows, in pascal."""

    p: Array
    slack: Array  # in 1/s
    ended: Ending
    ledger: Ledger
    unit_b: float


@dataclass(slots=True, eq=False)
class CoupledRun:
    """One coupled solve in progress: the run of the plain matrix, and the term in the run's units."""

    run: Run
    term: Term
    columns: Array  # (k, listed cells): the combinations of the columns of F that are deflated
    deflation: Deflation
    built: bool = False
    chosen: bool = False  # the directions worth deflating are known
    held: bool = False  # cells were held that the coarse matrices know nothing of

    def level0(self) -> slice:
        return slice(int(self.run.layout.start[0]), int(self.run.layout.start[1]))

    def refresh(self) -> None:
        """Let the plain residual be the coupled one, for the present pressure."""
        write_right(self.run.fine.g, self.term, moments(self.term, self.run.fine.p))

    def sweep(self) -> None:
        run, term = self.run, self.term
        p = run.fine.p
        for colour in run.tuning.outer_sweeps:
            mine = term.at[0, : term.red] if colour == RED else term.at[0, term.red :]
            before = p[mine]
            run.sweep(0, p, run.fine.g, (colour,))
            p[mine] = before
            t = times_core(term, moments(term, p))
            relax_listed(colour == RED, p, run.fine.contact, *run.double(), term, t)
            self.refresh()

    def inspect(self) -> Look:
        return self.run.inspect(0, self.run.fine.p, self.run.fine.g)

    def correct(self, goal: float, limit: int, early: float, again: bool = False) -> tuple[int, Array, bool]:
        """As `Run.correct` on level 0, for the coupled matrix. `again`: for another residual of the same outer iteration."""
        run, term = self.run, self.term
        single, work = run.parts()
        levels = run.levels
        if run.wide is not None:
            (res, d, q, v), matrix = run.wide[:4], Matrix(run.fine.e, run.fine.wx, run.fine.wy, run.fine.wz)
        else:
            (res, d, q, v), matrix = (levels.f, levels.d, levels.q, levels.v), single
        part = levels.part[:, :2].copy()
        if not self.built and len(self.columns):
            self.build(part)
        if not again:
            put(run.residuals(0)[1], res, 0, run.grids())
        at = self.level0()
        d[at], v[at] = 0.0, 0.0
        contact = run.contact_at[:, :0] if again else run.contact_at
        watch = Watch(contact, run.fine.p, run.fine.g, run.fine.wx, run.fine.wy, run.fine.wz)
        held = moments(term, run.fine.p)
        steps, _, changed = coupled_gradients(
            run.tuning.sweeps, run.tuning.inner_steps, limit, goal, res, d, q, v, matrix, run.grids(), single, work, part, early, run.goal,
            watch, term, held, self.deflation,
        )  # fmt: skip
        self.refresh()
        run.ledger.spend("cycles", steps * run.cycle_entries(0))
        run.ledger.spend("matvecs", steps * (run.nnz[0] + 2.0 * term.val.size))
        run.ledger.spend("vectors", steps * (5 + 2 * len(self.deflation.W)) * run.nnz[0] / 7)
        run.ledger.count("cycles", steps)
        return int(steps), v, bool(changed)

    def build(self, part: Array) -> None:
        """W, its image and W^T A W for the present free cells."""
        if self.chosen and not len(self.deflation.W):
            self.built = True  # no direction was stiff: there is nothing to follow the free cells
            return
        run, term = self.run, self.term
        at, levels = self.level0(), run.levels
        single, work = run.parts()
        grids = run.grids()
        count, n = len(self.columns), at.stop - at.start
        if self.chosen:
            W, S = self.deflation.W, self.deflation.S
            W *= levels.inv[at] != 0
            count = len(W)
        else:
            W, S = (zeros(count * n, np.float32).reshape(count, n) for _ in range(2))
            saved = work.f[at].copy()
            for k in range(count):
                work.f[at] = 0.0
                work.f[term.at[0]] = self.columns[k]
                half_cycle(run, single, work)
                W[k] = work.x[at]
            work.f[at] = saved
            run.ledger.spend("setup", 0.4 * count * run.cycle_entries(0))
        moved = np.zeros((count, len(term.core)))
        for k in range(count):
            work.d[at] = W[k]
            multiply(work.q, work.d, single, work.inv, 0, grids, part)
            S[k] = work.q[at]
            moved[k] = moments(term, work.d)
        run.ledger.spend("setup", count * run.nnz[0])
        plain = np.stack([against(S, 0, W[k]) for k in range(count)])
        stiff = moved @ term.core @ moved.T
        if not self.chosen:
            W, S, moved, plain, stiff = stiffest(W, S, moved, plain, stiff)
            self.chosen = True
        self.deflation = Deflation(at.start, W, S, moved, inverse_of(plain + stiff))
        self.built = True

    def accept(self, v: Array, goal: float) -> int:
        """Project p + v onto the constraint and search exactly along the way there, with the term's curvature; returns further steps of
        conjugate gradients.

        Clipping a few pressures beside a light body leaves a force that throws it away, and the search would hardly move. So where it
        would not go half the way, the clipped cells are held at zero and the others follow, a few times.
        """
        run, fine = self.run, self.run.fine
        off, _, _, span = run.tables()
        blocks = run.blocks(0)
        count = run.levels.part[:, 0].copy()
        way, used, alpha = v.astype(np.float64), 0, 1.0
        for turn in range(HOLDS + 1):
            rows_contact.clip(fine.d, fine.p, way, fine.contact, run.hit, off, span, *blocks, count)
            if count[blocks[1] : blocks[2]].sum() == 0:
                break
            if turn == 0:
                solved = run.levels.inv[: len(fine.p)].copy()
            alpha, image = self.search(fine.d, solved)
            if alpha >= HALF or turn == HOLDS:
                break
            self.hold()
            res, before = run.residuals(0)
            free = run.levels.inv[: len(image)] != 0
            res[: len(image)] = np.where(free, before[: len(image)] - image, 0.0)
            top = float(np.abs(res[: len(image)]).max(initial=0.0))
            more, follow, _ = self.correct(max(goal, 0.01 * top), run.tuning.inner_limit, -1.0, again=True)
            way, used = fine.d + follow[: len(image)], used + more
            alpha = 1.0
        if alpha > 0:
            rows_contact.advance(fine.p, fine.d, alpha, fine.contact, off, span, *blocks)
            self.refresh()
        return used

    def search(self, d: Array, solved: Array) -> tuple[float, Array]:
        """The exact minimum of the energy along d, at most 1 and 0 where it rises, and the image of d; `solved` is not 0 on the cells that
        were free before any was held."""
        run, fine, grids = self.run, self.run.fine, self.run.grids()
        before = run.residuals(0)[1]
        sums = run.levels.part[:, :2].copy()
        up, _ = inner(d, before, before, False, 0, grids, sums)
        image = np.zeros(len(fine.p))
        curve = multiply(image, d, Matrix(fine.e, fine.wx, fine.wy, fine.wz), solved, 0, grids, sums)
        curve += add_term(image, d, solved, self.term)
        run.ledger.spend("matvecs", run.nnz[0])
        return (min(1.0, up / curve) if up > 0 and curve > 0 else 0.0), image

    def hold(self) -> None:
        """Hold the contact cells that `fine.d` takes to zero until the next look."""
        run, fine = self.run, self.run.fine
        n = len(fine.p)
        there = (fine.contact[:n] != 0) & (fine.p + fine.d <= 0.0) & (run.levels.inv[:n] != 0)
        run.levels.inv[:n][there] = 0.0
        run.levels.flag[: int(run.layout.begin[1])] = True
        self.built, self.held = False, True

    def changed_set(self) -> None:
        """The free cells are others now: the coarse matrices and the images of the deflated directions follow."""
        self.run.rebuild(0, self.run.below_is_old)
        self.run.below_is_old = self.held = self.built = False


def stiffest(W: Array, S: Array, moved: Array, plain: Array, stiff: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Of the directions W, those combinations along which the term weighs by the plain matrix's energy: the others cost more than they
    save."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(plain), 1e-300))
    values, vectors = np.linalg.eigh(scale[:, None] * (0.5 * (plain + plain.T)) * scale)
    good = values > DEPENDENT
    root = scale[:, None] * (vectors[:, good] / np.sqrt(values[good]))
    weights, turned = np.linalg.eigh(root.T @ (0.5 * (stiff + stiff.T)) @ root)
    worth = np.abs(weights) > WORTH
    if worth.all() and len(weights) == len(W):
        return W, S, moved, plain, stiff
    mix = (root @ turned[:, worth]).T
    single = mix.astype(np.float32)
    W, S = np.ascontiguousarray(single @ W), np.ascontiguousarray(single @ S)
    moved = np.ascontiguousarray(single.astype(np.float64) @ moved)
    return W, S, moved, mix @ plain @ mix.T, mix @ stiff @ mix.T


def inverse_of(gram: Array) -> Array:
    """The inverse of W^T A W on what single precision knows of it: directions that nearly depend on others are left out."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(scale[:, None] * (0.5 * (gram + gram.T)) * scale)
    good = values > DEPENDENT
    return np.ascontiguousarray(scale[:, None] * (vectors[:, good] / values[good]) @ vectors[:, good].T * scale)


def half_cycle(run: Run, single: Matrix, work: Work) -> None:
    """x = a V-cycle without the sweeps before it, applied to f of level 0: cheap, and smooth enough to be deflated."""
    grids, layout = run.grids(), run.layout
    at = slice(int(layout.start[0]), int(layout.start[1]))
    rows_guess.restrict_all(work.f, work.f, layout.off, layout.par, layout.span, layout.child, *run.blocks(1), layout.width)
    v_cycle(1, run.tuning.sweeps, grids, single, work)
    work.x[at] = 0.0
    ascend(0, 1, grids, single, work, work.x)


def solve_on_rows(
    system: CoupledSystem, b: Array, contact: Array, closed: Closed | None, start: Array | None, options: Options
) -> Solved | None:
    """None, before any work, for systems with fewer than `small` rows."""
    A = system.A
    assert isinstance(A, Stencil) and system.term is not None
    size, k0, k1 = scan(A, b)
    if size.unknowns < options.small:
        return None
    layout = lay_out(k0, k1, A.box)
    fine = pack_system(layout, A, b, contact, size.mean, size.largest)
    levels = make_levels(layout, fine)
    nnz = count_entries(layout, size.entries)
    run = Run(
        layout=layout,
        fine=fine,
        levels=levels,
        weight=1.0 / size.mean if options.absolute else 0.0,
        goal=options.tolerance / size.largest if options.absolute else options.tolerance,
        ledger=Ledger(int(nnz[0])),
        tuning=options.tuning,
        nnz=nnz,
        hit=np.zeros(len(layout.par), dtype=np.bool_),
        contact_at=contact_cells(layout, fine, levels),
        light=int(np.count_nonzero(layout.cells >= options.tuning.parallel_cells)),
    )
    if closed is not None and closed.alone():
        run.pins = _pins(layout, run, closed)
    unit_p = size.largest / size.mean
    begin_at(run, start, unit_p)
    term = list_term(layout, system, A, fine.g, size.mean)
    columns = stiff_columns(term, options.deflate, int(layout.cells[0]))
    none = np.zeros((0, 0), dtype=np.float32)
    coupled = CoupledRun(run, term, columns, Deflation(0, none, none, np.zeros((0, len(term.core))), np.zeros((0, 0))))
    coupled.refresh()
    if columns.size and stiffness(term) > STIFF:
        run.widen()
    ended = iterate(coupled, options.max_iterations, start is not None, options.on_iteration)
    p, slack = np.zeros(A.box), np.zeros(A.box)
    unpack(layout, fine.p, p, unit_p)
    write_slack(run)
    unpack(layout, fine.d, slack, size.largest)
    return Solved(p, slack, ended, run.ledger, size.largest)


def begin_at(run: Run, start: Array | None, unit_p: float) -> None:
    """The given pressure, or the nested solution of the plain matrix, with the bodies as walls that move as they do before the step."""
    run.levels.flag[: int(run.layout.begin[1])] = True
    if start is None:
        run.rebuild(0)
        nested_guess(run)
    else:
        pack_guess(run.layout, run.fine, start, 1.0 / unit_p)
        run.below_is_old = True


def _pins(layout: Layout, run: Run, closed: Closed) -> Pins:
    """The pockets whose pressure is free up to a constant, as `Pins` wants them."""
    label = closed.label.reshape(1, *closed.label.shape[:2]) if closed.label.shape[2] == 1 else closed.label
    alone = closed.alone()
    chosen = np.isin(label, alone)
    return Pins.of(layout, run.fine, np.argwhere(chosen), np.searchsorted(alone, label[chosen]), len(alone))


def iterate(coupled: CoupledRun, max_iterations: int, warm: bool, report: Callable[[int, float], None] | None = None) -> Ending:
    """Outer iterations until the stopping test holds; as `structured.iterate`, see there."""
    run = coupled.run
    residuals: list[float] = []
    steps, stale, best = 0, 0, np.inf
    sticking = not run.fine.contact.any()
    moved, settled = run.below_is_old, False
    for outer in range(max_iterations + 1):
        if not (settled or sticking or (warm and outer == 0)):
            coupled.sweep()
        look = coupled.inspect()
        moved = moved or look.changed > 0
        for _ in range(2 if settled and look.finite and not sticking and look.natural > run.goal else 0):
            coupled.sweep()
            look = coupled.inspect()
            moved = moved or look.changed > 0
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
            look = coupled.inspect()
        if stale > GIVE_UP:
            return Ending(Status.STAGNATED, steps, outer, tuple(residuals))
        if outer == max_iterations:
            return Ending(Status.ITERATION_LIMIT, steps, outer, tuple(residuals))
        if moved:
            coupled.changed_set()
        floor = (SINGLE_FLOOR if run.wide is None else DOUBLE_FLOOR) * look.free
        finest = (FINEST if stale == 0 and not sticking else 0.8) * run.goal
        used, v, changed = coupled.correct(max(finest, floor), run.tuning.inner_limit, run.tuning.early * look.free)
        used += coupled.accept(v, finest)
        settled = finest >= floor and not changed
        moved = coupled.held
        steps += used
    raise AssertionError("the loop returns")
