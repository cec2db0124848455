"""The liquid as it is seen: its surface, cut off where solids begin."""

from __future__ import annotations

import numpy as np

from unstick.grid import Array


def solid_at_centres(solid_phi: Array) -> Array:
    """Nodal distances (nx+1, ny+1, nz+1) averaged to cell centres; one layer of nodes (2D) stays one."""
    out = solid_phi
    for axis in range(3):
        n = out.shape[axis]
        if n > 1:
            low, high = ([slice(None)] * 3 for _ in range(2))
            low[axis], high[axis] = slice(0, n - 1), slice(1, n)
            out = 0.5 * (out[tuple(low)] + out[tuple(high)])
    return np.asarray(out)


def clipped(phi: Array, solid_centres: Array) -> Array:
    """Distance to the liquid that is not inside a solid: the intersection of the two sets."""
    return np.maximum(phi, -solid_centres)
