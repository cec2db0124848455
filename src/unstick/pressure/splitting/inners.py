"""The inner solvers by name: a new one is a file and a line here."""

from __future__ import annotations

from unstick.pressure.splitting.fast import FastInner
from unstick.pressure.splitting.inner import CholeskyInner, Inner, MethodInner
from unstick.pressure.splitting.multigrid import RowsInner
from unstick.solvers.multigrid.linear import Multigrid

INNERS: dict[str, Inner] = {
    "pcg": CholeskyInner(),
    "mg": MethodInner("mg", Multigrid()),
    "mgpcg": RowsInner(),
    "fft": FastInner(),
}
