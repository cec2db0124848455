"""A checkpoint: the whole state of a run in one file, the same bytes for the same state, and proof against damage.

An uncompressed .npz that np.load reads too. The first array is a header of JSON; the comment at the end of the archive is the
SHA-256 of all bytes before it, so that a single changed or missing byte is found.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unstick.fields import FaceField
from unstick.grid import Array, Grid
from unstick.liquid.state import Gas, Particles, State
from unstick.record.files import pack_arrays, write_whole
from unstick.result import Guess
from unstick.smoke.state import gas_phi

FORMAT = 1
DIGEST = 64  # bytes of the digest in hexadecimal
CHUNK = 1 << 22


class DamagedCheckpoint(ValueError):
    """A checkpoint that must not be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Whose state it is."""

    version: str
    scene: str  # scene_hash of the settings


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    stamp: Stamp
    state: State


def save(path: Path, state: State, stamp: Stamp) -> None:
    """Write the state; the file is whole or not there."""
    header = {
        "format": FORMAT,
        "unstick": stamp.version,
        "scene": stamp.scene,
        "shape": list(state.grid.shape),
        "time": state.time,
        "frame": state.frame,
        "step": state.step,
        "volume": state.volume,
        "found": state.found,
    }
    particles = state.particles
    arrays: dict[str, Array] = {
        "header": _packed(header),
        "position": particles.position,
        "velocity": particles.velocity,
        "affine": particles.affine,
        "phi": state.phi,
        "u": state.velocity.u,
        "v": state.velocity.v,
        "w": state.velocity.w,
    }
    if state.guess is not None:
        arrays |= {"p": state.guess.p, "detached": state.guess.detached}
    if state.bodies is not None:
        arrays["bodies"] = state.bodies
    if state.gas is not None:
        header |= {"released": state.gas.released, "left": state.gas.left}
        arrays |= {"density": state.gas.density, "excess": state.gas.excess}
        del arrays["phi"]  # of a gas it is always the same
        arrays["header"] = _packed(header)

    def write(file: BinaryIO) -> None:
        pack_arrays(file, arrays)
        _seal(file)

    write_whole(path, write)


def _packed(header: dict[str, Any]) -> Array:
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def load(path: Path, grid: Grid) -> Checkpoint:
    """Read a checkpoint of a run on `grid` (with margin), after its digest has been verified."""
    header, arrays = read(path)
    if header["shape"] != list(grid.shape):
        raise DamagedCheckpoint(f"{path} is of a grid of {header['shape']} cells, and the scene has {list(grid.shape)} with its margin")
    velocity = FaceField(grid)
    for mine, name in zip(velocity.components, "uvw", strict=True):
        mine[...] = arrays[name]
    guess = Guess(arrays["p"], arrays["detached"]) if "p" in arrays else None
    gas = Gas(arrays["density"], arrays["excess"], header["released"], header["left"]) if "density" in arrays else None
    state = State(
        grid,
        Particles(arrays["position"], arrays["velocity"], arrays["affine"]),
        gas_phi(grid) if gas is not None else arrays["phi"],
        velocity,
        time=header["time"],
        frame=header["frame"],
        step=header["step"],
        guess=guess,
        bodies=arrays.get("bodies"),
        volume=header["volume"],
        found=header["found"],
        gas=gas,
    )
    return Checkpoint(Stamp(header["unstick"], header["scene"]), state)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file whose digest is right."""
    verify(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    if header["format"] != FORMAT:
        raise DamagedCheckpoint(f"{path} has format {header['format']}, and this version of unstick reads format {FORMAT}")
    return header, arrays


def read_header(path: Path) -> dict[str, Any]:
    """The header alone; the file is not verified."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(json.loads(file["header"].tobytes()))
    except Exception as error:  # whatever a damaged archive makes its readers raise
        raise DamagedCheckpoint(f"{path} cannot be read ({error})") from None


def verify(path: Path) -> None:
    """Refuse a file that is not byte for byte what was written."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            digest = _digest(file, max(0, size - DIGEST))
            told = file.read(DIGEST)
    except OSError as error:
        raise DamagedCheckpoint(f"{path} cannot be read ({error.strerror})") from None
    if told != digest:
        raise DamagedCheckpoint(f"{path} is damaged: its {size:,} bytes do not match the checksum at their end")


def _seal(file: BinaryIO) -> None:
    """Append the digest of all bytes as the comment of the archive, whose length stands in the two bytes before it."""
    file.seek(-2, os.SEEK_END)
    file.write(struct.pack("<H", DIGEST))
    size = file.tell()
    file.seek(0)
    digest = _digest(file, size)
    file.seek(size)
    file.write(digest)


def _digest(file: BinaryIO, size: int) -> bytes:
    """SHA-256 of the next `size` bytes, in hexadecimal."""
    total = hashlib.sha256()
    while size > 0:
        chunk = file.read(min(CHUNK, size))
        if not chunk:
            break
        total.update(chunk)
        size -= len(chunk)
    return total.hexdigest().encode()
