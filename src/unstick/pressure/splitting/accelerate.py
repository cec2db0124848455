"""Ways to choose the next state of a fixed-point iteration x <- F(x) from the states before.

With the walls classified once per step, both IOP and ADMM are affine maps of the velocities on wall faces, so that methods for linear
equations apply; all work is on vectors with an entry for each wall face.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from unstick.kernels.reduce import dot
from unstick.problem import Array

WINDOW = 10  # states that Anderson's method remembers
REGULAR = 1e-14  # of the trace, added to its normal equations
GROWTH = 10.0  # of the residual, beyond its least, that makes a method forget


class Step(Protocol):
    """Called with a state and its image; returns the next state, an array that is not changed any more."""

    def __call__(self, x: Array, image: Array) -> Array: ...


class Plain:
    """The image itself: the published iteration."""

    def __call__(self, x: Array, image: Array) -> Array:
        return image


class OverRelaxation:
    def __init__(self, relaxation: float) -> None:
        self.relaxation = relaxation

    def __call__(self, x: Array, image: Array) -> Array:
        return x + self.relaxation * (image - x)


class Nesterov:
    """Momentum that starts again when it points against the step (O'Donoghue and Candes 2015, gradient scheme)."""

    def __init__(self) -> None:
        self.before: Array | None = None
        self.t = 1.0

    def __call__(self, x: Array, image: Array) -> Array:
        if self.before is None:
            self.before = image
            return image
        move = image - self.before
        self.before = image
        if dot(x - image, move) > 0.0:
            self.t = 1.0
            return image
        new = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * self.t * self.t)))
        factor, self.t = (self.t - 1.0) / new, new
        return np.asarray(image + factor * move)


class Anderson:
    """The combination of the last images whose residual is least (Anderson 1965; Walker and Ni 2011, type II)."""

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self.forget()

    def forget(self) -> None:
        self.last: tuple[Array, Array] | None = None
        self.residuals: list[Array] = []  # differences of residuals
        self.images: list[Array] = []  # differences of images
        self.gram = np.zeros((0, 0))
        self.least = np.inf

    def __call__(self, x: Array, image: Array) -> Array:
        f = image - x
        size = float(np.sqrt(dot(f, f)))
        if size > GROWTH * self.least:
            self.forget()
        self.least = min(self.least, size)
        if self.last is not None:
            self._remember(f - self.last[0], image - self.last[1])
        self.last = f, image
        k = len(self.residuals)
        if k == 0:
            return image
        right = np.array([dot(d, f) for d in self.residuals])
        normal = self.gram + REGULAR * float(np.trace(self.gram)) * np.eye(k)
        try:
            share = np.linalg.solve(normal, right)
        except np.linalg.LinAlgError:
            self.forget()
            return image
        out = image.copy()
        for s, d in zip(share, self.images, strict=True):
            out -= float(s) * d
        return out

    def _remember(self, residual: Array, image: Array) -> None:
        if not dot(residual, residual) > 0.0:
            return
        if len(self.residuals) == self.window:
            del self.residuals[0], self.images[0]
            self.gram = self.gram[1:, 1:]
        self.residuals.append(residual)
        self.images.append(image)
        row = np.array([dot(residual, d) for d in self.residuals])
        k = len(row)
        grown = np.empty((k, k))
        grown[: k - 1, : k - 1] = self.gram
        grown[k - 1], grown[:, k - 1] = row, row
        self.gram = grown
