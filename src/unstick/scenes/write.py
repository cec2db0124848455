"""A scene as the text of a scene file: complete, so that it loads back to the equal scene."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from unstick.geometry import motion as motions
from unstick.geometry import shapes
from unstick.geometry.mesh import MeshShape
from unstick.geometry.motion import Motion
from unstick.geometry.rounded import Cylinder, Ellipsoid
from unstick.geometry.shapes import Shape
from unstick.geometry.surfaces import Surface
from unstick.geometry.triangles import Hare
from unstick.grid import Grid
from unstick.liquid.scene import SIDES, Gravity, Scene, Smoke
from unstick.scenes.errors import SceneError
from unstick.scenes.words import SIDE_NAMES, WORDS
from unstick.scenes.write_bodies import bodies_table, body_table

Table = dict[str, Any]

SHAPES: dict[type, str] = {
    shapes.Sphere: "sphere",
    shapes.Box: "box",
    shapes.Capsule: "capsule",
    Ellipsoid: "ellipsoid",
    Cylinder: "cylinder",
    Hare: "hare",
    shapes.Plane: "plane",
    Surface: "surface",
    MeshShape: "mesh",
    shapes.Complement: "complement",
    shapes.Shell: "shell",
    shapes.Translate: "translate",
    shapes.Rotate: "rotate",
    shapes.Scale: "scale",
}
PAIRS: dict[type, str] = {shapes.Union: "union", shapes.Intersection: "intersection", shapes.Difference: "difference"}
MOTIONS: dict[type, str] = {
    motions.Translation: "translation",
    motions.Oscillation: "oscillation",
    motions.Rotation: "rotation",
    motions.Keyframes: "keyframes",
    motions.Together: "together",
}
MOST_IN_LINE = 100  # characters of a value before its entries get lines of their own


def to_toml(scene: Scene) -> str:
    """A scene file that holds everything, defaults too."""
    tables = tables_of(scene)
    blocks = []
    for key in ("scene", "gravity"):
        blocks.append(_block(f"[{key}]", tables[key], key))
    if "smoke" in tables:
        blocks.append(_block("[smoke]", tables["smoke"], "smoke"))
    for key in ("liquid", "source", "solid", "inflow", "outflow", "body"):
        for entry in tables.get(key, []):
            plain = {name: value for name, value in entry.items() if not isinstance(value, dict)}
            text = _block(f"[[{key}]]", plain)
            for name in ("shape", "motion"):
                if name in entry:
                    text += "\n" + _block(f"[{key}.{name}]", entry[name])
            blocks.append(text)
    for key in ("bodies", "sides", "numerics"):
        if key not in tables:
            continue
        blocks.append(_block(f"[{key}]", tables[key], key))
    return "\n".join(blocks)


def tables_of(scene: Scene) -> Table:
    """The scene as the tables that a scene file holds."""
    grid = scene.grid
    if any(grid.origin):
        raise SceneError(f"the scene's grid begins at {grid.origin}; only domains that begin at the origin can be written to a scene file")
    tables: Table = {
        "scene": {
            "name": scene.name,
            "about": scene.about,
            "dimension": grid.dimension,
            "size": size_of(grid),
            "resolution": max(grid.shape),
            "frames": scene.frames,
            "frame_time": scene.frame_time,
            "density": scene.density,
        },
        "gravity": _gravity(scene.gravity),
    }
    tables["liquid"] = [
        {"velocity": list(body.velocity), "spin": list(body.spin), "shape": shape_table(body.shape)} for body in scene.liquid
    ]
    tables["solid"] = []
    for solid in scene.solids:
        hollow = isinstance(solid.shape, shapes.Complement)
        shape = solid.shape.shape if isinstance(solid.shape, shapes.Complement) else solid.shape
        entry: Table = {"name": solid.name, "walls": solid.walls, "hollow": hollow, "shape": shape_table(shape)}
        if solid.motion.moves:
            entry["motion"] = motion_table(solid.motion)
        tables["solid"].append(entry)
    tables["inflow"] = [
        {"name": i.name, "velocity": list(i.velocity), "start": i.start, "end": i.end, "shape": shape_table(i.shape)} for i in scene.inflows
    ]
    tables["outflow"] = [{"name": o.name, "start": o.start, "end": o.end, "shape": shape_table(o.shape)} for o in scene.outflows]
    plain = set(scene.sides[2 * grid.dimension :]) <= {"separating"}
    written = SIDES[: 2 * grid.dimension] if plain else SIDES
    tables["sides"] = {name: kind for name, kind, _ in zip(SIDE_NAMES, scene.sides, written, strict=False)}
    if scene.bodies:
        tables["body"] = [body_table(body, shape_table) for body in scene.bodies]
    if scene.mjcf is not None:
        tables["bodies"] = bodies_table(scene.mjcf)
    tables["numerics"] = dataclasses.asdict(scene.numerics)
    if scene.smoke is not None:
        tables |= _smoke(scene.smoke)
    return tables


def _smoke(smoke: Smoke) -> Table:
    """[smoke] and [[source]]."""
    sources = []
    for source in smoke.sources:
        entry: Table = {"name": source.name, "density": source.density}
        if source.temperature is not None:
            entry["temperature"] = source.temperature
        entry |= {"velocity": list(source.velocity), "start": source.start, "end": source.end, "shape": shape_table(source.shape)}
        sources.append(entry)
    plain = {field.name: getattr(smoke, field.name) for field in dataclasses.fields(smoke) if field.name != "sources"}
    return {"smoke": plain, "source": sources}


def size_of(grid: Grid) -> list[float]:
    """Side lengths that give this very grid back, short ones where there are such."""
    n, h = max(grid.shape), grid.spacing
    out = [_short(cells * h) for cells in grid.shape]
    longest = grid.shape.index(n)
    near = n * h
    candidates = (out[longest], near, math.nextafter(near, math.inf), math.nextafter(near, 0.0))
    out[longest] = next((s for s in candidates if s / n == h), out[longest])
    return [min(side, out[longest]) for side in out]


def shape_table(shape: Shape) -> Table:
    kind = type(shape)
    if kind in PAIRS:
        return {"type": PAIRS[kind], "parts": [shape_table(part) for part in _parts(shape)]}
    if kind not in SHAPES:
        raise SceneError(
            f"a shape of the class {kind.__name__} cannot be written to a scene file; use {', '.join([*SHAPES.values(), *PAIRS.values()])}"
        )
    table: Table = {"type": SHAPES[kind]}
    for entry in dataclasses.fields(shape):  # type: ignore[arg-type]
        if entry.init and entry.compare:
            value = getattr(shape, entry.name)
            key = "scale" if kind is MeshShape and entry.name == "factor" else entry.name
            table[key] = shape_table(value) if isinstance(value, Shape) else _plain(value)
    return table


def motion_table(motion: Motion) -> Table:
    kind = type(motion)
    if kind not in MOTIONS:
        raise SceneError(f"a motion of the class {kind.__name__} cannot be written to a scene file; use {', '.join(MOTIONS.values())}")
    table: Table = {"type": MOTIONS[kind]}
    if isinstance(motion, motions.Together):
        return table | {"motions": [motion_table(part) for part in motion.motions]}
    for entry in dataclasses.fields(motion):  # type: ignore[arg-type]
        table[entry.name] = _plain(getattr(motion, entry.name))
    return table


def _parts(shape: Any) -> list[Shape]:
    """(a op b) op c as a, b, c."""
    first = _parts(shape.first) if type(shape.first) is type(shape) else [shape.first]
    return [*first, shape.second]


def _gravity(gravity: Gravity) -> Table:
    if gravity.times == (0.0,):
        return {"value": list(gravity.values[0])}
    return {"times": list(gravity.times), "values": [list(value) for value in gravity.values]}


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _short(value: float) -> float:
    return float(f"{value:.12g}")


def _block(head: str, table: Table, words: str = "") -> str:
    lines = [head]
    for key, value in table.items():
        line = f"{key} = {literal(value)}"
        word = WORDS.get(f"{words}.{key}") if words else None
        lines.append(f"{line}  # {word}" if word else line)
    return "\n".join(lines) + "\n"


def literal(value: Any, depth: int = 0) -> str:
    """A TOML value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {literal(v, depth)}" for key, v in value.items()) + " }"
    line = "[" + ", ".join(literal(v, depth) for v in value) + "]"
    if len(line) <= MOST_IN_LINE or not any(isinstance(v, (dict, list, tuple)) for v in value):
        return line
    pad = "    " * (depth + 1)
    return "[\n" + "".join(f"{pad}{literal(v, depth + 1)},\n" for v in value) + "    " * depth + "]"


def _quoted(text: str) -> str:
    if "\n" in text and "'''" not in text and all(c == "\n" or 32 <= ord(c) != 127 for c in text):
        return f"'''\n{text}'''"
    out = []
    for c in text:
        if c in '"\\':
            out.append("\\" + c)
        elif ord(c) < 32 or ord(c) == 127:
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'
