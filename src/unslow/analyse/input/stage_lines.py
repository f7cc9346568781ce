"""The lines at which a pipeline's stages were asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from unslow.analyse.input.overlay import base
from unslow.analyse.places import shown
from unslow.facts.data import BuiltStage
from unslow.model import Location, Run

_FILES = 16  # whose calls are kept; a pipeline is built in one or two


def stage_location(run: Run, stage: BuiltStage) -> Location | None:
    """Where a stage was asked for, at the line of its own call in a chain of them.

    Python 3.10 says that a call with keywords is where its whole expression begins, which is the
    line of another stage. Python since 3.11 says where the name of the method is.
    """
    found = shown(run, stage.stack)
    if found is None:
        return None
    method = re.sub(r"(?<!^)(?=[A-Z])", "_", base(stage.kind)).lower()
    calls = _calls(run.sources.get(found.file, ""), method)
    if any(named == found.line for _, named in calls):
        return found
    lines = {named for began, named in calls if began == found.line}
    if len(lines) != 1:
        return found
    (line,) = lines
    return replace(found, line=line, code=run.line(found.file, line))


@lru_cache(_FILES)
def _calls(text: str, method: str) -> tuple[tuple[int, int], ...]:
    """Of every call of a method: the line where its expression begins, and that of its name."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # a source as it was recorded may be anything
        return ()
    return tuple(_calls_in(tree, method))


def _calls_in(tree: ast.AST, method: str) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name, end_lineno=int(named))) if name == method:
                yield node.lineno, named
