"""Loops for Numba: arrays and numbers in, arrays out; no checks, no printing, no classes."""

import os

import numba

# OpenMP costs 2 microseconds a call, workqueue 20, and tbb did not scale on busy machines. Waiting OpenMP threads spin: with other
# work on all cores a solve of 0.03 s has taken 2.7 s. OMP_WAIT_POLICY=passive avoids that, but on an idle machine two threads are
# then hardly faster than one, so it is left to the user (docs/benches.md).
if "NUMBA_THREADING_LAYER" not in os.environ and "NUMBA_THREADING_LAYER_PRIORITY" not in os.environ:
    numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]  # type: ignore[attr-defined]
