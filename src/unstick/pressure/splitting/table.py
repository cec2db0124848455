"""Eckert's projections by name; a new one is a class and a line here."""

from __future__ import annotations

from unstick.pressure.splitting.alternating import ADMMSep, ADMMStick, IOPSep, IOPStick
from unstick.pressure.splitting.base import Splitting
from unstick.pressure.splitting.corrected import IOPSepBC, OrigPS, OrigPSSep

PROJECTIONS: dict[str, type[Splitting]] = {
    "origps": OrigPS,
    "origps-sep": OrigPSSep,
    "admm-sep": ADMMSep,
    "admm-stick": ADMMStick,
    "iop-sep": IOPSep,
    "iop-stick": IOPStick,
    "iop-sep-bc": IOPSepBC,
}
