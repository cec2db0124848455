"""Recorders by name; each is made with the run's directory. Every run has `frames`, the others are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from unstick.record.frames import FrameRecorder
from unstick.record.ply import MeshRecorder
from unstick.record.vtk_xml import VtkRecorder

if TYPE_CHECKING:
    from unstick.liquid.simulation import Recorder

RECORDERS: dict[str, Callable[[Path], Recorder]] = {
    "frames": FrameRecorder,
    "mesh": MeshRecorder,
    "vtk": VtkRecorder,
}
