"""The move for `graph-growth`: ops that a loop makes in every iteration are made before it; what changes is fed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from unslow.fix.edit.blocks import above, indent, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.feedable_values import no_tensor
from unslow.fix.moves.hoist import dependence, hoist_expression, hoist_statement
from unslow.fix.moves.op_expressions import ACTS
from unslow.fix.moves.ops_in_function import ops_in_function
from unslow.fix.moves.session_feeds import fed, feeding, made_parts, op_name
from unslow.syntax.nodes import NamedFunction, StatementLoop, header, last_name

Frame = tuple[str, int, str]  # file, line, function


def ops_once(
    script: Script, stacks: Sequence[Sequence[Frame]], running: Collection[tuple[str, str]]
) -> Script:
    """Each stack leads to ops that are new in every iteration, innermost frame first.

    `running` names the functions (file and name) inside which sessions were run: a call of one of them does more
    than make ops, and must stay where it is.
    """
    lines: list[int] = []
    functions: dict[
        int, list[Sequence[Frame]]
    ] = {}  # by the line where one begins that runs what it makes
    for stack in stacks:
        depth = next(
            (
                at
                for at, frame in enumerate(stack)
                if frame[0] == script.path and _loops(script.origin, frame[1])
            ),
            None,
        )
        runs = next(
            (at for at, frame in enumerate(stack[:depth]) if (frame[0], frame[2]) in running), None
        )
        if runs is not None and (around := _function(script.origin, stack[runs])) is not None:
            functions.setdefault(around.lineno, []).append(stack[runs:])
        elif depth is None or runs is not None:
            raise CannotEdit(
                "the loop around it is in another file", stack[0][1] if stack else None
            )
        else:
            lines += [stack[depth][1]] if stack[depth][1] not in lines else []
    for ways in functions.values():
        leading = [(line, name) for file, line, name in ways[0] if file == script.path]
        script = ops_in_function(script, [way[0][1] for way in ways], leading)
    for line in sorted(lines):  # what a later line builds on is then in front of the loop already
        script = _once(script, line)
    return script


def _function(script: Script, frame: Frame) -> NamedFunction | None:
    """The function of a frame, if it is one of this script."""
    found = script.function_at(frame[1]) if frame[0] == script.path else None
    return found if found is not None and found.name == frame[2] else None


def _loops(script: Script, line: int) -> list[StatementLoop]:
    node = script.statement_at(line)
    return script.loops_around(node) if node is not None else []


def _once(script: Script, line: int) -> Script:
    """What the statement at a line makes, but not what it runs, goes in front of the loop."""
    node = statement(script, line)
    runs = [
        call
        for call in header(node)
        if isinstance(call, ast.Call) and last_name(call.func) in ("run", "eval")
    ]
    if not runs:
        return _made(script, line, node)
    fetched = [part for call in runs for part in made_parts(script, call)]
    if not fetched:
        raise script.refuse("the ops are made inside a function that also runs them", node)
    for part in fetched:
        if not find_again(script, line, part):
            continue
        try:
            script = hoist_expression(script, line, ast.unparse(part), name=op_name(part))
        except CannotEdit as problem:
            script = _fed(script, line, part, problem)
    return script


def find_again(script: Script, line: int, part: ast.expr) -> bool:
    """Whether an expression still stands in the statement at a line: an equal one may have taken it along."""
    wanted = ast.dump(part)
    return any(
        isinstance(node, ast.expr) and ast.dump(node) == wanted
        for node in header(statement(script, line))
    )


def _made(script: Script, line: int, node: ast.stmt) -> Script:
    """A statement that only makes ops; where it does more, the calls in it that make them."""
    problem = script.refuse("the statement does more than make ops", node)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not any(
        _acts(inner) for inner in header(node)
    ):
        try:
            return hoist_statement(script, line)
        except CannotEdit as reason:
            problem = reason
    for call in _makers(script, node):
        try:
            return hoist_expression(script, line, ast.unparse(call), name=op_name(call))
        except CannotEdit:
            continue
    raise problem


def _acts(node: ast.AST) -> bool:
    """Whether a call does something now, rather than make ops for later."""
    return isinstance(node, ast.Call) and last_name(node.func) in ACTS


def _makers(script: Script, node: ast.stmt) -> Iterator[ast.Call]:
    """Calls of TensorFlow's functions in a statement, the outer before the inner."""
    for call in header(node):
        if isinstance(call, ast.Call) and script.name(call.func).startswith(("tf.", "keras.")):
            yield call


# What depends on the loop


def _fed(script: Script, line: int, part: ast.expr, problem: CannotEdit) -> Script:
    """`run(rate.assign(0.1 / step))` becomes `run(assign_op, feed_dict={fed: 0.1 / step})`."""
    node = statement(script, line)
    loop = script.loops_around(node)[0]
    found = [
        inner
        for inner in header(node)
        if isinstance(inner, ast.expr) and ast.dump(inner) == ast.dump(part)
    ]
    call = next((owner for owner in script.ancestors(found[0]) if _is_run(owner)), None)
    value = _changing(script, loop, found[0])
    if not isinstance(call, ast.Call) or len(found) > 1 or value is None:
        raise problem
    placeholder = script.alias("tf.compat.v1.placeholder", loop)
    if placeholder is None or not no_tensor(script, value):
        raise problem
    how = fed(script, value)
    name, op = script.fresh("fed"), script.fresh(op_name(found[0]) or "op")
    margin, newline = indent(script, loop), script.lines.newline
    start, end = script.span(found[0])
    inner, outer = script.span(how.part)
    once = script.lines.text[start:inner] + name + script.lines.text[outer:end]
    place = above(script, loop)
    given = how.how.format(script.source(how.like) if how.like is not None else "")
    rows = f"{margin}{name} = {placeholder}({given}){newline}{margin}{op} = {once}{newline}"
    told = feeding(script, call, f"{name}: {script.source(value)}")
    return script.edit([Splice(place, place, rows), replaced(script, found[0], op), told])


def _is_run(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "run"


def _changing(script: Script, loop: StatementLoop, part: ast.expr) -> ast.expr | None:
    """The one Python value in an expression through which it depends on a loop."""
    found = [value for value in _arguments(part) if dependence(script, loop, [value]) is not None]
    while len(found) == 1 and _makes(script, found[0]):
        found = [
            value for value in _arguments(found[0]) if dependence(script, loop, [value]) is not None
        ]
    return found[0] if len(found) == 1 else None


def _arguments(node: ast.expr) -> list[ast.expr]:
    return (
        [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node, ast.Call)
        else []
    )


def _makes(script: Script, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and script.name(node.func).startswith(("tf.", "keras."))
