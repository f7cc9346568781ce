"""Merge `a = sess.run(x, f)` and `b = sess.run(y, f)` into one run."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import extent, indent, removal
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_arguments import call
from unslow.fix.moves.shapes import reads
from unslow.syntax.nodes import has_starred, inside
from unslow.syntax.uses import changed, overlapping, paths_read, uses

_POSITIONS = ("feed_dict", "options", "run_metadata")  # of `Session.run`, behind the fetches
_PLAIN_STATEMENTS = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)
_SOMETIMES = (
    *(ast.Lambda, ast.IfExp, ast.BoolOp, ast.comprehension, ast.ListComp, ast.DictComp),
    *(ast.SetComp, ast.GeneratorExp, ast.NamedExpr, ast.Compare, ast.Await),
)
_COMPUTING = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.Await)


@dataclass(frozen=True)
class _Side:
    """One of the two calls, and what takes its result (as written); None: nothing does."""

    statement: ast.stmt
    call: ast.Call
    target: str | None
    nested: bool  # the call stands inside a larger expression; the target is a name for its value

    @property
    def target_node(self) -> ast.expr | None:
        match self:
            case _Side(statement=ast.Assign(targets=[target, *_]), nested=False):
                return target
        return None


def merge_calls(script: Script, first_line: int, second_line: int) -> Script:
    """Fetch for both at the first place; refuses where that could change what either sees."""
    gone = script.call_at(second_line, "run") is None
    if gone and script.origin.call_at(second_line, "run"):
        return script  # merged before
    first, second = call(script, first_line, "run"), call(script, second_line, "run")
    if first is second:
        return script
    one, two = script.statement_of(first), script.statement_of(second)
    block, index = script.block(one)
    if two not in block or block.index(two) <= index:
        raise script.refuse("the two calls are not in the same block", two)
    _require_same_arguments(script, first, second)
    left = _side(script, one, first, "value")
    right = _side(script, two, second, "other_value" if left.nested else "value")
    between = block[index + 1 : block.index(two)]
    _require_independent(script, left, right, between)
    fetches, targets = _joined(script, left, right)
    return script.edit(_splices(script, left, right, fetches, targets))


def _require_same_arguments(script: Script, first: ast.Call, second: ast.Call) -> None:
    """Both must call the same object with equal arguments but the first."""
    for made in (first, second):
        unpacked = any(keyword.arg is None for keyword in made.keywords)
        if not made.args or isinstance(made.args[0], ast.Starred) or unpacked:
            raise script.refuse("what the call fetches cannot be told", made)
    if ast.dump(first.func) != ast.dump(second.func):
        raise script.refuse("the two calls are not made on the same object", second)
    if _others(first) != _others(second):
        raise script.refuse("the two calls are given different feeds", second)
    for inner in inside((*first.args[1:], *first.keywords), ast.expr):
        computes = isinstance(inner, _COMPUTING)
        script.refuse_if(computes, "the feed is computed anew for each call", inner)


def _others(node: ast.Call) -> dict[str | None, str]:
    """The arguments besides the first by name; `Session.run` may be given them by position too."""
    by_position = zip(_POSITIONS, node.args[1:], strict=False)
    found: dict[str | None, str] = {name: ast.dump(value) for name, value in by_position}
    return found | {keyword.arg: ast.dump(keyword.value) for keyword in node.keywords}


def _require_independent(
    script: Script, left: _Side, right: _Side, between: Sequence[ast.stmt]
) -> None:
    """Nothing from the first call to the second may touch what the second one uses or binds."""
    needed = paths_read([right.call])
    bound: set[str] = set()
    if isinstance(right.statement, ast.Assign):
        bound = uses([right.statement]).writes | paths_read(right.statement.targets)
    for node in (left.statement, *between):
        touched = uses([node]).changes | changed([node])
        path = overlapping(touched, needed)
        reason = f"the second call depends on `{path}`, which is set before it"
        script.refuse_if(path is not None, reason, node)
        if node is left.statement and not left.nested:
            continue
        name = overlapping(bound, paths_read([node]) | touched)
        script.refuse_if(name is not None, f"`{name}` is used between the two calls", node)
        _require_quiet(script, node, left.call)


def _require_quiet(script: Script, node: ast.stmt, first: ast.Call) -> None:
    """Raises where a statement between two calls calls the same object or may leave."""
    for inner in ast.walk(node):
        called = ast.dump(inner.func) if isinstance(inner, ast.Call) else ""
        again = called == ast.dump(first.func) and inner is not first
        script.refuse_if(again, "the same object is called between the two calls", inner)
        leaves = isinstance(inner, _LEAVING)
        script.refuse_if(
            leaves, "the code between the two calls may leave before the second", inner
        )


def _side(script: Script, node: ast.stmt, made: ast.Call, name: str) -> _Side:
    match node:
        case ast.Expr(value=value) if value is made:
            return _Side(node, made, None, nested=False)
        case ast.Assign(targets=[target], value=value) if value is made:
            return _Side(node, made, script.source(target), nested=False)
        case ast.Assign(value=value) if value is made:
            raise script.refuse("the result goes to several targets", node)
    if not isinstance(node, _PLAIN_STATEMENTS):
        raise script.refuse("the call is not in a plain statement", node)
    between = [owner for owner in script.ancestors(made) if script.within(owner, node)]
    sometimes = any(isinstance(owner, _SOMETIMES) for owner in between)
    reason = "the call is not made every time, or not apart from what is around it"
    script.refuse_if(sometimes, reason, made)
    return _Side(node, made, script.fresh(name), nested=True)


def _joined(script: Script, left: _Side, right: _Side) -> tuple[str, str | None]:
    """The fetches and the targets of the one call."""
    fetches: list[str] = []
    targets: list[str] = []
    for side in (left, right):
        made, node = side.call.args[0], side.target_node
        items, names = _items(made), _items(node)
        unpacked = side.target is None or len(names) == len(items)
        if items and unpacked:
            fetches += [script.source(item) for item in items]
            targets += [script.source(name) for name in names] or [_unused(script)] * len(items)
        else:
            fetches.append(script.source(made))
            target = side.target or _unused(script)
            bare = isinstance(node, ast.Tuple) and not target.startswith("(")
            targets.append(f"({target})" if bare else target)
    all_fetches = f"[{', '.join(fetches)}]"
    wanted = left.target is not None or right.target is not None
    return all_fetches, ", ".join(targets) if wanted else None


def _items(node: ast.AST | None) -> list[ast.expr]:
    """The elements of a list or tuple that is written out."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [] if has_starred(items) else items
    return []


def _unused(script: Script) -> str:
    return script.fresh("unused") if reads(script.tree, "_") else "_"


def _splices(
    script: Script, left: _Side, right: _Side, fetches: str, targets: str | None
) -> list[Splice]:
    rest = [*left.call.args[1:], *left.call.keywords]
    arguments = ", ".join([fetches, *(script.source(node) for node in rest)])
    merged = f"{script.source(left.call.func)}({arguments})"
    row = f"{targets} = {merged}" if targets else merged
    start, _ = extent(script, [left.statement])
    if left.nested:
        line = f"{indent(script, left.statement)}{row}{script.lines.newline}"
        splices = [Splice(start, start, line), replaced(script, left.call, left.target or "")]
    else:
        splices = [Splice(*script.span(left.statement), row)]
    if right.nested:
        return [*splices, replaced(script, right.call, right.target or "")]
    return [*splices, removal(script, [right.statement])]
