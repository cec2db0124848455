"""Two compiled forms of one loop: parallel for large arrays, serial for coarse levels where starting threads costs more than the loop.

Numba's disk cache knows a function by file, name, line and types, not by its options. Two `njit` of the same function with
different options therefore load each other's machine code in the next process: the "parallel" one runs serially, or the reverse.
The serial twin gets a name of its own.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numba import njit


def twins(loop: Callable[..., Any], **options: Any) -> tuple[Any, Any]:
    """(parallel, serial) compiled forms of `loop`."""
    name = f"{loop.__name__}_serial"
    assert isinstance(loop, types.FunctionType)
    copy = types.FunctionType(loop.__code__.replace(co_name=name), loop.__globals__, name, loop.__defaults__, loop.__closure__)
    copy.__qualname__ = name
    copy.__module__ = loop.__module__
    return njit(parallel=True, cache=True, **options)(loop), njit(cache=True, **options)(copy)
