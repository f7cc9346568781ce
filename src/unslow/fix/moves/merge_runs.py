"""The move that makes one call of two: `a = sess.run(x, f)` and `b = sess.run(y, f)` fetch both at once."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import extent, indent, removal
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_arguments import call
from unslow.syntax.uses import changed, overlap, paths_read, uses


@dataclass(frozen=True)
class _Side:
    """One of the two calls: its statement, what it fetches, and what takes the result (as written)."""

    statement: ast.stmt
    call: ast.Call
    fetches: str
    target: str | None  # None: nothing does
    nested: bool  # the call stands inside a larger expression; the target is a name for its value


def merge_calls(script: Script, first_line: int, second_line: int, function: str = "run") -> Script:
    """One call at the first place fetches for both; refuses where that could change what either sees."""
    if script.call_at(second_line, function) is None and script.origin.call_at(
        second_line, function
    ):
        return script  # merged before
    first, second = call(script, first_line, function), call(script, second_line, function)
    if first is second:
        return script
    one, two = script.statement_of(first), script.statement_of(second)
    block, index = script.block(one)
    if two not in block or block.index(two) <= index:
        raise script.refuse("the two calls are not in the same block", two)
    _same_otherwise(script, first, second)
    _independent(script, one, first, two, second, block[index + 1 : block.index(two)])
    if not isinstance(two, ast.Expr | ast.Assign | ast.AugAssign | ast.Return):
        raise script.refuse("the second call is not in a plain statement", two)
    left = _side(script, one, first, "value")
    right = _side(script, two, second, "other_value" if left.nested else "value")
    fetches, targets = _joined(script, left, right)
    return script.edit(_splices(script, left, right, fetches, targets))


def _same_otherwise(script: Script, first: ast.Call, second: ast.Call) -> None:
    """Both must call the same thing with the same arguments but the first, and these must give the same value."""
    for made in (first, second):
        if (
            not made.args
            or isinstance(made.args[0], ast.Starred)
            or any(k.arg is None for k in made.keywords)
        ):
            raise script.refuse("what the call fetches cannot be told", made)
    if ast.dump(first.func) != ast.dump(second.func):
        raise script.refuse("the two calls are not made on the same object", second)
    if _others(first) != _others(second):
        raise script.refuse("the two calls are given different feeds", second)
    for node in (*first.args[1:], *first.keywords):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
                raise script.refuse("the feed is computed anew for each call", inner)


def _others(node: ast.Call) -> dict[str, str]:
    """The arguments besides the first by name; `Session.run` may be given them by position too."""
    names = ("feed_dict", "options", "run_metadata")
    found = {
        (names[place] if place < len(names) else str(place)): ast.dump(value)
        for place, value in enumerate(node.args[1:])
    }
    found |= {str(keyword.arg): ast.dump(keyword.value) for keyword in node.keywords}
    return found


def _independent(
    script: Script,
    one: ast.stmt,
    first: ast.Call,
    two: ast.stmt,
    second: ast.Call,
    between: Sequence[ast.stmt],
) -> None:
    """Nothing from the first call to the second may touch what the second one uses or binds."""
    needed = paths_read([second])
    bound = uses([two]).writes if isinstance(two, ast.Assign) else set()
    targets = paths_read(two.targets) if isinstance(two, ast.Assign) else set()
    for node in (one, *between):
        touched = uses([node]).writes | uses([node]).remote | changed([node])
        for path in sorted(touched):
            if any(overlap(path, other) for other in needed):
                raise script.refuse(
                    f"the second call depends on `{path}`, which is set before it", node
                )
        if node is one and (isinstance(one, ast.Assign | ast.Expr) and one.value is first):
            continue
        reads = paths_read([node])
        for name in sorted(bound | targets):
            if any(overlap(name, other) for other in reads | touched):
                raise script.refuse(f"`{name}` is used between the two calls", node)
        for inner in ast.walk(node):
            if (
                isinstance(inner, ast.Call)
                and inner is not first
                and ast.dump(inner.func) == ast.dump(first.func)
            ):
                raise script.refuse("the same object is called between the two calls", inner)
            if isinstance(inner, ast.Return | ast.Break | ast.Continue | ast.Yield | ast.Await):
                raise script.refuse(
                    "the code between the two calls may leave before the second", inner
                )


def _side(script: Script, node: ast.stmt, made: ast.Call, name: str) -> _Side:
    fetches = script.source(made.args[0])
    if isinstance(node, ast.Expr) and node.value is made:
        return _Side(node, made, fetches, None, False)
    if isinstance(node, ast.Assign) and node.value is made:
        if len(node.targets) > 1:
            raise script.refuse("the result goes to several targets", node)
        return _Side(node, made, fetches, script.source(node.targets[0]), False)
    for parent in script.ancestors(made):
        if parent is node:
            break
        if isinstance(
            parent,
            ast.Lambda | ast.IfExp | ast.BoolOp | ast.comprehension | ast.ListComp | ast.DictComp,
        ):
            raise script.refuse("the call is not made every time", made)
        if isinstance(
            parent, ast.SetComp | ast.GeneratorExp | ast.NamedExpr | ast.Compare | ast.Await
        ):
            raise script.refuse(
                "the call stands inside an expression that cannot be taken apart", made
            )
    if not isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return):
        raise script.refuse("the call is not in a plain statement", node)
    wanted = script.fresh(name)
    return _Side(node, made, fetches, wanted, True)


def _joined(script: Script, left: _Side, right: _Side) -> tuple[str, str | None]:
    """The fetches and the targets of the one call."""
    fetches: list[str] = []
    targets: list[str] = []
    for side in (left, right):
        made = side.call.args[0]
        node = (
            side.statement.targets[0]
            if isinstance(side.statement, ast.Assign) and not side.nested
            else None
        )
        items = _items(made)
        if items is not None and (side.target is None or _unpacks(node, len(items))):
            fetches += (script.source(item) for item in items)
            names = _items(node) if node is not None else None
            targets += (
                (script.source(name) for name in names) if names else [_unused(script)] * len(items)
            )
        else:
            fetches.append(side.fetches)
            plain = side.target or _unused(script)
            targets.append(
                f"({plain})" if isinstance(node, ast.Tuple) and not plain.startswith("(") else plain
            )
    if left.target is None and right.target is None:
        return f"[{', '.join(fetches)}]", None
    return f"[{', '.join(fetches)}]", ", ".join(targets)


def _items(node: ast.AST | None) -> list[ast.expr] | None:
    """The elements of a list or tuple that is written out."""
    if not isinstance(node, ast.List | ast.Tuple) or any(
        isinstance(item, ast.Starred) for item in node.elts
    ):
        return None
    return node.elts


def _unpacks(target: ast.AST | None, count: int) -> bool:
    items = _items(target)
    return items is not None and len(items) == count


def _unused(script: Script) -> str:
    read = any(
        isinstance(n, ast.Name) and n.id == "_" and isinstance(n.ctx, ast.Load)
        for n in script.nodes
    )
    return script.fresh("unused") if read else "_"


def _splices(
    script: Script, left: _Side, right: _Side, fetches: str, targets: str | None
) -> list[Splice]:
    function = script.source(left.call.func)
    rest = "".join(
        f", {script.source(node)}" for node in (*left.call.args[1:], *left.call.keywords)
    )
    merged = f"{function}({fetches}{rest})"
    row = f"{targets} = {merged}" if targets else merged
    start, _ = script.span(left.statement)
    if left.nested:
        line_start, _ = extent(script, [left.statement])
        at = Splice(
            line_start, line_start, f"{indent(script, left.statement)}{row}{script.lines.newline}"
        )
        splices = [at, replaced(script, left.call, left.target or "")]
    else:
        extent(script, [left.statement])
        splices = [Splice(start, script.span(left.statement)[1], row)]
    if right.nested:
        return [*splices, replaced(script, right.call, right.target or "")]
    return [*splices, removal(script, [right.statement])]
