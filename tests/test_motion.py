"""Prescribed motions: velocities are derivatives of positions, and keyframes never overshoot."""

import math

import numpy as np
import pytest

from unstick.geometry.motion import Keyframes, Moved, Oscillation, Rotation, Still, Together, Translation
from unstick.geometry.shapes import Box, Sphere

POINT = (0.3, 0.8, 0.1)
MOTIONS = {
    "still": Still(),
    "translation": Translation((0.3, -0.2, 0.1), start=0.2, end=2.0),
    "oscillation": Oscillation((0.1, 0.0, 0.05), 1.3, phase=0.4),
    "rotation": Rotation((0.5, 0.5, 0.5), 2.0, axis=(1.0, 2.0, -1.0)),
    "to and fro": Rotation((0.5, 0.5), 2.0, frequency=0.7),
    "keyframes": Keyframes((0.0, 0.5, 0.9, 2.0), ((0.0, 0.0), (0.1, 0.3), (0.2, 0.3), (0.1, 0.6)), (0.0, 0.5, 0.2, 0.2), (0.4, 0.4)),
    "together": Together(
        (
            Rotation((0.1, 0.2, 0.0), 1.5, axis=(0.0, 1.0, 1.0)),
            Translation((0.2, 0.1, 0.0)),
            Keyframes((0.0, 1.0), angles=(0.0, 1.0), centre=(0.5, 0.1, 0.0)),
        )
    ),
}


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("t", [0.1, 0.37, 0.75, 1.4])
def test_a_velocity_is_the_derivative_of_the_position(name, t):
    motion, e = MOTIONS[name], 1e-5
    for point in (POINT, (-0.4, 0.2, 0.9)):
        ahead, behind, pose = motion.pose(t + e).carry(point), motion.pose(t - e).carry(point), motion.pose(t)
        assert pose.velocity(pose.carry(point)) == pytest.approx((ahead - behind) / (2 * e), abs=1e-7)
        assert pose.rotation @ pose.rotation.T == pytest.approx(np.eye(3), abs=1e-14)


@pytest.mark.parametrize("name", MOTIONS)
def test_a_moved_shape_has_its_old_distances_at_its_moved_points(name):
    shape = Box((0.1, 0.2, 0.0), (0.4, 0.6, 0.5)) - Sphere((0.2, 0.4, 0.2), 0.15)
    pose = MOTIONS[name].pose(0.8)
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 3))
    there = np.array([pose.carry(p) for p in x])
    assert Moved(shape, pose).distance(*there.T) == pytest.approx(shape.distance(*x.T), abs=1e-14)


def test_a_moved_shape_in_2d_is_a_cut_through_the_one_in_3d():
    pose = MOTIONS["keyframes"].pose(0.7)
    x, y = np.random.default_rng(1).uniform(-1.0, 1.0, (2, 100))
    flat = Moved(Sphere((0.2, 0.4), 0.15), pose).distance(x, y)
    assert flat == pytest.approx(Moved(Sphere((0.2, 0.4, 0.0), 0.15), pose).distance(x, y, np.zeros(100)), abs=1e-14)


def test_keyframes_go_through_their_keys_and_do_not_overshoot():
    keys = Keyframes((0.0, 1.0, 1.2, 3.0), ((0.0, 1.0), (2.0, 1.0), (2.0, 0.0), (5.0, 0.5)))
    for t, key in zip(keys.times, keys.shifts, strict=True):
        assert keys.pose(t).shift[:2] == pytest.approx(key, abs=1e-14)
    path = np.array([keys.pose(t).shift for t in np.linspace(-0.5, 3.5, 801)])
    assert (np.diff(path[:, 0]) >= -1e-14).all()
    assert path[:, 1].min() >= 0.0 and path[:, 1].max() <= 1.0
    for t in (-1.0, 0.0, 3.0, 9.0):
        assert not keys.pose(t).linear.any()
    speeds = np.array([keys.pose(t).linear for t in np.linspace(-0.5, 3.5, 8001)])
    assert np.abs(np.diff(speeds, axis=0)).max() < 0.1  # continuous (the largest acceleration is 150): no jump of velocity at a key


def test_motions_begin_and_end_at_rest_where_asked():
    glide = Translation((1.0, 0.0), start=1.0, end=3.0)
    assert not glide.pose(0.5).linear.any() and not glide.pose(3.5).linear.any()
    assert glide.pose(9.0).shift == pytest.approx([2.0, 0.0, 0.0])
    assert not Oscillation((1.0, 0.0), 1.0, phase=0.3).pose(0.0).shift.any()


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Translation((1.0,)), "velocity"),
        (lambda: Translation((1.0, 0.0), start=2.0, end=1.0), "start before the end"),
        (lambda: Oscillation((1.0, math.nan), 1.0), "amplitude"),
        (lambda: Oscillation((1.0, 0.0), 0.0), "frequency"),
        (lambda: Rotation((0.0, 0.0), 1.0, axis=(0.0, 0.0, 0.0)), "axis"),
        (lambda: Keyframes((0.0, 0.0), ((0.0, 0.0), (1.0, 0.0))), "increasing"),
        (lambda: Keyframes((0.0, 1.0)), "neither"),
        (lambda: Keyframes((0.0, 1.0), angles=(1.0,)), "angles"),
        (lambda: Together(()), "parts"),
    ],
)
def test_motions_refuse_what_they_cannot_do(make, word):
    with pytest.raises(ValueError, match=word):
        make()
