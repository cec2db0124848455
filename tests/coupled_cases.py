"""Random flows with bodies for the tests of the coupling, and a plain twin of what couples them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import unstick as us
from unstick.geometry.solid import face_fractions
from unstick.pressure.coupling.bodies import Bodies
from unstick.pressure.projection import Flow


def box_distance(points: list, centre, half, angle: float = 0.0) -> np.ndarray:
    """Signed distance of a box turned about z by `angle`; points: broadcastable coordinates."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = points[0] - centre[0], points[1] - centre[1]
    q = [np.abs(c * x + s * y) - half[0], np.abs(c * y - s * x) - half[1]]
    if len(points) == 3:
        q.append(np.abs(points[2] - centre[2]) - half[2] + 0.0 * q[0])
    q = list(np.broadcast_arrays(*q))
    outside = np.sqrt(sum(np.maximum(a, 0.0) ** 2 for a in q))
    return outside + np.minimum(np.max(q, axis=0), 0.0)


def ball_distance(points: list, centre, radius: float) -> np.ndarray:
    return np.sqrt(sum((x - c) ** 2 for x, c in zip(points, centre, strict=False))) - radius


@dataclass
class Recipe:
    """What a random flow is made of; tests may change any of it."""

    dimension: int = 2
    cells: int = 10
    bodies: int = 1
    ratio: float = 1.0  # density of the bodies by that of the liquid
    level: float = 0.8  # of the liquid, by the height
    separating: bool = True
    joint: bool = False
    touching: bool = False
    speed: float = 0.5
    seed: int = 0


def random_flow(recipe: Recipe) -> Flow:
    rng = np.random.default_rng(recipe.seed)
    d, n = recipe.dimension, recipe.cells
    h, dt, rho = 1.0 / n, 0.01, 1000.0
    shape = (n, n + 2) if d == 2 else (n, n + 1, n - 1)
    grid = us.Grid(shape, h)
    nodes = list(grid.points(grid.node_shape, (0.0, 0.0, 0.0)))
    phis, centres, masses = [], [], []
    jacobian = np.zeros((recipe.bodies, 6, 6 * recipe.bodies))
    for body in range(recipe.bodies):
        centre = np.array([rng.uniform(0.25, 0.75) * n * h for n in shape])
        size = rng.uniform(0.14, 0.24)
        if recipe.touching and body > 0:
            centre = centres[-1][:d] + rng.normal(size=d) * 0.1
        if recipe.touching and body == 0:
            centre[1] = 0.9 * size  # in the floor
        if rng.random() < 0.5:
            phi, volume = ball_distance(nodes, centre, size), np.pi * size**2 * (h if d == 2 else 4 / 3 * size)
        else:
            half = size * rng.uniform(0.6, 1.2, d)
            phi, volume = box_distance(nodes, centre, half, rng.uniform(0, 1)), np.prod(2 * half) * (h if d == 2 else 1.0)
        phis.append(np.broadcast_to(phi, grid.node_shape).reshape(grid.node_shape3))
        centres.append(np.append(centre, 0.0)[:3])
        m = rho * recipe.ratio * volume * (rng.uniform(0.5, 2.0) if recipe.bodies > 1 else 1.0)
        masses += [m, m, m, *(0.4 * m * size**2 * rng.uniform(0.8, 1.2, 3))]
        jacobian[body, :, 6 * body : 6 * body + 6] = np.eye(6)
    mass, keep = np.diag(masses), np.arange(6 * recipe.bodies)
    if d == 2:
        keep = keep[np.isin(keep % 6, (0, 1, 5))]
    jacobian, mass = jacobian[:, :, keep], mass[np.ix_(keep, keep)]
    if recipe.joint:
        # Reduced coordinates as a tree of joints has them: fewer freedoms than twists, and a dense mass matrix.
        free = max(1, len(keep) - 2)
        reduce = rng.normal(size=(len(keep), free))
        jacobian, mass = jacobian @ reduce, reduce.T @ mass @ reduce
        mass = 0.5 * (mass + mass.T)
    walls = np.full(grid.node_shape, 10.0)
    if rng.random() < 0.4:
        walls = np.broadcast_to(nodes[0] - rng.uniform(0.03, 0.12), grid.node_shape)
    solid = np.minimum.reduce([walls.reshape(grid.node_shape3), *phis])
    centres_y = grid.points(grid.shape, (0.5, 0.5, 0.5))[1]
    liquid = np.broadcast_to(centres_y - recipe.level * shape[1] * h, grid.shape) + 0.01 * rng.normal(size=grid.shape)
    velocity = us.FaceField(grid)
    for axis in range(d):
        velocity.components[axis][...] = recipe.speed * rng.normal(size=grid.face_shape(axis))
    velocity.v[...] -= 9.81 * dt
    v = recipe.speed * rng.normal(size=mass.shape[0])
    separating = tuple(recipe.separating if b % 2 == 0 else rng.random() < 0.5 for b in range(recipe.bodies))
    bodies = Bodies(tuple(phis), np.array(centres), jacobian, mass, v, separating)
    style = "separating" if recipe.separating else "sticking"
    return Flow(grid, liquid, solid, velocity, dt, rho, None, style, bodies=bodies)


def coupling_matrix(flow: Flow, rows: np.ndarray) -> np.ndarray:
    """The divergence of the cells `rows` (bool, the grid's shape) by generalised velocity: face by face, in plain Python."""
    grid, bodies = flow.grid, flow.bodies
    h, d = grid.spacing, grid.dimension
    number = np.full(grid.shape3, -1)
    number[rows.reshape(grid.shape3)] = np.arange(rows.sum())
    own = [face_fractions(grid, phi) for phi in bodies.phi]
    whole = face_fractions(grid, flow.solid_phi)
    out = np.zeros((int(rows.sum()), bodies.freedoms))
    for axis in range(d):
        shape = grid.face_shape(axis)
        for index in np.ndindex(*shape):
            if index[axis] in (0, shape[axis] - 1):
                continue
            parts = [1.0 - f.components[axis][index] for f in own]
            closed, total = 1.0 - whole.components[axis][index], sum(parts)
            if total == 0.0:
                continue
            ends = [tuple(i + s * (a == (1 if axis == 0 else 0)) for a, i in enumerate(index)) for s in (0, 1)]
            nodes = [tuple(i + s * (a == 2) for a, i in enumerate(e)) for e in ends for s in ((0, 1) if d == 3 and axis != 2 else (0,))]
            if axis == 2:
                nodes = [(i, j, index[2]) for i in (index[0], index[0] + 1) for j in (index[1], index[1] + 1)]
            alone = all(flow.solid_phi[n] >= min(phi[n] for phi in bodies.phi) for n in nodes)
            scale = closed / total if total > closed or alone else 1.0
            middle = [grid.origin[a] + (index[a] + (0.0 if a == axis else 0.5)) * h for a in range(d)] + [0.0] * (3 - d)
            e = np.eye(3)[axis]
            speed = np.zeros(bodies.freedoms)
            for body, part in enumerate(parts):
                arm = np.array(middle) - bodies.centre[body]
                if d == 2:
                    arm[2] = 0.0
                twist = np.concatenate([e, np.cross(arm, e)])
                speed += scale * part * (twist @ bodies.jacobian[body])
            below = tuple(i - (a == axis) for a, i in enumerate(index))
            if number[below] >= 0:
                out[number[below]] += speed / h
            if number[index] >= 0:
                out[number[index]] -= speed / h
    return out
