"""Connected pieces of a box of cells, found by runs: the cells of a row (i, j) that are linked along k form a run, and runs of
neighbouring rows are united through open couplings. One pass over the couplings, in the order of the box."""

import numpy as np
from numba import njit, prange


@njit(cache=True)
def _find(parent, a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


SLABS = 16  # parts of the box whose runs are found at the same time; their number does not depend on threads


@njit(parallel=True, cache=True)
def runs(wx, wy, wz, e, k0, k1, start, end, parent, linked, run, edge):
    """Number the runs of each slab of planes in box order and unite them within the slab.

    Slab s numbers its runs from start[s] (its cells before it) to end[s]. linked: the run has excess. edge[s]: the numbers on its first
    and last plane. run: the number of each cell, -1 without row, if its size is not 0.
    """
    ni, nj, nk = e.shape
    slabs = edge.shape[0]
    keep = run.size > 0
    for slab in prange(slabs):
        here, before = np.full((nj, nk), -1, dtype=np.int32), np.full((nj, nk), -1, dtype=np.int32)
        count = start[slab]
        for i in range(ni * slab // slabs, ni * (slab + 1) // slabs):
            here, before = before, here
            for j in range(nj):
                last_x, last_y = -1, -1
                for k in range(nk):
                    here[j, k] = -1
                for k in range(k0[i, j], k1[i, j]):
                    above = wx[i + 1, j, k] > 0 if i + 1 < ni else False
                    above |= wy[i, j + 1, k] > 0 if j + 1 < nj else False
                    above |= wz[i, j, k + 1] > 0 if k + 1 < nk else False
                    if not (above or e[i, j, k] > 0 or wx[i, j, k] > 0 or wy[i, j, k] > 0 or wz[i, j, k] > 0):
                        continue
                    if wz[i, j, k] > 0 and here[j, k - 1] >= 0:
                        me = here[j, k - 1]
                    else:
                        me = np.int32(count)
                        parent[count] = count
                        linked[count] = False
                        count += 1
                        last_x, last_y = -1, -1
                    here[j, k] = me
                    if keep:
                        run[i, j, k] = me
                    if e[i, j, k] != 0:
                        linked[me] = True
                    if wx[i, j, k] > 0 and before[j, k] >= 0 and before[j, k] != last_x:
                        last_x = before[j, k]
                        a, b = _find(parent, me), _find(parent, last_x)
                        parent[max(a, b)] = min(a, b)
                    if wy[i, j, k] > 0 and here[j - 1, k] != last_y:
                        last_y = here[j - 1, k]
                        a, b = _find(parent, me), _find(parent, last_y)
                        parent[max(a, b)] = min(a, b)
            if i == ni * slab // slabs:
                edge[slab, 0] = here
        edge[slab, 1] = here
        end[slab] = count


@njit(cache=True)
def unite_slabs(wx, k0, k1, parent, edge):
    """Unite the runs on both sides of each border between slabs."""
    ni, nj, _ = wx.shape
    slabs = edge.shape[0]
    for slab in range(1, slabs):
        i = ni * slab // slabs
        if i == ni * (slab + 1) // slabs:
            continue
        for j in range(nj):
            for k in range(k0[i, j], k1[i, j]):
                below = edge[slab - 1, 1, j, k]
                if wx[i, j, k] > 0 and below >= 0:
                    a, b = _find(parent, edge[slab, 0, j, k]), _find(parent, below)
                    parent[max(a, b)] = min(a, b)


@njit(cache=True)
def roots(parent, linked, start, end):
    """Point every run to its root; a root is linked if any of its runs is. Returns how many roots are not."""
    for slab in range(len(start)):
        for a in range(start[slab], end[slab]):
            parent[a] = _find(parent, a)
            if linked[a]:
                linked[parent[a]] = True
    pockets = 0
    for slab in range(len(start)):
        for a in range(start[slab], end[slab]):
            if parent[a] == a and not linked[a]:
                pockets += 1
    return pockets
