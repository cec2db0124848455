"""The liquid between the middles of cells and a body's surface: kernel against its plain twin, and what it weighs."""

from __future__ import annotations

import numpy as np
import pytest

from unstick.geometry.shapes import Box, Sphere, sample
from unstick.grid import Grid
from unstick.kernels.body_layer import LEVELS, add_layer


def open_part(a: float, b: float, c: float, d: float) -> float:
    """Of a square with these values at its corners, going around: four triangles that meet in the middle, by fine sampling's limit."""

    def triangle(p: float, q: float, r: float) -> float:
        inside = [v > 0.0 for v in (p, q, r)]
        if all(inside) or not any(inside):
            return float(all(inside))
        lone = next(i for i in range(3) if inside[i] != inside[(i + 1) % 3] and inside[i] != inside[(i + 2) % 3])
        v = (p, q, r)
        tip, left, right = v[lone], v[(lone + 1) % 3], v[(lone + 2) % 3]
        cut = tip / (tip - left) * (tip / (tip - right))
        return cut if inside[lone] else 1.0 - cut

    middle = 0.25 * (a + b + c + d)
    return 0.25 * (triangle(a, b, middle) + triangle(b, c, middle) + triangle(c, d, middle) + triangle(d, a, middle))


def corners(phi: np.ndarray, i: int, j: int, k: int, axis: int, kz: int) -> list[float]:
    """Of the face normal to `axis` whose lowest node is (i, j, k); in 2D its two nodes, twice."""
    if kz == 0:
        p = (i, j + 1, 0) if axis == 0 else (i + 1, j, 0)
        return [phi[i, j, 0], phi[p], phi[p], phi[i, j, 0]]
    u, v = (np.eye(3, dtype=int)[a] for a in range(3) if a != axis)
    at = np.array([i, j, k])
    return [phi[tuple(at)], phi[tuple(at + u)], phi[tuple(at + u + v)], phi[tuple(at + v)]]


def twin(phi, liquid, solid, off, axis, kz, low, high, at):
    matrix, along = np.zeros((6, 6)), np.zeros(6)
    e = np.eye(3)[axis]
    step = np.eye(3, dtype=int)[axis]

    def row(cell) -> bool:
        if any(c < 0 or c >= n for c, n in zip(cell, liquid.shape, strict=True)) or liquid[cell] >= 0 or off[cell]:
            return False
        i, j, k = cell
        return solid[i : i + 2, j : j + 2, k : k + 1 + kz].max() > 0

    for i, j, k in np.ndindex(*(high - low)):
        face = np.array([i, j, k]) + low
        here = corners(phi, *face, axis, kz)
        closed = 1.0 - open_part(*here)
        c = 0.0
        for cell, way in ((tuple(face - step), -step), (tuple(face), step)):
            if row(cell):
                there = corners(phi, *(face + way), axis, kz)
                parts = []
                for level in range(LEVELS):
                    t = (level + 0.5) / (2 * LEVELS)
                    parts.append(1.0 - open_part(*((1 - t) * np.array(here) + t * np.array(there))))
                c += 0.5 * (closed - np.mean(parts))
        x = at[:3] + face * at[3]
        j6 = np.concatenate([e, np.cross(x, e)])
        matrix += c * np.outer(j6, j6)
        along += c * j6
    return matrix, along


@pytest.mark.parametrize("shape", [(7, 6, 1), (6, 5, 5)])
def test_the_kernel_equals_its_plain_twin(shape):
    kz = int(shape[2] > 1)
    rng = np.random.default_rng(3)
    nodes = (shape[0] + 1, shape[1] + 1, shape[2] + kz)
    phi, solid = rng.normal(size=nodes), rng.normal(size=nodes)
    liquid, off = rng.normal(size=shape) - 0.5, rng.random(shape) < 0.2
    low, high = np.array([1, 1, kz]), np.array(nodes) - 2
    high[2] = high[2] if kz else 1
    at = np.append(rng.normal(size=3), 0.3)
    for axis in range(2 + kz):
        matrix, along = np.zeros((6, 6)), np.zeros(6)
        add_layer(phi, liquid, solid, off, 0.0, axis, kz, low, high, at, matrix, along)
        expected, force = twin(phi, liquid, solid, off, axis, kz, low, high, at)
        assert matrix == pytest.approx(expected, abs=1e-12) and along == pytest.approx(force, abs=1e-12)
        assert np.abs(matrix).max() > 0.1


def weight(shape, grid: Grid) -> float:
    """Cells that the y faces leave out, for a body under water."""
    phi = sample(shape, grid).reshape(grid.node_shape3)
    wet = np.full(grid.shape3, -1.0)
    low, high = np.array([1, 1, grid.dimension - 2]), np.array(grid.node_shape3) - 2
    if grid.dimension == 2:
        high[2] = 1
    matrix, along = np.zeros((6, 6)), np.zeros(6)
    at = np.array([0.0, 0.0, 0.0, grid.spacing])
    add_layer(phi, wet, phi, np.zeros(grid.shape3, dtype=bool), 1e-12, 1, grid.dimension - 2, low, high, at, matrix, along)
    assert matrix[1, 1] == pytest.approx(along[1])
    return float(along[1])


def test_an_aligned_box_lacks_half_a_cell_above_and_below_and_one_between_nodes_nothing():
    grid = Grid((16, 16), 1.0)
    assert weight(Box((4.0, 5.0), (12.0, 9.0)), grid) == pytest.approx(8.0)
    assert weight(Box((4.0, 5.5), (12.0, 9.5)), grid) == pytest.approx(0.0, abs=1.0)
    # Faces count a box by the nodes that lie in it: the layer gives back what that is too little. At its edges it is right to first order.
    assert weight(Box((4.0, 5.25), (12.0, 9.25)), grid) == pytest.approx(0.0, abs=1.0)
    assert weight(Box((4.0, 5.25), (12.0, 9.75)), grid) == pytest.approx(-4.0, abs=1.0)


def test_a_ball_lacks_nearly_nothing():
    """Faces sample its cross-sections at even heights, which is right to second order by itself."""
    for d in (2, 3):
        middle = (8.13, 8.29, 8.41)[:d]
        area = 2 * 4.3 if d == 2 else np.pi * 4.3**2
        assert abs(weight(Sphere(middle, 4.3), Grid((16,) * d, 1.0))) < 0.1 * area
