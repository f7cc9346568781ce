"""The JSON that other tools rely on: what the schemas beside this file promise, and no more."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from unslow.report.words import Row


def dumps(view: Row) -> str:
    return written(promised(view, schema(), schema()["$defs"]))


def written(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def schema(name: str = "") -> Row:
    """The JSON Schema (draft 2020-12) of the report, or of a command's `--format json`."""
    file = f"schema-{name}.json" if name else "schema.json"
    text = files("unslow.report").joinpath(file).read_text(encoding="utf-8")
    loaded: Row = json.loads(text)
    return loaded


def promised(data: Any, part: Row, definitions: Row) -> Any:
    """The part of some data that a schema has a place for."""
    if data is None:
        return None
    if "anyOf" in part:  # something or null
        part = part["anyOf"][0]
    if "$ref" in part:
        part = definitions[part["$ref"].rpartition("/")[2]]
    if "properties" in part:
        keys = part["properties"].items()
        return {key: promised(data[key], inner, definitions) for key, inner in keys}
    if "items" in part:
        return [promised(each, part["items"], definitions) for each in data]
    return data
