"""MuJoCo, asked for when a scene has bodies and not before."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from unstick.checks import InvalidSystem


@functools.lru_cache(maxsize=1)
def mujoco() -> Any:
    try:
        found = importlib.import_module("mujoco")
    except ImportError:
        raise InvalidSystem("bodies that move with the liquid need MuJoCo: pip install 'unstick[bodies]'") from None
    if int(found.__version__.split(".")[0]) < 4:
        raise InvalidSystem(f"bodies need MuJoCo 4, and {found.__version__} is installed: pip install 'unstick[bodies]'")
    # MuJoCo would write its warnings to a file in the working directory; what matters is found in the numbers it gives.
    found.set_mju_user_warning(lambda text: None)
    return found
