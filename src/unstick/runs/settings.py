"""A scene as a flat table of keys and plain values: what a run remembers of it, and how a change is found and named."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unstick.liquid.scene import Scene

Settings = dict[str, Any]
# What may change from one part of a run to the next: how far it goes, and how the pressure is found.
FREE = ("about", "frames", "numerics.solver", "numerics.tolerance")


def settings_of(scene: Scene) -> Settings:
    """Every value of a scene by its key, as in `solids.ball.shape.radius`."""
    out: Settings = {}
    _describe(scene, "", out)
    return out


def scene_hash(settings: Mapping[str, Any]) -> str:
    """Sixteen digits that two scenes share only if nothing that a run depends on differs."""
    fixed = {key: value for key, value in settings.items() if key not in FREE}
    return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:16]


def changes(old: Mapping[str, Any], new: Mapping[str, Any], free: bool = False) -> list[str]:
    """What differs, as `key: old -> new`; among the FREE keys or among all others."""
    keys = [key for key in (*old, *(k for k in new if k not in old)) if (key in FREE) == free]
    return [f"{key}: {_shown(old, key)} -> {_shown(new, key)}" for key in keys if old.get(key, MISSING) != new.get(key, MISSING)]


MISSING = object()


def _shown(settings: Mapping[str, Any], key: str) -> str:
    return json.dumps(settings[key]) if key in settings else "nothing"


def _describe(value: Any, key: str, out: Settings) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f for f in dataclasses.fields(value) if f.init and f.compare]
        if key and _is_a_choice(value):
            out[key] = type(value).__name__
        for field in fields:
            _describe(getattr(value, field.name), f"{key}.{field.name}" if key else field.name, out)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _describe(part, f"{key}.{name}", out)
    elif isinstance(value, (tuple, list)) and any(dataclasses.is_dataclass(part) for part in value):
        for at, part in enumerate(value):
            _describe(part, f"{key}.{getattr(part, 'name', '') or at}", out)
    else:
        out[key] = _plain(value)


def _is_a_choice(value: Any) -> bool:
    """Shapes and motions: which one it is, is a value too."""
    return type(value).__module__.startswith("unstick.geometry")


def _plain(value: Any) -> Any:
    """A value that JSON knows; large ones by their digest."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]}"
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Path):
        return f"{value.name} {hashlib.sha256(value.read_bytes()).hexdigest()[:16]}"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float, bool)) else repr(value)
