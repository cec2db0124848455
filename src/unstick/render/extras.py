"""The libraries that pictures need, loaded when the first picture is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from unstick.checks import InvalidSystem


def need(module: str, what: str) -> Any:
    """The module, or a sentence that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidSystem(f"{what} needs {module.split('.')[0]}: pip install 'unstick[viz]'") from None
