"""What pydantic found wrong, as lines that say where, what was given and what is allowed."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from unstick.scenes.errors import nearest, shown
from unstick.scenes.schema import TOP_TABLES, SceneConfig
from unstick.scenes.schema_bodies import BODY_TABLES
from unstick.scenes.schema_motions import MOTION_TABLES
from unstick.scenes.schema_shapes import SHAPE_TABLES

TAGGED: dict[str, Any] = {**SHAPE_TABLES, **MOTION_TABLES, **BODY_TABLES}
BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
KINDS = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "a string",
    "list_type": "a list",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dict_type": "a table",
    "finite_number": "a finite number",
}


def lines_of(error: ValidationError, tables: Any) -> list[str]:
    """One line for each error, each once, in the order of the file's tables."""
    out = []
    for found in error.errors(include_url=False):
        line = _line(found, tables)
        if line not in out:
            out.append(line)
    return out


def _line(found: Any, tables: Any) -> str:
    path, table = place(found["loc"], tables)
    where = ".".join(map(str, path)) or "the file"
    kind, given, more = found["type"], shown(found["input"]), found.get("ctx", {})
    if kind == "extra_forbidden":
        known = keys_of(path[:-1], table)
        return f"{where}: unknown key{nearest(path[-1], known)}; known here: {', '.join(known)}"
    if kind == "missing":
        return f"{where}: missing"
    if kind == "union_tag_invalid":
        allowed = [tag.strip(" '") for tag in str(more["expected_tags"]).split(",")]
        return f"{where}.type: {shown(found['input']['type'])} given{nearest(more['tag'], allowed)}; allowed: {', '.join(allowed)}"
    if kind == "union_tag_not_found":
        return f'{where}: {given} given; allowed: a table with a type, as in {{ type = "sphere", ... }}'
    if kind == "literal_error":
        allowed = [part.strip(" '") for part in str(more["expected"]).replace(" or ", ", ").split(",")]
        return f"{where}: {given} given{nearest(found['input'], allowed)}; allowed: {', '.join(part or repr('') for part in allowed)}"
    if kind in BOUNDS:
        key, word = BOUNDS[kind]
        return f"{where}: {given} given; allowed: {word} {more[key]:g}"
    if kind in ("too_short", "too_long"):
        bound = f"at least {more['min_length']}" if kind == "too_short" else f"at most {more['max_length']}"
        return f"{where}: {more['actual_length'] or 'no'} entries given; allowed: {bound}"
    if kind == "value_error":
        return f"{where}: {more['error']}"
    if kind in KINDS:
        return f"{where}: {given} given; allowed: {KINDS[kind]}"
    return f"{where}: {given} given; {found['msg'][:1].lower()}{found['msg'][1:]}"


def place(loc: tuple[int | str, ...], tables: Any) -> tuple[list[int | str], Any]:
    """The path in the file, without the names of types that pydantic puts between; and the innermost table before its last step."""
    path: list[int | str] = []
    here, before, tag = tables, tables, None
    for step in loc:
        if isinstance(here, dict) and step == here.get("type") and tag is not here and step in TAGGED:
            tag = here
            continue
        if isinstance(step, str) and not isinstance(here, dict):
            continue  # the name of a member of a union
        if isinstance(here, dict) and isinstance(step, str) and step not in here and "[" in step:
            continue
        path.append(step)
        before = here
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            here = None
    return path, before


def keys_of(path: list[int | str], table: Any) -> list[str]:
    """The keys that the table at the path may have."""
    tag = table.get("type") if isinstance(table, dict) else None
    if isinstance(tag, str) and tag in TAGGED and len(path) > 1:
        return list(TAGGED[tag].model_fields)
    top = TOP_TABLES.get(str(path[0])) if path else SceneConfig
    if top is SceneConfig:
        return ["extends", "options", *top.model_fields]
    return list(top.model_fields) if top is not None else []
