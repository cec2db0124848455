"""Scenes from files and by name, with what the command line changes."""

from __future__ import annotations

import copy
import dataclasses
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unstick.liquid.scene import Numerics, Scene
from unstick.scenes.errors import SceneError, nearest, unknown
from unstick.scenes.scene_file import MOST_CELLS, NUMERICS, SceneFile, require_frames, require_resolution, with_walls
from unstick.scenes.table import SCENES
from unstick.scenes.write import tables_of

Tables = dict[str, Any]
MOST_BYTES = 1_000_000  # of a scene file
MOST_LEVELS = 60  # of tables and lists within each other
MOST_VALUES = 50_000


def load(
    scene: str | Path, resolution: int | None = None, walls: str | None = None, sets: Sequence[str] = (), frames: int | None = None
) -> Scene:
    """A scene by its name, or from a TOML file; `sets` are "key=value" as in "numerics.flip=0.9"."""
    if isinstance(scene, str) and scene in SCENES:
        return _named(SCENES[scene], resolution, walls, sets, frames)
    if not _is_file_name(scene):
        raise SceneError(f"there is no scene {str(scene)[:200]!r}{nearest(scene, SCENES)}; known: {', '.join(SCENES)}, or give a TOML file")
    path = Path(scene)
    tables = _extended(path, read_tables(path))
    head = tables.setdefault("scene", {})
    if isinstance(head, dict):
        head.setdefault("name", re.sub(r"[^\w .,()+-]", "-", path.stem)[:100] or "scene")
        if resolution is not None:
            head["resolution"] = require_resolution(resolution)
        if frames is not None:
            head["frames"] = require_frames(frames)
    for text in sets:
        put(tables, *split_set(text))
    made = scene_from(tables, str(path.name), path.parent)
    return made if walls is None else with_walls(made, walls)


def scene_from(tables: Tables, label: str, folder: Path | None = None) -> Scene:
    """The scene that the tables describe; raises SceneError with all that is wrong, a line each, which begins with `label`."""
    _require_bounded(tables, label)
    from pydantic import ValidationError

    from unstick.scenes.messages import lines_of
    from unstick.scenes.schema import SceneConfig

    given = _context(tables, folder or Path())
    try:
        return SceneConfig.model_validate(tables, context=given).make(given)
    except ValidationError as error:
        raise SceneError("\n".join(f"{label}: {line}" for line in lines_of(error, tables))) from None


def read_numerics(base: Numerics, changes: Tables) -> Numerics:
    """`base` with some values changed, checked."""
    from pydantic import ValidationError

    from unstick.scenes.messages import lines_of
    from unstick.scenes.schema import NumericsTable

    table = dataclasses.asdict(base) | changes
    _require_bounded(table, "numerics")
    try:
        return NumericsTable.model_validate(table).make()
    except ValidationError as error:
        raise SceneError("\n".join(f"numerics.{line}" for line in lines_of(error, table))) from None


def read_tables(path: Path) -> Tables:
    """The tables of a TOML file."""
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MOST_BYTES else b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is no file name"
        raise SceneError(f"{str(path)[:300]!r} cannot be read: {reason}") from None
    if size > MOST_BYTES:
        raise SceneError(f"{path.name}: has {size} bytes; a scene file has at most {MOST_BYTES}")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SceneError(f"{path.name}: byte {error.start} is not UTF-8; TOML files are") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
        if found is None:
            raise SceneError(f"{path.name}: is not TOML: {error}") from None
        at = f"line {found[2]}, column {found[3]}" if found[2] else "at its end"
        raise SceneError(f"{path.name}: {at}: {' '.join(found[1].split())[:200]}") from None
    except (RecursionError, ValueError, OverflowError):
        raise SceneError(
            f"{path.name}: has numbers of thousands of digits, or lists within lists a hundred deep; a scene has neither"
        ) from None


def split_set(text: str) -> tuple[str, Any]:
    """ "numerics.flip=0.9" as a key and a TOML value; what is no TOML value is a string."""
    key, sign, value = text.partition("=")
    if not sign or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", key.strip()):
        raise SceneError(f"{text[:200]!r} sets nothing; give KEY=VALUE, as in numerics.flip=0.9 or solid.0.walls=sticking")
    try:
        parsed = tomllib.loads(f"value = {value.strip()}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return key.strip(), value.strip()
    return key.strip(), parsed["value"] if set(parsed) == {"value"} else value.strip()


def put(tables: Tables, key: str, value: Any) -> None:
    """Set one value; `solid.0.walls` is the first solid's."""
    here: Any = tables
    *way, last = key.split(".")
    for done, step in enumerate(way):
        if isinstance(here, list):
            here = _entry(here, step, way[: done + 1])
        elif isinstance(here, dict):
            here = here.setdefault(step, {})
        else:
            raise SceneError(f"{key}: {'.'.join(way[:done])} is a value, not a table")
    if isinstance(here, list):
        _entry(here, last, [*way, last])
        here[int(last)] = value
    elif isinstance(here, dict):
        here[last] = value
    else:
        raise SceneError(f"{key}: {'.'.join(way)} is a value, not a table")


def _entry(values: list[Any], step: str, way: list[str]) -> Any:
    if not step.isdecimal() or len(step) > 9 or int(step) >= len(values):
        raise SceneError(f"{'.'.join(way)}: there is no entry {step}; the list has {len(values)}, counted from 0")
    return values[int(step)]


def _named(file: SceneFile, resolution: int | None, walls: str | None, sets: Sequence[str], frames: int | None) -> Scene:
    changes = [split_set(text) for text in sets]
    plain = {key: value for key, value in changes if "." not in key}
    for key in plain:
        if key not in file.options and key not in NUMERICS:
            raise unknown(f"option of {file.name} called", key, (*file.options, *NUMERICS, "numerics.KEY, scene.KEY, ..."))
    scene = file(resolution, None, frames, **plain)
    deep = [(key, value) for key, value in changes if "." in key]
    if deep:
        tables = tables_of(scene)
        for key, value in deep:
            put(tables, key, value)
        scene = scene_from(tables, file.name)
    return scene if walls is None else with_walls(scene, walls)


def _extended(path: Path, tables: Tables) -> Tables:
    """The tables on top of those of the scene that the file extends: tables are merged key by key, lists are replaced."""
    name, options = tables.pop("extends", None), tables.pop("options", None)
    if name is None:
        if options is not None:
            raise SceneError(f"{path.name}: options: given without extends; they are those of the scene that a file extends")
        return tables
    if not isinstance(name, str) or name not in SCENES:
        raise SceneError(f"{path.name}: extends: {unknown('scene', name, tuple(SCENES))!s}")
    if options is not None and (not isinstance(options, dict) or not set(options) <= set(SCENES[name].options)):
        raise SceneError(f"{path.name}: options: allowed for {name}: {', '.join(SCENES[name].options) or 'none'}")
    try:
        base = tables_of(SCENES[name](**(options or {})))
    except SceneError as error:
        raise SceneError(f"{path.name}: options: {error}") from None
    del base["scene"]["name"]
    return dict(_merged(base, tables))


def _merged(base: Any, top: Any) -> Any:
    if isinstance(base, dict) and isinstance(top, dict) and base.get("type") == top.get("type", base.get("type")):
        return {
            key: _merged(base[key], top[key]) if key in base and key in top else copy.copy(top.get(key, base.get(key)))
            for key in base | top
        }
    return top


def _is_file_name(scene: str | Path) -> bool:
    return isinstance(scene, Path) or scene.endswith(".toml") or "/" in scene or "\\" in scene


def _require_bounded(tables: Tables, label: str) -> None:
    """Before anything walks down the tables: neither too many values nor too deep, and no whole number longer than TOML's 64 bits."""
    rows: list[tuple[Any, tuple[str, ...]]] = [(tables, ())]
    values = 0
    while rows:
        here, path = rows.pop()
        values += 1
        if len(path) > MOST_LEVELS or values > MOST_VALUES:
            raise SceneError(f"{label}: more than {MOST_LEVELS} tables within each other, or {MOST_VALUES} values; a scene has fewer")
        if isinstance(here, int) and not -(2**63) <= here < 2**63:
            raise SceneError(f"{label}: {'.'.join(path)}: a whole number of more than 64 bits given; TOML has none")
        if isinstance(here, dict):
            rows += [(value, (*path, key)) for key, value in here.items()]
        elif isinstance(here, list):
            rows += [(value, (*path, str(index))) for index, value in enumerate(here)]


def _context(tables: Tables, folder: Path) -> Any:
    """Dimension and spacing, where the file gives them rightly."""
    from unstick.scenes.schema_base import FAR, Context

    head = tables.get("scene")
    head = head if isinstance(head, dict) else {}
    dimension, size, cells = head.get("dimension"), head.get("size"), head.get("resolution")
    right = isinstance(size, list) and bool(size) and all(isinstance(s, (int, float)) and 0 < s <= FAR for s in size)
    counted = isinstance(cells, int) and 0 < cells <= MOST_CELLS
    spacing = max(size) / cells if right and counted and isinstance(size, list) and isinstance(cells, int) else 0.0
    whole = isinstance(dimension, int) and not isinstance(dimension, bool) and dimension in (2, 3)
    return Context(dimension if whole else None, spacing, folder)
