"""Make the ops of a loop before it, and feed what changes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from contextlib import suppress

from unslow.fix.edit.blocks import put_above, statement
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import find_expression, replaced
from unslow.fix.moves.call_invariance import VARIABLES, WHOLE
from unslow.fix.moves.hoist import dependence, hoist_expression, hoist_statement
from unslow.fix.moves.op_expressions import ACTS
from unslow.fix.moves.ops_in_function import ops_in_function
from unslow.fix.moves.python_parts import draws_in_python, effect_of
from unslow.fix.moves.session_feeds import fed, feeding, is_run, made_parts, op_name, tf_name
from unslow.syntax.call_order import calls_reached
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    StatementLoop,
    given_values,
    header_calls,
    inside,
    last_name,
    method_of,
)
from unslow.syntax.python_types import is_plain

_FIXED = ("numpy.", "math.", "functools.", "itertools.", "operator.")
_DEEPEST = 3  # functions that call others which draw; a judgement
Frame = tuple[str, int, str]  # file, line, function
Stack = Sequence[Frame]  # innermost frame first


def ops_once(
    script: Script, stacks: Sequence[Stack], running: Collection[tuple[str, str]]
) -> Script:
    """Each stack leads to ops that are new in every iteration.

    `running` names the functions (file and name) inside which sessions were run: a call of one of
    them does more than make ops, and must stay where it is.
    """
    lines: set[int] = set()
    # By the line where a function begins that runs what it makes.
    functions: dict[int, list[Stack]] = {}
    for stack in stacks:
        depth = _loop_depth(script.origin, stack)
        within = [at for at, frame in enumerate(stack[:depth]) if _names(frame) in running]
        around = _function(script.origin, stack[within[0]]) if within else None
        if around is not None:
            functions.setdefault(around.lineno, []).append(stack[within[0] :])
        elif depth is None or within:
            line = stack[0][1] if stack else None
            raise CannotEdit("the loop around it is in another file", line)
        else:
            lines.add(stack[depth][1])
    for ways in functions.values():
        leading = _frames(script, ways[0])
        imported = len(leading) < len(ways[0])
        script = ops_in_function(script, [way[0][1] for way in ways], leading, imported)
    for line in sorted(lines):  # what a later line builds on is then in front of the loop already
        script = _once(script, line)
    return script


def _frames(script: Script, stack: Stack) -> list[tuple[int, str]]:
    return [(line, name) for file, line, name in stack if file == script.path]


def _stands_in_loop(script: Script, line: int) -> bool:
    node = script.statement_at(line)
    return node is not None and bool(script.loops_around(node))


def _names(frame: Frame) -> tuple[str, str]:
    return frame[0], frame[2]


def _loop_depth(script: Script, stack: Stack) -> int | None:
    """The innermost frame of a stack that stands in a loop of the script."""
    for depth, (file, line, _) in enumerate(stack):
        if file == script.path and _stands_in_loop(script, line):
            return depth
    return None


def _function(script: Script, frame: Frame) -> NamedFunction | None:
    """The function of a frame, if it is one of this script."""
    found = script.function_at(frame[1]) if frame[0] == script.path else None
    return found if found is not None and found.name == frame[2] else None


def _once(script: Script, line: int) -> Script:
    """What the statement at a line makes, but not what it runs, goes in front of the loop."""
    node = statement(script, line)
    runs = [call for call in header_calls(node) if is_run(call)]
    if not runs:
        return _made(script, line, node)
    fetched = [part for call in runs for part in made_parts(call)]
    script.refuse_if(not fetched, "the ops are made inside a function that also runs them", node)
    for part in fetched:
        _require_same(script, node, part)
        if not find_expression(script, line, ast.unparse(part)):
            continue  # an equal one took it along
        try:
            script = hoist_expression(script, line, ast.unparse(part), name=op_name(part))
        except CannotEdit as problem:
            script = _fed(script, line, part, problem)
    return script


def _made(script: Script, line: int, node: ast.stmt) -> Script:
    """A statement that only makes ops; where it does more, the calls in it that make them."""
    problem = script.refuse("the statement does more than make ops", node)
    calls = header_calls(node)
    acts = any(last_name(call.func) in ACTS for call in calls)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not acts:
        _require_same(script, node, node)
        try:
            return hoist_statement(script, line)
        except CannotEdit as reason:
            problem = reason
    for call in (call for call in calls if tf_name(script, call.func)):
        with suppress(CannotEdit):
            _require_same(script, node, call)
            return hoist_expression(script, line, ast.unparse(call), name=op_name(call))
    raise problem


def _require_same(script: Script, node: ast.stmt, part: ast.AST) -> None:
    """Raises where what is made may be something else in the next turn of the loop."""
    changing = _changing_call(script, part)
    if changing is not None:
        what = script.source(changing)
        raise script.refuse(f"`{what}` may give another value in each turn", changing)
    loops = script.loops_around(node)
    whole = [call for call in inside(part, ast.Call) if tf_name(script, call.func) in WHOLE]
    for call in calls_reached(script, loops[-1].body) if whole and loops else ():
        made = tf_name(script, call.func)
        if made.startswith(VARIABLES) or method_of(call) in ("minimize", "apply_gradients"):
            what = script.source(whole[0].func)
            reason = f"`{what}` takes all that the graph holds, and the loop makes variables"
            raise script.refuse(reason, call)


def _changing_call(script: Script, code: ast.AST, depth: int = _DEEPEST) -> ast.Call | None:
    """A call that draws, reads or takes something whenever it is made."""
    for call in inside(code, ast.Call):
        name, found = script.name(call.func), script.callee(call)
        if name.startswith(("tf.", "keras.")):
            continue
        if effect_of(name) or draws_in_python(script, call):
            return call
        if found is None:
            known = not name or is_builtin(name) or name.startswith(_FIXED)
            if not known or (not name and isinstance(call.func, ast.Name)):
                return call
            continue
        body = found.node.body if isinstance(found.node, NAMED_FUNCTIONS) and depth else []
        if any(_changing_call(found.source, each, depth - 1) for each in body):
            return call
    return None


# What depends on the loop


def _fed(script: Script, line: int, part: ast.expr, problem: CannotEdit) -> Script:
    """`run(rate.assign(0.1 / step))` becomes `run(assign_op, feed_dict={fed: 0.1 / step})`."""
    loop = script.loops_around(statement(script, line))[0]
    found = find_expression(script, line, ast.unparse(part))
    call = next((owner for owner in script.ancestors(found[0]) if method_of(owner) == "run"), None)
    value = _changing(script, loop, found[0])
    placeholder = script.alias("tf.compat.v1.placeholder", loop)
    feedable = value is not None and is_plain(script, value)
    if value is None or not feedable or placeholder is None or len(found) > 1:
        raise problem
    if not isinstance(call, ast.Call):
        raise problem
    how = fed(script, value)
    name, op = script.fresh("fed"), script.fresh(op_name(found[0]) or "op")
    start, end = script.span(found[0])
    low, high = script.span(how.part)
    once = script.lines.text[start:low] + name + script.lines.text[high:end]
    given = how.how.format(script.source(how.like) if how.like is not None else "")
    made = put_above(script, loop, f"{name} = {placeholder}({given})", f"{op} = {once}")
    feed = feeding(script, call, f"{name}: {script.source(value)}")
    return script.edit([made, replaced(script, found[0], op), feed])


def _changing(script: Script, loop: StatementLoop, part: ast.expr) -> ast.expr | None:
    """The one Python value in an expression through which it depends on a loop."""
    while isinstance(part, ast.Call):
        values = given_values(part)
        changing = [value for value in values if dependence(script, loop, [value]) is not None]
        if len(changing) != 1:
            return None
        part = changing[0]
        if not (isinstance(part, ast.Call) and tf_name(script, part.func)):
            return part
    return None
