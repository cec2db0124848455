"""Connected pieces of a box of cells, found by runs: the cells of a row (i, j) that are linked along k form a run, and runs of
neighbouring rows are united through open couplings. One pass over the couplings, in the order of the box."""

import numpy as np
from numba import njit


@njit(cache=True)
def _find(parent, a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@njit(cache=True)
def runs(wx, wy, wz, e, k0, k1, parent, linked, run):
    """Number the runs in box order and unite them. linked: the run has excess. run: the number of each cell, -1 without row, if its
    size is not 0. Returns the number of runs."""
    ni, nj, nk = e.shape
    here, before = np.full((nj, nk), -1, dtype=np.int32), np.full((nj, nk), -1, dtype=np.int32)
    keep = run.size > 0
    count = 0
    for i in range(ni):
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
                if wx[i, j, k] > 0 and before[j, k] != last_x:
                    last_x = before[j, k]
                    a, b = _find(parent, me), _find(parent, last_x)
                    parent[max(a, b)] = min(a, b)
                if wy[i, j, k] > 0 and here[j - 1, k] != last_y:
                    last_y = here[j - 1, k]
                    a, b = _find(parent, me), _find(parent, last_y)
                    parent[max(a, b)] = min(a, b)
    return count


@njit(cache=True)
def roots(parent, linked, count):
    """Point every run to its root; a root is linked if any of its runs is. Returns how many roots are not."""
    for a in range(count):
        parent[a] = _find(parent, a)
        if linked[a]:
            linked[parent[a]] = True
    pockets = 0
    for a in range(count):
        if parent[a] == a and not linked[a]:
            pockets += 1
    return pockets
