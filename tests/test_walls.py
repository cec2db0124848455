"""Walls of a scene: exact sides, the nearest wall's velocity and kind, moving solids worked on only where they are."""

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from unstick.geometry.motion import Keyframes, Moved, Rotation, Translation
from unstick.geometry.shapes import Box, Plane, Sphere, sample
from unstick.grid import Grid
from unstick.kernels.walls import fill_between, mark_letting_go, take_velocity
from unstick.liquid.scene import Body, Inflow, Numerics, Scene, Solid
from unstick.liquid.simulation import Simulation
from unstick.liquid.solids import BAND, Walls, sample_near
from unstick.liquid.state import MARGIN, with_margin

M = MARGIN


def walls(grid, **given):
    return Walls.of(Scene(name="test", grid=grid, **given), with_margin(grid))


@pytest.mark.parametrize("grid", [Grid((7, 9), 0.1, (0.3, -1.7)), Grid((5, 6, 4), 1 / 3, (0.1, 0.2, 0.7))])
@pytest.mark.parametrize("sides", [("separating",) * 6, ("sticking", "separating") * 3])
def test_sides_are_zero_exactly_on_their_nodes_and_linear_beside_them(grid, sides):
    phi = walls(grid, sides=sides).at(0.0).solid_phi.reshape(with_margin(grid).node_shape)
    inner = (slice(M, -M),) * grid.dimension
    for axis in range(grid.dimension):
        lower, upper = list(inner), list(inner)
        lower[axis], upper[axis] = M, -M - 1
        assert (phi[tuple(lower)] == 0.0).all() and (phi[tuple(upper)] == 0.0).all()
        assert not np.signbit(phi[tuple(lower)]).any()
        middle = [n // 2 + M for n in grid.shape]
        middle[axis] = slice(0, M + 3)
        assert phi[tuple(middle)] == pytest.approx(grid.spacing * np.arange(-M, 3), abs=1e-15)
    assert (phi[inner] >= 0).all()
    outside = np.ones(phi.shape, dtype=bool)
    outside[inner] = False
    assert (phi[outside] < 0).all()


def test_solids_and_sides_are_one_distance():
    grid = Grid((16, 16, 16), 1 / 16)
    vessel, stone = ~Sphere((0.5, 0.5, 0.5), 0.4), Box((0.4, 0.2, 0.4), (0.6, 0.4, 0.6))
    state = walls(grid, solids=(Solid(name="vessel", shape=vessel), Solid(name="stone", shape=stone))).at(3.0)
    padded = with_margin(grid)
    expected = np.minimum(np.minimum(sample(vessel, padded), sample(stone, padded)), sample(Box((0, 0, 0), (1, 1, 1)), padded) * -1.0)
    assert state.solid_phi == pytest.approx(expected, abs=1e-15)
    assert state.velocity is None and state.separating == "separating"


@pytest.mark.parametrize("d", [2, 3])
def test_a_moved_solid_is_exact_near_its_surface_and_of_the_right_sign_far_from_it(d):
    grid = with_margin(Grid((40,) * d, 0.025))
    shape = Moved(Box((0.2,) * d, (0.7, 0.5, 0.6)[:d]) - Sphere((0.5,) * d, 0.1), Rotation((0.5,) * d, 1.0, axis=(0.0, 0.0, 1.0)).pose(0.6))
    near, blocks = sample_near(shape, grid)
    exact = sample(shape, grid).reshape(near.shape)
    band = np.abs(exact) <= BAND * grid.spacing
    assert (near[band] == exact[band]).all()
    assert ((near > 0) == (exact > 0)).all()
    assert np.abs(near - exact).max() < 4 * grid.spacing  # interpolated over blocks of four cells
    assert 0 < len(blocks) * 4**d < 0.8 * exact.size  # not all of it was worked on


def test_faces_take_the_velocity_of_the_nearest_wall():
    grid = Grid((32, 32), 1 / 32)
    motion = Rotation((0.5, 0.5), 2.0)
    state = walls(grid, solids=(Solid(name="wheel", shape=Sphere((0.5, 0.5), 0.2), motion=motion),)).at(0.3)
    padded = with_margin(grid)
    for axis, shift in ((0, (0.0, 0.5)), (1, (0.5, 0.0))):
        x, y = padded.points(padded.face_shape(axis)[:2], shift)
        expected = (-2.0 * (y - 0.5), 2.0 * (x - 0.5))[axis] + 0.0 * x + 0.0 * y
        close = np.abs(np.hypot(x - 0.5, y - 0.5) - 0.2) < 3 / 32
        found = state.velocity.components[axis][:, :, 0]
        assert found[close] == pytest.approx(expected[close], abs=1e-14)
        assert not found[:, M].any() and not found[M].any()  # sides do not move


def test_a_piston_that_reaches_through_a_side_moves_and_the_side_beside_it_does_not():
    grid = Grid((32, 32), 1 / 32)
    piston = Solid(name="piston", shape=Box((-1.0, 0.25), (0.1, 0.75)), motion=Translation((0.5, 0.0)))
    state = walls(grid, solids=(piston,)).at(0.1)
    u = state.velocity.u[:, :, 0]
    head = M + round(0.15 * 32)
    assert u[head, M + 16] == 0.5
    assert u[M, M + 2] == 0.0
    assert state.solid_phi[M + 4, M + 16, 0] < 0 < state.solid_phi[M + 6, M + 16, 0]


def test_the_nearest_wall_decides_whether_a_cell_lets_go():
    grid = Grid((32, 32), 1 / 32)
    ball = Solid(name="ball", shape=Sphere((0.5, 0.5), 0.2), walls="sticking")
    mixed = walls(grid, solids=(ball,)).at(0.0).separating[:, :, 0]
    x, y = with_margin(grid).points(with_margin(grid).shape, (0.5, 0.5))
    away = np.hypot(x - 0.5, y - 0.5) - 0.2
    assert not mixed[np.abs(away) < 1.5 / 32].any()
    assert mixed[away > 2.5 / 32].all()
    floor = walls(grid, sides=("separating", "separating", "sticking", "separating", "sticking", "sticking")).at(0.0).separating[:, :, 0]
    assert not floor[M + 4 : -M - 4, M : M + 2].any()
    assert floor[M + 4 : -M - 4, M + 3 :].all() and floor[M, M + 4]
    assert not floor[M, M]  # in the corner both are as near: it sticks
    # z sides do not count in 2D
    assert walls(grid, sides=("separating",) * 4 + ("sticking",) * 2).at(0.0).separating == "separating"
    assert walls(grid, sides=("sticking",) * 6).at(0.0).separating == "sticking"


def test_what_stands_still_is_sampled_once_and_moving_solids_follow_their_time():
    grid = Grid((24, 24), 1 / 24)
    still = walls(grid, solids=(Solid(name="stone", shape=Sphere((0.5, 0.5), 0.2)),))
    assert still.at(0.0) is still.at(1.0)
    motion = Keyframes((0.0, 1.0), ((0.0, 0.0), (0.3, 0.0)))
    moving = walls(grid, solids=(Solid(name="stone", shape=Sphere((0.3, 0.5), 0.1), motion=motion),))
    first = moving.at(0.0)
    assert moving.at(0.0) is first
    assert moving.at(1.0).solid_phi[M + 14, M + 12, 0] < 0 < first.solid_phi[M + 14, M + 12, 0]
    assert moving.at(0.0).solid_phi.tolist() == first.solid_phi.tolist()


def test_walls_in_an_inflow_let_liquid_in():
    grid = Grid((16, 16), 1 / 16)
    tap = Inflow(name="tap", shape=Box((0.0, 0.5), (0.1, 0.75)), velocity=(2.0, -0.5), start=0.5)
    taps = walls(grid, inflows=(tap,))
    assert taps.at(0.0).velocity is None
    velocity = taps.at(0.5).velocity
    assert (velocity.u[M, M + 8 : M + 12, 0] == 2.0).all()
    assert not velocity.u[M, : M + 8].any() and not velocity.u[M, M + 12 :].any()


def corner_mean(nodes, axes, d):
    """Mean over the corners along the given axes, the plain way."""
    for axis in axes:
        if axis < d:
            upper = np.take(nodes, range(1, nodes.shape[axis]), axis)
            nodes = 0.5 * (np.take(nodes, range(nodes.shape[axis] - 1), axis) + upper)
    return nodes


@pytest.mark.parametrize("nodes", [(14, 11, 1), (10, 7, 9)])
def test_kernels_equal_their_plain_twins(nodes):
    d, size = 3 - (nodes[2] == 1), 4
    rng = np.random.default_rng(5)
    coarse_shape = tuple((n - 1) // size + 2 for n in nodes[:d]) + (1,) * (3 - d)
    coarse = rng.normal(size=coarse_shape)
    fine = np.empty(nodes)
    fill_between(fine, coarse, size, d - 2)
    at = np.meshgrid(*(np.arange(n) / size for n in nodes[:d]), indexing="ij")
    assert fine.reshape(nodes[:d]) == pytest.approx(map_coordinates(coarse.reshape(coarse_shape[:d]), at, order=1), abs=1e-14)

    mine, others = rng.normal(size=(2, *nodes))
    cells = tuple(n - 1 for n in nodes[:d]) + (1,) * (3 - d)
    out = np.empty(cells, dtype=bool)
    mark_letting_go(out, mine, others, 0.3, 0.01, d - 2)
    separating, sticking = corner_mean(mine, range(3), d), corner_mean(others, range(3), d)
    assert (out == ((sticking > 0.3) | (sticking > separating + 0.01))).all()

    blocks = np.array([b for b in np.ndindex(*(-(-n // size) for n in nodes)) if sum(b) % 2 == 0])
    linear, angular, at = rng.normal(size=3), rng.normal(size=3), np.append(rng.normal(size=3), 0.1)
    for axis in range(d):
        shape = tuple(c + (a == axis) for a, c in enumerate(cells))
        velocity = np.zeros(shape)
        take_velocity(velocity, blocks, size, mine, others, axis, d - 2, at, linear, angular)
        index = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
        rigid = linear[axis] + np.cross(angular, at[:3] + 0.1 * index)[..., axis]
        across = [a for a in range(3) if a != axis]
        nearer = corner_mean(mine, across, d) <= corner_mean(others, across, d)
        listed = (index // size).sum(axis=-1) % 2 == 0
        assert velocity == pytest.approx(np.where(nearer & listed, rigid, 0.0), abs=1e-14)


@pytest.mark.parametrize("walls_kind", ["separating", "sticking"])
def test_a_block_lifted_off_water_leaves_it_or_takes_it_along(walls_kind):
    block = Solid(name="block", shape=Box((0.3, 0.4), (0.7, 0.6)), walls=walls_kind, motion=Translation((0.0, 1.0)))
    water = Body(shape=Plane((0.5, 0.41), (0.0, 1.0)))
    scene = Scene(name="lift", grid=Grid((32, 32), 1 / 32), liquid=(water,), solids=(block,), numerics=Numerics(seed=2))
    simulation = Simulation(scene)
    for _ in range(8):
        simulation.advance_frame()
    x, y = simulation.state.particles.position[:, :2].T
    highest = y[np.abs(x - 0.5) < 0.15].max()
    if walls_kind == "separating":
        assert highest < 0.43
    else:
        assert 0.455 < highest < 0.485  # the block's foot is at 0.48
