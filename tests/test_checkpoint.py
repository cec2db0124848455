"""Checkpoints: every bit comes back, equal states give equal bytes, and no damaged file is believed."""

from __future__ import annotations

import dataclasses
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from unstick.fields import FaceField
from unstick.geometry.shapes import Sphere
from unstick.grid import Grid
from unstick.liquid.scene import Inflow
from unstick.liquid.simulation import Simulation
from unstick.liquid.state import Particles, State
from unstick.result import Guess
from unstick.runs.checkpoint import DamagedCheckpoint, Stamp, load, read_header, save, verify
from unstick.runs.keeper import Keeper, newest_good, place_of, places
from unstick.scenes import load as load_scene

STAMP = Stamp("0.1.0", "0123456789abcdef")
GRID = Grid((7, 5), 0.1)


def state(grid: Grid = GRID, seed: int = 1, guess: bool = True, affine: bool = True) -> State:
    rng = np.random.default_rng(seed)
    n = 23
    velocity = FaceField(grid)
    for component in velocity.components:
        component[...] = rng.normal(size=component.shape)
    return State(
        grid,
        Particles(rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.normal(size=(n if affine else 0, 3, 3))),
        rng.normal(size=grid.shape3),
        velocity,
        time=0.1 + 0.2,
        frame=30,
        step=41,
        guess=Guess(rng.normal(size=grid.shape), rng.random(grid.shape) < 0.3) if guess else None,
        volume=1 / 3,
        found=np.nextafter(1 / 3, 1.0),
    )


def arrays(s: State) -> list[np.ndarray]:
    out = [s.particles.position, s.particles.velocity, s.particles.affine, s.phi, *s.velocity.components]
    return out if s.guess is None else [*out, s.guess.p, s.guess.detached]


@pytest.mark.parametrize("grid", [GRID, Grid((4, 3, 5), 0.25, (1.0, 2.0, 3.0))])
@pytest.mark.parametrize(("guess", "affine"), [(True, True), (False, False)])
def test_every_bit_comes_back(tmp_path: Path, grid: Grid, guess: bool, affine: bool) -> None:
    before = state(grid, guess=guess, affine=affine)
    save(tmp_path / "c.npz", before, STAMP)
    found = load(tmp_path / "c.npz", grid)
    after = found.state
    assert found.stamp == STAMP
    for a, b in zip(arrays(before), arrays(after), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    for name in ("time", "frame", "step", "volume", "found", "grid"):
        assert getattr(before, name) == getattr(after, name)
    assert (after.guess is None) == (before.guess is None)


def test_equal_states_give_equal_bytes(tmp_path: Path) -> None:
    save(tmp_path / "a.npz", state(), STAMP)
    save(tmp_path / "b.npz", state(), STAMP)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    save(tmp_path / "b.npz", state(seed=2), STAMP)
    assert (tmp_path / "a.npz").read_bytes() != (tmp_path / "b.npz").read_bytes()


def test_numpy_reads_it(tmp_path: Path) -> None:
    s = state()
    save(tmp_path / "c.npz", s, STAMP)
    with np.load(tmp_path / "c.npz") as file:
        assert np.array_equal(file["phi"], s.phi)
    assert read_header(tmp_path / "c.npz")["step"] == 41


def test_any_flipped_bit_is_found(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    save(path, state(), STAMP)
    whole = path.read_bytes()
    verify(path)
    rng = np.random.default_rng(3)
    for at in (0, len(whole) - 1, len(whole) - 65, *rng.integers(0, len(whole), 60)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(DamagedCheckpoint, match="checksum"):
            load(path, GRID)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1000, -1])
def test_a_truncated_file_is_found(tmp_path: Path, length: int) -> None:
    path = tmp_path / "c.npz"
    save(path, state(), STAMP)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedCheckpoint, match="damaged"):
        load(path, GRID)


def test_another_grid_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "c.npz", state(), STAMP)
    with pytest.raises(DamagedCheckpoint, match="cells"):
        load(tmp_path / "c.npz", Grid((7, 6), 0.1))


def test_the_newest_good_one_is_found(tmp_path: Path) -> None:
    s = state()
    for frame in (5, 10, 15):
        s.frame, s.time = frame, frame * 0.01
        save(place_of(tmp_path, s, 0.01), s, STAMP)
    s.step, s.time = 50, 0.156
    save(place_of(tmp_path, s, 0.01), s, STAMP)  # within frame 16
    assert [(p.frame, p.step) for p in places(tmp_path)] == [(5, 0), (10, 0), (15, 0), (15, 50)]
    found, notes = newest_good(tmp_path, GRID)
    assert found is not None and found.state.step == 50 and notes == []
    for place in places(tmp_path)[2:]:
        place.path.write_bytes(place.path.read_bytes()[:-7])
    found, notes = newest_good(tmp_path, GRID)
    assert found is not None and found.state.frame == 10
    assert len(notes) == 2 and "frame_000015_step_000050" in notes[0]
    found, notes = newest_good(tmp_path, GRID, up_to=9)
    assert found is not None and found.state.frame == 5 and notes == []
    assert newest_good(tmp_path, GRID, up_to=4) == (None, [])


def test_what_is_kept_does_not_depend_on_stops(tmp_path: Path) -> None:
    def run(directory: Path, stops: tuple[int, ...]) -> list[str]:
        s = state()
        keeper = Keeper(directory, STAMP, every=2)
        for frame in range(1, 52):
            s.frame, s.time = frame, frame * 0.01
            if frame % 2 == 0 or frame in stops or frame == 51:
                keeper.save(s, 0.01)
                assert place_of(directory, s, 0.01).exists()
        return [p.path.name for p in places(directory)]

    straight = run(tmp_path / "straight", ())
    assert straight == [f"frame_{n:06d}.npz" for n in (20, 40, 46, 48, 50, 51)]
    assert run(tmp_path / "stopped", (1, 13, 26, 47)) == straight


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    save(path, state(), STAMP)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
        with pytest.raises(OSError):
            save(path, state(seed=2), STAMP)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


@pytest.mark.parametrize(
    ("scene", "resolution", "sets"),
    [
        ("circle", 20, ()),
        ("circle", 20, ("transfer=flip", "paths=rk2")),
        ("circle", 20, ("surface=level-set", "transfer=pic")),
        ("circle", 20, ("transfer=semi-lagrangian", "surface=level-set")),
        ("sphere", 10, ("cfl=0.5",)),
        ("shaken-glass", 16, ("cfl=0.5",)),
        ("circle", 20, ("solver=fas-mg",)),
    ],
)
def test_all_that_matters_is_saved(tmp_path: Path, scene: str, resolution: int, sets: tuple[str, ...]) -> None:
    """A simulation made anew from a checkpoint goes on as the old one does; also while liquid flows in."""
    made = load_scene(scene, resolution=resolution, sets=[f"numerics.{text}" for text in sets])
    middle = (0.5,) * made.grid.dimension
    pouring = Inflow(name="jet", shape=Sphere(middle, 0.1), velocity=(1.0, 0.5, 0.0)[: made.grid.dimension])
    made = dataclasses.replace(made, inflows=(pouring,))
    old = Simulation(made)
    for _ in range(3):
        old.advance_frame()
    save(tmp_path / "c.npz", old.state, STAMP)
    new = Simulation(made, state=load(tmp_path / "c.npz", old.grid).state)
    for _ in range(2):
        old.advance_frame()
        new.advance_frame()
    for a, b in zip(arrays(old.state), arrays(new.state), strict=True):
        assert a.tobytes() == b.tobytes()
    for name in ("time", "frame", "step", "volume", "found"):
        assert getattr(old.state, name) == getattr(new.state, name)
    assert old.state.step >= 5
