"""Whole lines of a script: which ones statements own, and how code is laid out among them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.syntax.nodes import first_line


def statement(script: Script, line: int) -> ast.stmt:
    """The statement at a line; raises CannotEdit where there is none."""
    found = script.statement_at(line)
    if found is None:
        raise CannotEdit(f"there is no statement on line {line}", line)
    return found


def siblings(script: Script, first: int, last: int) -> list[ast.stmt]:
    """The statements from one line to another, which must stand in one block."""
    start, stop = statement(script, first), statement(script, last)
    block, low = script.block(start)
    for owner in (stop, *script.ancestors(stop)):
        if isinstance(owner, ast.stmt) and owner in block:
            high = block.index(owner)
            if high >= low:
                return block[low : high + 1]
    raise script.refuse(f"lines {first} and {last} are not in the same block", stop)


def extent(script: Script, part: Sequence[ast.stmt]) -> tuple[int, int]:
    """The whole lines of neighbouring statements, with comments; raises if others share them."""
    lines = script.lines
    first, last = first_line(part[0]), part[-1].end_lineno or part[-1].lineno
    start, end = lines.start(first), lines.stop(last)
    decorators = getattr(part[0], "decorator_list", [])
    own_start = (
        script.span(part[0])[0]
        if not decorators
        else lines.text.rindex("@", 0, script.span(decorators[0])[0])
    )
    before = lines.text[start:own_start]
    after = lines.text[script.span(part[-1])[1] : end].strip()
    joined = first > 1 and lines.content(first - 1).endswith("\\")
    if before.strip() or joined or (after and not after.startswith("#")):
        raise script.refuse("several statements share this line", part[0])
    return start, end


def indent(script: Script, node: ast.stmt) -> str:
    return script.lines.indent(first_line(node))


def unit(script: Script, node: ast.AST | None = None) -> str:
    """One level of indentation as it is used around a node, or anywhere in the script."""
    around = [node, *script.ancestors(node)] if node is not None else []
    for owner in (*around, *script.nodes):
        body = getattr(owner, "body", None)
        if isinstance(owner, ast.stmt) and body and body[0].lineno > owner.lineno:
            outer, inner = indent(script, owner), indent(script, body[0])
            if inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
    return "    "


def above(script: Script, node: ast.stmt) -> int:
    """Where to put code in front of a statement: above the comments that stand directly over it."""
    line = first_line(node)
    own = script.lines.indent(line)
    while line > 1:
        content = script.lines.content(line - 1)
        if (
            not content.strip().startswith("#")
            or script.lines.indent(line - 1) != own
            or _in_string(script, line - 1)
        ):
            break
        if line - 1 <= 2 and (content.startswith("#!") or "coding" in content):
            break
        line -= 1
    return script.lines.start(line)


def put_above(script: Script, node: ast.stmt, *rows: str, blank_lines: int = 0) -> Splice:
    """Puts lines in front of a statement, as deep as that stands, and blank lines behind them."""
    margin, newline = indent(script, node), script.lines.newline
    text = "".join(f"{margin}{row}{newline}" for row in rows)
    place = above(script, node)
    return Splice(place, place, text + newline * blank_lines)


def _in_string(script: Script, line: int) -> bool:
    start = script.lines.start(line)
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr)
        and node.lineno < line <= (node.end_lineno or 0)
        and script.span(node)[0] < start < script.span(node)[1]
        for node in script.nodes
    )


def laid_out(script: Script, code: str, margin: str, step: str) -> str:
    """Our own code (four spaces a level, no multi-line strings) in the script's style."""
    rows = []
    for row in code.splitlines():
        depth = (len(row) - len(row.lstrip(" "))) // 4
        rows.append(f"{margin}{step * depth}{row.lstrip(' ')}" if row.strip() else "")
    return "".join(f"{row}{script.lines.newline}" for row in rows)


def at_end(script: Script, position: int, text: str) -> Splice:
    """An insertion of whole lines, also after a last line that has no line ending."""
    newline = script.lines.newline
    code = script.lines.text
    if position == len(code) and code and not code.endswith(("\n", "\r")):
        text = newline + text.removesuffix(newline)
    return Splice(position, position, text)


def in_place(script: Script, part: Sequence[ast.stmt], text: str) -> Splice:
    """Whole lines in the place of statements, also where the last one has no line ending."""
    start, end = extent(script, part)
    if not script.lines.text[start:end].endswith(("\n", "\r")):
        text = text.removesuffix(script.lines.newline)
    return Splice(start, end, text)


def removal(script: Script, part: Sequence[ast.stmt]) -> Splice:
    """Takes statements out of their block, leaving `pass` where nothing else would stand there."""
    block, _ = script.block(part[0])
    if len(part) < len(block) or isinstance(script.parents[part[0]], ast.Module):
        return Splice(*extent(script, part), "")
    return in_place(script, part, f"{indent(script, part[0])}pass{script.lines.newline}")


def reindented(script: Script, part: Sequence[ast.stmt], margin: str) -> str:
    """The lines of statements at another depth, with what stands inside their strings as it was."""
    import libcst as cst

    start, end = extent(script, part)
    text = script.lines.text[start:end]
    newline = script.lines.newline
    if not text.endswith(("\n", "\r")):
        text += newline
    old = indent(script, part[0])
    if margin == old:
        return text
    head = f"if 1:{newline}"
    try:
        module = cst.parse_module(head + text if old else text)
        body = module.body[0].body.body if old else module.body  # type: ignore[union-attr]
        if margin:
            holder = cst.If(cst.Integer("1"), cst.IndentedBlock(list(body), indent=margin))  # type: ignore[arg-type]
            result = module.with_changes(body=[holder], header=module.header).code
            result = result.partition(newline)[2]
        else:
            result = module.with_changes(body=list(body)).code
    except (cst.ParserSyntaxError, cst.CSTValidationError) as problem:
        raise script.refuse("its lines cannot be indented anew", part[0]) from problem
    if not _same(
        head + text if old else text, head + result if margin else result, bool(old), bool(margin)
    ):
        raise script.refuse("its lines cannot be indented anew", part[0])
    return result


def _same(before: str, after: str, nested_before: bool, nested_after: bool) -> bool:
    """Whether two layouts of a block say the same."""

    def dumped(code: str, nested: bool) -> list[str]:
        body = _loose(code)
        inner = body[0].body if nested and isinstance(body[0], ast.If) else body
        return [ast.dump(node) for node in inner]

    return dumped(before, nested_before) == dumped(after, nested_after)


def _loose(code: str) -> list[ast.stmt]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code).body
