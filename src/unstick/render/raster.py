"""Fields and points on a lattice of pixels, with smooth edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy import ndimage

from unstick.grid import Array

F32 = np.float32


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle of the plane seen through height x width pixels; rows go down, y goes up."""

    left: float
    top: float
    pixel: float  # side, metres
    width: int
    height: int

    def sample(self, values: Array, first: tuple[float, float], spacing: float, cubic: bool = False) -> Array:
        """Lattice values at every pixel's middle, (height, width); values[0, 0] lies at `first`, and beyond the edge the edge counts."""
        x = (self.left + (np.arange(self.width) + 0.5) * self.pixel - first[0]) / spacing
        y = (self.top - (np.arange(self.height) + 0.5) * self.pixel - first[1]) / spacing
        across, up = (weights(at, n, cubic) for at, n in zip((x, y), values.shape, strict=True))
        return np.asarray(up @ (across @ values.astype(F32)).T)

    def pixels(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Column and row of points, as real numbers; the middle of pixel (i, j) is (i + 1/2, j + 1/2)."""
        return (x - self.left) / self.pixel, (self.top - y) / self.pixel


def weights(at: Array, n: int, cubic: bool) -> sp.csr_array:
    """The matrix that interpolates n values at positions (in indices): linear, or Catmull and Rom's cubic."""
    at = np.clip(at, 0.0, n - 1.0)
    low = np.minimum(np.floor(at), max(n - 2, 0)).astype(np.intp)
    t = at - low
    if cubic:
        parts = (-0.5 * t + t**2 - 0.5 * t**3, 1 - 2.5 * t**2 + 1.5 * t**3, 0.5 * t + 2 * t**2 - 1.5 * t**3, -0.5 * t**2 + 0.5 * t**3)
        steps: tuple[int, ...] = (-1, 0, 1, 2)
    else:
        parts, steps = (1 - t, t), (0, 1)  # type: ignore[assignment]
    columns = np.stack([np.clip(low + s, 0, n - 1) for s in steps], axis=1)
    rows = np.repeat(np.arange(len(at)), len(steps))
    return sp.csr_array((np.stack(parts, axis=1).reshape(-1).astype(F32), (rows, columns.reshape(-1))), shape=(len(at), n))


def coverage(distance: Array) -> Array:
    """Part of each pixel that lies where `distance` (any function with that zero set) is negative."""
    down, right = np.gradient(distance)
    slope = np.sqrt(down * down + right * right)
    return np.asarray(np.clip(0.5 - distance / np.maximum(slope, F32(1e-12)), 0.0, 1.0))


def line(distance: Array, width: float) -> Array:
    """Part of each pixel within half of `width` (pixels) of the zero set."""
    down, right = np.gradient(distance)
    slope = np.sqrt(down * down + right * right)
    away = np.abs(distance) / np.maximum(slope, F32(1e-12))
    return np.asarray(np.clip(0.5 + 0.5 * width - away, 0.0, 1.0))


def over(picture: Array, colour: Array | tuple[float, ...], alpha: Array) -> None:
    """Paint a colour onto the picture (height, width, 3), in place."""
    picture += alpha[..., None].astype(F32) * (np.asarray(colour, dtype=F32) - picture)


def discs(window: Window, x: Array, y: Array, values: Array, radius: float) -> tuple[Array, Array]:
    """Points as discs of `radius` pixels: how much they cover each pixel, and the mean of their values there, in any order."""
    column, row = window.pixels(x, y)
    reach = int(np.ceil(radius + 0.5))
    i0, j0 = np.floor(column).astype(np.intp), np.floor(row).astype(np.intp)
    size = window.width * window.height
    clear, sums, total = (np.zeros(size) for _ in range(3))
    for dj in range(-reach, reach + 1):
        for di in range(-reach, reach + 1):
            i, j = i0 + di, j0 + dj
            away = np.hypot(i + 0.5 - column, j + 0.5 - row)
            part = np.clip(radius + 0.5 - away, 0.0, 0.995)
            seen = (part > 0) & (i >= 0) & (i < window.width) & (j >= 0) & (j < window.height)
            at = j[seen] * window.width + i[seen]
            clear += np.bincount(at, np.log1p(-part[seen]), size)
            total += np.bincount(at, part[seen], size)
            sums += np.bincount(at, part[seen] * values[seen], size)
    shape = window.height, window.width
    return (1.0 - np.exp(clear)).reshape(shape), (sums / np.maximum(total, 1e-12)).reshape(shape)


def spread(values: Array, present: Array, reach: float) -> Array:
    """Values carried on beyond the cells where they are present, smoothed over about `reach` cells."""
    have = present.astype(F32)
    wide = ndimage.gaussian_filter(have, 4 * reach) + F32(1e-9)
    far = ndimage.gaussian_filter(values.astype(F32) * have, 4 * reach) / wide
    near = ndimage.gaussian_filter(have, reach)
    mean = ndimage.gaussian_filter(values.astype(F32) * have, reach) / (near + F32(1e-9))
    trust = np.clip(near / F32(0.05), 0.0, 1.0)
    return np.asarray(trust * mean + (1 - trust) * far)
