"""Velocities beyond the liquid: which faces have one, layer by layer averages for the others, and walls that nothing flows into.

Faces of a component are visited plane by plane along x. A thread writes into its own planes only, and each layer reads what the
layers before it wrote, so results do not depend on the number of threads. `planes` says in which order planes are handed out.
2D grids have one layer of nodes and of cells: `kz` is 0 for them and 1 in 3D.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.fractions import face_from_nodes
from unstick.kernels.walls import face_mean

SLIVER = 0.25  # open part of a face up to which its velocity is taken from the faces around it
UNKNOWN = np.uint8(255)


@njit(cache=True, parallel=True)
def mark_faces(vu, vv, vw, liquid, solid, snap, kz, planes):
    """1 on inner faces that touch a liquid cell and are open by more than a sliver: those whose velocity the pressure decides.

    Through a sliver little flows, however fast: its velocity is right for the volume and wrong for the particles beside it.
    """
    _, ny, nz = liquid.shape
    for t in prange(planes.size):
        i = planes[t]
        for j in range(ny):
            for k in range(nz):
                wet = liquid[i, j, k] < 0.0
                if i > 0 and (wet or liquid[i - 1, j, k] < 0.0) and face_from_nodes(solid, snap, i, j, k, 0, kz) > SLIVER:
                    vu[i, j, k] = 1
                if j > 0 and (wet or liquid[i, j - 1, k] < 0.0) and face_from_nodes(solid, snap, i, j, k, 1, kz) > SLIVER:
                    vv[i, j, k] = 1
                if k > 0 and (wet or liquid[i, j, k - 1] < 0.0) and face_from_nodes(solid, snap, i, j, k, 2, kz) > SLIVER:
                    vw[i, j, k] = 1


@njit(cache=True, parallel=True)
def first_layer(valid, mark, cells, count, planes):
    """Mark known faces 0, their unknown neighbours 1 and all others UNKNOWN; list the first layer."""
    nx, ny, nz = valid.shape
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        im, ip = max(i - 1, 0), min(i + 1, nx - 1)
        for j in range(ny):
            jm, jp = max(j - 1, 0), min(j + 1, ny - 1)
            for k in range(nz):
                # Sums, not branches: this is the one loop over all faces.
                near = valid[im, j, k] | valid[ip, j, k] | valid[i, jm, k] | valid[i, jp, k]
                near |= valid[i, j, max(k - 1, 0)] | valid[i, j, min(k + 1, nz - 1)]
                mark[i, j, k] = UNKNOWN
                if (near | valid[i, j, k]) != 0:
                    known = valid[i, j, k] != 0
                    mark[i, j, k] = 0 if known else 1
                    if not known:
                        cells[i, n] = j * nz + k
                        n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def next_layer(mark, cells, first, count, shape, layer, planes):
    """Take the unmarked neighbours of the layer before this one, which are entries first..count of each plane's list."""
    nx, ny, nz = shape
    after = count.copy()
    for t in prange(planes.size):
        i = planes[t]
        n = count[i]
        for source in range(max(i - 1, 0), min(i + 2, nx)):
            for q in range(first[source], count[source]):
                c = cells[source, q]
                j, k = c // nz, c % nz
                if source != i:
                    if mark[i, j, k] == UNKNOWN:
                        mark[i, j, k] = layer
                        cells[i, n] = c
                        n += 1
                    continue
                if j > 0 and mark[i, j - 1, k] == UNKNOWN:
                    mark[i, j - 1, k] = layer
                    cells[i, n] = c - nz
                    n += 1
                if j + 1 < ny and mark[i, j + 1, k] == UNKNOWN:
                    mark[i, j + 1, k] = layer
                    cells[i, n] = c + nz
                    n += 1
                if k > 0 and mark[i, j, k - 1] == UNKNOWN:
                    mark[i, j, k - 1] = layer
                    cells[i, n] = c - 1
                    n += 1
                if k + 1 < nz and mark[i, j, k + 1] == UNKNOWN:
                    mark[i, j, k + 1] = layer
                    cells[i, n] = c + 1
                    n += 1
        after[i] = n
    first[:] = count
    count[:] = after


@njit(cache=True)
def _mean(values, mark, i, j, k, layer):
    """Mean of the neighbours that layers before this one know: the first of them plus the mean of the differences to it,
    so that the mean of equal values is that value."""
    nx, ny, nz = values.shape
    n = 0
    base, rest = 0.0, 0.0
    for side in range(6):
        a = i + (side == 1) - (side == 0)
        b = j + (side == 3) - (side == 2)
        c = k + (side == 5) - (side == 4)
        if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz or mark[a, b, c] >= layer:
            continue
        if n == 0:
            base = values[a, b, c]
        rest += values[a, b, c] - base
        n += 1
    return base + rest / max(n, 1)


@njit(cache=True, parallel=True)
def average_layer(values, mark, cells, first, count, layer, planes):
    """Give the faces of a layer the mean of their known neighbours."""
    nz = values.shape[2]
    for t in prange(planes.size):
        i = planes[t]
        for q in range(first[i], count[i]):
            j, k = cells[i, q] // nz, cells[i, q] % nz
            values[i, j, k] = _mean(values, mark, i, j, k, layer)


@njit(cache=True, parallel=True)
def clear_unknown(values, mark, planes):
    """Zero where no layer came."""
    _, ny, nz = values.shape
    for t in prange(planes.size):
        i = planes[t]
        for j in range(ny):
            for k in range(nz):
                values[i, j, k] = 0.0 if mark[i, j, k] == UNKNOWN else values[i, j, k]


@njit(cache=True)
def _other(values, i, j, k, axis, other):
    """Mean of component `other` over the four of its faces around the face (i, j, k) normal to `axis`."""
    nx, ny, nz = values.shape
    total = 0.0
    for back in range(2):
        for up in range(2):
            a = i - back * (axis == 0) + up * (other == 0)
            b = j - back * (axis == 1) + up * (other == 1)
            c = k - back * (axis == 2) + up * (other == 2)
            total += values[min(max(a, 0), nx - 1), min(max(b, 0), ny - 1), min(max(c, 0), nz - 1)]
    return 0.25 * total


@njit(cache=True)
def _normal(solid, i, j, k, axis, kz):
    """Gradient of the solid's distance at the middle of a face, of length one (or zero)."""
    mx, my, mz = solid.shape
    lo = (i - int(axis == 0), j - int(axis == 1), k - int(axis == 2))
    hi = (i + int(axis == 0), j + int(axis == 1), k + int(axis == 2))
    low = (max(lo[0], 0), max(lo[1], 0), max(lo[2], 0))
    high = (min(hi[0], mx - 1), min(hi[1], my - 1), min(hi[2], mz - 1))
    width = (high[0] - low[0]) + (high[1] - low[1]) + (high[2] - low[2])
    across = face_mean(solid, high[0], high[1], high[2], axis, kz) - face_mean(solid, low[0], low[1], low[2], axis, kz)
    across /= max(width, 1)
    # The two edges of the face: along x and y, or along z where the face is normal to one of them.
    pi = 0 if axis == 0 else 1
    pj = 1 - pi
    qj = 1 if axis == 2 else 0
    qk = 0 if axis == 2 else kz
    a, b = solid[i, j, k], solid[i + pi, j + pj, k]
    c, d = solid[i + pi, j + pj + qj, k + qk], solid[i, j + qj, k + qk]
    first = 0.5 * ((b - a) + (c - d))
    second = 0.5 * ((d - a) + (c - b))
    if axis == 0:
        x, y, z = across, first, second
    elif axis == 1:
        x, y, z = first, across, second
    else:
        x, y, z = first, second, across
    if kz == 0:
        z = 0.0
    size = np.sqrt(x * x + y * y + z * z)
    inverse = 1.0 / size if size > 0.0 else 0.0
    return x * inverse, y * inverse, z * inverse


@njit(cache=True, parallel=True)
def find_inflow(axis, u, v, w, us, vs, ws, moving, solid, snap, kz, wide, deep, valid, by_face, loose, planes, cells, change, count):
    """List the faces normal to `axis` whose velocity walls change, and what they add to it.

    Only closed faces, and with `by_face` those whose middle lies in a solid and that `valid` does not claim; none deeper than `deep` (< 0).
    `wide`: more than the way from a face's corner to its middle.
    `loose` (one entry for all cells, or one for each): whether the wall lets go; one that does not takes the whole normal part.
    """
    own = u if axis == 0 else (v if axis == 1 else w)
    wall = us if axis == 0 else (vs if axis == 1 else ws)
    nx, ny, nz = own.shape
    ends = (min(nx - 1, loose.shape[0] - 1), min(ny - 1, loose.shape[1] - 1), min(nz - 1, loose.shape[2] - 1))
    for t in prange(planes.size):
        i = planes[t]
        n = 0
        for j in range(ny):
            for k in range(nz):
                # A distance changes by no more than the way: far from walls one corner tells all.
                if solid[i, j, k] > wide or solid[i, j, k] < deep - wide:
                    continue
                a = own[i, j, k] - (wall[i, j, k] if moving else 0.0)
                b = _other(v if axis == 0 else u, i, j, k, axis, 1 if axis == 0 else 0)
                c = _other(v if axis == 2 else w, i, j, k, axis, 1 if axis == 2 else 2)
                if moving:
                    b -= _other(vs if axis == 0 else us, i, j, k, axis, 1 if axis == 0 else 0)
                    c -= _other(vs if axis == 2 else ws, i, j, k, axis, 1 if axis == 2 else 2)
                middle = face_mean(solid, i, j, k, axis, kz)
                if (a == 0.0 and b == 0.0 and c == 0.0) or middle > snap or middle < deep:
                    continue
                if by_face:
                    if valid[i, j, k] != 0:
                        continue
                elif face_from_nodes(solid, snap, i, j, k, axis, kz) > 0.0:
                    continue
                x, y, z = _normal(solid, i, j, k, axis, kz)
                if axis == 0:
                    out, part = a * x + b * y + c * z, x
                elif axis == 1:
                    out, part = b * x + a * y + c * z, y
                else:
                    out, part = b * x + c * y + a * z, z
                free = loose[min(i, ends[0]), min(j, ends[1]), min(k, ends[2])]
                free &= loose[
                    min(max(i - (axis == 0), 0), ends[0]), min(max(j - (axis == 1), 0), ends[1]), min(max(k - (axis == 2), 0), ends[2])
                ]
                if part != 0.0 and (out < 0.0 or not free):
                    cells[i, n] = j * nz + k
                    change[i, n] = -out * part
                    n += 1
        count[i] = n


@njit(cache=True, parallel=True)
def add_listed(values, cells, change, count, planes):
    """Add to each listed face its change."""
    nz = values.shape[2]
    for t in prange(planes.size):
        i = planes[t]
        for q in range(count[i]):
            c = cells[i, q]
            values[i, c // nz, c % nz] += change[i, q]
