"""The move for `graph-growth`: ops that a loop makes in every iteration are made before it; what changes is fed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from unslow.fix.blocks import above, indent, statement
from unslow.fix.hoist import dependence, hoist_expression, hoist_statement
from unslow.fix.lines import Splice
from unslow.fix.scope import Loop
from unslow.fix.script import CannotEdit, Script, header, last_name
from unslow.fix.statements import replaced
from unslow.fix.values import kind

_ACTS = frozenset({"run", "eval", "save", "restore", "add_summary", "write", "flush", "close", "load", "append"})
_RUNS = frozenset({"run", "eval"})
_ASSIGNS = frozenset({"assign", "assign_add", "assign_sub"})
_DTYPES = {"float": "float32", "int": "int32"}


Frame = tuple[str, int, str]  # file, line, function


def ops_once(script: Script, stacks: Sequence[Sequence[Frame]], running: Collection[tuple[str, str]]) -> Script:
    """Each stack leads to ops that are new in every iteration, innermost frame first.

    `running` names the functions (file and name) inside which sessions were run: a call of one of them does more
    than make ops, and must stay where it is.
    """
    lines: list[int] = []
    for stack in stacks:
        depth = next(
            (at for at, (file, line, _) in enumerate(stack) if file == script.path and _loops(script, line)), None
        )
        if depth is None:
            raise CannotEdit("the loop around it is in another file", stack[0][1] if stack else None)
        for file, line, function in stack[:depth]:
            if (file, function) in running:
                raise CannotEdit(f"`{function}` makes its ops and runs them: it must be given them instead", line)
        lines += [stack[depth][1]] if stack[depth][1] not in lines else []
    for line in sorted(lines):  # what a later line builds on is then in front of the loop already
        script = _once(script, line)
    return script


def _loops(script: Script, line: int) -> list[Loop]:
    node = script.statement_at(line)
    return script.loops_around(node) if node is not None else []


def _once(script: Script, line: int) -> Script:
    """What the statement at a line makes, but not what it runs, goes in front of the loop."""
    node = statement(script, line)
    runs = [call for call in header(node) if isinstance(call, ast.Call) and last_name(call.func) in _RUNS]
    if not runs:
        return _made(script, line, node)
    fetched = [part for call in runs for part in _fetches(call)]
    if not fetched:
        raise script.refuse("the ops are made inside a function that also runs them", node)
    for part in fetched:
        if not find_again(script, line, part):
            continue
        try:
            script = hoist_expression(script, line, ast.unparse(part), name=_name(part))
        except CannotEdit as problem:
            script = _fed(script, line, part, problem)
    return script


def find_again(script: Script, line: int, part: ast.expr) -> bool:
    """Whether an expression still stands in the statement at a line: an equal one may have taken it along."""
    wanted = ast.dump(part)
    return any(isinstance(node, ast.expr) and ast.dump(node) == wanted for node in header(statement(script, line)))


def _fetches(call: ast.Call) -> Iterator[ast.expr]:
    """The parts of what is run that are made by a call; names are made elsewhere."""
    assert isinstance(call.func, ast.Attribute | ast.Name)
    if last_name(call.func) == "eval":
        given = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    else:
        given = call.args[:1] or [keyword.value for keyword in call.keywords if keyword.arg == "fetches"]
    while given:
        part = given.pop(0)
        if isinstance(part, ast.List | ast.Tuple):
            given = [*part.elts, *given]
        elif isinstance(part, ast.Dict):
            given = [*part.values, *given]
        elif not isinstance(part, ast.Name | ast.Attribute | ast.Constant | ast.Starred):
            yield part


def _name(part: ast.expr) -> str | None:
    """`mean_op` for what `tf.reduce_mean(…)` makes, `saver` for `tf.train.Saver()`."""
    made_by = last_name(part.func) if isinstance(part, ast.Call) else None
    if made_by is None:
        return None
    return made_by.lower() if made_by[0].isupper() else f"{made_by.removeprefix('reduce_')}_op"


def _made(script: Script, line: int, node: ast.stmt) -> Script:
    """A statement that only makes ops; where it does more, the calls in it that make them."""
    problem = script.refuse("the statement does more than make ops", node)
    if isinstance(node, ast.Assign | ast.AnnAssign) and not any(_acts(inner) for inner in header(node)):
        try:
            return hoist_statement(script, line)
        except CannotEdit as reason:
            problem = reason
    for call in _makers(script, node):
        try:
            return hoist_expression(script, line, ast.unparse(call), name=_name(call))
        except CannotEdit:
            continue
    raise problem


def _acts(node: ast.AST) -> bool:
    """Whether a call does something now, rather than make ops for later."""
    return isinstance(node, ast.Call) and last_name(node.func) in _ACTS


def _makers(script: Script, node: ast.stmt) -> Iterator[ast.Call]:
    """Calls of TensorFlow's functions in a statement, the outer before the inner."""
    for call in header(node):
        if isinstance(call, ast.Call) and (script.resolve(call.func) or "").startswith("tensorflow."):
            yield call


# What depends on the loop


def _fed(script: Script, line: int, part: ast.expr, problem: CannotEdit) -> Script:
    """`run(rate.assign(0.1 / step))` becomes `run(assign_op, feed_dict={fed: 0.1 / step})`."""
    node = statement(script, line)
    loop = script.loops_around(node)[0]
    found = [inner for inner in header(node) if isinstance(inner, ast.expr) and ast.dump(inner) == ast.dump(part)]
    call = next((owner for owner in script.ancestors(found[0]) if _is_run(owner)), None)
    value = _changing(script, loop, found[0])
    if not isinstance(call, ast.Call) or len(found) > 1 or value is None:
        raise problem
    dtype = _dtype(script, value)
    placeholder = script.alias("tensorflow.compat.v1.placeholder", loop)
    if dtype is None or placeholder is None:
        raise problem
    fed, op = script.fresh("fed"), script.fresh(_name(found[0]) or "op")
    margin, newline = indent(script, loop), script.lines.newline
    start, end = script.span(found[0])
    inner, outer = script.span(value)
    once = script.lines.text[start:inner] + fed + script.lines.text[outer:end]
    place = above(script, loop)
    rows = f"{margin}{fed} = {placeholder}({dtype}){newline}{margin}{op} = {once}{newline}"
    return script.edit([Splice(place, place, rows), replaced(script, found[0], op), _feeding(script, call, fed, value)])


def _is_run(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "run"


def _changing(script: Script, loop: Loop, part: ast.expr) -> ast.expr | None:
    """The one Python value in an expression through which it depends on a loop."""
    found = [value for value in _arguments(part) if dependence(script, loop, [value]) is not None]
    while len(found) == 1 and _makes(script, found[0]):
        found = [value for value in _arguments(found[0]) if dependence(script, loop, [value]) is not None]
    return found[0] if len(found) == 1 else None


def _arguments(node: ast.expr) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)] if isinstance(node, ast.Call) else []


def _makes(script: Script, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (script.resolve(node.func) or "").startswith("tensorflow.")


def _dtype(script: Script, value: ast.expr) -> str | None:
    """The dtype to feed a value with: the variable's that it is assigned to, or the one of a plain number."""
    call = script.parents[value]
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ASSIGNS:
        if value in call.args[:2]:
            target = call.func.value if call.args.index(value) == 0 else call.args[0]
            return f"{script.source(target)}.dtype.base_dtype"
        return None
    number = _DTYPES.get(kind(script, value) or "")
    tensorflow = script.alias("tensorflow", value)
    return f"{tensorflow}.{number}" if number and tensorflow else None


def _feeding(script: Script, call: ast.Call, fed: str, value: ast.expr) -> Splice:
    given = next((word.value for word in call.keywords if word.arg == "feed_dict"), None)
    given = given or (call.args[1] if len(call.args) > 1 else None)
    entry = f"{fed}: {script.source(value)}"
    if given is None:
        end = script.span(call)[1] - 1
        return Splice(end, end, f", feed_dict={{{entry}}}")
    if isinstance(given, ast.Dict):
        start = script.span(given)[0] + 1
        return Splice(start, start, f"{entry}, " if given.keys else entry)
    return replaced(script, given, f"{{**{script.source(given)}, {entry}}}")
