"""The liquid's surface as binary PLY, one file per frame: a closed mesh of triangles in 3D, outlines in 2D."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from unstick.checks import InvalidSystem
from unstick.grid import Array, Grid
from unstick.record.files import write_whole
from unstick.record.surface import clipped, solid_at_centres

if TYPE_CHECKING:
    from unstick.liquid.simulation import Simulation


@dataclass(frozen=True, slots=True)
class MeshRecorder:
    """DIR/mesh/surface_000123.ply: metres, y up, triangles counter-clockwise as seen from the air."""

    directory: Path

    def __post_init__(self) -> None:
        _measure()

    def record(self, simulation: Simulation) -> None:
        state = simulation.state
        solid = solid_at_centres(np.asarray(simulation.walls_at(state.time).solid_phi).reshape(state.grid.node_shape3))
        phi = clipped(simulation.surface_now().reshape(state.grid.shape3), solid)
        path = self.directory / "mesh" / f"surface_{state.frame:06d}.ply"
        if state.grid.dimension == 3:
            vertices, faces = triangles(state.grid, phi)
            write_whole(path, lambda file: write_triangles(file, vertices, faces))
        else:
            vertices, edges = outlines(state.grid, phi)
            write_whole(path, lambda file: write_edges(file, vertices, edges))

    def close(self) -> None:
        """Every file is complete when it is written."""


def triangles(grid: Grid, phi: Array) -> tuple[Array, Array]:
    """The zero surface of cell values by marching cubes: vertices (n, 3) float32 and faces (m, 3) int32."""
    if not (phi.min() < 0 < phi.max()):
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32)
    # No vertex lies on a lattice point, where triangles would shrink to nothing.
    safe = np.where(np.abs(phi) < 1e-6 * grid.spacing, 1e-6 * grid.spacing, phi)
    vertices, faces, _, _ = _measure().marching_cubes(safe, 0.0, gradient_direction="descent", allow_degenerate=False)
    world = np.array(grid.origin) + (vertices.astype(np.float64) + 0.5) * grid.spacing
    return world.astype(np.float32), np.ascontiguousarray(faces, dtype=np.int32)


def outlines(grid: Grid, phi: Array) -> tuple[Array, Array]:
    """The zero lines of cell values: vertices (n, 3) float32 with z = 0, and edges (m, 2) int32 with the liquid at their left."""
    vertices: list[Array] = [np.zeros((0, 2))]
    edges: list[Array] = [np.zeros((0, 2), np.int32)]
    n = 0
    for line in _measure().find_contours(phi[:, :, 0], 0.0, positive_orientation="low"):
        closed = bool((line[0] == line[-1]).all())
        points = line[:-1] if closed else line
        at = np.arange(n, n + len(points))
        vertices.append(points)
        edges.append(np.stack([at, np.roll(at, -1)], axis=1)[: len(points) if closed else len(points) - 1])
        n += len(points)
    world = np.zeros((n, 3), np.float32)
    world[:, :2] = np.array(grid.origin) + (np.concatenate(vertices) + 0.5) * grid.spacing
    return world, np.concatenate(edges).astype(np.int32)


def write_triangles(file: BinaryIO, vertices: Array, faces: Array) -> None:
    rows = np.empty(len(faces), dtype=[("n", "u1"), ("v", "<i4", 3)])
    rows["n"], rows["v"] = 3, faces
    file.write(_head(len(vertices), f"element face {len(faces)}\nproperty list uchar int vertex_indices\n"))
    file.write(vertices.astype("<f4").tobytes())
    file.write(rows.tobytes())


def write_edges(file: BinaryIO, vertices: Array, edges: Array) -> None:
    file.write(_head(len(vertices), f"element edge {len(edges)}\nproperty int vertex1\nproperty int vertex2\n"))
    file.write(vertices.astype("<f4").tobytes())
    file.write(edges.astype("<i4").tobytes())


def _head(vertices: int, rest: str) -> bytes:
    axes = "property float x\nproperty float y\nproperty float z\n"
    return f"ply\nformat binary_little_endian 1.0\ncomment unstick\nelement vertex {vertices}\n{axes}{rest}end_header\n".encode("ascii")


def _measure() -> Any:
    try:
        return importlib.import_module("skimage.measure")
    except ImportError:
        raise InvalidSystem("surface meshes need scikit-image: pip install 'unstick[mesh]'") from None
