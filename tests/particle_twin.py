"""Plain NumPy twins of what particles do with the grid: every particle, every face, with the hat function written out."""

import numpy as np

from unstick.fields import FaceField
from unstick.grid import Grid
from unstick.liquid.state import MARGIN, Particles, with_margin


def padded(*shape, spacing=0.1, origin=None):
    """A grid with margin around a domain of that shape, away from the origin of space."""
    return with_margin(Grid(shape, spacing, origin or (0.3, -0.2, 0.1)[: len(shape)]))


def origin3(grid):
    return np.array([*grid.origin, 0.0][:3])


def inside(grid, count, seed=1, affine=False):
    """Particles at random places of the domain, with random velocities."""
    rng = np.random.default_rng(seed)
    h, d = grid.spacing, grid.dimension
    position = np.full((count, 3), 0.5 * h)
    for a in range(d):
        position[:, a] = grid.origin[a] + h * rng.uniform(MARGIN, grid.shape[a] - MARGIN, size=count)
    velocity, gradient = rng.normal(size=(count, 3)), rng.normal(size=(count if affine else 0, 3, 3))
    if d == 2:
        velocity[:, 2] = gradient[:, 2] = gradient[:, :, 2] = 0.0
    return Particles(position, velocity, gradient)


def random_field(grid, seed=2):
    field, rng = FaceField(grid), np.random.default_rng(seed)
    for values in field.components[: grid.dimension]:
        values[...] = rng.normal(size=values.shape)
    return field


def hats(grid, axis, x):
    """(faces, weights, offsets): the faces normal to `axis` near a point, their hat weights, and how far they lie from it."""
    h, d = grid.spacing, grid.dimension
    shift = np.where(np.arange(3) == axis, 0.0, 0.5)
    f = (x - origin3(grid)) / h - shift
    low = np.floor(f).astype(int)
    found = []
    for step in np.ndindex(*(2,) * d):
        face = low.copy()
        face[:d] += step
        if d == 2:
            face[2] = 0
        away = (face - f)[:d]
        weight = np.prod(np.maximum(0.0, 1.0 - np.abs(away)))
        if weight > 0:
            found.append((tuple(face), weight, np.append(away * h, [0.0] * (3 - d))))
    return found


def to_grid(grid, particles, affine):
    """(velocity, weights) as two FaceFields."""
    total, weights = FaceField(grid), FaceField(grid)
    for axis in range(grid.dimension):
        for q, x in enumerate(particles.position):
            for face, weight, away in hats(grid, axis, x):
                slope = particles.affine[q, axis] @ away if affine else 0.0
                total.components[axis][face] += weight * (particles.velocity[q, axis] + slope)
                weights.components[axis][face] += weight
        known = weights.components[axis] > 0
        total.components[axis][known] /= weights.components[axis][known]
    return total, weights


def interpolated(grid, field, points):
    """(values, gradients) of the staggered field at points."""
    h, d = grid.spacing, grid.dimension
    value, slope = np.zeros((len(points), 3)), np.zeros((len(points), 3, 3))
    for axis in range(d):
        for q, x in enumerate(points):
            for face, weight, away in hats(grid, axis, x):
                u = field.components[axis][face]
                value[q, axis] += weight * u
                for a in range(d):
                    others = [1.0 - abs(away[b]) / h for b in range(d) if b != a]
                    slope[q, axis, a] += np.sign(away[a]) / h * np.prod(others) * u
    return value, slope
