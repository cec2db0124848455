"""Iterations printed by Aanjaneya (2018) for a residual that has fallen by 1e6, 128 x 256 in 2D and 128^2 x 256 in 3D."""

from __future__ import annotations

METHODS = ("CG", "CG on Sigma", "ICPCG", "P(0)", "P(1)", "P(2)", "P(3)")

# Tables 1 and 2: by method, 2D and 3D.
ITERATIONS: dict[str, dict[str, tuple[int, int | None]]] = {
    "box lift": {
        "CG": (2603, None), "CG on Sigma": (799, None), "ICPCG": (204, 879),
        "P(0)": (47, 47), "P(1)": (29, 33), "P(2)": (25, 27), "P(3)": (21, 24),
    },
    "boxes": {
        "CG": (3649, None), "CG on Sigma": (944, None), "ICPCG": (350, 3023),
        "P(0)": (111, 121), "P(1)": (78, 85), "P(2)": (71, 70), "P(3)": (55, 61),
    },
}  # fmt: skip

DEFAULT_BOUND = {"box lift": 20, "boxes": 40}  # ours, cut cells
