"""The multigrid cycle on strips, and conjugate gradients preconditioned by it, as compiled loops over levels.

`grid` stands for the tables of the layout (off, nbr, par, span, child, blocks), `cut` for the first block of each level, and
levels below `light` run their kernels in parallel. f of the level on top is the right-hand side and is kept.
"""

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
from unstick.kernels.rows_cg import apply_dot, dots, narrow, step, turn

RED, BLACK = 0, 1


@njit(cache=True)
def smooth(c, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, parallel):
    if parallel:
        relax(c, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last)
    else:
        relax_serial(c, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last)


@njit(cache=True)
def cycle(top, bottom, light, flat, sweeps, x, f, r, inv, e, wx, wy, wz, off, nbr, par, span, child, blocks, cut, width):
    """x = B f on level `top`: a symmetric cycle from x = 0; W above level `flat`, V below it. Pre-sweeps red-black, post-sweeps black-red."""
    visits = np.zeros(bottom + 1, dtype=np.int64)
    fresh = np.ones(bottom + 1, dtype=np.bool_)
    level = top
    visits[top] = 1
    while True:
        while level < bottom:
            first, last = cut[level], cut[level + 1]
            parallel = level < light
            for sweep in range(sweeps):
                if sweep == 0 and fresh[level]:
                    if parallel:
                        relax_from_zero(RED, x, f, inv, off, span, blocks, first, last)
                    else:
                        relax_from_zero_serial(RED, x, f, inv, off, span, blocks, first, last)
                else:
                    smooth(RED, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, parallel)
                smooth(BLACK, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, parallel)
            down, below = cut[level + 1], cut[level + 2]
            if parallel:
                residual(RED, r, x, f, e, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last)
                restrict_red(f, r, inv, off, par, span, child, blocks, down, below, width)
            else:
                residual_serial(RED, r, x, f, e, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last)
                restrict_red_serial(f, r, inv, off, par, span, child, blocks, down, below, width)
            level += 1
            fresh[level] = True
            visits[level] = 2 if level < flat else 1
        first, last = cut[bottom], cut[bottom + 1]
        relax_from_zero_serial(RED, x, f, inv, off, span, blocks, first, last)
        relax_from_zero_serial(BLACK, x, f, inv, off, span, blocks, first, last)
        for _ in range(2):
            smooth(BLACK, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, False)
            smooth(RED, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, False)
            smooth(RED, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, False)
            smooth(BLACK, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, False)
        visits[level] -= 1
        while level > top and visits[level] == 0:
            down, below = cut[level], cut[level + 1]
            level -= 1
            first, last = cut[level], cut[level + 1]
            parallel = level < light
            if parallel:
                prolong_red(x, inv, off, par, span, child, blocks, down, below, width)
            else:
                prolong_red_serial(x, inv, off, par, span, child, blocks, down, below, width)
            for _ in range(sweeps):
                smooth(BLACK, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, parallel)
                smooth(RED, x, f, inv, wx, wy, wz, off, nbr, par, span, blocks, first, last, parallel)
            visits[level] -= 1
        if visits[top] == 0:
            return
        fresh[level] = False


@njit(cache=True)
def conjugate_gradients(
    top,
    bottom,
    light,
    flat,
    sweeps,
    limit,
    goal,
    res,
    d,
    q,
    v,
    matrix,
    x,
    f,
    r,
    inv,
    e,
    wx,
    wy,
    wz,
    off,
    nbr,
    par,
    span,
    child,
    blocks,
    cut,
    width,
    part,
):
    """Solve A v = res on the free cells of level `top` until max|res - A v| <= goal or `limit` steps; res becomes the residual.

    The iteration runs in the precision of res, d, q, v and `matrix` (e, wx, wy, wz), the cycle in single precision on f and r; with
    res and f, q and r the same arrays it is single throughout. Ends early when a step is no descent. Returns (steps, residual).
    """
    first, last = cut[top], cut[top + 1]
    dtype = res.dtype.type
    rho, reached = 0.0, np.inf
    for steps in range(limit):
        if res.itemsize > f.itemsize:
            narrow(f, res, off, span, blocks, first, last)
        cycle(top, bottom, light, flat, sweeps, x, f, r, inv, e, wx, wy, wz, off, nbr, par, span, child, blocks, cut, width)
        dots(x, res, off, span, blocks, first, last, part)
        before, rho = rho, part[first:last].sum()
        if not rho > 0.0:
            return steps, reached
        turn(d, x, dtype(0.0 if steps == 0 else rho / before), off, span, blocks, first, last)
        apply_dot(q, d, matrix[0], inv, matrix[1], matrix[2], matrix[3], off, nbr, par, span, blocks, first, last, part)
        curvature = part[first:last].sum()
        if not curvature > 0.0:
            return steps, reached
        step(v, res, d, q, dtype(rho / curvature), off, span, blocks, first, last, part)
        reached = part[first:last].max()
        if not reached > goal:
            return steps + 1, reached
    return limit, reached
