"""Which kernels still have to be compiled on this machine. Numba compiles at the first call and keeps the result on disk."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

import unstick.kernels as package

MESSAGE = (
    "unstick: first use on this machine, compiling {count} kernels (a minute or two, once; the result is kept on disk). "
    "`unstick warmup` does it ahead of time."
)

_told = False


def kernels() -> list[Any]:
    """All compiled functions of the package that are kept on disk."""
    found: dict[int, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Dispatcher) and getattr(value.stats, "cache_path", None):
                found[id(value)] = value
    return list(found.values())


def missing() -> list[str]:
    """Names of kernels without a compiled form on disk that is newer than their source."""
    names = []
    for kernel in kernels():
        source = Path(kernel.py_func.__code__.co_filename)
        index = Path(kernel.stats.cache_path).glob(f"{source.stem}.{kernel.py_func.__qualname__}-*.nbi")
        if not any(path.stat().st_mtime >= source.stat().st_mtime for path in index):
            names.append(f"{source.stem}.{kernel.py_func.__name__}")
    return names


def announce() -> None:
    """Say once, on stderr, that the first solve will take longer; silent when the cache is warm or UNSTICK_QUIET is set."""
    global _told
    if _told:
        return
    _told = True
    if os.environ.get("UNSTICK_QUIET"):
        return
    absent = missing()
    # A few kernels of rare options may never have been called: only an empty cache is worth a line.
    if absent and 2 * len(absent) > len(kernels()):
        print(MESSAGE.format(count=len(absent)), file=sys.stderr)
