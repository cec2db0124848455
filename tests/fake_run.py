"""Runs that nobody computed, for tests of what is written down: liquid that turns in a round vessel, and a drop that falls."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from unstick.fields import FaceField
from unstick.geometry.shapes import Sphere, sample
from unstick.grid import Array, Grid
from unstick.liquid.scene import Scene
from unstick.liquid.state import Particles, State, with_margin
from unstick.record.frames import FrameRecorder
from unstick.result import Guess

RADIUS, MIDDLE = 0.4, 0.5


@dataclass
class FakeSimulation:
    """As much of a Simulation as recorders look at; half full, the surface tilted by `tilt` radians."""

    cells: int
    dimension: int
    frame: int = 0
    walls: str = "separating"
    scene: Scene = field(init=False)
    state: State = field(init=False)
    solid_phi: Array = field(init=False)

    def __post_init__(self) -> None:
        domain = Grid((self.cells,) * self.dimension, 1.0 / self.cells)
        self.scene = Scene(name="fake", grid=domain)
        self.grid = with_margin(domain)
        middle = (MIDDLE,) * self.dimension
        self.solid_phi = np.minimum(sample(~Sphere(middle, RADIUS), self.grid, "nodes"), box_phi(self.grid)).reshape(self.grid.node_shape3)
        self.go_to(self.frame)

    def go_to(self, frame: int) -> None:
        t = 0.01 * frame
        self.frame, tilt = frame, 1.2 * math.cos(3.0 * t)
        fall = 0.5 * 9.81 * t**2

        def phi_of(*x: Array) -> Array:
            liquid = (x[0] - MIDDLE) * math.sin(tilt) + (x[1] - MIDDLE) * math.cos(tilt)
            drop = [a - c for a, c in zip(x, (0.55, max(0.75 - fall, 0.4), 0.5), strict=False)]
            return np.minimum(liquid, np.sqrt(sum(d * d for d in drop)) - 0.07)

        h, d = self.grid.spacing, self.dimension
        rng = np.random.default_rng(1)
        lattice = np.meshgrid(*[(np.arange(2 * self.cells) + 0.5) * h / 2] * d, indexing="ij")
        points = np.stack([a.reshape(-1) for a in lattice], axis=1)
        points += rng.uniform(-0.2, 0.2, points.shape) * h
        wet = (phi_of(*points.T) < 0) & (np.linalg.norm(points - MIDDLE, axis=1) < RADIUS)
        position = np.full((int(wet.sum()), 3), 0.5 * h)
        position[:, :d] = points[wet]
        speed = 3.6 * np.sin(3.0 * t) * np.linalg.norm(position[:, :2] - MIDDLE, axis=1)
        velocity = np.zeros_like(position)
        velocity[:, 0] = speed
        phi = np.broadcast_to(phi_of(*self.grid.points(self.grid.shape, (0.5,) * d)), self.grid.shape).reshape(self.grid.shape3).copy()
        centre = np.linalg.norm(
            np.stack(np.meshgrid(*self.grid.points(self.grid.shape, (0.5,) * d), indexing="ij"), axis=-1) - MIDDLE, axis=-1
        )
        inside = centre.reshape(self.grid.shape3) < RADIUS + 0.5 * h
        p = np.where((phi < 0) & inside, -9810.0 * phi - 500.0 * (self.walls == "sticking"), 0.0)
        high = np.broadcast_to(self.grid.points(self.grid.shape, (0.5,) * d)[1], self.grid.shape).reshape(phi.shape) > 0.62
        detached = (phi < 0) & inside & (np.abs(centre.reshape(phi.shape) - RADIUS) < 0.7 * h) & high & (self.walls == "separating")
        self.state = State(
            self.grid, Particles(position, velocity, np.zeros((0, 3, 3))), phi, FaceField(self.grid), t, frame, frame, Guess(p, detached)
        )

    def walls_at(self, t: float) -> Any:
        return SimpleNamespace(solid_phi=self.solid_phi, velocity=None, separating=self.walls)

    def surface_now(self) -> Array:
        return self.state.phi


def box_phi(grid: Grid) -> Array:
    """Positive in the domain, three cells inside the grid; zero on its sides."""
    out: Any = np.inf
    for axis, x in enumerate(grid.points(grid.node_shape, (0.0,) * grid.dimension)):
        low, high = grid.origin[axis] + 3 * grid.spacing, grid.origin[axis] + grid.extent[axis] - 3 * grid.spacing
        out = np.minimum(out, np.minimum(x - low, high - x))
    return np.asarray(out)


def write_run(directory: Path, cells: int = 32, dimension: int = 2, frames: int = 3, walls: str = "separating", every: int = 1) -> Path:
    """A run's directory with as many frames, `every` hundredths of a second apart."""
    simulation = FakeSimulation(cells, dimension, walls=walls)
    recorder = FrameRecorder(directory)
    for frame in range(frames):
        simulation.go_to(frame * every)
        simulation.state.frame = frame
        recorder.record(simulation)
    manifest = {"scene": "fake", "resolution": cells, "walls": walls, "dimension": dimension, "frame_time": 0.01, "frames": frames}
    (directory / "run.json").write_text(json.dumps(manifest))
    return directory
