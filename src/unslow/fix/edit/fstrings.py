"""Corrects the places of expressions in f-strings, which `ast` before Python 3.12 gets wrong."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from unslow.fix.edit.lines import Lines

if TYPE_CHECKING:
    import libcst as cst

TRUE_PLACES = sys.version_info >= (3, 12)


def placed(tree: ast.Module, lines: Lines) -> ast.Module:
    """The tree, changed in place; an f-string that LibCST cannot read keeps the places it has."""
    if not TRUE_PLACES:
        _visit(tree, lines)
    return tree


def _visit(node: ast.AST, lines: Lines) -> None:
    if isinstance(node, ast.JoinedStr):
        _place(node, lines)
    for child in ast.iter_child_nodes(node):
        if not isinstance(node, ast.FormattedValue) or child is node.value:
            _visit(child, lines)


def _formatted(node: ast.JoinedStr) -> list[ast.FormattedValue]:
    """The replacement fields in written order, those of format specs included."""
    found: list[ast.FormattedValue] = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            found.append(value)
            if isinstance(value.format_spec, ast.JoinedStr):
                found += _formatted(value.format_spec)
    return found


def _place(node: ast.JoinedStr, lines: Lines) -> None:
    assert node.end_lineno is not None and node.end_col_offset is not None
    start = lines.offset(node.lineno, node.col_offset)
    segment = lines.text[start : lines.offset(node.end_lineno, node.end_col_offset)]
    spans = _expression_spans(segment)
    fields = _formatted(node)
    if len(spans) != len(fields):
        return
    for field, (low, high) in zip(fields, spans, strict=True):
        value = _expression(segment[low:high], start + low, lines)
        if value is not None and ast.dump(value) == ast.dump(field.value):
            field.value = value


@lru_cache(maxsize=4096)  # every edit reads the whole script again
def _expression_spans(segment: str) -> tuple[tuple[int, int], ...]:
    """Where the expressions of one f-string, or several adjacent ones, are in the text."""
    import libcst as cst

    try:
        # The parentheses let a string over several lines stand alone.
        module = cst.parse_module(f"({segment})")
    except cst.ParserSyntaxError:
        return ()
    line: Any = module.body[0]
    return tuple(_fields(module, line.body[0].value, -1))


def _fields(module: cst.Module, node: cst.CSTNode, start: int) -> Iterator[tuple[int, int]]:
    """The spans of the expressions below a string that is written from `start` on."""
    import libcst as cst

    if isinstance(node, cst.ConcatenatedString):
        start += sum(len(module.code_for_node(mark)) for mark in node.lpar)
        yield from _fields(module, node.left, start)
        start += len(module.code_for_node(node.left)) + len(
            module.code_for_node(node.whitespace_between)
        )
        yield from _fields(module, node.right, start)
    elif isinstance(node, cst.FormattedString):
        start += sum(len(module.code_for_node(mark)) for mark in node.lpar) + len(node.start)
        yield from _parts(module, node.parts, start)


def _parts(
    module: cst.Module, parts: Sequence[cst.CSTNode], start: int
) -> Iterator[tuple[int, int]]:
    import libcst as cst

    for part in parts:
        end = start + len(module.code_for_node(part))
        if isinstance(part, cst.FormattedStringExpression):
            low = start + 1 + len(module.code_for_node(part.whitespace_before_expression))
            yield low, low + len(module.code_for_node(part.expression))
            spec = part.format_spec or ()
            yield from _parts(
                module, spec, end - 1 - sum(len(module.code_for_node(item)) for item in spec)
            )
        start = end


def _expression(code: str, start: int, lines: Lines) -> ast.expr | None:
    try:
        value = ast.parse(f"({code})", mode="eval").body
    except SyntaxError:
        return None
    line = lines.at(start)
    column = len(lines.text[lines.start(line) : start].encode("utf-8", "surrogatepass"))
    for node in ast.walk(value):
        if isinstance(node, ast.expr | ast.keyword | ast.arg):
            assert node.end_lineno is not None and node.end_col_offset is not None
            node.col_offset += column - 1 if node.lineno == 1 else 0
            node.end_col_offset += column - 1 if node.end_lineno == 1 else 0
            node.lineno += line - 1
            node.end_lineno += line - 1
    return value
