"""Gives the expressions inside f-strings their true places, which `ast` before Python 3.12 gets wrong."""

from __future__ import annotations

import ast
import sys

from unslow.fix.lines import Lines

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
    """The replacement fields in the order in which they are written, those of format specs included."""
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


def _expression_spans(segment: str) -> list[tuple[int, int]]:
    """Where the expressions of an f-string (or of several, written next to each other) stand in its text."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        wrapper = MetadataWrapper(cst.parse_module(f"({segment})"), unsafe_skip_copy=True)
    except cst.ParserSyntaxError:
        return []
    positions = wrapper.resolve(PositionProvider)
    text = Lines(f"({segment})")
    spans: list[tuple[int, int]] = []

    class Fields(cst.CSTVisitor):
        def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> bool:
            place = positions[node.expression]
            spans.append(
                (
                    text.start(place.start.line) + place.start.column - 1,
                    text.start(place.end.line) + place.end.column - 1,
                )
            )
            for part in node.format_spec or ():
                part.visit(self)
            return False  # an f-string inside the expression has its own turn

    wrapper.module.visit(Fields())
    return spans


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
