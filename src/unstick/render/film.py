"""H.264 films that every browser plays."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

from unstick.grid import Array
from unstick.render.extras import need


class Film:
    """`with Film(path, size, fps) as film: film.add(picture)`; the file appears when all went well."""

    def __init__(self, path: Path, size: tuple[int, int], fps: int) -> None:
        av = need("av", "a film")
        self._av, self._path = av, path
        self._part = path.with_name(f".{path.stem}.part{path.suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: Any = av.open(str(self._part), "w", format="mp4", options={"movflags": "faststart"})
        self._stream = self._file.add_stream("libx264", rate=fps)
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        # One thread: the same pictures give the same film on every machine.
        self._stream.codec_context.thread_count = 1
        self._stream.options = {"crf": "20", "preset": "medium", "tune": "animation"}

    def add(self, picture: Array) -> None:
        """uint8 (height, width, 3) with even sides."""
        for packet in self._stream.encode(self._av.VideoFrame.from_ndarray(picture, format="rgb24")):
            self._file.mux(packet)

    def __enter__(self) -> Film:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                for packet in self._stream.encode():
                    self._file.mux(packet)
            self._file.close()
            if kind is None:
                os.replace(self._part, self._path)
        finally:
            self._part.unlink(missing_ok=True)
