"""A scene as data: what is where at the start, what happens from outside, and how it is to be computed. Nothing here computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from unstick.bodies.parts import Mjcf, RigidBody
from unstick.geometry.motion import Motion, Still
from unstick.geometry.shapes import Shape
from unstick.grid import Grid

Walls = Literal["separating", "sticking"]
Side = Literal["separating", "sticking", "open"]  # open: gas passes, at the pressure of the air beyond; for scenes of smoke
Vector = tuple[float, ...]
SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")
FOREVER = float("inf")
AMBIENT = 293.15  # K


@dataclass(frozen=True, slots=True, kw_only=True)
class Solid:
    """A body or a vessel whose motion is prescribed."""

    name: str
    shape: Shape  # negative inside the solid, where it rests at t = 0; a vessel is the complement of its inside
    walls: Walls = "separating"
    motion: Motion = field(default_factory=Still)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inflow:
    """A region that is kept full of liquid which moves with `velocity`."""

    name: str
    shape: Shape
    velocity: Vector
    start: float = 0.0
    end: float = FOREVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Outflow:
    """A region in which liquid vanishes."""

    name: str
    shape: Shape
    start: float = 0.0
    end: float = FOREVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Liquid that is there at t = 0."""

    shape: Shape  # negative in the liquid; reaching into walls is right
    velocity: Vector = ()  # of its points at t = 0; empty means at rest
    spin: Vector = ()  # angular velocity about the centre of the domain: (rate,) in 2D, three numbers in 3D


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeSource:
    """A region in which the gas is kept at a density of smoke, a temperature, and, if given, a velocity."""

    name: str
    shape: Shape
    density: float = 1.0  # of smoke, in whatever unit
    temperature: float | None = None  # K; None is ambient
    velocity: Vector = ()
    start: float = 0.0
    end: float = FOREVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoke:
    """A gas that fills the domain in place of a liquid; smoke and heat are carried by it and make it heavier or lighter."""

    sources: tuple[SmokeSource, ...] = ()
    ambient: float = AMBIENT  # K, of the gas at the start and beyond open sides
    weight: float = 0.0  # how much heavier the gas is for each unit of smoke, as a part of its own weight
    expansion: float = 1.0 / AMBIENT  # 1/K; how much lighter for each kelvin above ambient
    confinement: float = 0.0  # strength of vorticity confinement, epsilon in Fedkiw et al. 2001, eq. 11
    fading: float = 0.0  # 1/s, rate at which smoke vanishes
    cooling: float = 0.0  # 1/s, rate at which the gas comes back to ambient
    advection: str = "cubic"  # or maccormack, linear
    conserve: bool = True  # give back what advection loses of smoke and heat, within the range of their surroundings


@dataclass(frozen=True, slots=True)
class Gravity:
    """Acceleration in time, linear between keys and constant beyond them."""

    times: tuple[float, ...]
    values: tuple[Vector, ...]

    @classmethod
    def constant(cls, *value: float) -> Gravity:
        return cls((0.0,), (value,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerics:
    """How a scene is computed; every field is a key of the scene file's [numerics] table."""

    transfer: str = "apic"  # a name from TRANSFERS: apic, flip, pic, semi-lagrangian
    flip: float = 0.97  # part of FLIP in the FLIP/PIC blend; 1 - alpha of Karlsson, eq. 22
    surface: str = "particles"  # a name from SURFACES: particles, level-set
    paths: str = "rk3"  # a name from PATHS: rk2, rk3
    particles_per_axis: int = 2  # in each liquid cell at the start: 4 in 2D, 8 in 3D
    jitter: float = 1.0  # of particles at the start, as a part of their distance; 0 is a regular lattice
    seed: int = 1
    mirror: str = ""  # "x": particles at the start are mirrored about the middle of that axis (for tests of symmetry)
    reseed: bool = True  # fill voids in the liquid and thin out crowds
    volume_source: bool = True  # a bounded divergence that corrects the drift of volume
    cfl: float = 3.2  # cells that the fastest liquid may cross in a step; Lai, eq. 3.27, has 5
    impact: float = 2.0  # cells that liquid may move in a step towards a wall that it hits; with more, impacts squeeze the liquid
    theta_min: float = 0.01
    solver: str = "default"  # a name from SOLVERS, LINEAR_SOLVERS or PROJECTIONS
    tolerance: float = 1e-6  # of the pressure solve, scale-free


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything a simulation needs. SI units; y is up."""

    name: str
    about: str = ""  # one line
    grid: Grid  # the domain; its sides are walls
    liquid: tuple[Body, ...] = ()
    solids: tuple[Solid, ...] = ()
    inflows: tuple[Inflow, ...] = ()
    outflows: tuple[Outflow, ...] = ()
    bodies: tuple[RigidBody, ...] = ()  # that move with the liquid
    mjcf: Mjcf | None = None  # more of them, from a MuJoCo model
    sides: tuple[Side, ...] = ("separating",) * 6  # in the order of SIDES
    gravity: Gravity = field(default_factory=lambda: Gravity.constant(0.0, -9.81, 0.0))
    density: float = 1000.0
    frames: int = 100
    frame_time: float = 0.01
    numerics: Numerics = field(default_factory=Numerics)
    smoke: Smoke | None = None  # a gas instead of liquid

    @property
    def has_bodies(self) -> bool:
        """That move with the liquid."""
        return bool(self.bodies) or self.mjcf is not None
