"""A scene as a flat table of keys and plain values: what a run remembers of it, and how a change is found and named."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unstick.liquid.scene import Scene
from unstick.scenes.write import tables_of

Settings = dict[str, Any]
# What may change from one part of a run to the next: words, how far it goes, and how hard the pressure is worked on.
FREE = ("scene.name", "scene.about", "scene.frames", "numerics.solver", "numerics.tolerance", "numerics.cfl", "numerics.impact")


def settings_of(scene: Scene) -> Settings:
    """Every value of a scene by its key in a scene file, as in `solid.ball.shape.radius`."""
    out: Settings = {}
    _flatten(tables_of(scene), "", out)
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


def _flatten(value: Any, key: str, out: Settings) -> None:
    if isinstance(value, Mapping):
        for name, part in value.items():
            _flatten(part, f"{key}.{name}" if key else name, out)
        if value.get("type") == "mesh":
            out[f"{key}.content"] = _content(Path(value["file"]))
        if value.get("mjcf"):
            out[f"{key}.content"] = _content(Path(value["mjcf"]))
    elif isinstance(value, Sequence) and any(isinstance(part, Mapping) for part in value):
        for at, part in enumerate(value):
            _flatten(part, f"{key}.{part.get('name') or at}", out)
    else:
        out[key] = _plain(value)


def _content(path: Path) -> str:
    """A mesh is more than its name."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """A value that comes back from JSON as it is."""
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
