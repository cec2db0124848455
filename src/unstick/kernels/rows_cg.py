"""The vector work of conjugate gradients on strips, one pass each; partial sums by block, added up in block order."""

import numpy as np
from numba import prange

from unstick.kernels.reduce_rows import dot, largest
from unstick.kernels.twins import twins

U = np.uint64


def _apply_dot(q, d, e, inv, wx, wy, wz, strips, blocks, first, last, part):
    """q = A d on free cells (inv != 0), zero elsewhere; part = d . q by block."""
    zero, none = q.dtype.type(0), inv.dtype.type(0)
    for block in prange(first, last):
        total = 0.0
        for row in range(blocks[block, 0], blocks[block, 1]):
            for c in range(2):
                own, n = U(strips[c, row, 0]), np.int64(strips[c, row, 1])
                xm, xp = U(strips[c, row, 2]), U(strips[c, row, 3])
                ym, yp = U(strips[c, row, 4]), U(strips[c, row, 5])
                zm, zp = U(strips[c, row, 6]), U(strips[c, row, 7])
                for s in range(n):
                    m = U(s)
                    p = d[own + m]
                    v = e[own + m] * p + wx[own + m] * (p - d[xm + m]) + wx[xp + m] * (p - d[xp + m])
                    v += wy[own + m] * (p - d[ym + m]) + wy[yp + m] * (p - d[yp + m])
                    v += wz[own + m] * (p - d[zm + m]) + wz[zp + m] * (p - d[zp + m])
                    q[own + m] = v if inv[own + m] != none else zero
                total += dot(d, own, q, own, n)
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
                for s in range(n):
                    m = U(s)
                    x[own + m] = keep * x[own + m] + alpha * d[own + m]
                    r[own + m] -= alpha * q[own + m]
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
                for s in range(span[1, row] - lo):
                    m = U(s)
                    d[own + m] = z[own + m] + beta * d[own + m]


def _replace(x, v, off, span, blocks, first, last):
    """x = v, in the precision of x."""
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range(span[1, row] - lo):
                    m = U(s)
                    x[own + m] = v[own + m]


def _mask(d, inv, off, span, blocks, first, last):
    """d = 0 where inv is."""
    zero, none = d.dtype.type(0), inv.dtype.type(0)
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range(span[1, row] - lo):
                    m = U(s)
                    d[own + m] = d[own + m] if inv[own + m] != none else zero


apply_dot, apply_dot_serial = twins(_apply_dot)
step, step_serial = twins(_step)
dots, dots_serial = twins(_dots)
turn, turn_serial = twins(_turn)
replace, replace_serial = twins(_replace)
mask, mask_serial = twins(_mask)
