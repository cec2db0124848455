"""What a method found on the rows, and the velocity that follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstick.fields import FaceField
from unstick.kernels import splitting as kernels
from unstick.pressure.splitting.walls import Parts, Setting
from unstick.problem import Array
from unstick.result import SolveResult, Status


@dataclass(slots=True, eq=False)
class Answer:
    """What a method found, on the rows."""

    p: Array
    slack: Array  # divergence after the pressure, free parts included
    parts: Parts  # all closed parts
    velocity: Array  # of each of them
    free: Array  # bool: which of them became free surface
    status: Status
    iterations: int
    outer: int
    residuals: tuple[float, ...]
    goal: float
    notes: tuple[str, ...] = ()


def velocity_of(setting: Setting, pressure: Array, answer: Answer) -> tuple[FaceField, tuple[Array, Array, Array]]:
    """The field after the pressure, and which faces it has given a velocity beyond those that are open (uint8)."""
    flow, parts = setting.flow, answer.parts
    out = flow.velocity.copy()
    p = pressure.reshape(flow.grid.shape3)
    for axis in range(flow.grid.dimension):
        kernels.subtract_open(
            out.components[axis], p, setting.liquid, setting.opened[axis], axis, setting.gradient, flow.theta_min,
            setting.stencil.corner, setting.stencil.box,
        )  # fmt: skip
    given = tuple(np.zeros(flow.grid.face_shape(axis), dtype=np.uint8) for axis in range(3))
    shut = parts.weight == 1.0
    # On flags all faces between liquid and solid are the method's; on cut cells it leaves those that hold to the smoother walls.
    says = shut & (answer.free if setting.types is None else True)
    for axis in range(flow.grid.dimension):
        mine = shut & (parts.face[0] == axis)
        out.components[axis][tuple(parts.face[1:, mine])] = answer.velocity[mine]
        given[axis][tuple(parts.face[1:, says & (parts.face[0] == axis)])] = 1
        if setting.types is not None:
            given[axis][...] |= _beside_liquid(setting.liquid, setting.opened[axis], axis)
    return out, (given[0], given[1], given[2])


def _beside_liquid(liquid: Array, opened: Array, axis: int) -> Array:
    """Open faces of liquid cells (uint8)."""
    wet = np.zeros(opened.shape, dtype=np.bool_)
    lower = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
    upper = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
    wet[lower] = liquid < 0.0
    wet[upper] |= liquid < 0.0
    return (wet & (opened > 0.0)).astype(np.uint8)


def nothing(name: str, setting: Setting) -> SolveResult:
    """There is no liquid."""
    zero = np.zeros(setting.stencil.box)
    return SolveResult(setting.system, zero, zero, Status.CONVERGED, name, 0, 0, (0.0,), 0.0, row_let_go=zero.astype(np.bool_))
