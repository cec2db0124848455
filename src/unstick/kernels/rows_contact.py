"""The complementarity on strips: projected sweeps, the residual with the choice of the detached set, projection and line search."""

import numpy as np
from numba import njit, prange

from unstick.kernels.apart import get, put
from unstick.kernels.reduce_rows import dot, largest, total
from unstick.kernels.rows_strips import STEP, beside, length, places, uniform_part

U = np.uint64
AWAY = 4096.0  # counts a detached cell in sums that count changes by one: more than the changes of a strip


@njit(inline="always")
def project_part(p, g, contact, wx, wy, wz, e, at, begin, end):
    zero, one, low = p.dtype.type(0), p.dtype.type(1), p.dtype.type(-1e30)
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        v = get(g, own + m) + get(wx, own + m) * get(p, xm + m) + get(wx, xp + m) * get(p, xp + m)
        v += get(wy, own + m) * get(p, ym + m) + get(wy, yp + m) * get(p, yp + m)
        v += get(wz, own + m) * get(p, zm + m) + get(wz, zp + m) * get(p, zp + m)
        d = get(e, own + m) + get(wx, own + m) + get(wx, xp + m) + get(wy, own + m) + get(wy, yp + m) + get(wz, own + m) + get(wz, zp + m)
        v = v / (d if d > zero else one)
        floor = zero if get(contact, own + m) != 0 else low
        put(p, own + m, v if v > floor else floor)


@njit(inline="always")
def project_uniform(p, g, w, at, begin, end):
    d = w + w + w + w + w + w
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        v = get(g, own + m) + w * get(p, xm + m) + w * get(p, xp + m)
        v += w * get(p, ym + m) + w * get(p, yp + m)
        v += w * get(p, zm + m) + w * get(p, zp + m)
        put(p, own + m, v / d)


@njit(parallel=True, cache=True)
def project_relax(c, p, g, contact, wx, wy, wz, e, strips, blocks, first, last):
    """Projected Gauss-Seidel on colour c for A p = g: p_i = (g_i + sum w_ij p_j) / a_ii, at least 0 on contact rows."""
    for block in prange(first, last):
        if blocks[block, 2]:
            for row in range(blocks[block, 0], blocks[block, 1]):
                at, n, (a, b) = places(strips, c, row), length(strips, c, row), uniform_part(strips, c, row)
                project_uniform(p, g, wx[at[0] + U(a)], at, a, b)
                for s in range(0, n - (b - a), STEP):
                    m = beside(s, a, b)
                    project_part(p, g, contact, wx, wy, wz, e, at, m, m + STEP)
        else:
            for row in range(blocks[block, 0], blocks[block, 1]):
                at, n = places(strips, c, row), length(strips, c, row)
                project_part(p, g, contact, wx, wy, wz, e, at, 0, n)


@njit(inline="always")
def inspect_part(p, g, contact, wx, wy, wz, e, weight, r, inv, natural, changes, at, begin, end):
    o_zero, zero, one = r.dtype.type(0), p.dtype.type(0), p.dtype.type(1)
    r_one, changed, away = inv.dtype.type(1), np.float32(1.0), np.float32(AWAY)
    none = np.float32(0.0)
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        x = get(p, own + m)
        v = get(e, own + m) * x + get(wx, own + m) * (x - get(p, xm + m)) + get(wx, xp + m) * (x - get(p, xp + m))
        v += get(wy, own + m) * (x - get(p, ym + m)) + get(wy, yp + m) * (x - get(p, yp + m))
        v += get(wz, own + m) * (x - get(p, zm + m)) + get(wz, zp + m) * (x - get(p, zp + m))
        d = get(e, own + m) + get(wx, own + m) + get(wx, xp + m) + get(wy, own + m) + get(wy, yp + m) + get(wz, own + m) + get(wz, zp + m)
        slack = v - get(g, own + m) if d > zero else zero
        touch = get(contact, own + m) != 0
        bound = (weight if weight > zero else d) * x
        put(natural, m, bound if touch & (bound < slack) else slack)
        off_now = touch & (x <= zero) & (slack >= zero) & (d > zero)
        off_before = (inv[own + m] == o_zero) & (d > zero)
        put(changes, m, (changed if off_now != off_before else none) + (away if off_now else none))
        inverse = r_one / inv.dtype.type(d if d > zero else one)
        put(inv, own + m, inverse if (d > zero) & (not off_now) else o_zero)
        put(r, own + m, o_zero if off_now else -slack)


@njit(inline="always")
def inspect_uniform(p, g, w, r, inv, natural, changes, at, begin, end):
    none, inverse = np.float32(0.0), inv.dtype.type(1) / inv.dtype.type(w + w + w + w + w + w)
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        x = get(p, own + m)
        v = w * (x - get(p, xm + m)) + w * (x - get(p, xp + m))
        v += w * (x - get(p, ym + m)) + w * (x - get(p, yp + m))
        v += w * (x - get(p, zm + m)) + w * (x - get(p, zp + m))
        slack = v - get(g, own + m)
        put(natural, m, slack)
        put(changes, m, none)
        put(inv, own + m, inverse)
        put(r, own + m, -slack)


@njit(parallel=True, cache=True)
def inspect(p, g, contact, wx, wy, wz, e, weight, r, inv, flag, strips, blocks, first, last, width, part):
    """r = g - A p on free rows, zero on detached ones {contact, p <= 0, A p - g >= 0}, whose inv becomes 0.

    weight > 0 is Lai's absolute test in scaled units, weight = 0 the scale-free one (a_ii). flag marks rows whose detached set
    changed. part, by block: norm of the stopping test, largest free |r|, number of changes, number detached, sum of the residuals
    (which is not finite if any of them is not).
    """
    for block in prange(first, last):
        natural = np.empty(width, dtype=p.dtype)
        changes = np.empty(width, dtype=np.float32)
        top, free_top, changed, detached, size = 0.0, 0.0, 0.0, 0.0, 0.0
        for row in range(blocks[block, 0], blocks[block, 1]):
            row_changed = 0.0
            for c in range(2):
                at, n, (a, b) = places(strips, c, row), length(strips, c, row), uniform_part(strips, c, row)
                own = at[0]
                if blocks[block, 2]:
                    inspect_uniform(p, g, wx[own + U(a)], r, inv, natural, changes, at, a, b)
                    for s in range(0, n - (b - a), STEP):
                        m = beside(s, a, b)
                        inspect_part(p, g, contact, wx, wy, wz, e, weight, r, inv, natural, changes, at, m, m + STEP)
                else:
                    inspect_part(p, g, contact, wx, wy, wz, e, weight, r, inv, natural, changes, at, 0, n)
                top = max(top, largest(natural, U(0), n))
                free_top = max(free_top, np.float64(largest(r, own, n)))
                size += total(natural, U(0), n)
                sums = np.float64(total(changes, U(0), n))
                away = sums // AWAY
                detached += away
                row_changed += sums - AWAY * away
            changed += row_changed
            if row_changed > 0.0:
                flag[row] = True
        part[block, 0] = top
        part[block, 1] = free_top
        part[block, 2] = changed
        part[block, 3] = detached
        part[block, 4] = size


@njit(cache=True)
def gather(part, first, last):
    """What `inspect` left by block, put together; the sum of the residuals comes last."""
    top, free, changed, detached, size = 0.0, 0.0, 0.0, 0.0, 0.0
    for block in range(first, last):
        top, free = max(top, part[block, 0]), max(free, part[block, 1])
        changed += part[block, 2]
        detached += part[block, 3]
        size += part[block, 4]
    return top, free, int(changed), int(detached), size


@njit(parallel=True, cache=True)
def clip(d, p, x, contact, hit, off, span, blocks, first, last, part):
    """d = max(p + x, 0) - p on contact rows, x elsewhere; hit marks rows with clipped cells; part = how many those are, by block."""
    zero = p.dtype.type(0)
    for block in prange(first, last):
        clipped = 0
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            count = 0
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range(span[1, row] - lo):
                    m = U(s)
                    v = p[own + m] + x[own + m]
                    cut = (contact[own + m] != 0) & (v < zero)
                    count += 1 if cut else 0
                    d[own + m] = -p[own + m] if cut else x[own + m]
            hit[row] = count > 0
            clipped += count
        part[block] = clipped


@njit(cache=True)
def cells_of(hit, place, begin, end):
    """How many cells the marked rows among begin..end hold."""
    pairs = 0
    for row in range(begin, end):
        pairs += place[3, row] if hit[row] else 0
    return 2 * pairs


@njit(parallel=True, cache=True)
def slope(d, x, before, after, hit, wx, wy, wz, e, off, nbr, par, span, blocks, first, last, width, part):
    """By block: d . r and d . A d for the exact line search along d, where `before` is r = g - A p and `after` is r - A x.

    d = x but for the clipped cells, so d . A d = d . A x + (d - x) . A d, and A d is only needed in rows that were hit.
    """
    for block in prange(first, last):
        bend, gap = np.empty(width, dtype=d.dtype), np.empty(width, dtype=d.dtype)
        up, down, more = 0.0, 0.0, 0.0
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            n = span[1, row] - lo
            for c in range(2):
                own = U(off[c, row] + lo)
                up += dot(d, own, before, own, n)
                down += dot(d, own, after, own, n)
                if not hit[row]:
                    continue
                o = 1 - c
                side = (par[row] + c) & 1
                xm, xp = U(off[o, nbr[0, row]] + lo), U(off[o, nbr[1, row]] + lo)
                ym, yp = U(off[o, nbr[2, row]] + lo), U(off[o, nbr[3, row]] + lo)
                zm, zp = U(off[o, row] + lo - 1 + side), U(off[o, row] + lo + side)
                for s in range(n):
                    m = U(s)
                    y = d[own + m]
                    t = e[own + m] * y + wx[own + m] * (y - d[xm + m]) + wx[xp + m] * (y - d[xp + m])
                    t += wy[own + m] * (y - d[ym + m]) + wy[yp + m] * (y - d[yp + m])
                    t += wz[own + m] * (y - d[zm + m]) + wz[zp + m] * (y - d[zp + m])
                    bend[m] = t
                    gap[m] = y - x[own + m]
                more += dot(bend, U(0), gap, U(0), n)
        part[block, 0] = up
        part[block, 1] = up - down + more


@njit(parallel=True, cache=True)
def advance(p, d, alpha, contact, off, span, blocks, first, last):
    """p += alpha d, exactly 0 where a full step reaches 0 on a contact row."""
    zero = p.dtype.type(0)
    for block in prange(first, last):
        for row in range(blocks[block, 0], blocks[block, 1]):
            lo = span[0, row]
            for c in range(2):
                own = U(off[c, row] + lo)
                for s in range(span[1, row] - lo):
                    m = U(s)
                    v = p[own + m] + alpha * d[own + m]
                    p[own + m] = zero if (contact[own + m] != 0) & (v < zero) else v


@njit(inline="always")
def slack_part(out, p, g, wx, wy, wz, e, at, begin, end):
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        x = get(p, own + m)
        v = get(e, own + m) * x + get(wx, own + m) * (x - get(p, xm + m)) + get(wx, xp + m) * (x - get(p, xp + m))
        v += get(wy, own + m) * (x - get(p, ym + m)) + get(wy, yp + m) * (x - get(p, yp + m))
        v += get(wz, own + m) * (x - get(p, zm + m)) + get(wz, zp + m) * (x - get(p, zp + m))
        put(out, own + m, v - get(g, own + m))


@njit(inline="always")
def slack_uniform(out, p, g, w, at, begin, end):
    own, xm, xp, ym, yp, zm, zp = at
    for s in range((end - begin) & -STEP):
        m = U(begin + s)
        x = get(p, own + m)
        v = w * (x - get(p, xm + m)) + w * (x - get(p, xp + m))
        v += w * (x - get(p, ym + m)) + w * (x - get(p, yp + m))
        v += w * (x - get(p, zm + m)) + w * (x - get(p, zp + m))
        put(out, own + m, v - get(g, own + m))


@njit(parallel=True, cache=True)
def slack(out, p, g, wx, wy, wz, e, strips, blocks, first, last):
    """out = A p - g."""
    for block in prange(first, last):
        if blocks[block, 2]:
            for row in range(blocks[block, 0], blocks[block, 1]):
                for c in range(2):
                    at, n, (a, b) = places(strips, c, row), length(strips, c, row), uniform_part(strips, c, row)
                    slack_uniform(out, p, g, wx[at[0] + U(a)], at, a, b)
                    for s in range(0, n - (b - a), STEP):
                        m = beside(s, a, b)
                        slack_part(out, p, g, wx, wy, wz, e, at, m, m + STEP)
        else:
            for row in range(blocks[block, 0], blocks[block, 1]):
                for c in range(2):
                    at, n = places(strips, c, row), length(strips, c, row)
                    slack_part(out, p, g, wx, wy, wz, e, at, 0, n)
