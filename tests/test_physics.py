"""Physics that must be exact, and physics that must be near: the functions behind `unstick bench physics`, at sizes for every day."""

from __future__ import annotations

import numpy as np
import pytest

from unstick.bench.physics import PARTS
from unstick.bench.physics_keeping import asymmetry, energy_growth, hanging, keep
from unstick.bench.physics_rest import EXACT, fall, rest, still
from unstick.bench.physics_waves import lively, martin_moyce, standing_wave
from unstick.scenes.table import SCENES


@pytest.mark.parametrize("surface", ["particles", "level-set"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_block_under_the_ceiling_falls_freely(dimension: int, surface: str) -> None:
    found = fall(20 if dimension == 2 else 14, dimension, numerics=still(surface))
    assert found.first_pressure == 0.0
    assert found.pressure < 1e-12
    assert found.velocity < 1e-12


@pytest.mark.parametrize("dimension", [2, 3])
def test_with_sticking_walls_the_block_hangs(dimension: int) -> None:
    found = fall(20 if dimension == 2 else 14, dimension, "sticking", EXACT, until=0.4)
    assert found.fallen < 0.05
    assert found.first_pressure > 3000.0


@pytest.mark.parametrize(("dimension", "height", "slant"), [(2, 13.3, 0.0), (2, 13.62, 0.4), (2, 13.9, -0.4), (3, 9.3, 0.0), (3, 9.3, 0.4)])
def test_water_at_rest_with_a_level_set_stays_at_rest(dimension: int, height: float, slant: float) -> None:
    found = rest(24 if dimension == 2 else 16, dimension, height, slant, 100, still("level-set"))
    assert found.pressure < 1e-9
    assert found.speed < 1e-9


@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_water_of_particles_comes_to_rest(transfer: str) -> None:
    found = rest(48, 2, 32.0, 0.0, 300, still("particles", tolerance=1e-6, transfer=transfer))
    assert found.rms < 0.02


@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_a_standing_wave_swings_as_in_linear_theory(transfer: str) -> None:
    coarse, fine = (standing_wave(n, lively(transfer, "level-set"), periods=1.5) for n in (32, 64))
    assert abs(fine.frequency - 1.0) < 0.02
    assert abs(fine.frequency - 1.0) < abs(coarse.frequency - 1.0)
    assert fine.loss < 0.1


def test_the_front_of_a_collapsing_column_follows_martin_and_moyce() -> None:
    assert martin_moyce(32, lively("apic")).worst < 0.1


@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_mirrored_dams_stay_mirrored(transfer: str) -> None:
    assert asymmetry(32, 50, transfer) < 1e-7


def test_energy_does_not_grow() -> None:
    assert energy_growth(32, 300) < 1.01


def test_liquid_lets_go_of_the_ceiling() -> None:
    found = hanging("circle", 96, 20)
    assert found.sticking > 0.002
    assert found.separating < 0.1 * found.sticking


def test_volume_is_kept_and_nothing_spikes() -> None:
    found = keep(SCENES["dam"](resolution=24), 80, 2.0)
    assert found.drift < 0.02
    assert found.speed < 2.5
    assert found.substeps <= 4


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_all_figures_hold(part: str) -> None:
    for figure in PARTS[part]():
        assert np.isfinite(figure.value)
        assert figure.holds, f"{figure.what}: {figure.value}"
