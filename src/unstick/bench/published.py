"""Counts and seconds printed in J. Lai's thesis (Waterloo 2021), to stand beside ours. Seconds are of another machine: compare growth.

Iterations are total inner iterations: V-cycles for the multigrid methods, full cycles for FMG, (P)CG steps for the rest.
"""

from __future__ import annotations

SIZES = (32, 64, 128, 256)

# Tables 6.4, 6.5, 6.6: iterations for one hard pressure solve, by our solver name.
FRAME_COUNTS: dict[str, dict[str, tuple[int, ...]]] = {
    "sphere": {
        "fas-mg": (7, 8, 8, 9),
        "pi-pcg": (139, 282, 593, 1263),
        "pi-mg": (10, 9, 10, 14),
        "pe-pcg": (146, 301, 657, 1255),
        "pe-mg": (21, 18, 24, 28),
        "fmg": (29, 61, 128, 234),
        "newton": (2773, 5837, 18680, 38547),
    },
    "sphere-box": {
        "fas-mg": (6, 7, 8, 9),
        "pi-pcg": (149, 308, 503, 1186),
        "pi-mg": (11, 18, 22, 43),
        "pe-pcg": (161, 336, 548, 1313),
        "pe-mg": (18, 29, 40, 89),
        "fmg": (35, 43, 63, 103),
        "newton": (2634, 11122, 50162, 95823),
    },
    "double-sphere": {
        "fas-mg": (7, 15, 9, 12),
        "pi-pcg": (80, 182, 421, 762),
        "pi-mg": (14, 37, 34, 24),
        "pe-pcg": (85, 203, 446, 887),
        "pe-mg": (23, 57, 90, 60),
        "fmg": (15, 43, 67, 175),
        "newton": (1430, 9219, 46491, 122080),
    },
}
FRAME_TABLE = {"sphere": "6.4", "sphere-box": "6.5", "double-sphere": "6.6"}

# Table 6.2, 'No LCP': PCG iterations of the linear problem, averaged over 100 frames of the sphere.
LINEAR_PCG = (20.1, 39.6, 62.3, 100.8)

# Table 6.12: FAS-MG with one part replaced, sphere; None: diverged.
ABLATIONS: dict[str, tuple[int | None, ...]] = {
    "barycentric (ours)": (7, 8, 8, 9),
    "trilinear": (6, 8, 8, 9),
    "piecewise constant": (47, 112, 268, 616),
    "simple boundaries": (6, 32, None, None),
    "direct discretisation": (65, 171, None, None),
}

# Table 5.1: seconds to build the coarse matrix of the given size in 3D.
COARSE_SIZES = (16, 32, 64, 128)
COARSE_SECONDS: dict[str, tuple[float, ...]] = {
    "direct discretisation": (0.00, 0.01, 0.14, 2.55),
    "Galerkin, trilinear": (0.03, 0.22, 1.71, 14.01),
    "Galerkin, barycentric": (0.01, 0.04, 0.31, 2.56),
}


def lai(counts: tuple[int | None, ...] | tuple[float, ...] | None, size: int) -> str:
    """The published entry for a size, as text; '-' where the thesis has none."""
    if counts is None or size not in SIZES:
        return "-"
    value = counts[SIZES.index(size)]
    return "diverged" if value is None else f"{value:g}" if value < 1e5 else f"{value:.0f}"
