"""Which walls hold their liquid in a step: those beside liquid that the pressure pushes against them."""

from __future__ import annotations

from numba import njit, prange


@njit(cache=True, parallel=True)
def fill_loose(loose, contact, p, separating, solid, near):
    """A contact row with a pressure keeps the wall's own normal velocity. So do cells in walls that touch more liquid with a pressure
    than contact rows without, since paths along a curved wall read faces there. All others let go where `separating` (one entry, or by
    cell) says so.
    """
    nx, ny, nz = loose.shape
    by_cell = separating.size > 1
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                free = separating[i, j, k] if by_cell else separating[0, 0, 0]
                if contact[i, j, k]:
                    free = free and not p[i, j, k] > 0.0
                elif free and abs(solid[i, j, k]) < near:
                    held = 0
                    for a in range(max(i - 1, 0), min(i + 2, nx)):
                        for b in range(max(j - 1, 0), min(j + 2, ny)):
                            for c in range(max(k - 1, 0), min(k + 2, nz)):
                                if p[a, b, c] > 0.0:
                                    held += 1
                                elif contact[a, b, c]:
                                    held -= 1
                    free = held <= 0
                loose[i, j, k] = free
