"""The vector work of conjugate gradients on strips, one pass each; partial sums by block, added up in block order."""

import numpy as np
from numba import njit, prange

from unstick.kernels.apart import get, put
from unstick.kernels.reduce_rows import dot, largest
from unstick.kernels.rows_strips import STEP, beside, length, places, uniform_part
from unstick.kernels.twins import twins

U = np.uint64


@njit(inline="always")
def apply_part(q, d, e, inv, wx, wy, wz, at, begin, end):
    zero, none = q.dtype.type(0), inv.dtype.type(0)
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        p = get(d, own + m)
        v = get(e, own + m) * p + get(wx, own + m) * (p - get(d, xm + m)) + get(wx, xp + m) * (p - get(d, xp + m))
        v += get(wy, own + m) * (p - get(d, ym + m)) + get(wy, yp + m) * (p - get(d, yp + m))
        v += get(wz, own + m) * (p - get(d, zm + m)) + get(wz, zp + m) * (p - get(d, zp + m))
        put(q, own + m, v if get(inv, own + m) != none else zero)


@njit(inline="always")
def apply_uniform(q, d, w, at, begin, end):
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        p = get(d, own + m)
        v = w * (p - get(d, xm + m)) + w * (p - get(d, xp + m))
        v += w * (p - get(d, ym + m)) + w * (p - get(d, yp + m))
        v += w * (p - get(d, zm + m)) + w * (p - get(d, zp + m))
        put(q, own + m, v)


def _apply_dot(q, d, e, inv, wx, wy, wz, strips, blocks, first, last, part):
    """q = A d on free cells (inv != 0), zero elsewhere; part = d . q by block."""
    for block in prange(first, last):
        total = 0.0
        if blocks[block, 2]:
            for row in range(blocks[block, 0], blocks[block, 1]):
                for c in range(2):
                    at, n, (a, b) = places(strips, c, row), length(strips, c, row), uniform_part(strips, c, row)
                    apply_uniform(q, d, wx[at[0] + U(a)], at, a, b)
                    for s in range(0, n - (b - a), STEP):
                        m = beside(s, a, b)
                        apply_part(q, d, e, inv, wx, wy, wz, at, m, m + STEP)
                    total += dot(d, at[0], q, at[0], n)
        else:
            for row in range(blocks[block, 0], blocks[block, 1]):
                for c in range(2):
                    at, n = places(strips, c, row), length(strips, c, row)
                    apply_part(q, d, e, inv, wx, wy, wz, at, 0, n)
                    total += dot(d, at[0], q, at[0], n)
        part[block, 0] = total


def _step(x, r, d, q, alpha, fresh, off, span, blocks, first, last, part):
    """x += alpha d (x = alpha d when fresh), r -= alpha q; part = max|r| by block."""
    keep = x.dtype.type(0 if fresh else 1)
    for block in prange(first, last):
        top = r.dtype.type(0)
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[1, row] - lo
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range(n & -STEP):
                    m = U(s)
                    put(x, own + m, keep * x[own + m] + alpha * get(d, own + m))
                    put(r, own + m, r[own + m] - alpha * get(q, own + m))
                top = max(top, largest(r, own, n))
        part[block, 0] = top


def _dots(x, a, b, both, off, span, blocks, first, last, part):
    """part = x . a and x . b (0 unless both) by block."""
    for block in prange(first, last):
        one, two = 0.0, 0.0
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[1, row] - lo
            for c in range(2):
                own = U(off[c, row] + lo)
                one += dot(x, own, a, own, n)
                if both:
                    two += dot(x, own, b, own, n)
        part[block, 0], part[block, 1] = one, two


def _turn(d, z, beta, off, span, blocks, first, last):
    """d = z + beta d."""
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range((span[1, row] - lo) & -STEP):
                    m = U(s)
                    put(d, own + m, get(z, own + m) + beta * d[own + m])


def _replace(x, v, off, span, blocks, first, last):
    """x = v, in the precision of x."""
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range((span[1, row] - lo) & -STEP):
                    m = U(s)
                    put(x, own + m, get(v, own + m))


def _mask(d, inv, off, span, blocks, first, last):
    """d = 0 where inv is."""
    zero, none = d.dtype.type(0), inv.dtype.type(0)
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range((span[1, row] - lo) & -STEP):
                    m = U(s)
                    put(d, own + m, d[own + m] if get(inv, own + m) != none else zero)


apply_dot, apply_dot_serial = twins(_apply_dot)
step, step_serial = twins(_step)
dots, dots_serial = twins(_dots)
turn, turn_serial = twins(_turn)
replace, replace_serial = twins(_replace)
mask, mask_serial = twins(_mask)
