"""The check behind every edit: what lies outside of the spliced spans must still mean the same."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from unslow.fix.edit.fstrings import placed
from unslow.fix.edit.lines import Lines

Span = tuple[int, int]
# A tree, its text, and the spans of the text that an edit took out or put in.
Marked = tuple[ast.Module, Lines, Sequence[Span]]


def parsed(lines: Lines, path: str) -> ast.Module:
    """The tree of a text that compiles; raises SyntaxError or ValueError (null bytes)."""
    with warnings.catch_warnings():
        # The user's own invalid escapes and the like are not ours to report.
        warnings.simplefilter("ignore")
        tree = ast.parse(lines.text, path)
        compile(tree, path, "exec", dont_inherit=True)
    return placed(tree, lines)


def span_of(lines: Lines, node: ast.AST) -> Span | None:
    """The characters of a node without its decorators; None if it has no place of its own."""
    line, end_line = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if line is None or end_line is None:
        return None
    return lines.offset(line, node.col_offset), lines.offset(end_line, node.end_col_offset)  # type: ignore[attr-defined]


def same_outside(before: Marked, after: Marked) -> bool:
    """Whether two trees agree in all that lies outside of the spans."""
    return list(_meaning(*before)) == list(_meaning(*after))


def _meaning(node: ast.AST, lines: Lines, spans: Sequence[Span]) -> Iterator[object]:
    """What a tree says, the nodes inside the spans left out."""
    span = span_of(lines, node)
    if span and _is_covered(span, spans):
        return
    if span and _is_simple(node) and not _is_touched(span, spans):
        # Its text is the same by construction: that it is one statement here is all there is to
        # say.
        yield lines.text[span[0] : span[1]]
        return
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name != "type_comment":
            yield from _field_meaning(name, value, lines, spans)


def _field_meaning(
    name: str, value: object, lines: Lines, spans: Sequence[Span]
) -> Iterator[object]:
    if isinstance(value, ast.AST):
        yield from _meaning(value, lines, spans)
    elif isinstance(value, list):
        yield name
        for item in value:
            yield from _field_meaning(name, item, lines, spans)
        yield "end"
    else:
        yield (name, type(value).__name__, value)


def _is_simple(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Match)
        and "body" not in node._fields
    )


def _is_covered(span: Span, spans: Sequence[Span]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _is_touched(span: Span, spans: Sequence[Span]) -> bool:
    return any(start <= span[1] and span[0] <= end for start, end in spans)
