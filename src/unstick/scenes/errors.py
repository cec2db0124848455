"""What a scene refuses, and the nearest thing that it knows."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from unstick.checks import InvalidSystem


class SceneError(InvalidSystem):
    """A scene cannot be used; the text has one line for each error."""


def nearest(name: object, known: Collection[str]) -> str:
    """ " (did you mean ...?)" if some known name is near, else nothing."""
    near = difflib.get_close_matches(str(name)[:200], known, n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def unknown(kind: str, name: object, known: Collection[str]) -> SceneError:
    shown = repr(name) if len(repr(name)) < 80 else repr(name)[:76] + "..."
    return SceneError(f"there is no {kind} {shown}{nearest(name, known)}; known: {', '.join(known)}")
