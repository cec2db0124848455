"""What the figures of `unstick bench coupling` are made of: momentum, floating depths, added mass, angular momentum, symmetry."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from unstick.bodies.mass import moments
from unstick.bodies.parts import RigidBody
from unstick.geometry.rounded import Ellipsoid
from unstick.geometry.shapes import Box, Shape, Sphere
from unstick.geometry.solid import face_fractions
from unstick.geometry.surfaces import Surface
from unstick.grid import Array, Grid
from unstick.liquid.scene import Body, Gravity, Numerics, Scene, Solid
from unstick.liquid.simulation import Simulation
from unstick.pressure.projection import Flow, Projected, Projection
from unstick.result import Guess

WATER, GRAVITY = 1000.0, 9.81
STILL = Numerics(surface="level-set", jitter=0.0, tolerance=1e-12, reseed=False, volume_source=False)


@dataclass(slots=True, eq=False)
class Bystander:
    """A projection that keeps what went through it last."""

    inner: Projection
    flow: Flow | None = None
    projected: Projected | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    def __call__(self, flow: Flow, guess: Guess | None = None) -> Projected:
        self.flow, self.projected = flow, self.inner(flow, guess)
        return self.projected


def watched(scene: Scene) -> tuple[Simulation, Bystander]:
    simulation = Simulation(scene)
    bystander = Bystander(simulation.method.projection)
    simulation.method = replace(simulation.method, projection=bystander)
    return simulation, bystander


def liquid_momentum(flow: Flow, projected: Projected) -> Array:
    """What the pressure gives the liquid in the dual cells of open faces: - dt h^2 w (p_above - p_below), kg m/s."""
    p, grid = projected.result.p.reshape(flow.grid.shape3), flow.grid
    return -flow.dt * grid.spacing**2 * _differences(p, face_fractions(grid, flow.solid_phi).components, grid)


def wall_impulse(flow: Flow, projected: Projected, walls_phi: Array) -> Array:
    """What walls that cannot move take: the same on the parts of faces that `walls_phi` closes."""
    p, grid = projected.result.p.reshape(flow.grid.shape3), flow.grid
    closed = tuple(1.0 - part for part in face_fractions(grid, walls_phi).components)
    return -flow.dt * grid.spacing**2 * _differences(p, closed, grid)


def _differences(p: Array, weights: tuple[Array, ...], grid: Grid) -> Array:
    out = np.zeros(3)
    for axis in range(grid.dimension):
        inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
        out[axis] = float(np.sum(weights[axis][inner] * np.diff(p, axis=axis)))
    return out


def imbalance(scene: Scene, steps: int) -> float:
    """Over the pressure stage, liquid, bodies and standing walls gain nothing together: the worst sum, as a part of what bodies gain.

    At the liquid's surface the pressure is zero, so that nothing goes out there.
    """
    simulation, bystander = watched(scene)
    worst = 0.0
    for _ in range(steps):
        walls = simulation.walls.at(simulation.state.time).solid_phi
        simulation.advance_frame()
        flow, projected = bystander.flow, bystander.projected
        assert flow is not None and flow.bodies is not None and projected is not None and projected.bodies is not None
        change = flow.bodies.mass @ (projected.bodies - flow.bodies.velocity)
        # The free bodies' freedoms along x and y are their centres' velocities, and forces on these are the generalised ones.
        d = flow.grid.dimension
        per = 3 if d == 2 else 6
        gained = np.zeros(3)
        gained[:d] = change.reshape(-1, per)[:, :d].sum(axis=0)
        total = liquid_momentum(flow, projected) + wall_impulse(flow, projected, walls) + gained
        worst = max(worst, float(np.abs(total).max() / np.abs(gained).max()))
    return worst


def box_in_water(n: int, dimension: int, density: float, at: float = 0.5, numerics: Numerics = STILL) -> Scene:
    """An aligned box, three times as wide as it is high, under a level surface."""
    h = 1.0 / n
    half = (round(0.15 * n) * h, round(0.05 * n) * h, round(0.15 * n) * h)[:dimension]
    box = RigidBody(
        name="box", shape=Box(tuple(-s for s in half), half), density=density, position=(0.5, round(at * n) * h, 0.5)[:dimension]
    )
    water = Body(shape=Surface(0.8 + 0.3 * h))
    return Scene(name="box", grid=Grid((n,) * dimension, h), liquid=(water,), bodies=(box,), numerics=numerics)


def drift_at_rest(n: int, dimension: int, steps: int) -> float:
    """Largest speed of a body of the liquid's density that begins at rest in still liquid, m/s."""
    simulation, fastest = Simulation(box_in_water(n, dimension, WATER)), 0.0
    for _ in range(steps):
        simulation.advance_frame()
        assert simulation.bodies is not None
        fastest = max(fastest, simulation.bodies.fastest(simulation.state))
    return fastest


def floating(n: int, dimension: int, shape: Shape, ratio: float, frames: int) -> float:
    """How far from Archimedes' depth a body ends up, in cells: the mean of the last quarter."""
    middle = (0.5,) * dimension
    body = RigidBody(name="float", shape=shape, density=ratio * WATER, position=middle)
    simulation = Simulation(Scene(name="float", grid=Grid((n,) * dimension, 1.0 / n), liquid=(Body(shape=Surface(0.5)),), bodies=(body,)))
    heights, levels = [], []
    volume = moments(shape, dimension, 1.0).volume
    for _ in range(frames):
        simulation.advance_frame()
        report = simulation.last_report
        assert report is not None
        heights.append(report.bodies["float"]["position"][1])
        levels.append(report.volume + ratio * volume)  # the tank's floor has the area 1
    last = frames // 4
    depth = brentq(lambda y: _submerged(shape, dimension, y) - ratio * volume, -0.5, 0.5)
    return float(np.mean(heights[-last:]) - np.mean(levels[-last:]) + depth) * n


def _submerged(shape: Shape, dimension: int, level: float) -> float:
    """Volume of an upright body below a level, as seen from its middle."""
    if isinstance(shape, Box):
        low, high = np.array(shape.lower), np.array(shape.upper)
        across = float(np.prod(np.delete(high - low, 1)))
        return across * float(np.clip(level - low[1], 0.0, high[1] - low[1]))
    assert isinstance(shape, Sphere)
    r = shape.radius
    y = float(np.clip(level, -r, r))
    if dimension == 2:
        return r * r * math.acos(-y / r) + y * math.sqrt(max(r * r - y * y, 0.0))
    return math.pi * (y + r) ** 2 * (2.0 * r - y) / 3.0


def added_mass(n: int, dimension: int, ratio: float = 0.5, radius: float = 0.15, tank: float = 0.45) -> float:
    """Measured over exact initial acceleration of a ball (a cylinder in 2D) released in the middle of a round tank full of liquid.

    Lamb 1932, sections 68 and 93: between concentric walls the coefficient is (b^2 + a^2) / (b^2 - a^2) in 2D and
    (b^3 + 2 a^3) / (2 (b^3 - a^3)) in 3D, which tend to 1 and 1/2 in a large tank.
    """
    middle = (0.5,) * dimension
    ball = RigidBody(name="ball", shape=Sphere((0.0,) * dimension, radius), density=ratio * WATER, position=middle, walls="sticking")
    vessel = Solid(name="tank", shape=~Sphere(middle, tank), walls="sticking")
    scene = Scene(
        name="tank", grid=Grid((n,) * dimension, 1.0 / n), liquid=(Body(shape=Sphere(middle, 0.7)),), solids=(vessel,), bodies=(ball,),
        sides=("sticking",) * 6, numerics=replace(STILL, tolerance=1e-8),
    )  # fmt: skip
    simulation = Simulation(scene)
    simulation.advance_frame()
    report = simulation.last_report
    assert report is not None
    a, b = radius**dimension, tank**dimension
    coefficient = (b + (dimension - 1) * a) / ((dimension - 1) * (b - a))
    exact = (1.0 - ratio) / (ratio + coefficient) * GRAVITY
    return report.bodies["ball"]["velocity"][1] / scene.frame_time / exact


def spinning(n: int, steps: int) -> float:
    """Change of angular momentum, as a part of it: an ellipse that spins in the middle of a round tank full of still liquid.

    The liquid's is that of the dual cells of open faces. A step turns the body by the same part of a cell on every grid.
    """
    middle, dt = (0.5, 0.5), 0.32 / n
    shape = Ellipsoid((0.0, 0.0), (0.2, 0.12))
    ellipse = RigidBody(name="ellipse", shape=shape, density=2000.0, position=middle, spin=(3.0,), walls="sticking")
    vessel = Solid(name="tank", shape=~Sphere(middle, 0.45), walls="sticking")
    scene = Scene(
        name="spin", grid=Grid((n, n), 1.0 / n), liquid=(Body(shape=Sphere(middle, 0.7)),), solids=(vessel,), bodies=(ellipse,),
        sides=("sticking",) * 6, gravity=Gravity.constant(0.0, 0.0), numerics=Numerics(volume_source=False),
    )  # fmt: skip
    simulation = Simulation(scene)
    for _ in range(steps):
        simulation.step(dt)
    assert simulation.bodies is not None
    inertia = 2000.0 * float(moments(shape, 2, 1.0).inertia()[2, 2])
    own = simulation.bodies.told(simulation.state)["ellipse"]["spin"][0] * inertia
    return (own + _liquid_turning(simulation, middle)) / (3.0 * inertia) - 1.0


def _liquid_turning(simulation: Simulation, middle: tuple[float, float]) -> float:
    """Angular momentum of a 2D liquid that fills everything open, kg m/s for each metre of depth."""
    grid, state = simulation.grid, simulation.state
    part = face_fractions(grid, simulation.walls_at(state.time).solid_phi)
    _, y = grid.points(grid.face_shape(0)[:2], (0.0, 0.5))
    x, _ = grid.points(grid.face_shape(1)[:2], (0.5, 0.0))
    up, across = (part.v * state.velocity.v)[:, :, 0], (part.u * state.velocity.u)[:, :, 0]
    turning = np.sum(up * (x - middle[0])) - np.sum(across * (y - middle[1]))
    return WATER * grid.spacing**2 * float(turning)


def asymmetry(n: int, steps: int) -> float:
    """How far from the middle a light box drifts that rises in a mirrored scene, and how far it turns: metres and radians per second."""
    numerics = Numerics(mirror="x", tolerance=1e-12, reseed=False, volume_source=False)
    scene = box_in_water(n, 2, 300.0, at=0.3, numerics=numerics)
    simulation = Simulation(scene)
    for _ in range(steps):
        simulation.step(0.005)
    assert simulation.bodies is not None
    told = simulation.bodies.told(simulation.state)["box"]
    return max(abs(told["position"][0] - 0.5), abs(told["velocity"][0]), abs(told["spin"][0]))
