"""Averages over a hundred frames printed in J. Lai's thesis (tables 6.1-6.3 and 6.7-6.11), and Andersen's figures, to stand beside ours.

By our solver name, 'pcg' for 'No LCP'; entries are for 32, 64, 128 and 256 cells along a side, None where the thesis has none. His counts
for Newton add the steps of its line searches. Seconds are of other machines: compare growth.
"""

from __future__ import annotations

Row = tuple[float | None, ...]

ITERATIONS: dict[str, dict[str, Row]] = {
    "circle": {  # table 6.1
        "fas-mg": (7.45, 10.39, 14.07, 18.26),
        "pi-pcg": (16.9, 36.02, 70.63, 123.61),
        "pi-mg": (7.59, 9.74, 11.89, 14.51),
        "pe-pcg": (16.87, 36.07, 70.58, 122.42),
        "pe-mg": (7.99, 12.58, 17.6, 21.98),
        "fmg": (20.38, 35.4, 65.37, 109.54),
        "newton": (92.11, 336.17, 947.23, 2283.65),
        "pcg": (15.99, 30.73, 55.91, 93.2),
    },
    "sphere": {  # table 6.2
        "fas-mg": (9.75, 10.44, 11.94, 14.02),
        "pi-pcg": (29.9, 70.92, 132.56, 251.88),
        "pi-mg": (12.12, 14.66, 17.61, 20.71),
        "pe-pcg": (30.16, 71.34, 133.53, 252.28),
        "pe-mg": (13.93, 19.11, 24.57, 28.84),
        "fmg": (22.21, 39.81, 61.12, 89.89),
        "newton": (1901.69, 3890.08, 10879.01, None),
        "pcg": (20.14, 39.57, 62.26, 100.78),
    },
    "maze": {  # table 6.3
        "fas-mg": (4.41, 7.07, 5.83),
        "pi-pcg": (9.74, 15.52, 31.29),
        "pi-mg": (8.11, 10.55, 13.52),
        "pe-pcg": (9.5, 15.75, 31.9),
        "pe-mg": (7.67, 10.11, 12.91),
        "fmg": (6.89, 10.71, 34.13),
        "newton": (87.2, 195.5, 450.21),
    },
}
OUTER: dict[str, dict[str, Row]] = {
    "circle": {  # table 6.7
        "pi-pcg": (1.12, 1.25, 1.34, 1.43),
        "pi-mg": (1.12, 1.25, 1.34, 1.43),
        "pe-pcg": (1.12, 1.25, 1.35, 1.41),
        "pe-mg": (1.23, 1.43, 1.58, 1.63),
        "newton": (0.94, 1.71, 2.08, 2.34),
    },
    "sphere": {  # table 6.8
        "pi-pcg": (1.47, 1.78, 2.1, 2.48),
        "pi-mg": (1.47, 1.76, 2.12, 2.52),
        "pe-pcg": (1.49, 1.79, 2.12, 2.48),
        "pe-mg": (1.53, 1.77, 2.19, 2.49),
        "newton": (2.04, 2.57, 2.91, None),
    },
}
SECONDS: dict[str, dict[str, Row]] = {
    "circle": {  # table 6.9
        "fas-mg": (0.0021, 0.0082, 0.029, 0.13),
        "pi-pcg": (0.00054, 0.0034, 0.02, 0.15),
        "pi-mg": (0.0028, 0.0086, 0.03, 0.12),
        "pe-pcg": (0.00055, 0.0033, 0.021, 0.13),
        "pe-mg": (0.0025, 0.0075, 0.028, 0.13),
        "fmg": (0.0026, 0.022, 0.17, 1.25),
        "newton": (0.002, 0.024, 0.24, 2.59),
        "pcg": (0.00048, 0.0029, 0.016, 0.098),
    },
    "sphere": {  # table 6.10
        "fas-mg": (0.037, 0.25, 2.15, 16.78),
        "pi-pcg": (0.014, 0.2, 2.64, 36.96),
        "pi-mg": (0.036, 0.33, 2.82, 24.58),
        "pe-pcg": (0.015, 0.2, 2.82, 37.82),
        "pe-mg": (0.036, 0.37, 4.28, 47.38),
        "fmg": (0.076, 1.68, 30.24, 510.71),
        "newton": (0.98, 25.38, 637.67, None),
        "pcg": (0.0074, 0.09, 1.15, 14.24),
    },
    "maze": {  # table 6.11
        "fas-mg": (0.016, 0.092, 0.38),
        "pi-pcg": (0.0042, 0.018, 0.1),
        "pi-mg": (0.032, 0.15, 0.7),
        "pe-pcg": (0.004, 0.018, 0.11),
        "pe-mg": (0.029, 0.12, 0.53),
        "fmg": (0.017, 0.1, 1.21),
        "newton": (0.41, 3.5, 31.35),
    },
}
TABLE = {
    ("iterations", "circle"): "6.1",
    ("iterations", "sphere"): "6.2",
    ("iterations", "maze"): "6.3",
    ("outer", "circle"): "6.7",
    ("outer", "sphere"): "6.8",
    ("seconds", "circle"): "6.9",
    ("seconds", "sphere"): "6.10",
    ("seconds", "maze"): "6.11",
}

# Andersen, section 6: how much longer minimum-map Newton takes than PCG with slip walls, per cent.
ANDERSEN_OVERHEAD = {64: 15, 128: 25, 256: 15, 512: 16, 1024: 5}
# Figures 4, 7 and 8, as far as the text gives numbers.
ANDERSEN_SPEEDUP = {"pcg": "5 to 50 (GPU)", "newton": "10 to 500 (GPU)"}
ANDERSEN_NEWTON = {"usual": 4, "most": 6}  # iterations at 200 x 200
ANDERSEN_PCG = 1000  # iterations at 200 x 200; "not much progress after approximate 900"
