import math

import numpy as np
import pytest

from liquid_at_rest import on_threads, walls_of
from unstick.geometry.shapes import Plane, Sphere, sample
from unstick.grid import Grid
from unstick.kernels.volume import part_above
from unstick.liquid.state import with_margin
from unstick.liquid.volume import volume


def cut_cube(value, normal, n=60):
    """The twin: count points of a lattice."""
    line = (np.arange(n) + 0.5) / n - 0.5
    x, y, z = np.meshgrid(line, line, line, indexing="ij")
    return np.mean(value + normal[0] * x + normal[1] * y + normal[2] * z > 0)


@pytest.mark.parametrize("seed", range(12))
def test_the_part_of_a_cube_above_a_plane_equals_a_count_of_points(seed):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3) * rng.choice([1.0, 0.1, 1e-3], size=3)
    value = rng.uniform(-0.6, 0.6) * np.abs(normal).sum()
    assert part_above(value, *normal) == pytest.approx(cut_cube(value, normal), abs=0.02)


def test_the_part_above_a_plane_is_exact_where_it_is_known():
    assert part_above(0.1, 0.0, -1.0, 0.0) == pytest.approx(0.6, abs=1e-15)
    assert part_above(-0.25, 1.0, 1.0, 0.0) == pytest.approx(0.5 * 0.75**2, abs=1e-15)
    assert part_above(-1.0, 1.0, -1.0, 1.0) == pytest.approx(0.5**3 / 6, abs=1e-15)
    assert part_above(0.0, 0.3, 0.2, 0.7) == pytest.approx(0.5, abs=1e-15)
    assert part_above(2.0, 1.0, 0.0, 0.0) == 1.0 and part_above(-2.0, 1.0, 0.0, 0.0) == 0.0
    assert part_above(0.3, 1e-9, 1.0, 1e-12) == pytest.approx(0.8, abs=1e-8)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_tank_holds_its_base_times_its_depth(dimension):
    domain = Grid((8, 10, 6)[:dimension], 0.1, (0.3, -0.2, 0.0)[:dimension])
    grid = with_margin(domain)
    phi = sample(Plane((0.0, 0.433, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension]), grid, "cells")
    base = 0.8 if dimension == 2 else 0.8 * 0.6
    assert volume(grid, phi, walls_of(domain)) == pytest.approx(base * 0.633, rel=1e-13)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_sphere_is_found_to_second_order(dimension):
    errors, sizes = [], (12, 24, 48)
    for n in sizes:
        grid = Grid((n,) * dimension, 1.0 / n)
        phi = sample(Sphere((0.51, 0.493, 0.502)[:dimension], 0.37), grid, "cells")
        exact = math.pi * 0.37**2 if dimension == 2 else 4.0 / 3.0 * math.pi * 0.37**3
        errors.append(abs(volume(grid, phi, np.ones(grid.node_shape)) / exact - 1.0))
    rate = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert rate > 1.8
    assert errors[-1] < 2e-3


def test_liquid_in_a_round_vessel_is_found_to_second_order():
    errors, sizes = [], (16, 32, 64, 128)
    for n in sizes:
        grid = Grid((n, n), 1.0 / n)
        # Means over a few positions: where the surface meets the wall the error of one picture is a matter of luck.
        wrong = []
        for shift in np.linspace(-0.5, 0.5, 9):
            level = 0.45 + shift / n
            depth = level - 0.1
            exact = 0.4**2 * math.acos(1 - depth / 0.4) - (0.4 - depth) * math.sqrt(2 * 0.4 * depth - depth**2)
            phi = sample(Plane((0.0, level), (0.0, 1.0)), grid, "cells")
            wrong.append(volume(grid, phi, -sample(Sphere((0.5, 0.5), 0.4), grid)) / exact - 1.0)
        errors.append(np.sqrt(np.mean(np.square(wrong))))
    assert -np.polyfit(np.log(sizes), np.log(errors), 1)[0] > 1.7
    assert errors[-1] < 2e-4


def test_the_volume_has_the_same_bits_on_one_thread_and_two():
    grid = Grid((21, 18, 16), 0.05)
    phi = sample(Sphere((0.5, 0.45, 0.4), 0.3), grid, "cells")
    solid = sample(Plane((0.4, 0.0, 0.0), (1.0, 0.3, 0.2)), grid)
    one, two = on_threads(lambda: volume(grid, phi, solid))
    assert one == two > 0
