"""The multigrid cycle on strips, and conjugate gradients preconditioned by it, as compiled loops over levels."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from unstick.kernels.rows import (
    prolong_red,
    prolong_red_serial,
    relax,
    relax_from_zero,
    relax_from_zero_serial,
    relax_serial,
    residual,
    residual_serial,
    restrict_red,
    restrict_red_serial,
)
from unstick.kernels.rows_cg import (
    apply_dot,
    apply_dot_serial,
    dots,
    dots_serial,
    mask,
    mask_serial,
    replace,
    replace_serial,
    step,
    step_serial,
    turn,
    turn_serial,
)
from unstick.kernels.rows_watch import would_change

RED, BLACK = 0, 1


class Grids(NamedTuple):
    """Tables of all levels (solvers/rows.py): storage, blocks and where each level's blocks begin."""

    off: Any
    par: Any
    span: Any
    child: Any
    strips: Any
    blocks: Any
    cut: Any
    width: int
    bottom: int  # the coarsest level
    light: int  # the first level that runs on one thread


class Matrix(NamedTuple):
    """Couplings, excess and inverse diagonal (zero where there is no free row) in one precision."""

    e: Any
    wx: Any
    wy: Any
    wz: Any


class Work(NamedTuple):
    """Single-precision vectors of all levels: the cycle turns f into x with r as scratch; d, q, v belong to conjugate gradients."""

    inv: Any
    x: Any
    f: Any
    r: Any
    d: Any
    q: Any
    v: Any


class Watch(NamedTuple):
    """Contact cells (kernels/rows_watch.py) with the iterate, right-hand side and couplings they are judged by; may hold none."""

    at: Any
    p: Any
    g: Any
    wx: Any
    wy: Any
    wz: Any


@njit(cache=True)
def smooth(c, level, grids, A, work):
    """A half-sweep on colour c."""
    first, last = grids.cut[level], grids.cut[level + 1]
    strips, blocks = grids.strips, grids.blocks
    if level < grids.light:
        relax(c, work.x, work.f, work.inv, A.wx, A.wy, A.wz, strips, blocks, first, last)
    else:
        relax_serial(c, work.x, work.f, work.inv, A.wx, A.wy, A.wz, strips, blocks, first, last)


@njit(cache=True)
def smooth_from_zero(c, level, grids, work):
    first, last = grids.cut[level], grids.cut[level + 1]
    if level < grids.light:
        relax_from_zero(c, work.x, work.f, work.inv, grids.off, grids.span, grids.blocks, first, last)
    else:
        relax_from_zero_serial(c, work.x, work.f, work.inv, grids.off, grids.span, grids.blocks, first, last)


@njit(cache=True)
def descend(level, sweeps, grids, A, work):
    """Red-black pre-sweeps from x = 0, and the residual to the next level's f."""
    first, last, below = grids.cut[level], grids.cut[level + 1], grids.cut[level + 2]
    smooth_from_zero(RED, level, grids, work)
    smooth(BLACK, level, grids, A, work)
    for _ in range(sweeps - 1):
        smooth(RED, level, grids, A, work)
        smooth(BLACK, level, grids, A, work)
    off, par, span, child, strips, blocks = grids.off, grids.par, grids.span, grids.child, grids.strips, grids.blocks
    if level < grids.light:
        residual(RED, work.r, work.x, work.f, A.e, work.inv, A.wx, A.wy, A.wz, strips, blocks, first, last)
        restrict_red(work.f, work.r, work.inv, off, par, span, child, blocks, last, below, grids.width)
    else:
        residual_serial(RED, work.r, work.x, work.f, A.e, work.inv, A.wx, A.wy, A.wz, strips, blocks, first, last)
        restrict_red_serial(work.f, work.r, work.inv, off, par, span, child, blocks, last, below, grids.width)


@njit(cache=True)
def ascend(level, sweeps, grids, A, work, y):
    """The next level's y added, and black-red post-sweeps: the mirror image of `descend`."""
    last, below = grids.cut[level + 1], grids.cut[level + 2]
    if level < grids.light:
        prolong_red(work.x, y, work.inv, grids.off, grids.par, grids.span, grids.child, grids.blocks, last, below, grids.width)
    else:
        prolong_red_serial(work.x, y, work.inv, grids.off, grids.par, grids.span, grids.child, grids.blocks, last, below, grids.width)
    for _ in range(sweeps):
        smooth(BLACK, level, grids, A, work)
        smooth(RED, level, grids, A, work)


@njit(cache=True)
def v_cycle(top, sweeps, grids, A, work):
    """x = B f on level `top`. The coarsest level is a single cell, solved exactly."""
    for level in range(top, grids.bottom):
        descend(level, sweeps, grids, A, work)
    smooth_from_zero(RED, grids.bottom, grids, work)
    smooth_from_zero(BLACK, grids.bottom, grids, work)
    for level in range(grids.bottom - 1, top - 1, -1):
        ascend(level, sweeps, grids, A, work, work.x)


@njit(cache=True)
def inner(x, a, b, both, level, grids, part):
    """x . a and, if asked for, x . b on a level."""
    first, last = grids.cut[level], grids.cut[level + 1]
    if level < grids.light:
        dots(x, a, b, both, grids.off, grids.span, grids.blocks, first, last, part)
    else:
        dots_serial(x, a, b, both, grids.off, grids.span, grids.blocks, first, last, part)
    return part[first:last, 0].sum(), part[first:last, 1].sum()


@njit(cache=True)
def aim(d, z, beta, level, grids):
    """d = z + beta d."""
    first, last = grids.cut[level], grids.cut[level + 1]
    if level < grids.light:
        turn(d, z, beta, grids.off, grids.span, grids.blocks, first, last)
    else:
        turn_serial(d, z, beta, grids.off, grids.span, grids.blocks, first, last)


@njit(cache=True)
def multiply(q, d, M, inv, level, grids, part):
    """q = M d on free cells; returns d . q."""
    first, last = grids.cut[level], grids.cut[level + 1]
    strips, blocks = grids.strips, grids.blocks
    if level < grids.light:
        apply_dot(q, d, M.e, inv, M.wx, M.wy, M.wz, strips, blocks, first, last, part)
    else:
        apply_dot_serial(q, d, M.e, inv, M.wx, M.wy, M.wz, strips, blocks, first, last, part)
    return part[first:last, 0].sum()


@njit(cache=True)
def walk(v, r, d, q, alpha, fresh, level, grids, part):
    """v += alpha d (v = alpha d when fresh), r -= alpha q; returns max|r|."""
    first, last = grids.cut[level], grids.cut[level + 1]
    if level < grids.light:
        step(v, r, d, q, alpha, fresh, grids.off, grids.span, grids.blocks, first, last, part)
    else:
        step_serial(v, r, d, q, alpha, fresh, grids.off, grids.span, grids.blocks, first, last, part)
    return part[first:last, 0].max()


@njit(cache=True)
def put(x, v, level, grids):
    """x = v, in the precision of x."""
    first, last = grids.cut[level], grids.cut[level + 1]
    if level < grids.light:
        replace(x, v, grids.off, grids.span, grids.blocks, first, last)
    else:
        replace_serial(x, v, grids.off, grids.span, grids.blocks, first, last)


@njit(cache=True)
def keep_free(d, inv, level, grids):
    """d = 0 on cells that are not free."""
    first, last = grids.cut[level], grids.cut[level + 1]
    if level < grids.light:
        mask(d, inv, grids.off, grids.span, grids.blocks, first, last)
    else:
        mask_serial(d, inv, grids.off, grids.span, grids.blocks, first, last)


@njit(cache=True)
def k_cycle(top, sweeps, steps, grids, A, work, part):
    """The same, but the next level is solved by `steps` steps of conjugate gradients with a V-cycle (Notay's K-cycle on one level).

    Aggregation scales smooth corrections right only on average; the inner steps mend that and, unlike a W-cycle, stay positive
    where a pocket hangs on few faces.
    """
    if top + 2 > grids.bottom or steps == 0:
        v_cycle(top, sweeps, grids, A, work)
        return
    descend(top, sweeps, grids, A, work)
    below = top + 1
    done, curvature = 0, 0.0
    for count in range(steps):
        v_cycle(below, sweeps, grids, A, work)
        rho, image = inner(work.x, work.f, work.q, count > 0, below, grids, part)
        if not rho > 0.0:
            break
        # Conjugate to the last direction by its image, which rounding in single precision harms less than the quotient of two rho.
        beta = -image / curvature if count > 0 else 0.0
        aim(work.d, work.x, np.float32(beta), below, grids)
        curvature = multiply(work.q, work.d, A, work.inv, below, grids, part)
        if not curvature > 0.0:
            break
        walk(work.v, work.f, work.d, work.q, np.float32(rho / curvature), count == 0, below, grids, part)
        done += 1
    ascend(top, sweeps, grids, A, work, work.v if done > 0 else work.x)


@njit(cache=True)
def conjugate_gradients(top, sweeps, coarse_steps, limit, goal, carried, res, d, q, v, M, grids, A, work, part, early, slip, watch):
    """Solve M v = res on the free cells of level `top` until max|res - M v| <= goal or `limit` steps; res becomes the residual.

    Flexible (Polak-Ribiere), since the preconditioner changes with its argument. Runs in the precision of res, d, q, v and M, with
    the cycle in single precision on work.f (which may be res itself). `carried`: d . q of the last direction of an earlier solve with
    almost the same matrix, still in d and q, to which the first direction is made conjugate; 0 if there is none. Ends early when a
    step is no descent, and, once the residual is below `early`, when p + v would take a contact cell to the other side by more
    than `slip`: what is solved for is then no longer the problem. Returns (steps, residual, d . q, looks at the contact cells,
    whether one would change).
    """
    number = res.dtype.type
    rho, alpha, reached, curvature, looks = 0.0, 0.0, np.inf, carried, 0
    for steps in range(limit):
        if res.itemsize > work.f.itemsize:
            put(work.f, res, top, grids)
        k_cycle(top, sweeps, coarse_steps, grids, A, work, part)
        rho, image = inner(work.x, res, q, curvature > 0.0, top, grids, part)
        if not rho > 0.0:
            return steps, reached, 0.0, looks, False
        # Conjugate to the last direction: beta = -z . A d / d . A d
        beta = -image / curvature if curvature > 0.0 else 0.0
        if steps == 0:
            keep_free(d, work.inv, top, grids)
        aim(d, work.x, number(beta), top, grids)
        curvature = multiply(q, d, M, work.inv, top, grids, part)
        if not curvature > 0.0:
            return steps, reached, 0.0, looks, False
        alpha = rho / curvature
        reached = walk(v, res, d, q, number(alpha), steps == 0, top, grids, part)
        if not reached > goal:
            return steps + 1, reached, curvature, looks, False
        if not reached > early and watch.at.shape[1] > 0:
            looks += 1
            if would_change(watch.p, v, watch.g, work.inv, slip, watch.wx, watch.wy, watch.wz, watch.at) > 0:
                return steps + 1, reached, curvature, looks, True
    return limit, reached, curvature, looks, False
