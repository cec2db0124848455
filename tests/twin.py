"""Plain NumPy twins of the assembly: polygons are clipped and measured, cells are visited one by one."""

import numpy as np


def clipped_area(corners, values):
    """Area of a polygon where values interpolated along its edges are positive (Sutherland-Hodgman, shoelace)."""
    kept = []
    for (p, a), (q, b) in zip(
        zip(corners, values, strict=True), zip(corners[1:] + corners[:1], values[1:] + values[:1], strict=True), strict=True
    ):
        if a > 0:
            kept.append(p)
        if (a > 0) != (b > 0):
            t = a / (a - b)
            kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    if len(kept) < 3:
        return 0.0
    x, y = np.array(kept).T
    return 0.5 * abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))


def square_fraction(a, b, c, d):
    """The unit square as four triangles around its middle, whose value is the mean."""
    corners, values = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], [a, b, c, d]
    middle, mean = (0.5, 0.5), (a + b + c + d) / 4
    total = 0.0
    for s in range(4):
        t = (s + 1) % 4
        total += clipped_area([corners[s], corners[t], middle], [values[s], values[t], mean])
    return total


def edge_fraction(a, b):
    if a > 0 and b > 0:
        return 1.0
    if a <= 0 and b <= 0:
        return 0.0
    return max(a, b) / (max(a, b) - min(a, b))


def face_fraction(solid, cell, axis, side):
    """Open part of a side of a cell; `solid` has as many axes as the grid."""
    d = solid.ndim
    node = list(cell)
    node[axis] += side
    if node[axis] in (0, solid.shape[axis] - 1):
        return 0.0
    others = [a for a in range(d) if a != axis]

    def value(*steps):
        at = list(node)
        for a, s in zip(others, steps, strict=True):
            at[a] += s
        return float(solid[tuple(at)])

    if d == 2:
        return edge_fraction(value(0), value(1))
    return square_fraction(value(0, 0), value(1, 0), value(1, 1), value(0, 1))


def dense_system(grid, liquid, solid, velocity, dt, density=1.0, solid_velocity=None, theta_min=0.01):
    """A (dense, one row per grid cell, zero outside the liquid), b and contact, written from Lai section 3.7."""
    h, d = grid.spacing, grid.dimension
    n = int(np.prod(grid.shape))
    number = np.arange(n).reshape(grid.shape)
    A, b, contact = np.zeros((n, n)), np.zeros(n), np.zeros(n, dtype=bool)
    u = [c.reshape(c.shape[:d]) if d == 3 or axis < 2 else c for axis, c in enumerate(velocity.components)]
    us = (
        None
        if solid_velocity is None
        else [c.reshape(c.shape[:d]) if d == 3 or axis < 2 else c for axis, c in enumerate(solid_velocity.components)]
    )
    for cell in np.ndindex(*grid.shape):
        fractions = {(a, s): face_fraction(solid, cell, a, s) for a in range(d) for s in (0, 1)}
        if liquid[cell] >= 0 or not any(w > 0 for w in fractions.values()):
            continue
        row = number[cell]
        for (axis, side), w in fractions.items():
            face = list(cell)
            face[axis] += side
            out = 1.0 if side else -1.0
            b[row] += out * w * u[axis][tuple(face)] / h
            if us is not None:
                b[row] += out * (1.0 - w) * us[axis][tuple(face)] / h
            contact[row] |= w < 1
            if w == 0:
                continue
            near = list(cell)
            near[axis] += 1 if side else -1
            coefficient = dt / (density * h * h) * w
            if liquid[tuple(near)] < 0:
                A[row, row] += coefficient
                A[row, number[tuple(near)]] -= coefficient
            else:
                theta = liquid[cell] / (liquid[cell] - liquid[tuple(near)])
                A[row, row] += coefficient / max(theta, theta_min)
    return A, b, contact
