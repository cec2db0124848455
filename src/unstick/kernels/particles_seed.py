"""Where particles stand at the start, and which are added to voids and taken from crowds later.

Random numbers are a hash of what they are for (seed, step, cell, place in the cell), so they depend neither on the order of the work
nor on threads. A cell has `per_axis` sub-cells along each axis, and each gets one point.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import FUSED, corners, linear, place, top_of

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
CHUNK = 1 << 8  # cells that one thread takes at a time
VOID, CROWD = 1, 2
ENCLOSED = 0.75  # of the particles that the cells around a void should hold must be there


@njit(cache=True)
def mixed(h, value):
    """One more number into a hash: a step of splitmix64 (Steele, Lea and Flood 2014)."""
    h = (h ^ np.uint64(value)) + GOLDEN
    h = (h ^ (h >> S30)) * MIX_1
    h = (h ^ (h >> S27)) * MIX_2
    return h ^ (h >> S31)


@njit(cache=True)
def draw(seed, step, i, j, k, number):
    """A number between 0 and 1, neither of them; 32 bits, so that adding it to a cell's number rounds nothing away."""
    h = mixed(mixed(mixed(mixed(mixed(mixed(np.uint64(0), seed), step), i), j), k), number)
    return (np.float64(h >> S32) + 0.5) * 2.0**-32


@njit(cache=True)
def jittered(seed, step, i, j, k, p, q, r, number, per_axis, jitter, kz):
    """The point of sub-cell (p, q, r) of a cell, in cells; in 2D in the middle of the only layer."""
    x = i + (p + 0.5 + jitter * (draw(seed, step, i, j, k, 3 * number) - 0.5)) / per_axis
    y = j + (q + 0.5 + jitter * (draw(seed, step, i, j, k, 3 * number + 1) - 0.5)) / per_axis
    z = k + ((r + 0.5 + jitter * (draw(seed, step, i, j, k, 3 * number + 2) - 0.5)) / per_axis if kz > 0 else 0.5)
    return x, y, z


@njit(cache=True, parallel=True)
def fill_cells(cells, seed, per_axis, jitter, fold, kz, position, side):
    """One point in each sub-cell of the given cells, in cells of the domain.

    `fold` > 0 is the number of cells along x of a mirrored domain: `side` gets -1 left of its middle, 0 where the sub-cell lies
    on it (and the point exactly), 1 right of it.
    """
    deep = per_axis if kz > 0 else 1
    for c in prange(cells.shape[0]):
        i, j, k = cells[c, 0], cells[c, 1], cells[c, 2]
        number = 0
        base = c * per_axis * per_axis * deep
        for p in range(per_axis):
            for q in range(per_axis):
                for r in range(deep):
                    x, y, z = jittered(seed, 0, i, j, k, p, q, r, number, per_axis, jitter, kz)
                    at = base + number
                    offset = 2 * (i * per_axis + p) + 1 - fold * per_axis if fold > 0 else -1
                    side[at] = -1 if offset < 0 else (1 if offset > 0 else 0)
                    position[at, 0] = 0.5 * fold if offset == 0 else x
                    position[at, 1] = y
                    position[at, 2] = z
                    number += 1


@njit(cache=True)
def room(solid, i, j, k, per_axis, kz):
    """How many sub-cells of a cell have their middle in the open."""
    least, most = corners(solid, np.uint64(i), np.uint64(j), np.uint64(k), np.uint64(kz))
    deep = per_axis if kz > 0 else 1
    if most <= 0.0:
        return 0
    if least >= 0.0:
        return per_axis * per_axis * deep
    count = 0
    for p in range(per_axis):
        for q in range(per_axis):
            for r in range(deep):
                parts = (p + 0.5) / per_axis, (q + 0.5) / per_axis, (r + 0.5) / per_axis
                count += linear(solid, np.uint64(i), np.uint64(j), np.uint64(k), np.uint64(kz), parts[0], parts[1], parts[2]) > 0.0
    return count


@njit(cache=True)
def held_by(start, shape, i, j, k):
    """Number of particles in a cell."""
    c = (i * shape[1] + j) * shape[2] + k
    return start[c + 1] - start[c]


@njit(cache=True)
def around(start, shape, solid, per_axis, kz, i, j, k):
    """(particles, how many there should be) in a cell and the cells beside it together; crowds count as what they may keep."""
    there, wanted = held_by(start, shape, i, j, k), room(solid, i, j, k, per_axis, kz)
    for axis in range(2 + kz):
        for way in range(-1, 2, 2):
            a, b, c = i + way * (axis == 0), j + way * (axis == 1), k + way * (axis == 2)
            here = room(solid, a, b, c, per_axis, kz)
            wanted += here
            there += min(held_by(start, shape, a, b, c), 2 * here)
    return there, wanted


@njit(cache=True)
def judge(start, shape, phi, solid, deep_phi, per_axis, kz, i, j, k):
    """VOID, CROWD or 0: whether particles must be added to a cell, or taken from it.

    A cell that the liquid is just leaving looks like a void, too. But there the cells beside it run empty together with it, while a
    void of the sampling has full ones around. Solids do not count as full: what leaves a wall is not held there.
    """
    nominal = per_axis**3 if kz > 0 else per_axis**2
    count = held_by(start, shape, i, j, k)
    if count > 2 * nominal:
        return CROWD
    if not phi[i, j, k] < deep_phi or 2 * count >= nominal or 2 * count >= room(solid, i, j, k, per_axis, kz):
        return 0
    there, wanted = around(start, shape, solid, per_axis, kz, i, j, k)
    return VOID if there >= ENCLOSED * wanted else 0


@njit(cache=True, parallel=True)
def mark_cells(start, shape, margin, phi, solid, deep_phi, per_axis, kz, mark, voids, crowds):
    """`judge` for all cells of the domain, and the number of voids and crowds in each plane of it."""
    nx, ny, nz = shape
    for i in prange(margin, nx - margin):
        for j in range(margin, ny - margin):
            for k in range(margin * kz, nz - margin * kz):
                what = judge(start, shape, phi, solid, deep_phi, per_axis, kz, i, j, k)
                mark[i, j, k] = what
                voids[i] += what == VOID
                crowds[i] += what == CROWD


@njit(cache=True, parallel=True)
def list_cells(mark, margin, kz, void_at, crowd_at, void, crowd):
    """The marked cells, plane by plane; `void_at` and `crowd_at` say where a plane begins."""
    nx, ny, nz = mark.shape
    for i in prange(margin, nx - margin):
        a, b = void_at[i], crowd_at[i]
        if void_at[i + 1] == a and crowd_at[i + 1] == b:
            continue
        for j in range(margin, ny - margin):
            for k in range(margin * kz, nz - margin * kz):
                if mark[i, j, k] == VOID:
                    void[a, 0], void[a, 1], void[a, 2] = i, j, k
                    a += 1
                elif mark[i, j, k] == CROWD:
                    crowd[b, 0], crowd[b, 1], crowd[b, 2] = i, j, k
                    b += 1


@njit(cache=True)
def sub_cell(position, q, i, j, k, origin, inverse, per_axis, kz):
    """Number of the sub-cell in which a particle of cell (i, j, k) lies."""
    top = per_axis - 1
    p = min(max(int(((position[q, 0] - origin[0]) * inverse - i) * per_axis), 0), top)
    r = min(max(int(((position[q, 1] - origin[1]) * inverse - j) * per_axis), 0), top)
    if kz == 0:
        return p * per_axis + r
    return (p * per_axis + r) * per_axis + min(max(int(((position[q, 2] - origin[2]) * inverse - k) * per_axis), 0), top)


@njit(cache=True, parallel=True, fastmath=FUSED)
def fill_voids(void, start, shape, margin, order, position, solid, seed, step, per_axis, jitter, origin, inverse, kz, added, number):
    """Points, in cells of the domain, for empty sub-cells of voids: as many as are missing in the cell and those beside it together.

    Where those beside it are too full, half of the nominal number must do: else every clump, once it has left a void, would stay.
    """
    deep = per_axis if kz > 0 else 1
    nominal = per_axis * per_axis * deep
    tx, ty, tz = top_of(solid.shape[0]), top_of(solid.shape[1]), top_of(solid.shape[2])
    mx, mz = margin, margin * kz
    for v in prange(void.shape[0]):
        i, j, k = void[v, 0], void[v, 1], void[v, 2]
        c = (i * shape[1] + j) * shape[2] + k
        taken = np.zeros(nominal, dtype=np.uint8)
        for q in range(start[c], start[c + 1]):
            taken[sub_cell(position, order[q], i, j, k, origin, inverse, per_axis, kz)] = 1
        count = start[c + 1] - start[c]
        there, wanted = around(start, shape, solid, per_axis, kz, i, j, k)
        free = min(nominal - count, max(wanted - there, (nominal + 1) // 2 - count))
        first = int(nominal * draw(seed, step, i - mx, j - mx, k - mz, 3 * nominal))
        found = 0
        for n in range(nominal):
            m = (first + n * (nominal // 2 + 1)) % nominal  # all of them, as the stride has no factor in common with their number
            if taken[m] == 0 and found < free:
                p, r, s = m // (per_axis * deep), (m // deep) % per_axis, m % deep
                x, y, z = jittered(seed, step, i - mx, j - mx, k - mz, p, r, s, m, per_axis, jitter, kz)
                (ii, fx), (jj, fy), (kk, fz) = place(x + mx, tx), place(y + mx, ty), place(z + mz, tz)
                if linear(solid, ii, jj, kk, np.uint64(kz), fx, fy, fz) > 0.0:
                    added[v, found, 0], added[v, found, 1], added[v, found, 2] = x, y, z
                    found += 1
        number[v] = found


@njit(cache=True, parallel=True)
def thin_crowds(crowd, start, shape, order, position, velocity, origin, inverse, per_axis, kz, gone_at, gone):
    """Numbers of the particles to remove, so that twice the nominal number stay: always one of the fullest sub-cell.

    Those that stay change their velocities by one vector, so that the mean of the cell remains what it was.
    """
    nominal = per_axis**3 if kz > 0 else per_axis**2
    for c in prange(crowd.shape[0]):
        i, j, k = crowd[c, 0], crowd[c, 1], crowd[c, 2]
        cell = (i * shape[1] + j) * shape[2] + k
        first, count = start[cell], start[cell + 1] - start[cell]
        sub = np.empty(count, dtype=np.int64)
        held = np.zeros(nominal, dtype=np.int64)
        mean, kept = np.zeros(3), np.zeros(3)
        for q in range(count):
            sub[q] = sub_cell(position, order[first + q], i, j, k, origin, inverse, per_axis, kz)
            held[sub[q]] += 1
            for a in range(3):
                mean[a] += velocity[order[first + q], a]
        for m in range(count - 2 * nominal):
            fullest = 0
            for s in range(nominal):
                fullest = s if held[s] > held[fullest] else fullest
            q = count - 1
            while sub[q] != fullest:
                q -= 1
            held[fullest] -= 1
            sub[q] = -1
            gone[gone_at[c] + m] = order[first + q]
        for q in range(count):
            if sub[q] >= 0:
                for a in range(3):
                    kept[a] += velocity[order[first + q], a]
        for q in range(count):
            if sub[q] >= 0:
                for a in range(3):
                    velocity[order[first + q], a] += mean[a] / count - kept[a] / (2 * nominal)
