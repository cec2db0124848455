"""The parallel and the serial form of a kernel must not load each other's code from disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE = """
from numba import prange
from unstick.kernels.twins import twins

def _total(a):
    s = 0.0
    for i in prange(a.shape[0]):
        s += a[i]
    return s

total, total_serial = twins(_total)
"""

USE = """
import sys
import numpy as np
import looped
a = np.arange(10.0)
for f in (looped.total_serial, looped.total) if sys.argv[1] == "serial" else (looped.total, looped.total_serial):
    assert f(a) == 45.0
print(sum(looped.total.stats.cache_misses.values()), sum(looped.total_serial.stats.cache_misses.values()))
"""


def test_each_twin_is_cached_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "looped.py").write_text(SOURCE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    misses = [
        subprocess.run(
            [sys.executable, "-c", USE, first], env=environment, capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout.split()
        for first in ("serial", "parallel")
    ]
    # The first process compiles both (one being served from the other's file would show as no miss); the second none.
    assert misses == [["1", "1"], ["0", "0"]]
