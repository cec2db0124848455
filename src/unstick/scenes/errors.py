"""What a scene refuses, and the nearest thing that it knows."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from unstick.checks import InvalidSystem


class SceneError(InvalidSystem):
    """A scene cannot be used; the text has one line for each error."""


def nearest(name: object, known: Collection[str]) -> str:
    """A question whether the nearest known name was meant, if some name is near."""
    near = difflib.get_close_matches(name[:200], known, n=1, cutoff=0.5) if isinstance(name, str) else []
    return f" (did you mean {near[0]}?)" if near else ""


def unknown(kind: str, name: object, known: Collection[str]) -> SceneError:
    return SceneError(f"there is no {kind} {shown(name)}{nearest(name, known)}; known: {', '.join(known)}")


def shown(value: Any) -> str:
    """A value as a line can hold it."""
    if isinstance(value, dict):
        return "a table"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else " ".join(_repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _repr(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a whole number of more than 64 bits"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(entry) for entry in value[:20]) + ("]" if len(value) <= 20 else ", ...]")
    return repr(value)
