"""Numbers printed in M.-L. Eckert's thesis (2014, chapter 4: tables 4.1-4.6, and what its text says of figures 4.3-4.15), beside ours.

Her names: OrigPS (sticking walls), OrigPSSep, ADMM and IOP with the residual in their names (Vel, Div), IOPDivSepBC. Counts are averages
per time step; seconds are of her machines (an i7-920 in 3D, a Xeon E5-1650 v2 in 2D): compare ratios. Thresholds are in cells and her unit
of time, of which a step is 0.5. Her figures are pictures without printed values: what stands here of them is in the text.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A line of tables 4.1, 4.3, 4.5 and 4.6."""

    cg: int  # steps of conjugate gradients, all inner solves together
    outer: float | None  # iterations of ADMM or IOP
    seconds: float


STEP = 0.5  # delta t of all her runs, in her unit of time
GRID = 96  # cells along a side
STEPS = {"dam": 250, "stairs": 350, "ledges": 350}

DAM_3D: dict[str, Row] = {  # table 4.1
    "OrigPS": Row(20, None, 6),
    "OrigPSSep": Row(20, None, 10),
    "ADMMVelSep": Row(987, 137, 544),
    "ADMMDivSep": Row(1446, 305, 790),
    "IOPDivSep": Row(574, 236, 348),
    "IOPDivSepBC": Row(34, 2.75, 17),
}
SAME_INPUT: dict[str, Row] = {  # table 4.3: dam-2d, every fifth step
    "OrigPSHigh": Row(321, None, 1),
    "OrigPSSepHigh": Row(290, None, 1),
    "ADMMVelSepHigh": Row(140_399, 808, 412),
    "ADMMVelSepLow": Row(6196, 99, 18),
    "ADMMDivSepHigh": Row(165_559, 1027, 491),
    "ADMMDivSepLow": Row(8209, 142, 25),
    "IOPDivSepHigh": Row(84_929, 592, 254),
    "IOPDivSepLow": Row(4280, 102, 13),
}
STAIRS_3D: dict[str, Row] = {  # table 4.5
    "OrigPS": Row(20, None, 5),
    "OrigPSSep": Row(20, None, 5),
    "ADMMVelSep": Row(783, 128, 420),
    "IOPDivSep": Row(370, 88, 297),
    "IOPDivSepBC": Row(34, 1.99, 17),
}
LEDGES_3D: dict[str, Row] = {  # table 4.6
    "OrigPS": Row(18, None, 5),
    "OrigPSSep": Row(16, None, 9),
    "ADMMVelSep": Row(569, 106, 311),
    "IOPDivSep": Row(269, 71, 164),
    "IOPDivSepBC": Row(31, 1.98, 17),
}

# Tables 4.2 and 4.4 (dam-2d at 96): total CG iterations per step by (epsilon_CG, threshold of the outer loop).
EPSILON_CG = (1e-4, 1e-3, 1e-2, 1e-1)
EPSILON_OUTER = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2)
TIGHTEST = (1e-5, 1e-5)  # the 21st setting, for comparison

Thresholds = dict[tuple[float, float], int]


def _grid(tightest: int, *lines: tuple[int, ...]) -> Thresholds:
    out = {(cg, outer): n for cg, line in zip(EPSILON_CG, lines, strict=True) for outer, n in zip(EPSILON_OUTER, line, strict=True)}
    return {TIGHTEST: tightest, **out}


THRESHOLDS: dict[str, Thresholds] = {
    "ADMMVelSep": _grid(
        24_473,
        (12_915, 9387, 7884, 4752, 3399),
        (9176, 6704, 5650, 3568, 2611),
        (4568, 3927, 3380, 2391, 1693),
        (837, 851, 844, 712, 620),
    ),
    "ADMMDivSep": _grid(
        33_838,
        (20_170, 18_204, 16_374, 13_822, 12_199),
        (12_449, 11_809, 10_950, 9478, 8419),
        (9309, 5838, 5206, 4458, 4383),
        (9637, 6700, 4789, 2128, 1295),
    ),
    "IOPDivSep": _grid(
        14_842,
        (9053, 8731, 8389, 6989, 6199),
        (10_107, 5162, 4680, 4266, 3882),
        (12_872, 9189, 7192, 1993, 1586),
        (16_743, 12_138, 11_167, 7327, 5642),
    ),
    "IOPDivSepBC": _grid(  # table 4.4
        305,
        (253, 251, 248, 245, 239),
        (1152, 218, 182, 183, 192),
        (1127, 1112, 1054, 241, 119),
        (1067, 1068, 1067, 1061, 1040),
    ),
}

# Outer iterations that the text of section 4.2.2 gives, by the same settings.
OUTER_AT: dict[str, dict[tuple[float, float], int]] = {
    "IOPDivSep": {(1e-1, 1e-4): 16_453},
    "ADMMDivSep": {(1e-1, 1e-4): 8911},
    "ADMMVelSep": {TIGHTEST: 300},
}
ADMM_VEL_OUTER = (40, 200)  # of ADMMVelSep over all settings but the tightest
SECONDS_TIGHTEST = {"ADMMDivSep": 87, "ADMMVelSep": 65, "IOPDivSep": 19}  # per step, 2D

# Figures, as far as the text of chapter 4 gives numbers.
PERIOD = (16, 18)  # of ADMM's residuals in outer iterations at step 150 (figure 4.4: minima at 67, 84, 101; peaks at 75, 92)
PERIOD_SAID = 20  # "a period of approximately 20"
CONVERGENCE_STEP = 150
GROWTH_CG = {"OrigPS": (76, 410), "OrigPSSep": (72, 362)}  # from the smallest to the largest grid of figure 4.9
SIMILAR_STICKING = (1e-9, 1e-7)  # figure 4.10 (b): tight thresholds, largest difference of velocities
SIMILAR_SEPARATING = (1e-9, 1e-8)  # figure 4.10 (a)
SIMILAR_PRACTICAL = (1e-3, 1e-2)  # figure 4.10 (c)
ORIGPS_SEP_DIFFERS = 1.0  # figure 4.10 (d) and (f): "in the range of 10^0"
LOW_HIGH_BC = (1e-4, 1e-3)  # figure 4.14: IOPDivSepBC by practical and by tight thresholds
SAME_INPUT_BC = {"OrigPSSep": 122, "IOPDivSepBC": 213, "IOPDivSep": 4290}  # figure 4.12 (b): CG iterations
SAME_INPUT_BC_OUTER = 2.0
DIFFERENCE_STEPS = (70, 125, 195)  # figure 4.11
PICTURE_STEPS = (66, 100, 120, 160)  # figures 4.2 and 4.13
CLASSIFY_STEP = 85  # figure 4.15
VOLUME_SAID = {  # sections 4.6.1 and 4.6.2, at step 349
    "stairs": {"OrigPSSep": "slightly more", "IOPDivSepBC": "slightly more", "ADMMVelSep": "loss", "IOPDivSep": "loss"},
    "ledges": {"OrigPSSep": "more", "IOPDivSepBC": "more", "ADMMVelSep": "slight loss", "IOPDivSep": "slight loss"},
}
