"""Liquid kept whole: the divergence that brings a drifting volume back."""

from __future__ import annotations

RELAXATION = 0.1  # seconds in which a drift would be corrected if the bound allowed it
BOUND = 0.5  # 1/s, largest divergence asked for


def wanted_expansion(wanted: float | None, found: float) -> float:
    """A uniform divergence in 1/s that brings the volume found to the one wanted; zero while none is known."""
    if not wanted or not found:
        return 0.0
    return max(-BOUND, min(BOUND, (wanted - found) / (wanted * RELAXATION)))
