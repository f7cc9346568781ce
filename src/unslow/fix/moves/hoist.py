"""Move what is the same in every iteration in front of the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from unslow.fix.edit.blocks import above, indent, put_above, reindented, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import find_expression
from unslow.fix.moves.call_invariance import own_name
from unslow.fix.moves.insertion_point import plain_session
from unslow.fix.moves.method_chain import DATASET_METHODS
from unslow.fix.moves.python_parts import effect_of
from unslow.fix.moves.shapes import DRAWS, calls_of, outermost_loop
from unslow.syntax.dataflow import flow
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import (
    COMPREHENSIONS,
    StatementLoop,
    dotted,
    inside,
    last_name,
    method_of,
    of_type,
    own_nodes,
    parameter_names,
    receiver_of,
    values_taken,
    words,
)
from unslow.syntax.uses import (
    changed,
    jumps,
    loop_condition,
    loop_target,
    overlapping,
    paths_read,
    uses,
)

# Methods of arrays, tensors, texts and dictionaries that change nothing.
_PURE_METHODS = words(
    "astype reshape copy transpose flatten ravel squeeze numpy tolist item mean std sum min max"
    " items keys values get format join split strip lower upper replace cardinality"
)
_DEEPEST = 3  # functions that hand on what one of them changes; a judgement


def dependence(script: Script, loop: StatementLoop, nodes: Sequence[ast.AST]) -> str | None:
    """The name through which code depends on a loop's iterations, None if there is none."""
    rest = _rest(loop, nodes)
    for name in sorted(uses(nodes).reads & uses(rest).changes):
        return name
    changes = changed(rest) | _changed_by_calls(script, rest) | _changed_arguments(script, rest)
    changes = {path for path in changes if not _is_module(script, loop, path)}
    return overlapping(paths_read(nodes), changes)


def _rest(loop: StatementLoop, left_out: Sequence[ast.AST]) -> list[ast.AST]:
    """What a loop runs in each turn, cut into parts that leave some nodes out."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*loop_target(loop), *loop.body]
    while waiting:
        node = waiting.pop()
        if node in left_out:
            continue
        if any(part in left_out for part in ast.walk(node)):
            waiting += ast.iter_child_nodes(node)
        else:
            found.append(node)
    return found


def _is_module(script: Script, loop: StatementLoop, path: str) -> bool:
    """Whether a path is an import: `tf.add(…)` changes no `tf`, as `names.add(…)` does `names`."""
    found = script.bindings(path, loop)
    return bool(found) and all(binding.is_import for binding in found)


def _changed_by_calls(script: Script, nodes: Sequence[ast.AST]) -> set[str]:
    """Paths that the script's functions change when the code calls them."""
    functions = {node.name: node for node in script.functions}
    waiting = {last_name(call.func) for call in inside(nodes, ast.Call)}
    found: set[str] = set()
    while waiting:
        function = functions.pop(waiting.pop(), None)
        if function is None:
            continue
        found |= uses([function]).remote
        local = uses(function.body).writes | values_taken(function)
        found |= {path for path in changed(function.body) if path.partition(".")[0] not in local}
        waiting |= {last_name(call.func) for call in inside(function, ast.Call)}
    return found


def _changed_arguments(script: Script, nodes: Sequence[ast.AST], depth: int = _DEEPEST) -> set[str]:
    """Paths of objects and arguments that the script's functions change when code calls them."""
    found: set[str] = set()
    for call in inside(nodes, ast.Call) if depth else ():
        function = script.own_function(call)
        if function is None:
            continue
        given: dict[str, ast.expr | None] = dict(script.arguments_of(function, call))
        given[own_name(script, function) or ""] = receiver_of(call)
        added = of_type((each.target for each in inside(function, ast.AugAssign)), ast.Name)
        inner = changed(function.body) | _changed_arguments(script, function.body, depth - 1)
        for path in inner | {name.id for name in added}:
            root, dot, rest = path.partition(".")
            holder = dotted(given.get(root))
            found |= {f"{holder}{dot}{rest}"} if holder else set()
    return found


# Statements


def hoist_statement(script: Script, line: int) -> Script:
    """Move a statement out of its loop, and out of outer ones while it stays the same."""
    node = statement(script, line)
    loops = _direct_loops(script, node)
    if not loops:
        if _was_in_loop(script, line) and not script.loops_around(node):
            return script  # taken out before
        raise script.refuse("the statement is not directly in a loop", node)

    def obstacle(loop: StatementLoop) -> CannotEdit | None:
        # What stands in an `if` of an outer loop stays in it.
        reason = _obstacle(script, loop, [node]) if loop in loops else ""
        return None if reason is None else script.refuse(reason, node)

    target = outermost_loop(script, node, obstacle)
    assert target is not None
    return _moved_before(script, target, [node])


def hoist_statements(script: Script, lines: Sequence[int]) -> Script:
    """Move the statements between the first and last of some lines out of their loop."""
    found = [script.statement_at(line) for line in sorted(lines)]
    present = [node for node in found if node is not None]
    if not present:
        return script
    loops = script.loops_around(present[0])
    if not loops or script.parents[present[0]] is not loops[0]:
        raise script.refuse("the statement is not directly in a loop", present[0])
    block, start = script.block(present[0])
    last = max(block.index(node) for node in present if node in block)
    part = block[start : last + 1]
    if not all(isinstance(node, ast.Assign | ast.AnnAssign) for node in part):
        raise script.refuse("the statements do more than make things", part[0])
    reason = _obstacle(script, loops[0], part)
    if reason is not None:
        raise script.refuse(reason, part[0])
    doing = next(_doing(script, part), None)
    if doing is not None:
        what = script.source(doing.func)
        raise script.refuse(f"`{what}` may do or give something else in each turn", doing)
    return _moved_before(script, loops[0], part)


def _doing(script: Script, nodes: Sequence[ast.AST], depth: int = _DEEPEST) -> Iterator[ast.Call]:
    """The calls that may have an effect, or give another value when they are made again."""
    elsewhere = {each for inner in inside(nodes, ast.Lambda) for each in ast.walk(inner.body)}
    for call in inside(nodes, ast.Call):
        if call in elsewhere:
            continue
        function = script.own_function(call)
        if function is None:
            if not _is_same_again(script, call):
                yield call
            continue
        yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))
        if yields or not depth:
            yield call
        else:
            yield from _doing(script, function.body, depth - 1)


def _is_same_again(script: Script, call: ast.Call) -> bool:
    """Whether a function that is not the program's only makes the same value again."""
    name = script.name(call.func)
    if not name:
        return method_of(call) in DATASET_METHODS | _PURE_METHODS
    if "iterator" in name:
        return False
    if name.startswith(("tf.data.", "keras.utils.")):
        return True
    is_known = is_builtin(name) or name.startswith(("tf.", "numpy.", "math.", "functools."))
    return is_known and not effect_of(name) and not name.startswith(DRAWS)


def _moved_before(script: Script, loop: StatementLoop, part: Sequence[ast.stmt]) -> Script:
    position = above(script, loop)
    text = reindented(script, part, indent(script, loop))
    return script.edit([Splice(position, position, text), removal(script, part)])


def _was_in_loop(script: Script, line: int) -> bool:
    before = script.origin.statement_at(line)
    return before is not None and bool(_direct_loops(script.origin, before))


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


def _obstacle(script: Script, loop: StatementLoop, part: Sequence[ast.stmt]) -> str | None:
    """Why neighbouring statements cannot stand in front of a loop."""
    steers = any(isinstance(node, ast.Delete | ast.Global | ast.Nonlocal) for node in part)
    if steers or jumps(part) is not None:
        return "the statement steers the loop it is in"
    name = dependence(script, loop, part)
    if name is not None:
        return f"it depends on `{name}`, which changes in the loop"
    bound = uses(part).writes
    reasons = (
        (flow(part).exposed, "it depends on `{}`, which it binds itself"),
        (uses(_rest(loop, part)).changes, "`{}` is bound elsewhere in the loop too"),
        (uses([loop_condition(loop)]).reads, "the loop's first line reads `{}`, which it binds"),
        (flow(_before(loop, part[0])).exposed, "`{}` is read in the loop before this line"),
    )
    for names, reason in reasons:
        if bound & names:
            return reason.format(min(bound & names))
    return None


def _before(loop: StatementLoop, node: ast.stmt) -> list[ast.stmt]:
    """The statements of a loop's body that run before a statement does."""
    found: list[ast.stmt] = []
    for top in loop.body:
        if top is node:
            return found
        if node in ast.walk(top):
            inner = _before(top, node) if getattr(top, "body", None) else []  # type: ignore[arg-type]
            return found + inner
        found.append(top)
    return found


# Expressions


def hoist_expression(script: Script, line: int, expression: str, name: str | None = None) -> Script:
    """Evaluates an expression once in front of its loop (the outermost where it stays the same)."""
    found = find_expression(script, line, expression)
    if not found:
        if _is_taken_out(script, line, expression):
            return script
        raise script.refuse(f"`{expression}` is not on this line", statement(script, line))
    node = found[0]
    target = script.needed(_outermost(script, node), "the expression is not in a loop", node)
    new = script.fresh(name or _name_for(node))
    text = script.source(node)
    if not _stands_alone(text):
        text = f"({text})"
    uses_of = [Splice(*script.span(place), new) for place in found]
    return script.edit([put_above(script, target, f"{new} = {text}"), *uses_of])


def _is_taken_out(script: Script, line: int, expression: str) -> bool:
    """Whether the line reads a name that is given this very value in front of its loops."""
    node = statement(script, line)
    wanted = ast.dump(ast.parse(expression, mode="eval").body)
    read = uses([node]).reads
    for loop in script.loops_around(node):
        assigns = of_type(script.block(loop)[0], ast.Assign)
        same = [each for each in assigns if ast.dump(each.value) == wanted]
        if any(uses(each.targets).writes & read for each in same):
            return True
    return False


def _outermost(script: Script, node: ast.expr) -> StatementLoop | None:
    """The outermost loop that an expression can leave; raises if it cannot leave any."""
    if jumps([node]) is not None or any(inside(node, ast.NamedExpr)):
        raise script.refuse("the expression does more than give a value", node)
    for inner in _bound_in_statement(script, node):
        if inner in uses([node]).reads:
            raise script.refuse(f"it depends on `{inner}`, which changes in the same line", node)

    def obstacle(loop: StatementLoop) -> CannotEdit | None:
        name = dependence(script, loop, [node])
        if name is not None:
            return script.refuse(f"it depends on `{name}`, which changes in the loop", node)
        context = _context(script, node, loop)
        reason = "it is evaluated inside a `with` block of the loop"
        return None if context is None else script.refuse(reason, context)

    return outermost_loop(script, node, obstacle)


def _bound_in_statement(script: Script, node: ast.expr) -> Iterator[str]:
    """Names that a comprehension or a lambda binds around an expression."""
    for parent in script.ancestors(node):
        if isinstance(parent, ast.stmt):
            return
        if isinstance(parent, ast.Lambda):
            yield from sorted(parameter_names(parent))
        elif isinstance(parent, COMPREHENSIONS):
            yield from sorted(uses(generator.target for generator in parent.generators).writes)


def _context(script: Script, node: ast.AST, loop: StatementLoop) -> ast.AST | None:
    """A `with` between an expression and its loop that is more than a plain session."""
    for parent in script.ancestors(node):
        if parent is loop:
            return None
        if isinstance(parent, ast.With | ast.AsyncWith):
            entered = [item.context_expr for item in parent.items]
            sessions = calls_of(script, entered, "tf.Session")
            if len(sessions) < len(entered) or not all(map(plain_session, sessions)):
                return parent
    return None


def _name_for(node: ast.expr) -> str:
    """A name for a value: after what makes it."""
    made_by = last_name(node.func if isinstance(node, ast.Call) else node)
    return f"{made_by}_once".lstrip("_") if made_by else "value"


def _stands_alone(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
