"""Bodies that move with the water: Aanjaneya et al. 2017, figures 2, 3, 5, 6 and 9, and ours.

The paper gives grids and pictures, no lengths and no densities of bodies. Its figure of a rabbit is not ours to give away: `Hare` is a
closed, concave mesh made by code, and stands for it.
"""

from __future__ import annotations

import math

import numpy as np

from unstick.bodies.parts import Control, Drive, Joint, Mjcf, RigidBody, Signal
from unstick.geometry.shapes import Box, Capsule, Plane, Sphere
from unstick.geometry.surfaces import Surface
from unstick.geometry.triangles import Hare
from unstick.liquid.scene import Body, Inflow, Scene, Solid
from unstick.scenes.moving import ladle
from unstick.scenes.scene_file import box_grid, require_dimension

WATER = 1000.0  # kg/m^3
BEYOND = 1.0  # m by which liquid reaches into the sides that it touches


def box_lift(resolution: int = 256, dimension: int = 2, density: float = 300.0) -> Scene:
    """A light box deep in water, a little turned, rises and tumbles."""
    d = require_dimension(dimension)
    box = RigidBody(name="box", shape=_centred(0.4, 0.2, 0.4)[d], density=density, position=_point(d, 0.5, 0.5), angle=0.2)
    return Scene(name="", grid=box_grid((1.0, 2.0, 1.0)[:d], resolution), liquid=_water(1.7), bodies=(box,), frames=150)


def boxes(resolution: int = 256, dimension: int = 2) -> Scene:
    """Boxes from a tenth to three times as heavy as water, between two ledges: light ones rise through those that sink."""
    d = require_dimension(dimension)
    placed = (  # x, y, width, height, density, angle
        (0.25, 0.25, 0.24, 0.16, 100.0, 0.15),
        (0.70, 0.22, 0.22, 0.22, 250.0, -0.3),
        (0.48, 0.55, 0.28, 0.14, 500.0, 0.1),
        (0.25, 1.32, 0.20, 0.20, 1500.0, 0.4),
        (0.75, 1.35, 0.26, 0.14, 3000.0, -0.2),
        (0.50, 1.62, 0.18, 0.18, 800.0, 0.7),
    )
    bodies = tuple(
        RigidBody(name=f"box {i}", shape=_centred(w, v, w)[d], density=rho, position=_point(d, x, y), angle=angle)
        for i, (x, y, w, v, rho, angle) in enumerate(placed, 1)
    )
    ledges = (("left ledge", -BEYOND, 0.22), ("right ledge", 0.78, 1.0 + BEYOND))
    solids = tuple(Solid(name=name, shape=Box((low, 0.86, -BEYOND)[:d], (high, 0.94, 1.0 + BEYOND)[:d])) for name, low, high in ledges)
    return Scene(name="", grid=box_grid((1.0, 2.0, 1.0)[:d], resolution), liquid=_water(1.8), solids=solids, bodies=bodies, frames=200)


def mesh_pool(resolution: int = 96, density: float = 300.0, pour: float = 1.5) -> Scene:
    """Twenty light hares, closed concave meshes, fall into a pool; they come up, and a source stirs them from the time `pour` on."""
    grid = box_grid((1.0, 1.0, 1.0), resolution)
    places = [(x, y, z) for y in (0.56, 0.76) for z in (0.2, 0.5, 0.8) for x in (0.2, 0.5, 0.8)] + [(0.35, 0.92, 0.35), (0.65, 0.92, 0.65)]
    bodies = tuple(_hare(i, at, 0.17, density, grid.spacing) for i, at in enumerate(places, 1))
    spout = Inflow(name="spout", shape=Box((-BEYOND, 0.75, 0.4), (0.06, 0.85, 0.6)), velocity=(2.0, 0.0, 0.0), start=pour, end=pour + 1.0)
    return Scene(name="", grid=grid, liquid=_water(0.4), bodies=bodies, inflows=(spout,), frames=300)


def sunk_meshes(resolution: int = 256) -> Scene:
    """Fifteen hares under water: the five lower ones are lighter than water, the ten upper ones heavier."""
    grid = box_grid((1.0, 2.0, 1.0), resolution)
    five = ((0.22, 0.22), (0.78, 0.22), (0.5, 0.5), (0.22, 0.78), (0.78, 0.78))
    places = [(x, y, z, 400.0) for y in (0.3,) for x, z in five] + [(x, y, z, 2000.0) for y in (0.95, 1.35) for x, z in five]
    bodies = tuple(_hare(i, (x, y, z), 0.28, rho, grid.spacing) for i, (x, y, z, rho) in enumerate(places, 1))
    return Scene(name="", grid=grid, liquid=_water(1.75), bodies=bodies, frames=200)


def plank(resolution: int = 256, density: float = 600.0) -> Scene:
    """A plank that turns about an upright axle across a pool is driven round by two sources."""
    grid = box_grid((1.0, 0.75, 1.0), resolution)
    axle = Joint(kind="hinge", axis=(0.0, 1.0, 0.0), damping=0.02)
    board = RigidBody(
        name="plank", shape=Box((-0.46, -0.14, -0.03), (0.46, 0.14, 0.03)), density=density, position=(0.5, 0.2, 0.5), angle=0.35,
        axis=(0.0, 1.0, 0.0), joints=(axle,),
    )  # fmt: skip
    near = Inflow(name="near", shape=Box((0.08, 0.2, -BEYOND), (0.24, 0.36, 0.04)), velocity=(0.0, 0.0, 1.5))
    far = Inflow(name="far", shape=Box((0.76, 0.2, 0.96), (0.92, 0.36, 1.0 + BEYOND)), velocity=(0.0, 0.0, -1.5))
    return Scene(name="", grid=grid, liquid=_water(0.3), bodies=(board,), inflows=(near, far), frames=300)


def ladle_coupled(resolution: int = 96, dimension: int = 3) -> Scene:
    """The ladle as a body that is pulled up and tilted by springs: it feels the water that it lifts."""
    scene, d = ladle(resolution, dimension), dimension
    bowl = scene.solids[0]
    # In the body's own coordinates, about the middle of the cup. The handle is shorter than the other ladle's, which goes through the
    # ceiling: a body would hit it.
    cup = (Sphere((0.0,) * d, 0.15) - Sphere((0.0,) * d, 0.11)) & Plane((0.0,) * d, (0.0, 1.0, 0.0)[:d])
    handle = Capsule((0.13, 0.0, 0.0)[:d], (0.18, 0.24, 0.0)[:d], 0.025)
    # As stiff as a hand: about 6 swings a second, well damped, whatever is in the ladle.
    lift, tilt = (11e3, 560.0), (260.0, 13.0)
    if d == 2:
        lift, tilt = (96e3, 4800.0), (4800.0, 240.0)
    times = (0.1, 1.2, 1.5, 2.4)
    rise = Signal(times=times, values=(0.0, 0.43, 0.43, 0.43))
    pour = Signal(times=times, values=(0.0, 0.0, 0.0, math.radians(100.0)))
    slide = Joint(kind="slide", axis=(0.0, 1.0, 0.0), damping=lift[1], drive=Drive(kind="position", gain=lift[0], signal=rise))
    hinge = Joint(kind="hinge", damping=tilt[1], drive=Drive(kind="position", gain=tilt[0], signal=pour))
    body = RigidBody(name="ladle", shape=cup | handle, density=1000.0, position=_point(d, 0.5, 0.27), joints=(slide, hinge))
    return Scene(name="", grid=scene.grid, liquid=scene.liquid, solids=(bowl,), bodies=(body,), frames=scene.frames)


FISH = """<mujoco model="swimmer">
  <compiler angle="radian"/>
  <default>
    <geom density="950"/>
    <joint axis="0 0 1" damping="0.02" range="-1 1"/>
    <position kp="12"/>
  </default>
  <worldbody>
    <body name="head">
      <freejoint/>
      <geom type="ellipsoid" size="0.11 0.06 0.07"/>
      <body name="trunk" pos="-0.08 0 0">
        <joint name="neck"/>
        <geom type="ellipsoid" size="0.09 0.05 0.065" pos="-0.08 0 0"/>
        <body name="tail" pos="-0.15 0 0">
          <joint name="waist"/>
          <geom type="ellipsoid" size="0.085 0.04 0.06" pos="-0.075 0 0"/>
          <body name="fin" pos="-0.145 0 0">
            <joint name="ankle"/>
            <geom type="box" size="0.06 0.022 0.09" pos="-0.07 0 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="neck" joint="neck"/>
    <position name="waist" joint="waist"/>
    <position name="ankle" joint="ankle"/>
  </actuator>
</mujoco>
"""


def swimmer(resolution: int = 96, frequency: float = 1.5) -> Scene:
    """A fish of four parts, a MuJoCo model with three driven hinges, swims through a tank."""
    beats = (("neck", 0.25, 0.0), ("waist", 0.45, -1.2), ("ankle", 0.6, -2.4))
    controls = tuple(Control(actuator=name, signal=Signal(amplitude=a, frequency=frequency, phase=phase)) for name, a, phase in beats)
    fish = Mjcf(text=FISH, position=(0.6, 0.3, 0.4), controls=controls)
    return Scene(name="", grid=box_grid((1.6, 0.6, 0.8), resolution), liquid=_water(0.5), mjcf=fish, frames=300)


def _water(height: float) -> tuple[Body, ...]:
    return (Body(shape=Surface(height)),)


def _centred(width: float, height: float, depth: float) -> dict[int, Box]:
    """In 2D and in 3D."""
    half = (0.5 * width, 0.5 * height, 0.5 * depth)
    return {d: Box(tuple(-s for s in half[:d]), half[:d]) for d in (2, 3)}


def _hare(number: int, at: tuple[float, float, float], size: float, density: float, spacing: float) -> RigidBody:
    """Each turned another way, and always the same."""
    rng = np.random.default_rng(number)
    axis = rng.normal(size=3)
    turned = tuple(round(float(a), 3) for a in axis / np.linalg.norm(axis))
    shape, angle = Hare((0.0, 0.0, 0.0), size, spacing), round(float(rng.uniform(0.0, 3.0)), 3)
    return RigidBody(name=f"hare {number}", shape=shape, density=density, position=at, angle=angle, axis=turned)


def _point(dimension: int, x: float, y: float) -> tuple[float, ...]:
    """In the middle of a 3D domain."""
    return (x, y, 0.5)[:dimension]
