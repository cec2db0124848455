"""Two-dimensional runs that are looked at beside each other: snapshots, and how much their liquids differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from unstick.bench.plots import Snapshot
from unstick.grid import Array
from unstick.liquid.scene import Scene
from unstick.liquid.simulation import Simulation
from unstick.liquid.state import MARGIN
from unstick.pressure.projection import Projection


@dataclass(slots=True, eq=False)
class Watched:
    """What is kept of a run."""

    volumes: list[float] = field(default_factory=list)  # after each frame, the first at the first step
    residuals: list[float] = field(default_factory=list)  # of each solve, in 1/s
    iterations: list[int] = field(default_factory=list)
    shots: dict[int, Snapshot] = field(default_factory=dict)
    filled: dict[int, Array] = field(default_factory=dict)  # part of each open cell that is liquid, at the frames of the shots


def watch(
    scene: Scene, projection: Projection | None, frames: int, at: Iterable[int], tell: Callable[[str], None] = lambda what: None
) -> Watched:
    """Run a scene, and keep snapshots after the frames `at`."""
    kept, out = set(at), Watched()
    simulation = Simulation(scene, projection=projection)
    for frame in range(1, frames + 1):
        tell(f"frame {frame}")
        residuals: list[tuple[float, int]] = []
        simulation.advance_frame(lambda report, to=residuals: to.append((report.residual, report.iterations)))  # type: ignore[misc]
        out.residuals += [r for r, _ in residuals]
        out.iterations += [i for _, i in residuals]
        if not out.volumes:
            out.volumes.append(float(simulation.state.volume or 0.0))
        out.volumes.append(simulation.state.found)
        if frame in kept:
            out.shots[frame] = snapshot(simulation, f"frame {frame}")
            out.filled[frame] = filled(simulation)
    return out


def snapshot(simulation: Simulation, label: str) -> Snapshot:
    grid = simulation.scene.grid
    inner = slice(MARGIN, -MARGIN)
    solid = simulation.walls_at(simulation.state.time).solid_phi[inner, inner, 0]
    x, y = (grid.origin[a] + grid.spacing * np.arange(grid.shape[a] + 1) for a in range(2))
    return Snapshot(label, simulation.state.particles.position[:, :2].astype(np.float32), x, y, solid)


def filled(simulation: Simulation) -> Array:
    """The part of every cell that is liquid, to first order; 0 in cells whose centre is in the solid."""
    solid = simulation.walls_at(simulation.state.time).solid_phi[:, :, 0]
    centre = 0.25 * (solid[1:, 1:] + solid[:-1, 1:] + solid[1:, :-1] + solid[:-1, :-1])
    phi = simulation.surface_now()[:, :, 0]
    return np.where(centre > 0, np.clip(0.5 - phi / simulation.grid.spacing, 0.0, 1.0), 0.0)


def difference(a: Array, b: Array) -> float:
    """The area that only one of two liquids covers, as a part of the area of the first."""
    return float(np.abs(a - b).sum() / max(a.sum(), 1e-300))
