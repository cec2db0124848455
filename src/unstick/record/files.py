"""Files that are whole or absent, with the same bytes for the same values."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unstick.grid import Array

EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every member: the same state gives the same bytes


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file beside `path`, then give it that name: a reader finds the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w+b") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # the name must not reach the disk before the bytes
        os.replace(beside, path)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def write_bytes(path: Path, data: bytes) -> None:
    write_whole(path, lambda file: file.write(data))


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """An uncompressed .npz (np.load reads it); its bytes depend on the arrays alone."""
    write_whole(path, lambda file: pack_arrays(file, arrays))


def pack_arrays(file: BinaryIO, arrays: Mapping[str, Array]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            member.external_attr = 0o644 << 16
            head = io.BytesIO()
            array = np.ascontiguousarray(values) if np.ndim(values) else np.asarray(values)
            np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
            with archive.open(member, "w", force_zip64=True) as out:
                out.write(head.getvalue())
                out.write(array.reshape(-1).view(np.uint8).data)
