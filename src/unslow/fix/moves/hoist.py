"""Moves out of loops: an expression or a statement that is the same in every iteration goes in front."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, indent, reindented, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import find_expression
from unslow.syntax.dataflow import flow
from unslow.syntax.nodes import COMPREHENSIONS, StatementLoop, last_name, parameter_names
from unslow.syntax.uses import changed, jumps, overlap, paths_read, uses


def dependence(script: Script, loop: StatementLoop, nodes: Sequence[ast.AST]) -> str | None:
    """The name through which code depends on a loop's iterations, None if it is the same in all of them."""
    inside = [node for node in (*loop.body, *_target(loop)) if node not in nodes]
    rest = [part for node in inside for part in _without(node, nodes)]
    used = uses(rest)
    changes = {
        path
        for path in changed(rest) | _changed_by_calls(script, rest)
        if not _is_module(script, loop, path)
    }
    read = uses(nodes).reads
    for name in sorted(read & (used.writes | used.remote)):
        return name
    for path in sorted(paths_read(nodes)):
        if any(overlap(path, other) for other in changes):
            return path
    return None


def _is_module(script: Script, loop: StatementLoop, path: str) -> bool:
    """Whether a path is an import: `tf.add(…)` changes no `tf`, as `names.add(…)` does `names`."""
    found = script.bindings(path, loop)
    return bool(found) and all(binding.is_import for binding in found)


def _target(loop: StatementLoop) -> list[ast.AST]:
    return [] if isinstance(loop, ast.While) else [loop.target]


def _without(node: ast.AST, left_out: Sequence[ast.AST]) -> list[ast.AST]:
    """A tree cut into parts that leave some of its nodes out."""
    if not any(inner in left_out for inner in ast.walk(node)):
        return [node]
    return [
        part
        for child in ast.iter_child_nodes(node)
        if child not in left_out
        for part in _without(child, left_out)
    ]


def _changed_by_calls(script: Script, nodes: Sequence[ast.AST]) -> set[str]:
    """Paths that the script's own functions change when the code calls them, as the callers write them."""
    functions = {node.name: node for node in script.functions}
    todo = {
        last_name(node.func)
        for top in nodes
        for node in ast.walk(top)
        if isinstance(node, ast.Call)
    }
    done: set[str] = set()
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name is None or name in done or name not in functions:
            continue
        done.add(name)
        function = functions[name]
        found |= uses([function]).remote
        local = uses(function.body).writes | parameter_names(function) - {"self", "cls"}
        found |= {path for path in changed(function.body) if path.partition(".")[0] not in local}
        todo |= {last_name(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return found


def hoist_statement(script: Script, line: int) -> Script:
    """Takes the statement at a line out of its loop, and out of those around it while it stays the same."""
    node = statement(script, line)
    loops = _direct_loops(script, node)
    if not loops:
        was = script.origin.statement_at(line)
        if was is not None and _direct_loops(script.origin, was) and not script.loops_around(node):
            return script  # taken out before
        raise script.refuse("the statement is not directly in a loop", node)
    target: StatementLoop | None = None
    for loop in loops:
        reason = _obstacle(script, loop, node)
        if reason is not None and target is None:
            raise script.refuse(reason, node)
        if reason is not None:
            break
        target = loop
    assert target is not None
    position = above(script, target)
    text = reindented(script, [node], indent(script, target))
    return script.edit([Splice(position, position, text), removal(script, [node])])


def _direct_loops(script: Script, node: ast.stmt) -> list[StatementLoop]:
    """The loops that a statement can leave: each the only thing between it and the next."""
    found: list[StatementLoop] = []
    child: ast.AST = node
    for loop in script.loops_around(node):
        if script.parents[child] is not loop:
            break
        found.append(loop)
        child = loop
    return found


def _obstacle(script: Script, loop: StatementLoop, node: ast.stmt) -> str | None:
    """Why a statement cannot stand in front of a loop."""
    if jumps([node]) is not None or isinstance(node, ast.Delete | ast.Global | ast.Nonlocal):
        return "the statement steers the loop it is in"
    name = dependence(script, loop, [node])
    if name is not None:
        return f"it depends on `{name}`, which changes in the loop"
    rest = [
        part
        for top in (*loop.body, *_target(loop))
        if top is not node
        for part in _without(top, [node])
    ]
    bound = uses([node]).writes
    for other in sorted(bound & flow([node]).exposed):
        return f"it depends on `{other}`, which it binds itself"
    for other in sorted(bound & (uses(rest).writes | uses(rest).remote)):
        return f"`{other}` is bound elsewhere in the loop too"
    if bound & uses([loop.test if isinstance(loop, ast.While) else loop.iter]).reads:
        return "the loop's first line reads what it binds"
    for other in sorted(bound & flow(_before(loop, node)).exposed):
        return f"`{other}` is read in the loop before this line"
    return None


def _before(loop: StatementLoop, node: ast.stmt) -> list[ast.stmt]:
    """The statements of a loop's body that run before a statement does."""
    found: list[ast.stmt] = []
    for top in loop.body:
        if top is node or node in ast.walk(top):
            inner = getattr(top, "body", [])
            return found + (_before(top, node) if top is not node and inner else [])  # type: ignore[arg-type]
        found.append(top)
    return found


def hoist_expression(script: Script, line: int, expression: str, name: str | None = None) -> Script:
    """Evaluates an expression once in front of its loop (the outermost where it stays the same)."""
    found = find_expression(script, line, expression)
    if not found:
        if _taken_out(script, line, expression):
            return script
        raise script.refuse(f"`{expression}` is not on this line", statement(script, line))
    node = found[0]
    target = _outermost(script, node)
    if target is None:
        raise script.refuse("the expression is not in a loop", node)
    new = script.fresh(name or _name_for(node))
    text = script.source(node)
    if not _stands_alone(text):
        text = f"({text})"
    row = f"{indent(script, target)}{new} = {text}{script.lines.newline}"
    position = above(script, target)
    uses_of = [Splice(*script.span(place), new) for place in found]
    return script.edit([Splice(position, position, row), *uses_of])


def _taken_out(script: Script, line: int, expression: str) -> bool:
    """Whether the line reads a name that is given this very value in front of its loops."""
    node = statement(script, line)
    wanted = ast.dump(ast.parse(expression, mode="eval").body)
    read = uses([node]).reads
    return any(
        isinstance(before, ast.Assign)
        and ast.dump(before.value) == wanted
        and isinstance(before.targets[0], ast.Name)
        and before.targets[0].id in read
        for loop in script.loops_around(node)
        for before in script.block(loop)[0]
    )


def _outermost(script: Script, node: ast.expr) -> StatementLoop | None:
    """The outermost loop in front of which an expression means the same; raises where not even one will do."""
    if jumps([node]) is not None or any(
        isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)
    ):
        raise script.refuse("the expression does more than give a value", node)
    inner = _inner_name(script, node)
    if inner is not None:
        raise script.refuse(f"it depends on `{inner}`, which changes in the same line", node)
    target: StatementLoop | None = None
    for loop in script.loops_around(node):
        name = dependence(script, loop, [node])
        context = _context(script, node, loop)
        if target is None and name is not None:
            raise script.refuse(f"it depends on `{name}`, which changes in the loop", node)
        if target is None and context is not None:
            raise script.refuse("it is evaluated inside a `with` block of the loop", context)
        if name is not None or context is not None:
            break
        target = loop
    return target


def _inner_name(script: Script, node: ast.expr) -> str | None:
    """A name that the statement itself binds around an expression: in a comprehension, a lambda, a walrus."""
    read = uses([node]).reads
    for parent in script.ancestors(node):
        bound: set[str] = set()
        if isinstance(parent, ast.Lambda):
            bound = parameter_names(parent)
        elif isinstance(parent, COMPREHENSIONS):
            bound = uses(generator.target for generator in parent.generators).writes
        elif isinstance(parent, ast.stmt):
            return None
        for name in sorted(read & bound):
            return name
    return None


def _context(script: Script, node: ast.AST, loop: StatementLoop) -> ast.With | ast.AsyncWith | None:
    """A `with` between an expression and its loop; a plain session changes nothing for the ops made in it."""
    for parent in script.ancestors(node):
        if parent is loop:
            return None
        if isinstance(parent, ast.With | ast.AsyncWith) and not all(
            _plain_session(script, item.context_expr) for item in parent.items
        ):
            return parent
    return None


def _plain_session(script: Script, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not script.name(node.func).endswith(".Session"):
        return False
    return not node.args and all(keyword.arg not in ("graph", None) for keyword in node.keywords)


def _name_for(node: ast.expr) -> str:
    """A name for a value: after what makes it."""
    made_by = last_name(node.func) if isinstance(node, ast.Call) else last_name(node)
    return f"{made_by}_once".lstrip("_") if made_by else "value"


def _stands_alone(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
