import numpy as np
import pytest

from liquid_at_rest import on_threads
from unstick.checks import InvalidSystem
from unstick.geometry.shapes import Plane, Sphere, sample
from unstick.grid import Grid
from unstick.liquid.redistance import redistance


def next_to_surface(phi):
    """Cells with a face neighbour of the other sign."""
    wet = phi < 0
    out = np.zeros(phi.shape, dtype=bool)
    for axis in range(phi.ndim):
        differ = np.diff(wet, axis=axis) != 0
        low, high = [slice(None)] * phi.ndim, [slice(None)] * phi.ndim
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        out[tuple(low)] |= differ
        out[tuple(high)] |= differ
    return out


def swept(phi, h, band):
    """The twin: Gauss-Seidel over the whole box, forwards and backwards, until nothing moves (Zhao 2005)."""
    keep = next_to_surface(phi)
    d = np.where(keep, np.abs(phi), 1e9)
    for _ in range(40):
        before = d.copy()
        for cells in (list(np.ndindex(*phi.shape)), list(np.ndindex(*phi.shape))[::-1]):
            for cell in cells:
                if keep[cell]:
                    continue
                least = []
                for axis in range(phi.ndim):
                    near = []
                    for step in (-1, 1):
                        other = list(cell)
                        other[axis] += step
                        if 0 <= other[axis] < phi.shape[axis]:
                            near.append(d[tuple(other)])
                    least.append(min(near))
                least.sort()
                x = least[0] + h
                for n in range(2, phi.ndim + 1):
                    if x > least[n - 1]:
                        s, q = sum(least[:n]), sum(a * a for a in least[:n])
                        x = (s + np.sqrt(s * s - n * (q - h * h))) / n
                d[cell] = x
        if np.abs(d - before).max() < 1e-13:
            break
    return np.sign(phi) * np.minimum(d, band * h)


@pytest.mark.parametrize("shape", [(15, 13), (9, 8, 10)])
def test_distances_equal_those_of_sweeps_over_the_whole_box(shape):
    grid = Grid(shape, 0.1)
    shape_ = Sphere((0.7, 0.6, 0.5)[: len(shape)], 0.25)
    phi = sample(shape_, grid, "cells")
    band = 4.0
    found = redistance(phi * (1.0 + 0.2 * np.sin(9 * phi)), grid, band)
    twin = swept(phi * (1.0 + 0.2 * np.sin(9 * phi)), 0.1, band)
    inside = np.abs(twin) < (band - 0.01) * 0.1
    assert inside.sum() > 0.5 * inside.size
    np.testing.assert_allclose(found[inside], twin[inside], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(np.sign(found), np.sign(phi))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(60, 57), (30, 28, 29)])
def test_a_plane_stays_a_plane(shape, seed):
    d = len(shape)
    rng = np.random.default_rng(seed)
    grid = Grid(shape, 0.1, tuple(rng.normal(size=d)))
    middle = tuple(o + 0.5 * e for o, e in zip(grid.origin, grid.extent, strict=True))
    normal = tuple(rng.normal(size=d)) if seed else (0.0, 1.0, 0.0)[:d]
    phi = sample(Plane(middle, normal), grid, "cells")
    given = phi.copy()
    given[~next_to_surface(phi)] *= rng.uniform(0.3, 3.0)
    found = redistance(given, grid, band=4.0)
    assert (np.sign(found) == np.sign(phi)).all()
    # Away from the borders, beyond which nothing is known of the surface.
    inner = tuple(slice(2 * n // 5, -(2 * n // 5)) for n in shape)
    near = np.abs(phi[inner]) < 3.9 * 0.1
    np.testing.assert_allclose(found[inner][near], phi[inner][near], rtol=0, atol=1e-9)


@pytest.mark.parametrize("dimension", [2, 3])
def test_cells_next_to_the_surface_keep_their_values(dimension):
    grid = Grid((20,) * dimension, 0.05)
    phi = sample(Sphere((0.5, 0.47, 0.52)[:dimension], 0.3), grid, "cells")
    found = redistance(phi, grid)
    keep = next_to_surface(phi)
    np.testing.assert_array_equal(found[keep], phi[keep])
    assert np.abs(found).max() <= 5.0 * 0.05


@pytest.mark.parametrize("dimension", [2, 3])
def test_errors_fall_with_the_spacing(dimension):
    errors, sizes = [], (32, 64, 128) if dimension == 2 else (24, 48, 96)
    for n in sizes:
        grid = Grid((n,) * dimension, 1.0 / n)
        phi = sample(Sphere((0.5, 0.5, 0.5)[:dimension], 0.3), grid, "cells")
        found = redistance(np.where(next_to_surface(phi), phi, 10.0 * np.sign(phi)), grid, band=0.15 * n)
        near = np.abs(phi) < 0.13
        errors.append(np.abs(found - phi)[near].mean())
    assert -np.polyfit(np.log(sizes), np.log(errors), 1)[0] > 0.8
    assert errors[-1] < 0.2 / sizes[-1]


def test_too_steep_values_are_scaled_and_cross_zero_where_they_did():
    grid = Grid((30, 30), 0.1)
    phi = sample(Plane((1.5, 1.517), (0.0, 1.0)), grid, "cells")
    found = redistance(20.0 * phi, grid)
    assert np.abs(np.diff(found[:, 14:17], axis=1)).max() < 0.11
    cross = found[:, 14] / (found[:, 14] - found[:, 15])
    np.testing.assert_allclose(cross, phi[:, 14] / (phi[:, 14] - phi[:, 15]), atol=1e-12)


def test_cells_of_which_nothing_is_known_take_the_side_they_are_found_from():
    grid = Grid((30, 30), 0.1)
    phi = sample(Plane((1.5, 1.52), (0.2, 1.0)), grid, "cells")
    known = np.abs(phi) < 0.2
    found = redistance(np.where(known, phi, np.nan), grid)
    near = np.abs(phi) < 0.4
    np.testing.assert_array_equal(np.sign(found[near]), np.sign(phi[near]))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("shape", [(33, 28), (19, 17, 18)])
def test_the_bits_do_not_depend_on_threads_and_mirror_images_stay_mirror_images(shape):
    grid = Grid(shape, 0.1)
    rng = np.random.default_rng(5)
    phi = sample(Sphere(tuple(0.5 * e for e in grid.extent), 0.6), grid, "cells") + 0.02 * rng.normal(size=shape)
    one, two = on_threads(lambda: redistance(phi, grid))
    np.testing.assert_array_equal(one, two)
    for axis in range(len(shape)):
        np.testing.assert_allclose(np.flip(redistance(np.flip(phi, axis), grid), axis), one, rtol=0, atol=1e-12)


def test_bad_input_is_refused_in_a_sentence():
    grid = Grid((5, 5), 0.1)
    with pytest.raises(InvalidSystem, match="band is -1; it must be a positive number"):
        redistance(np.ones((5, 5)), grid, band=-1)
    with pytest.raises(InvalidSystem, match="liquid_phi has shape"):
        redistance(np.ones((4, 5)), grid)
