"""Conjugate gradients on the Schur complement of the impulse form, with Aanjaneya's preconditioner P(s) of V-cycles, on strips.

The V-cycle is that of McAdams, Sifakis and Teran 2010: sweeps on the cells near a boundary around sweeps everywhere, the mirror image on
the way up. Sigma p = A p - shift p + F C F^T p, where A is preconditioned and the rest lives in listed cells (kernels/rows_coupled.py).
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from unstick.kernels.rows import prolong_red, residual, restrict_red
from unstick.kernels.rows_coupled import add_term
from unstick.kernels.rows_cycle import BLACK, RED, aim, inner, multiply, put, smooth, walk

U = np.uint64


class Near(NamedTuple):
    """Cells near a boundary on all levels, red ones first on each: at (7, n), begin of each level and colour (2 levels + 1)."""

    at: Any
    begin: Any


@njit(cache=True)
def relax_near(c, level, near, A, work):
    """Gauss-Seidel on the cells of one colour near a boundary."""
    x = work.x
    for s in range(near.begin[2 * level + c], near.begin[2 * level + c + 1]):
        i = U(near.at[0, s])
        xm, xp, ym, yp = U(near.at[1, s]), U(near.at[2, s]), U(near.at[3, s]), U(near.at[4, s])
        zm, zp = U(near.at[5, s]), U(near.at[6, s])
        v = work.f[i] + A.wx[i] * x[xm] + A.wx[xp] * x[xp] + A.wy[i] * x[ym] + A.wy[yp] * x[yp] + A.wz[i] * x[zm] + A.wz[zp] * x[zp]
        x[i] = v * work.inv[i]


@njit(cache=True)
def published_cycle(boundary, interior, grids, A, work, near, start, stop):
    """x = V f: `boundary` sweeps near boundaries and `interior` ones everywhere before, the mirror image after each coarse correction."""
    work.x[start:stop] = 0
    for level in range(grids.bottom):
        first, last, below = grids.cut[level], grids.cut[level + 1], grids.cut[level + 2]
        for _ in range(boundary):
            relax_near(RED, level, near, A, work)
            relax_near(BLACK, level, near, A, work)
        for _ in range(interior):
            smooth(RED, level, grids, A, work)
            smooth(BLACK, level, grids, A, work)
        residual(RED, work.r, work.x, work.f, A.e, work.inv, A.wx, A.wy, A.wz, grids.strips, grids.blocks, first, last)
        restrict_red(work.f, work.r, work.inv, grids.off, grids.par, grids.span, grids.child, grids.blocks, last, below, grids.width)
    for _ in range(2):
        smooth(RED, grids.bottom, grids, A, work)
        smooth(BLACK, grids.bottom, grids, A, work)
    for level in range(grids.bottom - 1, -1, -1):
        last, below = grids.cut[level + 1], grids.cut[level + 2]
        prolong_red(work.x, work.x, work.inv, grids.off, grids.par, grids.span, grids.child, grids.blocks, last, below, grids.width)
        for _ in range(interior):
            smooth(BLACK, level, grids, A, work)
            smooth(RED, level, grids, A, work)
        for _ in range(boundary):
            relax_near(BLACK, level, near, A, work)
            relax_near(RED, level, near, A, work)


@njit(cache=True)
def times_sigma(q, d, M, inv, grids, part, term, shift):
    """q = Sigma d; returns d . q."""
    curve = multiply(q, d, M, inv, 0, grids, part)
    for s in range(term.at.shape[1]):
        i = term.at[0, s]
        q[i] -= q.dtype.type(shift[s]) * d[i]
        curve -= shift[s] * np.float64(d[i]) * np.float64(d[i])
    return curve + add_term(q, d, inv, term)


@njit(cache=True)
def schur_gradients(order, boundary, interior, limit, reduction, res, d, q, v, M, grids, A, work, near, part, term, shift, start, stop):
    """Solve Sigma v = res until |res|_2 has fallen by `reduction`; returns the history of |res|_2, as far as it went.

    P(s) of Algorithm 1: z = V r, then s times z += V (r - Sigma z), the last V-cycle's result being the next one's start (section 6).
    """
    history = np.zeros(limit + 1)
    history[0] = np.sqrt(inner(res, res, res, False, 0, grids, part)[0])
    z, image = np.zeros(len(res)), np.zeros(len(res))
    rho = 1.0
    for step in range(limit):
        put(work.f, res, 0, grids)
        published_cycle(boundary, interior, grids, A, work, near, start, stop)
        put(z, work.x, 0, grids)
        for _ in range(order):
            times_sigma(image, z, M, work.inv, grids, part, term, shift)
            for m in range(grids.width, len(res)):
                work.f[m] = np.float32(res[m] - image[m])
            published_cycle(boundary, interior, grids, A, work, near, start, stop)
            aim(z, work.x, 1.0, 0, grids)
        new = inner(z, res, res, False, 0, grids, part)[0]
        aim(d, z, new / rho if step > 0 else 0.0, 0, grids)
        rho = new
        curvature = times_sigma(q, d, M, work.inv, grids, part, term, shift)
        if not (curvature > 0.0 and rho > 0.0):
            return history[: step + 1]
        walk(v, res, d, q, rho / curvature, False, 0, grids, part)
        history[step + 1] = np.sqrt(inner(res, res, res, False, 0, grids, part)[0])
        if not history[step + 1] > reduction * history[0]:
            return history[: step + 2]
    return history
