"""What must not grow, drift or break: energy, volume, symmetry, and liquid that hangs where it should have let go."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from unstick.bench.physics_rest import EXACT, GRAVITY, WATER
from unstick.bench.plots import Snapshot
from unstick.geometry.shapes import Box
from unstick.grid import Array, Grid
from unstick.liquid.scene import Body, Numerics, Scene
from unstick.liquid.simulation import Simulation
from unstick.liquid.state import State
from unstick.scenes.table import SCENES

CEILING_ANGLE = 60.0  # degrees from straight down within which a solid's normal makes it a ceiling
CEILING_CELLS = 2.0


def sloshing(n: int, numerics: Numerics) -> Scene:
    """A column that collapses in a closed tank."""
    return Scene(
        name="sloshing",
        grid=Grid((n, n), 1.0 / n),
        liquid=(Body(shape=Box((-1.0, -1.0), (0.4, 0.6))),),
        density=WATER,
        numerics=numerics,
    )


def energy_above_rest(state: State, width: float) -> float:
    """Kinetic and potential energy per particle mass, less that of the same liquid at rest with a flat surface in a tank."""
    particles = state.particles
    cell = state.grid.spacing**2 / 4.0
    height = len(particles) * cell / width
    kinetic = 0.5 * float(np.mean(np.sum(particles.velocity**2, axis=1)))
    return kinetic + GRAVITY * (float(np.mean(particles.position[:, 1])) - 0.5 * height)


def energy_growth(n: int, steps: int) -> float:
    """Largest energy above rest of a sloshing tank with APIC, over its first value."""
    simulation = Simulation(sloshing(n, replace(EXACT, transfer="apic", tolerance=1e-6)))
    first = energy_above_rest(simulation.state, 1.0)
    most = 0.0
    while simulation.state.step < steps:
        simulation.advance_frame()
        most = max(most, energy_above_rest(simulation.state, 1.0))
    return most / first


def asymmetry(n: int, steps: int, transfer: str) -> float:
    """Largest difference of mirrored particles' positions, in units of the domain: a dam on both sides, mirrored seeding."""
    liquid = Body(shape=Box((-1.0, -1.0), (0.3, 0.7)) | Box((0.7, -1.0), (2.0, 0.7)))
    numerics = replace(EXACT, transfer=transfer, mirror="x")
    scene = Scene(name="two dams", grid=Grid((n, n), 1.0 / n), liquid=(liquid,), density=WATER, numerics=numerics)
    simulation = Simulation(scene)
    while simulation.state.step < steps:
        simulation.advance_frame()
    position = simulation.state.particles.position
    mirrored = position * np.array([-1.0, 1.0, 1.0]) + np.array([1.0, 0.0, 0.0])
    return _distance_of_sets(position[:, :2], mirrored[:, :2])


def _distance_of_sets(a: Array, b: Array) -> float:
    from scipy.spatial import cKDTree

    return float(np.max(cKDTree(a).query(b)[0]))


@dataclass(frozen=True, slots=True)
class Keeping:
    """Volume found over the volume at the start, and speeds, over a run."""

    frames: tuple[int, ...]
    volumes: tuple[float, ...]
    speed: float  # the largest over sqrt(2 g H)
    substeps: int  # the most in a frame

    @property
    def drift(self) -> float:
        """Largest relative difference of volume."""
        return max(abs(v / self.volumes[0] - 1.0) for v in self.volumes)


def keep(scene: Scene, frames: int, fall: float) -> Keeping:
    """Run a scene; `fall` is the highest possible fall H."""
    simulation = Simulation(scene)
    numbers, volumes, speed, most = [], [], 0.0, 0
    for _ in range(frames):
        before = simulation.state.step
        simulation.advance_frame()
        report = simulation.last_report
        assert report is not None
        numbers.append(report.frame)
        volumes.append(report.volume)
        speed = max(speed, report.max_speed)
        most = max(most, simulation.state.step - before)
    return Keeping(tuple(numbers), tuple(volumes), speed / math.sqrt(2.0 * GRAVITY * fall), most)


@dataclass(frozen=True, slots=True)
class Hanging:
    """Liquid within two cells of a ceiling, as a part of all liquid."""

    separating: float
    sticking: float
    shots: tuple[Snapshot, Snapshot]  # of both, through the middle in 3D


def hanging(name: str, resolution: int, frame: int) -> Hanging:
    """How much liquid hangs at the ceiling at a frame, with walls that separate and with walls that stick."""
    found, shots = [], []
    for walls in ("separating", "sticking"):
        simulation = Simulation(SCENES[name](resolution=resolution, walls=walls))
        while simulation.state.frame < frame:
            simulation.advance_frame()
        found.append(at_ceiling(simulation))
        shots.append(snapshot(simulation, f"{walls} walls"))
    return Hanging(found[0], found[1], (shots[0], shots[1]))


def snapshot(simulation: Simulation, label: str) -> Snapshot:
    """Particles and walls as they are; in 3D those within a cell of the middle."""
    grid, position = simulation.grid, simulation.state.particles.position
    solid = simulation.walls_at(simulation.state.time).solid_phi
    if grid.dimension == 3:
        middle = grid.origin[2] + 0.5 * grid.extent[2]
        position = position[np.abs(position[:, 2] - middle) < grid.spacing]
    x, y = (grid.origin[axis] + np.arange(grid.shape[axis] + 1) * grid.spacing for axis in range(2))
    return Snapshot(label, position[:, :2], x, y, solid.reshape(grid.node_shape3)[:, :, solid.shape[2] // 2])


def at_ceiling(simulation: Simulation) -> float:
    """Part of the particles that lie within two cells of a solid whose normal points down to within 60 degrees."""
    grid, position = simulation.grid, simulation.state.particles.position
    solid = simulation.walls_at(simulation.state.time).solid_phi
    h, d = grid.spacing, grid.dimension
    distance = _at_points(solid, position, grid)
    gradient = []
    for axis in range(d):
        step = np.zeros(3)
        step[axis] = 0.5 * h
        gradient.append((_at_points(solid, position + step, grid) - _at_points(solid, position - step, grid)) / h)
    size = np.sqrt(sum(g * g for g in gradient))
    down = -gradient[1] >= math.cos(math.radians(CEILING_ANGLE)) * np.maximum(size, 1e-12)
    return float(np.mean((distance < CEILING_CELLS * h) & down & (size > 0.5)))


def _at_points(nodes: Array, position: Array, grid: Grid) -> Array:
    """Multilinear interpolation of node values."""
    from scipy.ndimage import map_coordinates

    d = grid.dimension
    at = [(position[:, axis] - grid.origin[axis]) / grid.spacing for axis in range(d)]
    values = nodes if d == 3 else nodes[:, :, 0]
    return np.asarray(map_coordinates(values, at, order=1, mode="nearest"))
