"""What pictures need of each frame, in one small file: DIR/frames/frame_000123.npz; walls that stand still once, in DIR/solid.npz."""

from __future__ import annotations

import functools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unstick.checks import InvalidSystem
from unstick.grid import Array, Grid
from unstick.record.files import save_arrays

if TYPE_CHECKING:
    from unstick.liquid.bodies import Immersed
    from unstick.liquid.simulation import Simulation
    from unstick.liquid.state import State

AROUND = 4  # cells kept around the liquid; pictures look no farther
CLEAR = 1e-4  # smoke, and kelvins, that no picture shows
MOST_PARTICLES = 100_000  # written per frame in 3D, where pictures show the surface; all of them in 2D


@dataclass(frozen=True, slots=True, eq=False)
class BodyFrame:
    """Bodies that move with the liquid; x = position + rotation @ x0 for points x0 in a body's own coordinates."""

    position: Array  # (n, 3)
    rotation: Array  # (n, 3, 3)
    phi: Array  # distance to the nearest at nodes, capped a few cells away


@dataclass(frozen=True, slots=True, eq=False)
class FrameData:
    """A frame as pictures see it; single precision."""

    frame: int
    time: float
    grid: Grid  # with margin, as the simulation computes
    position: Array  # (n, 3)
    speed: Array  # (n,)
    phi: Array  # liquid's distance at cell centres; capped a few cells away from the liquid
    p: Array  # at cell centres, zero outside the liquid
    detached: Array  # flat indices of the cells from whose walls the liquid lets go
    solid_phi: Array  # at nodes, positive outside the solid
    density: Array | None = None  # of smoke, at cell centres; in a frame of a gas, which has no particles and no surface
    excess: Array | None = None  # K above ambient
    bodies: BodyFrame | None = None


def frame_path(directory: Path, frame: int) -> Path:
    return directory / "frames" / f"frame_{frame:06d}.npz"


def solid_path(directory: Path) -> Path:
    return directory / "solid.npz"


def list_frames(directory: Path) -> list[int]:
    """The frames that are there, in order."""
    names = (re.fullmatch(r"frame_(\d{6,})\.npz", path.name) for path in (directory / "frames").glob("frame_*.npz"))
    return sorted(int(name[1]) for name in names if name)


@dataclass(frozen=True, slots=True)
class FrameRecorder:
    """Writes each frame for `unstick render`."""

    directory: Path
    most_particles: int = MOST_PARTICLES

    def record(self, simulation: Simulation) -> None:
        state = simulation.state
        solid = np.asarray(simulation.walls_at(state.time).solid_phi, dtype=np.float32)
        arrays = self._gas(state) if state.gas is not None else self._arrays(state, simulation.surface_now())
        if simulation.scene.has_bodies or any(s.motion.moves for s in simulation.scene.solids):
            arrays["solid_phi"] = solid
        elif not solid_path(self.directory).exists():
            save_arrays(solid_path(self.directory), {"solid_phi": solid})
        if simulation.scene.has_bodies:
            assert simulation.bodies is not None
            arrays |= _body_arrays(simulation.bodies.placed(state), state.grid)
        save_arrays(frame_path(self.directory, state.frame), arrays)

    def close(self) -> None:
        """Every frame is complete when it is written."""

    def _gas(self, state: State) -> dict[str, Array]:
        """Smoke and heat, in the box in which there is any."""
        gas, grid = state.gas, state.grid
        assert gas is not None
        box = filled_box((gas.density > CLEAR) | (np.abs(gas.excess) > CLEAR), around=1)
        inside = tuple(slice(low, high) for low, high in box)
        return _head(state, box) | {
            "density": gas.density.reshape(grid.shape3)[inside].astype(np.float32),
            "excess": gas.excess.reshape(grid.shape3)[inside].astype(np.float32),
        }

    def _arrays(self, state: Any, phi: Array) -> dict[str, Array]:
        grid, particles = state.grid, state.particles
        n = len(particles.position)
        # Particles are sorted by cell, so that every k-th is a fair choice.
        every = 1 if grid.dimension == 2 else max(1, -(-n // self.most_particles))
        velocity = particles.velocity[::every]
        shape = grid.shape3
        box = filled_box(phi < 0)
        inside = tuple(slice(low, high) for low, high in box)
        # The guess for the next solve is the last pressure, and checkpoints keep it: a resumed run writes the same frame.
        p = np.zeros(shape) if state.guess is None else state.guess.p.reshape(shape)
        detached = np.zeros(0) if state.guess is None else np.flatnonzero(state.guess.detached)
        return _head(state, box) | {
            "position": particles.position[::every].astype(np.float32),
            "speed": np.sqrt(np.einsum("ij,ij->i", velocity, velocity)).astype(np.float32),
            "phi": phi.reshape(shape)[inside].astype(np.float32),
            "p": p[inside].astype(np.float32),
            "detached": detached.astype(np.int32),
        }


def _head(state: State, box: list[tuple[int, int]]) -> dict[str, Array]:
    """What every frame has."""
    grid = state.grid
    return {
        "frame": np.asarray(state.frame, dtype=np.int64),
        "time": np.asarray(state.time, dtype=np.float64),
        "shape": np.asarray(grid.shape, dtype=np.int64),
        "spacing": np.asarray(grid.spacing, dtype=np.float64),
        "origin": np.asarray(grid.origin, dtype=np.float64),
        "box": np.asarray(box, dtype=np.int64),
    }


def _body_arrays(there: Immersed, grid: Grid) -> dict[str, Array]:
    """Poses, and the distance in the box in which pictures need it."""
    phi = functools.reduce(np.minimum, there.phi)
    box = filled_box(phi < 0)
    return {
        "body_position": np.array([pose.shift for pose in there.poses]),
        "body_rotation": np.array([pose.rotation for pose in there.poses]),
        "body_box": np.asarray(box, dtype=np.int64),
        "body_phi": phi[tuple(slice(low, high) for low, high in box)].astype(np.float32),
    }


def _bodies(arrays: dict[str, Array], grid: Grid) -> BodyFrame | None:
    if "body_phi" not in arrays:
        return None
    phi = np.full(grid.node_shape3, np.float32(AROUND * grid.spacing))
    phi[tuple(slice(int(low), int(high)) for low, high in arrays["body_box"])] = arrays["body_phi"]
    return BodyFrame(arrays["body_position"], arrays["body_rotation"], phi)


def filled_box(filled: Array, around: int = AROUND) -> list[tuple[int, int]]:
    """First and last index along each axis of the cells that are marked, and some more on each side."""
    box = []
    for axis in range(3):
        at = np.flatnonzero(filled.any(axis=tuple(a for a in range(3) if a != axis)))
        low, high = (int(at[0]), int(at[-1]) + 1) if len(at) else (0, 1)
        box.append((max(0, low - around), min(filled.shape[axis], high + around)))
    return box


def read_frame(directory: Path, frame: int) -> FrameData:
    """Read a frame back; a file that is missing or damaged is refused with a sentence."""
    path = frame_path(directory, frame)
    arrays = _load(path)
    try:
        grid = Grid(tuple(int(n) for n in arrays["shape"]), float(arrays["spacing"]), tuple(float(x) for x in arrays["origin"]))
        inside = tuple(slice(int(low), int(high)) for low, high in arrays["box"])
        if "density" in arrays:
            return _gas_frame(directory, arrays, grid, inside)
        phi = np.full(grid.shape3, np.float32(AROUND * grid.spacing))
        phi[inside] = arrays["phi"]
        p = np.zeros(grid.shape3, dtype=np.float32)
        p[inside] = arrays["p"]
        solid = arrays["solid_phi"] if "solid_phi" in arrays else _load(solid_path(directory))["solid_phi"]
        return FrameData(
            int(arrays["frame"]),
            float(arrays["time"]),
            grid,
            arrays["position"],
            arrays["speed"],
            phi,
            p,
            arrays["detached"],
            solid.reshape(grid.node_shape3),
            bodies=_bodies(arrays, grid),
        )
    except (KeyError, ValueError) as error:
        raise InvalidSystem(f"{path} is no frame of unstick ({error}); `unstick run ... --resume` writes it again") from None


def _gas_frame(directory: Path, arrays: dict[str, Array], grid: Grid, inside: tuple[slice, ...]) -> FrameData:
    nothing = np.zeros(0, dtype=np.float32)
    solid = arrays["solid_phi"] if "solid_phi" in arrays else _load(solid_path(directory))["solid_phi"]
    density, excess = np.zeros(grid.shape3, dtype=np.float32), np.zeros(grid.shape3, dtype=np.float32)
    density[inside], excess[inside] = arrays["density"], arrays["excess"]
    full, p = np.full(grid.shape3, np.float32(-grid.spacing)), np.zeros(grid.shape3, dtype=np.float32)
    frame, time = int(arrays["frame"]), float(arrays["time"])
    walls, bodies = solid.reshape(grid.node_shape3), _bodies(arrays, grid)
    return FrameData(frame, time, grid, nothing.reshape(0, 3), nothing, full, p, nothing, walls, density, excess, bodies)


def _load(path: Path) -> dict[str, Array]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise InvalidSystem(f"{path} is not there; give the directory of a run and a frame that it has") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidSystem(f"{path} cannot be read ({error}); remove it, and `unstick run ... --resume` writes it again") from None
