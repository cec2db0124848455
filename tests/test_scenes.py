"""The scenes by name: each as a file and back, at several sizes, and true to its paper where the paper gives numbers."""

import dataclasses
import math
import subprocess
import sys
import tomllib

import numpy as np
import pytest

from unstick.geometry.shapes import Box, Plane, Sphere, sample
from unstick.geometry.surfaces import Surface
from unstick.grid import Grid
from unstick.liquid.particles import seed
from unstick.liquid.scene import Body, Gravity, Inflow, Numerics, Outflow, Scene, Solid
from unstick.liquid.simulation import liquid_phi
from unstick.liquid.solids import Walls
from unstick.liquid.state import with_margin
from unstick.scenes import SCENES, SceneError, to_toml
from unstick.scenes.read import scene_from
from unstick.scenes.scene_file import box_grid

NAMES = """
circle square maze sphere sphere-box double-sphere half-disc two-discs dam dam-2d stairs tall-stairs ledges
ceiling-block still-tank standing-wave shaken-glass ladle martin-moyce
""".split()  # noqa: SIM905


def particles(scene):
    grid = with_margin(scene.grid)
    return len(seed(scene.liquid, grid, Walls.of(scene, grid).at(0.0).solid_phi, scene.numerics))


def test_all_promised_names_are_there():
    assert set(NAMES) <= set(SCENES)
    for name, scene in SCENES.items():
        assert scene.name == name and 20 < len(scene.about) < 140 and scene.about[-1] == "."


@pytest.mark.parametrize("name", list(SCENES))
def test_every_scene_is_written_as_a_file_that_gives_it_back(name):
    for changes in ({}, {"walls": "sticking"}, {"resolution": 37, "frames": 7, "transfer": "flip", "flip": 0.9}):
        scene = SCENES[name](**changes)
        assert scene_from(tomllib.loads(to_toml(scene)), name) == scene


@pytest.mark.parametrize("name", list(SCENES))
def test_every_scene_has_liquid_in_the_open_and_its_walls_are_of_the_kind_asked_for(name):
    if SCENES[name](24).smoke is not None:
        pytest.skip("a gas is everywhere; see test_smoke_scenes")
    coarse = {"martin-moyce": 8, "standing-wave": 32}.get(name, 24)
    scene = SCENES[name](coarse, walls="sticking")
    assert set(scene.sides[: 2 * scene.grid.dimension]) == {"sticking"} and {solid.walls for solid in scene.solids} <= {"sticking"}
    grid = with_margin(scene.grid)
    walls = Walls.of(scene, grid).at(0.0)
    assert walls.separating == "sticking"
    liquid = liquid_phi(scene)
    assert np.isfinite(liquid).all() and np.isfinite(walls.solid_phi).all()
    assert particles(scene) > 50
    # Liquid reaches into the walls that it touches: from a cell's centre in the liquid to the wall there is no strip of air.
    assert scene.about == SCENES[name].about and scene.name == name


def test_scenes_take_options_and_numerics_and_refuse_others():
    assert SCENES["still-tank"](16, height=0.3, dimension=3).grid.shape == (16, 16, 16)
    assert SCENES["dam"](16, dimension=2) == dataclasses.replace(SCENES["dam-2d"](16), name="dam", about=SCENES["dam"].about)
    assert SCENES["sphere"](16, transfer="flip", seed=7).numerics == Numerics(transfer="flip", seed=7)
    for changes, words in (
        ({"hieght": 0.3}, "did you mean height"),
        ({"height": "half"}, "give a number"),
        ({"height": 1.5}, "between 0 and 1"),
        ({"dimension": 4}, "2 or 3"),
        ({"flip": 2.0}, "numerics.flip: 2.0 given; allowed: at most 1"),
        ({"resolution": 2}, "from 4 to 8192"),
        ({"resolution": 64.0}, "from 4 to 8192"),
        ({"walls": "slippery"}, "separating, sticking"),
        ({"frames": -1}, "frames"),
    ):
        with pytest.raises(SceneError, match=words):
            SCENES["still-tank"](**changes)


def test_importing_scenes_does_not_import_pydantic():
    code = "import sys, unstick.scenes; unstick.scenes.SCENES['ladle'](); sys.exit('pydantic' in sys.modules or 'trimesh' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_andersens_tanks_have_the_papers_numbers_of_particles():
    assert particles(SCENES["two-discs"]()) == 20_395
    assert particles(SCENES["two-discs-low"]()) == 17_676


def test_lais_vessels_are_those_of_the_frames():
    from unstick.bench.frames import FRAMES

    for name in ("circle", "square", "maze", "sphere", "sphere-box", "double-sphere"):
        scene, n = SCENES[name](16), 16
        grid = Grid((n,) * scene.grid.dimension, 1 / n)
        solid = scene.solids[0].shape
        for other in scene.solids[1:]:
            solid = solid | other.shape
        assert scene.frame_time == 0.01 and scene.grid == grid
        assert ((sample(solid, grid) > 0) == (sample(FRAMES[name].inside, grid) < 0)).all()


def test_standing_wave_and_column_count_cells_as_they_say():
    wave = SCENES["standing-wave"](128)
    assert wave.grid.spacing == 1 / 128 and wave.grid.shape == (128, 80)
    assert SCENES["standing-wave"](128, half=True).grid.spacing == 1 / 128
    column = SCENES["martin-moyce"](32, n_squared=2)
    a = 0.05715
    assert column.grid.spacing == pytest.approx(a / 32)
    assert particles(column) == 32 * 64 * 4
    assert (liquid_phi(SCENES["standing-wave"](32)) < 0).sum() > 0


def test_a_surface_is_zero_on_its_height_and_has_slope_one_there():
    wave = Surface(0.5, (0.2, -0.3), 0.03, 0.7, 0.1)
    rng = np.random.default_rng(0)
    x, z = rng.uniform(0.0, 1.0, (2, 200))
    y = 0.5 + 0.2 * x - 0.3 * z + 0.03 * np.cos(2 * math.pi * (x - 0.1) / 0.7)
    assert wave.distance(x, y, z) == pytest.approx(np.zeros(200), abs=1e-15)
    e = 1e-6
    slope = [(wave.distance(x + a, y + b, z + c) - wave.distance(x - a, y - b, z - c)) / (2 * e) for a, b, c in np.eye(3) * e]
    assert np.linalg.norm(slope, axis=0) == pytest.approx(np.ones(200), abs=1e-6)
    assert Surface(0.5, (0.2,)).distance(x, y) == pytest.approx(Plane((0.0, 0.5), (-0.2, 1.0)).distance(x, y), abs=1e-15)


def test_grids_and_sizes_of_any_scene_come_back():
    for size in ((1.0, 0.7), (0.1, 0.3, 0.2), (1e-3, 3e-3), (1 / 3, 0.11), (5 * 0.05715, 1.5 * 0.05715)):
        for n in (7, 10, 33, 96, 127):
            if min(size) / max(size) * n >= 4:
                scene = Scene(name="any", grid=box_grid(size, n), liquid=(Body(shape=Box((0.0,) * len(size), size)),))
                assert scene_from(tomllib.loads(to_toml(scene)), "any") == scene


def test_everything_that_a_scene_may_hold_comes_back():
    """Odd names, times without end, gravity that turns, sources, nested shapes."""
    shape = (~Sphere((0.5, 0.5), 0.1) & Box((0.1, 0.1), (0.9, 0.9))).rotate(0.3, centre=(0.5, 0.5)).scale(1.1) | Plane(
        (0.0, 0.1), (0.0, 1.0)
    )
    scene = Scene(
        name="a b-c",
        about='quotes " and \\ and lines\nend\x01 é',
        grid=box_grid((1.0, 1.0), 20),
        liquid=(Body(shape=shape, velocity=(1.0, -2.0), spin=(0.5,)),),
        solids=(Solid(name="s", shape=~shape),),
        inflows=(Inflow(name="tap", shape=shape, velocity=(0.1, 0.2), start=0.5),),
        outflows=(Outflow(name="drain", shape=shape, end=2.5),),
        sides=("sticking", "separating") * 3,
        gravity=Gravity((0.0, 1.0, 2.0), ((0.0, -9.81), (1.0, 0.0), (0.0, 9.81))),
        density=1.3,
    )
    assert scene_from(tomllib.loads(to_toml(scene)), "x") == scene
