"""Conjugate gradients and projected relaxation on strips for a matrix with a term of low rank, A + F C F^T.

F has entries in few cells, listed by position; C is small and dense. Everything that grows with the liquid is done by the kernels of the
plain matrix; what is added here costs a pass over the listed cells, and with deflation two passes over a few vectors.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange

from unstick.kernels.reduce_rows import dot
from unstick.kernels.rows_cycle import aim, inner, k_cycle, keep_free, multiply, put, walk
from unstick.kernels.rows_watch import would_change

U = np.uint64
CHUNK = 8192
RESTART, GIVE_UP = 4, 12  # steps without progress after which the deflated part is solved for again, and after which it is no use


class Term(NamedTuple):
    """The cells with entries in F, red ones first, and what belongs to each."""

    at: Any  # (7, n): position of the cell and of its six neighbours, lower and upper by axis
    ptr: Any
    idx: Any
    val: Any  # F by rows
    core: Any  # C
    own: Any  # diagonal of F C F^T
    g: Any  # right-hand side without the term
    red: int  # how many of the cells are red


class Deflation(NamedTuple):
    """Directions W (k, positions), their images A W under the plain matrix in single precision, their moments F^T W and the images C F^T W
    of these, and the inverse of W^T (A + F C F^T) W. k may be 0.

    A and the term are kept apart because the term may be ten thousand times as large: its rounding would let a stiff motion back in.
    """

    begin: int  # position of the first column
    W: Any
    S: Any
    moved: Any  # (k, q)
    inverse: Any


@njit(cache=True)
def moments(term, x):
    """F^T x."""
    y = np.zeros(term.core.shape[0])
    for s in range(term.at.shape[1]):
        value = np.float64(x[term.at[0, s]])
        for a in range(term.ptr[s], term.ptr[s + 1]):
            y[term.idx[a]] += term.val[a] * value
    return y


@njit(cache=True)
def times_core(term, y):
    """C y."""
    out = np.zeros(len(y))
    for a in range(len(y)):
        total = 0.0
        for b in range(len(y)):
            total += term.core[a, b] * y[b]
        out[a] = total
    return out


@njit(cache=True)
def row_value(term, s, t):
    """F t in one of the cells."""
    value = 0.0
    for a in range(term.ptr[s], term.ptr[s + 1]):
        value += term.val[a] * t[term.idx[a]]
    return value


@njit(cache=True)
def add_term(q, d, inv, term):
    """q += F C F^T d on free cells; returns what that adds to d . q."""
    y = moments(term, d)
    t = times_core(term, y)
    none = inv.dtype.type(0)
    for s in range(term.at.shape[1]):
        i = term.at[0, s]
        if inv[i] != none:
            q[i] += q.dtype.type(row_value(term, s, t))
    curve = 0.0
    for a in range(len(y)):
        curve += y[a] * t[a]
    return curve


@njit(cache=True)
def write_right(g, term, y):
    """g = its own right-hand side less the term's share for moments y, so that the plain residual is the coupled one."""
    t = times_core(term, y)
    for s in range(term.at.shape[1]):
        g[term.at[0, s]] = term.g[s] - row_value(term, s, t)


@njit(cache=True)
def relax_listed(red, p, contact, wx, wy, wz, e, term, t):
    """Projected Gauss-Seidel for the coupled matrix on the listed cells of one colour, one after the other; t = C F^T p follows."""
    first, last = (0, term.red) if red else (term.red, term.at.shape[1])
    for s in range(first, last):
        i = term.at[0, s]
        xm, xp, ym, yp, zm, zp = term.at[1, s], term.at[2, s], term.at[3, s], term.at[4, s], term.at[5, s], term.at[6, s]
        d = e[i] + wx[i] + wx[xp] + wy[i] + wy[yp] + wz[i] + wz[zp]
        if not d + term.own[s] > 0.0:
            continue
        flow = wx[i] * p[xm] + wx[xp] * p[xp] + wy[i] * p[ym] + wy[yp] * p[yp] + wz[i] * p[zm] + wz[zp] * p[zp]
        slack = d * p[i] - flow - term.g[s] + row_value(term, s, t)
        new = p[i] - slack / (d + term.own[s])
        if contact[i] != 0 and new < 0.0:
            new = 0.0
        change = new - p[i]
        p[i] = new
        for a in range(term.ptr[s], term.ptr[s + 1]):
            for c in range(len(t)):
                t[c] += term.core[c, term.idx[a]] * term.val[a] * change


@njit(parallel=True, cache=True)
def against(S, begin, z):
    """S z by rows of S, in double precision, in an order that does not depend on the number of threads."""
    count, n = S.shape
    chunks = (n + CHUNK - 1) // CHUNK
    part = np.zeros((chunks, count))
    for chunk in prange(chunks):
        first, last = chunk * CHUNK, min(n, (chunk + 1) * CHUNK)
        for a in range(count):
            part[chunk, a] = dot(S[a], U(first), z, U(begin + first), last - first)
    out = np.zeros(count)
    for chunk in range(chunks):
        for a in range(count):
            out[a] += part[chunk, a]
    return out


@njit(parallel=True, cache=True)
def along(z, W, begin, a):
    """z += W^T a."""
    count, n = W.shape
    kind = z.dtype.type
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        first, last = chunk * CHUNK, min(n, (chunk + 1) * CHUNK)
        for c in range(count):
            scale = kind(a[c])
            for m in range(first, last):
                z[begin + m] += scale * kind(W[c, m])


@njit(cache=True)
def take_out(d, deflation, term):
    """d less its part along the deflated directions, in the inner product of the coupled matrix."""
    c = against(deflation.S, deflation.begin, d) + np.dot(deflation.moved, times_core(term, moments(term, d)))
    along(d, deflation.W, deflation.begin, -np.dot(deflation.inverse, c))


@njit(cache=True)
def start_deflated(v, res, inv, deflation, term):
    """v = the part of the solution along the deflated directions; res becomes the residual."""
    a = np.dot(deflation.inverse, against(deflation.W, deflation.begin, res))
    along(v, deflation.W, deflation.begin, a)
    along(res, deflation.S, deflation.begin, -a)
    t = times_core(term, np.dot(a, deflation.moved))
    none = inv.dtype.type(0)
    for s in range(term.at.shape[1]):
        i = term.at[0, s]
        if inv[i] != none:
            res[i] -= res.dtype.type(row_value(term, s, t))


@njit(cache=True)
def coupled_gradients(
    sweeps, coarse_steps, limit, goal, res, d, q, v, M, grids, A, work, part, early, slip, watch, term, held, deflation
):  # fmt: skip
    """Solve (M + F C F^T) v = res on the free cells of level 0 as `rows_cycle.conjugate_gradients` does for M; v and d are zero at first.

    `held` is F^T p of the iterate that the watch judges. The deflated directions are solved for at once, and kept out of every
    direction after that. Returns (steps, residual, whether a contact cell would change sides).
    """
    number = res.dtype.type
    deflated = deflation.W.shape[0] > 0
    reached, least, curvature, stale = np.inf, np.inf, 0.0, 0
    for steps in range(limit):
        if deflated and (steps == 0 or stale == RESTART):
            # Twice: the images are known in single precision, and what they leave along a stiff direction no step would reduce.
            for _ in range(2 if res.itemsize > work.f.itemsize else 1):
                start_deflated(v, res, work.inv, deflation, term)
            curvature = 0.0
        if res.itemsize > work.f.itemsize:
            put(work.f, res, 0, grids)
        k_cycle(0, sweeps, coarse_steps, grids, A, work, part)
        rho, image = inner(work.x, res, q, curvature > 0.0, 0, grids, part)
        if not rho > 0.0:
            return steps, reached, False
        beta = -image / curvature if curvature > 0.0 else 0.0
        if steps == 0:
            keep_free(d, work.inv, 0, grids)
        aim(d, work.x, number(beta), 0, grids)
        if deflated:
            take_out(d, deflation, term)
            rho = inner(d, res, res, False, 0, grids, part)[0]
        curvature = multiply(q, d, M, work.inv, 0, grids, part)
        curvature += add_term(q, d, work.inv, term)
        if not (curvature > 0.0 and rho > 0.0):
            return steps, reached, False
        reached = walk(v, res, d, q, number(rho / curvature), False, 0, grids, part)
        if not reached > goal:
            return steps + 1, reached, False
        stale = stale + 1 if reached > 0.8 * least else 0
        least = min(least, reached)
        if stale > GIVE_UP:
            return steps + 1, reached, False
        if not reached > early and watch.at.shape[1] > 0:
            write_right(watch.g, term, held + moments(term, v))
            if would_change(watch.p, v, watch.g, work.inv, slip, watch.wx, watch.wy, watch.wz, watch.at) > 0:
                return steps + 1, reached, True
    return limit, reached, False
