"""A standing wave against linear theory, and a collapsing column against Martin and Moyce's experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import curve_fit

from unstick.bench.physics_rest import EXACT, GRAVITY, WATER
from unstick.geometry.shapes import Box, Shape
from unstick.grid import Array, Grid
from unstick.liquid.scene import Body, Numerics, Scene
from unstick.liquid.simulation import Simulation
from unstick.liquid.state import MARGIN

# J. C. Martin and W. J. Moyce, An experimental study of the collapse of liquid columns on a rigid horizontal plane, Phil. Trans. R. Soc.
# Lond. A 244 (1952) 312-324: the series of figure 3 with n^2 = 2, a = 2 1/4 in, as it is tabulated in the literature on moving surfaces.
# T = t sqrt(2 g / a), Z = distance of the front from the back wall / a.
COLUMN_T = (0.41, 0.84, 1.19, 1.43, 1.63, 1.83, 1.98, 2.20, 2.32, 2.51, 2.65, 2.83)
COLUMN_Z = (1.11, 1.22, 1.44, 1.67, 1.89, 2.11, 2.33, 2.56, 2.78, 3.00, 3.22, 3.44)
WIDTH = 0.05715  # 2 1/4 inches


@dataclass(frozen=True, slots=True)
class Ripple(Shape):
    """Liquid below y = level + amplitude cos(k x), as a distance to first order."""

    level: float
    amplitude: float
    k: float

    def distance(self, *x: Array) -> Array:
        return np.asarray(x[1] - self.level - self.amplitude * np.cos(self.k * x[0]))


@dataclass(frozen=True, slots=True)
class Wave:
    frequency: float  # measured over theory: sqrt(g k tanh(k H))
    loss: float  # of amplitude in a period
    times: tuple[float, ...]
    amplitudes: tuple[float, ...]


def standing_wave(n: int, numerics: Numerics, periods: float = 3.0) -> Wave:
    """n cells per wavelength; the wavelength is 1 m, the depth half of it, the amplitude 0.02 m."""
    k, depth, amplitude = 2.0 * math.pi, 0.5, 0.02
    omega = math.sqrt(GRAVITY * k * math.tanh(k * depth))
    high = math.ceil(0.62 * n)
    scene = Scene(
        name="standing-wave",
        grid=Grid((n, high), 1.0 / n),
        liquid=(Body(shape=Ripple(depth, amplitude, k)),),
        density=WATER,
        frame_time=min(0.01, 0.64 / n),
        numerics=numerics,
    )
    simulation = Simulation(scene)
    times, amplitudes = [0.0], [amplitude]
    while simulation.state.time < periods * 2.0 * math.pi / omega:
        simulation.advance_frame()
        times.append(simulation.state.time)
        amplitudes.append(mode(simulation, k))

    def model(t: Array, a: float, rate: float, w: float, shift: float, level: float) -> Array:
        return np.asarray(a * np.exp(-rate * t) * np.cos(w * t + shift) + level)

    fit, _ = curve_fit(model, np.array(times), np.array(amplitudes), p0=(amplitude, 0.0, omega, 0.0, 0.0))
    return Wave(fit[2] / omega, 1.0 - math.exp(-fit[1] * 2.0 * math.pi / fit[2]), tuple(times), tuple(amplitudes))


def mode(simulation: Simulation, k: float) -> float:
    """The surface's component along cos(k x)."""
    grid = simulation.grid
    inner = slice(MARGIN, -MARGIN)
    x = grid.origin[0] + (np.arange(grid.shape[0])[inner] + 0.5) * grid.spacing
    return float(2.0 * np.mean(surface_heights(simulation)[inner] * np.cos(k * x)))


def surface_heights(simulation: Simulation) -> Array:
    """Where the highest surface of each column of a 2D run lies, linear between the cells it passes."""
    grid, phi = simulation.grid, simulation.surface_now()[:, :, 0]
    y = grid.origin[1] + (np.arange(grid.shape[1]) + 0.5) * grid.spacing
    top = grid.shape[1] - 1 - np.argmax(phi[:, ::-1] < 0, axis=1)
    column = np.arange(grid.shape[0])
    above = np.minimum(top + 1, grid.shape[1] - 1)
    low, high = phi[column, top], phi[column, above]
    return np.asarray(y[top] + grid.spacing * low / np.minimum(low - high, -1e-300))


@dataclass(frozen=True, slots=True)
class Column:
    """Z of the front at the table's times, ours with one offset in time."""

    offset: float  # in T
    worst: float  # largest relative difference of Z up to 3.5
    times: tuple[float, ...]
    fronts: tuple[float, ...]


def martin_moyce(n: int, numerics: Numerics) -> Column:
    """n cells per column width; a column twice as high as wide between a wall and open floor."""
    a = WIDTH
    h = a / n
    scene = Scene(
        name="martin-moyce",
        grid=Grid((5 * n, int(2.5 * n)), h),
        liquid=(Body(shape=Box((-a, -a), (a, 2.0 * a))),),
        density=WATER,
        frame_time=0.05 / math.sqrt(2.0 * GRAVITY / a),
        numerics=numerics,
    )
    simulation = Simulation(scene)
    unit = math.sqrt(2.0 * GRAVITY / a)
    times, fronts = [0.0], [1.0]
    while fronts[-1] < 4.2 and times[-1] < 5.0:
        simulation.advance_frame()
        times.append(simulation.state.time * unit)
        fronts.append(front(simulation) / a)
    t, z = np.array(times), np.array(fronts)
    offsets = np.linspace(-0.4, 0.4, 161)
    errors = [compare(t, z, offset) for offset in offsets]
    best = int(np.argmin(errors))
    return Column(float(offsets[best]), float(errors[best]), tuple(times), tuple(fronts))


def compare(t: Array, z: Array, offset: float) -> float:
    """Largest relative difference from the table when our clock starts `offset` before theirs."""
    ours = np.interp(np.array(COLUMN_T) + offset, t, z)
    return float(np.max(np.abs(ours / np.array(COLUMN_Z) - 1.0)))


def front(simulation: Simulation) -> float:
    """How far the liquid on the floor has come, in metres."""
    grid, phi = simulation.grid, simulation.surface_now()[:, MARGIN, 0]
    wet = np.flatnonzero(phi[MARGIN:-MARGIN] < 0) + MARGIN
    last = int(wet[-1])
    x = grid.origin[0] + (last + 0.5) * grid.spacing
    return float(x + grid.spacing * phi[last] / (phi[last] - phi[last + 1])) if phi[last + 1] > 0 else float(x)


def lively(transfer: str, surface: str = "particles") -> Numerics:
    return replace(EXACT, transfer=transfer, surface=surface, tolerance=1e-6)
