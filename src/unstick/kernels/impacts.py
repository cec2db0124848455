"""How fast liquid comes at walls."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from unstick.kernels.interpolate import FUSED, linear, place, top_of

CHUNK = 1 << 12  # particles that one thread takes at a time


@njit(cache=True, parallel=True, fastmath=FUSED)
def farthest_approach(position, velocity, solid, dt, origin, inverse, kz, most):
    """By chunk: the farthest way, in cells, that a particle would come nearer to a solid within dt and end inside of it."""
    x0, y0, z0 = origin
    top = top_of(solid.shape[0]), top_of(solid.shape[1]), top_of(solid.shape[2])
    step = np.uint64(kz)
    n = position.shape[0]
    s = dt * inverse
    for c in prange(most.shape[0]):
        farthest = 0.0
        for q in range(np.uint64(c * CHUNK), np.uint64(min(n, (c + 1) * CHUNK))):
            x, y, z = (position[q, 0] - x0) * inverse, (position[q, 1] - y0) * inverse, (position[q, 2] - z0) * inverse
            i, fx = place(x + s * velocity[q, 0], top[0])
            j, fy = place(y + s * velocity[q, 1], top[1])
            k, fz = place(z + s * velocity[q, 2], top[2])
            after = linear(solid, i, j, k, step, fx, fy, fz)
            if after < 0.0:
                i, fx = place(x, top[0])
                j, fy = place(y, top[1])
                k, fz = place(z, top[2])
                before = linear(solid, i, j, k, step, fx, fy, fz)
                farthest = max(farthest, (before - after) * inverse)
        most[c] = farthest
