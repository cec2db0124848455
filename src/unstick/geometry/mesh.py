"""Closed triangle meshes as shapes: signed distances on a lattice of the body, interpolated between its points."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt

from unstick.checks import InvalidSystem
from unstick.geometry.shapes import Shape
from unstick.grid import Array
from unstick.kernels.mesh import apply_sign, count_crossings, fill_band, interpolate, sign_rows

SUFFIXES = (".stl", ".obj", ".ply")
MOST_TRIANGLES = 5_000_000
MOST_POINTS = 160  # of the body's lattice along the mesh's longest side
BAND = 3.0  # lattice spacings around the surface in which distances are exact
PAD = 5  # points around the mesh
THICK = 8  # planes that a thread works on at a time


@dataclass(frozen=True, slots=True)
class MeshShape(Shape):
    """What a closed mesh (STL, OBJ, PLY) encloses, in 3D.

    The mesh is stretched by `factor` about its file's origin and then moved so that the middle of its bounding box lies at
    `centre` (it stays where it is if none is given). Its distances are sampled once, half of `spacing` apart (the side of a grid
    cell), but with no more than MOST_POINTS along its longest side.
    """

    file: str
    factor: float = 1.0
    centre: tuple[float, ...] = ()
    spacing: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and self.factor > 0):
            raise ValueError(f"the mesh's scale is {self.factor!r}; give a positive number")
        if self.centre and (len(self.centre) != 3 or not all(map(math.isfinite, self.centre))):
            raise ValueError(f"the mesh's centre is {self.centre!r}; give three finite numbers")

    def triangles(self) -> Array:
        """Corners (t, 3, 3) of all triangles, placed. Raises if the mesh is not closed."""
        corner = read_mesh(self.file) * self.factor
        if self.centre:
            points = corner.reshape(-1, 3)
            corner = corner + (np.array(self.centre) - 0.5 * (points.min(axis=0) + points.max(axis=0)))
        return np.ascontiguousarray(corner)

    def distance(self, *x: Array) -> Array:
        if len(x) != 3:
            raise ValueError(f"a mesh is a shape in 3D, but the points have {len(x)} coordinates; use shapes of two coordinates in 2D")
        lattice = _sample(self, self.spacing, _stamp(self.file))
        return lattice.distance(*x)


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Signed distances, in spacings, at the points `origin + spacing * (i, j, k)`."""

    values: Array
    origin: Array
    spacing: float

    def distance(self, *x: Array) -> Array:
        shape = np.broadcast_shapes(*(np.shape(line) for line in x))
        at = [
            np.ascontiguousarray(np.broadcast_to((line - o) / self.spacing, shape)).reshape(-1)
            for line, o in zip(x, self.origin, strict=True)
        ]
        out = np.empty(at[0].shape)
        interpolate(out, self.values, *at)
        return out.reshape(shape) * self.spacing


@functools.lru_cache(maxsize=16)
def _sample(shape: MeshShape, spacing: float, stamp: tuple[int, int]) -> Lattice:
    return sample_mesh(shape.triangles(), 0.5 * spacing)


def sample_mesh(corner: Array, spacing: float) -> Lattice:
    """Signed distances to a closed mesh on a lattice around it."""
    points = corner.reshape(-1, 3)
    low, size = points.min(axis=0), float(np.ptp(points, axis=0).max())
    spacing = max(spacing, size / MOST_POINTS)
    # Shifted by no simple fraction of the spacing, so that corners and edges hardly ever lie on rows of the lattice.
    origin = low - (PAD - np.array([0.381966, 0.267949, 0.414214])) * spacing
    shape = tuple(int(n) for n in np.ceil((points.max(axis=0) - origin) / spacing) + PAD)
    local = np.ascontiguousarray((corner - origin) / spacing)
    distance = np.full(shape, np.inf)
    fill_band(distance, local, BAND, THICK)
    _fill_far(distance)
    crossings = np.zeros((shape[0], shape[1], shape[2] + 1), dtype=np.int32)
    count_crossings(crossings, local, THICK)
    broken = np.zeros(shape[:2], dtype=np.bool_)
    apply_sign(distance, crossings, broken)
    if broken.any():
        sign_rows(distance, local, np.argwhere(broken))
    return Lattice(distance, origin, spacing)


def _fill_far(distance: Array) -> None:
    """Points outside the band take the way to the nearest point of the band, and its distance: right to a spacing."""
    far = np.isinf(distance)
    way, index = distance_transform_edt(far, return_indices=True)
    distance[far] = way[far] + distance[tuple(line[far] for line in index)]


def read_mesh(file: str) -> Array:
    """Corners (t, 3, 3) of a mesh file's triangles, turned so that normals point out. Raises if the mesh is not closed."""
    return _read_mesh(file, _stamp(file))


def _stamp(file: str) -> tuple[int, int]:
    """A file that was changed is read anew."""
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        return 0, 0
    return found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=8)
def _read_mesh(file: str, stamp: tuple[int, int]) -> Array:
    path = Path(file)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidSystem(f"the mesh file {file} is none of {', '.join(SUFFIXES)}")
    if stamp == (0, 0) or not path.is_file():
        raise InvalidSystem(f"there is no mesh file {file}")
    vertices, faces = _load(path)
    if len(faces) > MOST_TRIANGLES:
        raise InvalidSystem(f"the mesh {file} has {len(faces)} triangles; at most {MOST_TRIANGLES} are allowed")
    if not np.isfinite(vertices).all():
        raise InvalidSystem(f"the mesh {file} has vertices that are not finite")
    faces = merged(vertices, faces)
    require_closed(file, faces)
    corner = vertices[faces]
    volume = float(np.einsum("ti,ti->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2]))) / 6.0
    if volume == 0.0:
        raise InvalidSystem(f"the mesh {file} encloses nothing")
    return np.ascontiguousarray(corner if volume > 0.0 else corner[:, ::-1])


def _load(path: Path) -> tuple[Array, Array]:
    try:
        import trimesh
    except ImportError as error:
        raise InvalidSystem(f"reading the mesh {path} needs trimesh; install it with: pip install 'unstick[mesh]'") from error
    try:
        mesh: Any = trimesh.load(path, force="mesh", process=False)
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    except Exception as error:  # trimesh raises whatever its parsers meet
        raise InvalidSystem(f"the mesh {path} cannot be read: {' '.join(str(error).split())[:200] or type(error).__name__}") from error
    if faces.ndim != 2 or faces.shape[1:] != (3,) or not len(faces):
        raise InvalidSystem(f"the mesh {path} has no triangles")
    return vertices, faces


def merged(vertices: Array, faces: Array) -> Array:
    """Faces with one number for equal corners (an STL file repeats them), without triangles that have lost a corner."""
    _, first, number = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    faces = first[number.reshape(-1)][faces]
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return np.asarray(faces[whole])


def require_closed(file: str, faces: Array) -> None:
    """Every edge belongs to exactly two triangles, which run along it in opposite directions."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    ordered = np.sort(edges, axis=1)
    _, number, count = np.unique(ordered, axis=0, return_inverse=True, return_counts=True)
    if (count == 1).any():
        raise InvalidSystem(
            f"the mesh {file} has holes: {int((count == 1).sum())} of its {len(count)} edges belong to one triangle only; "
            "close them, so that every edge belongs to two triangles"
        )
    if not len(count) or (count > 2).any():
        raise InvalidSystem(
            f"the mesh {file} has {int((count > 2).sum())} edges that belong to more than two triangles; "
            "every edge must belong to exactly two"
        )
    forward = np.bincount(number.reshape(-1), edges[:, 0] < edges[:, 1], minlength=len(count))
    if (forward != 1).any():
        raise InvalidSystem(
            f"the mesh {file} has {int((forward != 1).sum())} edges whose two triangles are turned differently; "
            "turn all triangles the same way (normals outward)"
        )
