"""Fields and particles as VTK XML files (ParaView, VisIt, PyVista read them), written without VTK: numbers stand raw behind the XML.

VTK File Formats, "XML file formats": an appended block is its length in bytes as UInt64, then the values, x fastest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unstick.fields import FaceField
from unstick.grid import Array
from unstick.liquid.state import MARGIN
from unstick.record.files import write_bytes

if TYPE_CHECKING:
    from unstick.liquid.simulation import Simulation

TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}
KINDS = (("fields", "vti"), ("particles", "vtp"))


@dataclass(frozen=True, slots=True)
class VtkRecorder:
    """DIR/vtk/fields_000123.vti and particles_000123.vtp; open fields.pvd or particles.pvd to see them in time."""

    directory: Path

    def record(self, simulation: Simulation) -> None:
        frame, place = simulation.state.frame, self.directory / "vtk"
        write_bytes(place / f"fields_{frame:06d}.vti", fields(simulation))
        gas = simulation.state.gas is not None
        if not gas:
            write_bytes(place / f"particles_{frame:06d}.vtp", particles(simulation))
        for name, suffix in KINDS[:1] if gas else KINDS:
            write_bytes(place / f"{name}.pvd", index(place, name, suffix, frame, simulation.scene.frame_time))

    def close(self) -> None:
        """Every file is complete when it is written."""


def fields(simulation: Simulation) -> bytes:
    """An image of the domain: phi, p, velocity and detached in its cells (of a gas density, temperature, p and velocity), solid_phi at
    its nodes."""
    state, domain = simulation.state, simulation.scene.grid
    shape, guess = state.grid.shape3, state.guess
    inner = tuple(slice(MARGIN, -MARGIN) if axis < domain.dimension else slice(None) for axis in range(3))
    p = np.zeros(shape) if guess is None else guess.p.reshape(shape)
    solid = np.asarray(simulation.walls_at(state.time).solid_phi).reshape(state.grid.node_shape3)
    blocks = Blocks()
    own: dict[str, tuple[Array, str]]
    if state.gas is not None and simulation.scene.smoke is not None:
        temperature = simulation.scene.smoke.ambient + state.gas.excess
        own = {"density": (state.gas.density, "f4"), "temperature": (temperature, "f4")}
    else:
        detached = np.zeros(shape, dtype=bool) if guess is None else guess.detached.reshape(shape)
        own = {"phi": (simulation.surface_now().reshape(shape), "f4"), "detached": (detached, "u1")}
    cells = "".join(blocks.add(name, _ordered(values[inner], kind)) for name, (values, kind) in own.items())
    cells += blocks.add("p", _ordered(p[inner], "f4"))
    cells += blocks.add("velocity", np.stack([_ordered(c[inner], "f4") for c in centred(state.velocity)], axis=1))
    nodes = blocks.add("solid_phi", _ordered(solid[inner], "f4"))
    x, y, z = domain.shape3
    extent = f"0 {x} 0 {y} 0 {z if domain.dimension == 3 else 0}"
    origin = (*domain.origin, 0.0)[:3]
    opening = f'WholeExtent="{extent}" Origin="{_numbers(origin)}" Spacing="{_numbers((domain.spacing,) * 3)}"'
    piece = f'<Piece Extent="{extent}"><PointData>{nodes}</PointData><CellData>{cells}</CellData></Piece>'
    return blocks.document("ImageData", opening, piece)


def particles(simulation: Simulation) -> bytes:
    """All particles as points, with their velocities; in 2D z = 0."""
    points = simulation.state.particles
    n, position = len(points), points.position.astype("<f4")
    if simulation.scene.grid.dimension == 2:
        position[:, 2] = 0.0
    blocks = Blocks()
    place = blocks.add("position", position)
    data = blocks.add("velocity", points.velocity.astype("<f4"))
    verts = blocks.add("connectivity", np.arange(n, dtype="<i8")) + blocks.add("offsets", np.arange(1, n + 1, dtype="<i8"))
    counts = f'NumberOfPoints="{n}" NumberOfVerts="{n}" NumberOfLines="0" NumberOfStrips="0" NumberOfPolys="0"'
    piece = f"<Piece {counts}><PointData>{data}</PointData><Points>{place}</Points><Verts>{verts}</Verts></Piece>"
    return blocks.document("PolyData", "", piece)


def index(place: Path, name: str, suffix: str, last: int, frame_time: float) -> bytes:
    """The .pvd of all files up to a frame: what is when."""
    found = (re.fullmatch(rf"{name}_(\d{{6,}})\.{suffix}", path.name) for path in place.iterdir())
    frames = sorted(int(match[1]) for match in found if match and int(match[1]) <= last)
    rows = "".join(f'<DataSet timestep="{frame * frame_time:.9g}" part="0" file="{name}_{frame:06d}.{suffix}"/>\n' for frame in frames)
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0" byte_order="LittleEndian">\n<Collection>\n'
    return f"{head}{rows}</Collection>\n</VTKFile>\n".encode("ascii")


def centred(velocity: FaceField) -> tuple[Array, Array, Array]:
    """Faces averaged to centres."""
    u, v, w = velocity.components
    return 0.5 * (u[1:] + u[:-1]), 0.5 * (v[:, 1:] + v[:, :-1]), 0.5 * (w[:, :, 1:] + w[:, :, :-1])


class Blocks:
    """Arrays on their way into the appended part of a file."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, values: Array) -> str:
        """Keep the values; returns the element that points at them."""
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        components = values.shape[1] if values.ndim == 2 else 1
        kind = TYPES[values.dtype.str[1:]]
        element = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}" format="appended" offset="{self._size}"/>'
        self._parts += [np.uint64(len(data)).astype("<u8").tobytes(), data]
        self._size += 8 + len(data)
        return element

    def document(self, kind: str, opening: str, piece: str) -> bytes:
        head = f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
        body = f'<{kind} {opening}>{piece}</{kind}>\n<AppendedData encoding="raw">\n_'
        return b"".join([f"{head}{body}".encode("ascii"), *self._parts, b"\n</AppendedData>\n</VTKFile>\n"])


def _ordered(values: Array, kind: str) -> Array:
    """Flat, x fastest."""
    return np.asarray(values).reshape(-1, order="F").astype(f"<{kind}" if kind != "u1" else "u1")


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:.17g}" for value in values)
