"""How much memory a run will need, before it starts: an estimate from the scene, and what there is."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unstick.checks import InvalidSystem
from unstick.grid import CENTRES, Array, Grid
from unstick.liquid.scene import FOREVER, Scene
from unstick.liquid.state import with_margin
from unstick.liquid.transfer import make_transfer

# Bytes at the peak, fitted to runs of nine scenes in 2D and 3D, of up to 2.4 million cells, within 12 %.
BASE = 300 << 20  # Python, the libraries and the compiled kernels
PER_CELL = 210  # of the whole grid, margin included: fields, masks, and their temporaries
PER_LIQUID = 430  # cell with liquid: rows of the pressure system and its hierarchy
PER_PARTICLE = 25
PER_BODY_NODE = 9  # of the whole grid, for each body that moves with the liquid: its distance
PER_AFFINE = 125  # more for a particle that carries an affine velocity
COARSE = 48  # cells along the longest side of the grid on which the liquid is counted


@dataclass(frozen=True, slots=True)
class Need:
    """What a run's size follows from."""

    cells: float  # with margin
    liquid: float  # cells
    particles: float
    affine: bool
    bodies: int = 0  # that move with the liquid

    @property
    def bytes(self) -> float:
        each = PER_PARTICLE + (PER_AFFINE if self.affine else 0)
        cell = PER_CELL + PER_BODY_NODE * self.bodies
        return BASE + cell * self.cells + PER_LIQUID * self.liquid + each * self.particles


def need(scene: Scene, frames: int | None = None) -> Need:
    """The size of a run of so many frames."""
    share = liquid_share(scene, (scene.frames if frames is None else frames) * scene.frame_time)
    return _need(scene, scene.grid, share)


def _need(scene: Scene, domain: Grid, share: float) -> Need:
    liquid = share * math.prod(domain.shape)
    if scene.smoke is not None:  # less for the rows, whose walls stick, and more for what the gas carries: the same together
        return Need(float(math.prod(with_margin(domain).shape)), liquid, 0.0, False)
    particles = liquid * scene.numerics.particles_per_axis**domain.dimension
    return Need(float(math.prod(with_margin(domain).shape)), liquid, particles, make_transfer(scene.numerics).affine, bodies_of(scene))


def bodies_of(scene: Scene) -> int:
    """About how many: a MuJoCo model is not read for this."""
    return len(scene.bodies) + (4 if scene.mjcf is not None else 0)


def liquid_share(scene: Scene, seconds: float) -> float:
    """The part of the domain's cells that may hold liquid: what is there at the start, and what flows in until the end."""
    domain = scene.grid
    longest = max(domain.shape)
    factor = max(1.0, longest / COARSE)
    shape = tuple(max(1, round(n / factor)) for n in domain.shape)
    # Cells of the coarse grid may be a little off square; only the share counts.
    spacing = [extent / n for extent, n in zip(domain.extent, shape, strict=True)]
    points = []
    for axis, n in enumerate(shape):
        line = domain.origin[axis] + (np.arange(n) + CENTRES[axis]) * spacing[axis]
        points.append(line.reshape([-1 if a == axis else 1 for a in range(domain.dimension)]))

    def inside(distance: Array) -> Array:
        return np.broadcast_to(distance < 0, shape)

    closed = np.zeros(shape, dtype=np.bool_)
    for solid in scene.solids:
        if not solid.motion.moves:
            closed |= inside(solid.shape.distance(*points))
    wet = np.zeros(shape, dtype=np.bool_)
    for body in scene.liquid:
        wet |= inside(body.shape.distance(*points))
    if scene.smoke is not None:
        return float(np.mean(~closed))
    there = float(np.mean(wet & ~closed))
    for inflow in scene.inflows:
        region = float(np.mean(inside(inflow.shape.distance(*points)))) * math.prod(domain.extent)
        lasts = min(seconds, FOREVER if inflow.end is None else inflow.end) - inflow.start
        # A stream as wide as the region is in the mean, for as long as it flows.
        stream = region ** ((domain.dimension - 1) / domain.dimension) * math.hypot(*inflow.velocity) * max(0.0, lasts)
        there += (region + stream) / math.prod(domain.extent)
    return min(there, float(np.mean(~closed)))


def largest_that_fits(scene: Scene, resolution: int, bytes_available: float, frames: int | None = None) -> int:
    """The largest resolution, a multiple of 8, whose run fits; 0 when none does."""
    share = liquid_share(scene, (scene.frames if frames is None else frames) * scene.frame_time)
    domain = scene.grid

    def fits(size: int) -> bool:
        shape = tuple(max(1, round(n * size / resolution)) for n in domain.shape)
        return _need(scene, replace(domain, shape=shape), share).bytes <= bytes_available

    low, high = 0, max(1, resolution // 8)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(8 * middle) else (low, middle - 1)
    return 8 * low


def require_memory(scene: Scene, resolution: int, frames: int | None = None) -> None:
    """Refuse a run that would not fit, before it starts."""
    wanted, there = need(scene, frames), available_bytes()
    if there is None or wanted.bytes <= there:
        return
    fitting = largest_that_fits(scene, resolution, there, frames)
    remedy = f"the largest resolution that fits is {fitting}" if fitting else "no resolution of it fits"
    raise InvalidSystem(
        f"{scene.name} at resolution {resolution} needs about {gib(wanted.bytes)} ({wanted.cells:,.0f} cells, {wanted.particles:,.0f} "
        f"particles), and {gib(there)} of memory are free; {remedy}"
    )


def gib(size: float) -> str:
    return f"{size / 2**30:,.0f} GiB" if size >= 10 * 2**30 else f"{size / 2**30:.1f} GiB"


def available_bytes() -> float | None:
    """Memory that this process may still take: the least of what the system, its group and its own limit leave; None if unknown."""
    found = [size for size in (_system(), _group(), _own_limit()) if size is not None]
    return min(found) if found else None


def _system() -> float | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return None


def _group() -> float | None:
    """What control groups leave, versions 2 and 1; memory of files that can be dropped counts as free."""
    for group, limit_name, used_name, dropped in (
        (Path("/sys/fs/cgroup") / _group_path(), "memory.max", "memory.current", "inactive_file"),
        (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        with contextlib.suppress(OSError, ValueError):
            limit, used = int((group / limit_name).read_text()), int((group / used_name).read_text())
            if limit >= 1 << 60:
                return None
            statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return float(limit - used + int(statistics.get(dropped, 0)))
    return None


def _group_path() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return line[3:].strip().lstrip("/")
    return ""


def _own_limit() -> float | None:
    """What `ulimit -v` leaves."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    used = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return float(limit - used)
