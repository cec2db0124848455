"""Pictures as files whose bytes depend on the pixels alone."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unstick.checks import InvalidSystem, require_count
from unstick.grid import Array
from unstick.record.files import write_bytes
from unstick.render.extras import need

SHEET_BYTES = 300_000


def encode(picture: Array, palette: int = 0) -> bytes:
    """uint8 (height, width, 3) as PNG; with at most `palette` colours if that is not zero."""
    image = need("PIL.Image", "a picture").fromarray(np.ascontiguousarray(picture))
    if palette:
        image = image.quantize(palette, method=2, dither=0)  # by octree: keeps colours that are rare, as the marks are
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=9 if palette else 6)
    return file.getvalue()


def write_png(path: Path, picture: Array) -> None:
    write_bytes(path, encode(picture))


def read_picture(path: Path) -> Array:
    """uint8 (height, width, 3)."""
    images = need("PIL.Image", "a picture")
    try:
        with images.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except OSError as error:
        raise InvalidSystem(f"{path} is no picture that can be read ({error})") from None


def contact_sheet(pictures: Sequence[Path | Array], columns: int, width: int = 1200, most_bytes: int = SHEET_BYTES) -> bytes:
    """Pictures in rows of `columns`, as one PNG of at most `most_bytes`: fewer colours at first, then smaller, until it fits."""
    require_count("columns", columns)
    images = need("PIL.Image", "a sheet of pictures")
    tiles = [read_picture(p) if isinstance(p, Path) else p for p in pictures]
    if not tiles:
        raise InvalidSystem("a sheet needs at least one picture")
    wide, high = max(t.shape[1] for t in tiles), max(t.shape[0] for t in tiles)
    while True:
        factor = min(1.0, width / (columns * wide))
        w, h = max(1, round(wide * factor)), max(1, round(high * factor))
        sheet = images.new("RGB", (columns * w, -(-len(tiles) // columns) * h), (255, 255, 255))
        for index, tile in enumerate(tiles):
            size = max(1, round(tile.shape[1] * factor)), max(1, round(tile.shape[0] * factor))
            small = images.fromarray(tile).resize(size, images.Resampling.LANCZOS)
            sheet.paste(small, (index % columns * w, index // columns * h))
        page = np.asarray(sheet)
        for palette in (0, 256, 128):
            data = encode(page, palette)
            if len(data) <= most_bytes or width < 64:
                return data
        width = round(0.85 * min(width, columns * wide))
