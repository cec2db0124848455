"""Faces that a wall leaves open in part: films along slanted walls must not become faster through narrow faces."""

from __future__ import annotations

import numpy as np
import pytest

from unstick.fields import FaceField
from unstick.geometry.shapes import Plane, Sphere, sample
from unstick.geometry.solid import face_fractions
from unstick.grid import Grid
from unstick.liquid.extrapolate import even_out, mark_valid


def inside_of_a_ball(dimension):
    grid = Grid((14,) * dimension, 0.1)
    solid = sample(~Sphere((0.7,) * dimension, 0.52), grid)
    liquid = sample(Plane((0.7,) * dimension, (0.2, 1.0, 0.1)[:dimension]), grid, "cells").reshape(grid.shape3)
    return grid, solid, liquid


def twin(values, valid, open_part, axis, dimension):
    """As the text has it: u becomes f u + (1 - f) m."""
    out = values.copy()
    for at in np.argwhere(valid != 0):
        f = open_part[tuple(at)]
        if f >= 1.0:
            continue
        total = weight = 0.0
        for other in range(dimension):
            for side in (-1, 1):
                near = at.copy()
                near[other] += side
                if other == axis or np.any(near < 0) or np.any(near >= values.shape) or valid[tuple(near)] == 0:
                    continue
                more = max(open_part[tuple(near)] - f, 0.0)
                total, weight = total + more * values[tuple(near)], weight + more
        if weight > 0:
            out[tuple(at)] = f * values[tuple(at)] + (1.0 - f) * total / weight
    return out


@pytest.mark.parametrize("dimension", [2, 3])
def test_even_out_equals_its_text(dimension):
    grid, solid, liquid = inside_of_a_ball(dimension)
    rng = np.random.default_rng(3)
    velocity = FaceField(grid)
    for axis in range(dimension):
        velocity.components[axis][...] = rng.normal(size=velocity.components[axis].shape)
    valid = mark_valid(grid, liquid, solid)
    fractions = face_fractions(grid, solid)
    expected = [twin(velocity.components[a], valid[a], np.asarray(fractions.components[a]), a, dimension) for a in range(dimension)]
    before = [c.copy() for c in velocity.components]
    even_out(velocity, valid, solid)
    for axis in range(dimension):
        assert np.abs(velocity.components[axis] - expected[axis]).max() < 1e-13
        assert np.abs(before[axis] - expected[axis]).max() > 0.1  # there was something to do


def test_a_uniform_flow_stays_and_a_narrow_face_slows_down():
    grid, solid, liquid = inside_of_a_ball(3)
    valid = mark_valid(grid, liquid, solid)
    velocity = FaceField.from_function(grid, lambda x, y, z: (1.0, -2.0, 0.5))
    even_out(velocity, valid, solid)
    for values, u in zip(velocity.components, (1.0, -2.0, 0.5), strict=True):
        assert np.abs(values - u).max() < 1e-14
    # The same flux through every face of a component: the narrower the faster, and never faster than before.
    fractions = np.asarray(face_fractions(grid, solid).components[0])
    inverse = 1.0 / np.maximum(fractions, 0.05)
    velocity.components[0][...] = inverse
    even_out(velocity, valid, solid)
    wet = valid[0] != 0
    assert np.all(velocity.components[0][wet] <= inverse[wet] + 1e-14)
    assert velocity.components[0][wet].max() < 0.85 * inverse[wet].max()


def test_extruded_flows_give_what_2d_gives():
    flat, deep = Grid((12, 10), 0.1), Grid((12, 10, 4), 0.1)
    normal = (0.5, 0.8)
    rng = np.random.default_rng(5)
    fields = [rng.normal(size=(13, 10, 1)), rng.normal(size=(12, 11, 1))]
    out = []
    for grid in (flat, deep):
        d = grid.dimension
        solid = sample(~Plane((0.5, 0.45, 0.0)[:d], (*normal, 0.0)[:d]), grid)
        liquid = sample(Plane((0.9, 0.8, 0.0)[:d], (*normal, 0.0)[:d]), grid, "cells").reshape(grid.shape3)
        velocity = FaceField(grid)
        for axis in range(2):
            velocity.components[axis][...] = fields[axis]
        even_out(velocity, mark_valid(grid, liquid, solid), solid)
        out.append(velocity)
    for axis in range(2):
        assert np.abs(out[1].components[axis] - out[0].components[axis]).max() < 1e-13
