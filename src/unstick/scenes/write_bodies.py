"""Bodies as the tables that a scene file holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from unstick.bodies.parts import Drive, Joint, Mjcf, RigidBody, Signal
from unstick.geometry.shapes import Shape

Table = dict[str, Any]


def body_table(body: RigidBody, shape_table: Callable[[Shape], Table]) -> Table:
    table: Table = {}
    for entry in dataclasses.fields(body):
        value = getattr(body, entry.name)
        if entry.name == "shape":
            table["shape"] = shape_table(value)
        elif entry.name == "joints":
            table["joints"] = [_joint(joint) for joint in value]
        else:
            table[entry.name] = _plain(value)
    return table


def bodies_table(mjcf: Mjcf) -> Table:
    table: Table = {"mjcf": mjcf.file} if mjcf.file else {"text": mjcf.text}
    table |= {"up": mjcf.up, "position": list(mjcf.position), "walls": mjcf.walls}
    return table | {"control": [{"actuator": control.actuator, **_signal(control.signal)} for control in mjcf.controls]}


def _joint(joint: Joint) -> Table:
    """Without what a free joint does not have."""
    table: Table = {"type": joint.kind}
    for entry in dataclasses.fields(joint):
        value = getattr(joint, entry.name)
        if entry.name == "drive" and value is not None:
            table["drive"] = _drive(value)
        elif entry.name not in ("kind", "drive") and value != entry.default:
            table[entry.name] = _plain(value)
    return table


def _drive(drive: Drive) -> Table:
    return {"type": drive.kind, "gain": drive.gain, **_signal(drive.signal)}


def _signal(signal: Signal) -> Table:
    """What differs from no signal."""
    return {e.name: _plain(getattr(signal, e.name)) for e in dataclasses.fields(signal) if getattr(signal, e.name) != e.default}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
