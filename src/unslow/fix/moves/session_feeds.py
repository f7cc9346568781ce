"""Values that a session's run can be fed with, their dtypes, and how the run is fed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.nodes import argument, dotted, given_values, last_name, method_of, of_type, words
from unslow.syntax.python_types import PythonType, python_type

ASSIGNS = words("assign assign_add assign_sub")
_ASSIGN_KEYWORDS = words("value delta ref use_locking name read_value")
_DTYPES = {PythonType.FLOAT: "float32", PythonType.INT: "int32"}
_CONSTANTS = words("constant convert_to_tensor")
# What is made in a shape, which may be a tensor.
_SHAPED = words("normal truncated_normal uniform random_normal random_uniform zeros ones")
# Functions of TensorFlow that surely give one tensor (or variable), so that it has a dtype to ask
# for.
_TENSORS = words(
    "add subtract multiply divide truediv pow maximum minimum"
    " Variable get_variable placeholder constant zeros ones matmul cast square sqrt exp log abs"
)


def tf_name(script: Script, node: ast.AST) -> str:
    """`train.Saver` for `tf.train.Saver`, whichever of TensorFlow's interfaces it is taken from."""
    name = script.name(node)
    return name.removeprefix("tf.") if name.startswith(("tf.", "keras.")) else ""


# Placeholders


@dataclass
class Fed:
    """A value that changes: a placeholder stands in for `part`, and is fed with `value`."""

    value: ast.expr
    part: ast.expr  # the value, or the constant made of it
    how: str  # the placeholder's arguments, `{}` in it for the text of `like`
    like: ast.expr | None = None
    name: str = ""


def fed(script: Script, value: ast.expr) -> Fed:
    """How to feed a value; raises where its dtype is unknown or it must be a Python value."""
    owner = script.parents[value]
    if isinstance(owner, ast.keyword):
        owner = script.parents[owner]
    match owner:
        case ast.BinOp(left=left, right=right):
            return _computed_with(script, right if value is left else left, value)
        case ast.Call():
            return _in_call(script, owner, value)
    what = script.source(value)
    raise script.refuse(
        f"`{what}` changes, and what it is used for needs it when the op is made", value
    )


def _in_call(script: Script, call: ast.Call, value: ast.expr) -> Fed:
    target = assigned(script, call, value)
    if target is not None:
        usual = {keyword.arg for keyword in call.keywords} <= _ASSIGN_KEYWORDS
        shape = ", {0}.shape" if usual else ""
        return Fed(value, value, f"{{0}}.dtype.base_dtype{shape}", target)
    name = tf_name(script, call.func)
    is_first = argument(call, "value", 0) is value
    if name in _CONSTANTS and is_first and len(given_values(call)) == 1:
        return Fed(value, call, _own_dtype(script, value))
    if _is_shape(script, call, value):
        return Fed(value, value, f"{script.alias('tf', value)}.int32, [None]")
    what = script.source(value)
    raise script.refuse(
        f"`{script.source(call.func)}` may need the value of `{what}` to be made", value
    )


def _is_shape(script: Script, call: ast.Call, value: ast.expr) -> bool:
    """Whether a call fills an array's shape with what is run or computed with as it is.

    Most other functions need to know how many dimensions they get.
    """
    is_shape = isinstance(value, ast.Attribute) and value.attr == "shape"
    filled = last_name(call.func) in _SHAPED and bool(script.alias("tf", value))
    used = script.parents[call]
    simply = isinstance(used, ast.BinOp) or is_run(used)
    return is_shape and filled and simply and argument(call, "shape", 0) is value


def assigned(script: Script, call: ast.Call, value: ast.expr) -> ast.expr | None:
    """The variable that a call assigns a value to, however it is written."""
    if method_of(call) not in ASSIGNS or not isinstance(call.func, ast.Attribute):
        return None
    if tf_name(script, call.func) in ASSIGNS:
        target, given = argument(call, "ref", 0), argument(call, "value", 1)
    else:
        target, given = call.func.value, argument(call, "value", 0) or argument(call, "delta")
    return target if given is value and dotted(target) else None


def _dtype(script: Script, value: ast.expr) -> str | None:
    found = python_type(script, value)
    return _DTYPES.get(found) if found is not None else None


def _own_dtype(script: Script, value: ast.expr) -> str:
    dtype, tensorflow = _dtype(script, value), script.alias("tf", value)
    if dtype is None or tensorflow is None:
        raise _unknown_type(script, value)
    return f"{tensorflow}.{dtype}, []"


def _computed_with(script: Script, other: ast.expr, value: ast.expr) -> Fed:
    """A number takes on the dtype of the tensor that it is computed with.

    Next to what is not known a float is a float32, TensorFlow's default: with a tensor of another
    type the graph cannot be built.
    """
    found = python_type(script, value)
    if found in _DTYPES and _is_tensor(script, other):
        return Fed(value, value, "{0}.dtype.base_dtype, []", other)
    if found is PythonType.FLOAT:
        return Fed(value, value, _own_dtype(script, value))
    raise _unknown_type(script, value)


def _unknown_type(script: Script, value: ast.expr) -> Exception:
    what = script.source(value)
    return script.refuse(f"the type of `{what}` is not known: it cannot be fed", value)


def _is_tensor(script: Script, node: ast.expr) -> bool:
    """Whether a name or attribute surely holds one tensor or variable."""
    made = [item.assigned for item in script.assignments(node)]
    calls = of_type(made, ast.Call)
    names = [tf_name(script, call.func) for call in calls]
    known = all(name in _TENSORS or name.startswith("reduce_") for name in names)
    return bool(made) and known and len(names) == len(made)


# Runs


def is_run(node: ast.AST) -> bool:
    return method_of(node) in ("run", "eval")


def fetched(call: ast.Call) -> list[ast.expr]:
    """What a run gets: its first argument, or what `eval` (or `run` of an op) is called on."""
    if _is_of_an_op(call):
        return [call.func.value] if isinstance(call.func, ast.Attribute) else []
    first = argument(call, "fetches", 0)
    return [] if first is None else [first]


def made_parts(call: ast.Call) -> Iterator[ast.expr]:
    """The parts of what is run that are made by a call or computed; names are made elsewhere."""
    waiting = fetched(call)
    while waiting:
        part = waiting.pop(0)
        match part:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
                waiting = [*parts, *waiting]
            case ast.Constant() | ast.Starred():
                continue
            case _ if dotted(part) is None:
                yield part


def op_name(part: ast.expr) -> str | None:
    """`mean_op` for what `tf.reduce_mean(…)` makes, `saver` for `tf.train.Saver()`."""
    made_by = last_name(part.func) if isinstance(part, ast.Call) else ""
    if not made_by:
        return None
    return made_by.lower() if made_by[0].isupper() else f"{made_by.removeprefix('reduce_')}_op"


def _is_of_an_op(call: ast.Call) -> bool:
    """Whether a run is called on what it runs: `x.eval()`, `rate.assign(v).op.run()`."""
    match call.func:
        case ast.Attribute(attr="eval"):
            return True
        case ast.Attribute(value=ast.Attribute(value=made, attr="op")) | ast.Attribute(value=made):
            return method_of(made) in ASSIGNS
    return False


def feeding(script: Script, call: ast.Call, entries: str) -> Splice:
    """Feed a run with more, beside what it is fed with if that is surely a dictionary."""
    feed = argument(call, "feed_dict", 0 if _is_of_an_op(call) else 1)
    if feed is None:
        if any(keyword.arg is None for keyword in call.keywords):
            raise script.refuse("the run unpacks its arguments", call)
        parts = [*call.args, *call.keywords]
        ends = [script.span(part)[1] for part in parts] or [script.span(call)[1] - 1]
        comma = ", " if parts else ""
        return Splice(max(ends), max(ends), f"{comma}feed_dict={{{entries}}}")
    if isinstance(feed, ast.Dict):
        start = script.span(feed)[0] + 1
        if feed.keys and feed.keys[0] is not None:
            start = script.span(feed.keys[0])[0]
        return Splice(start, start, f"{entries}, " if feed.keys else entries)
    if not _is_dict(script, feed):
        what = script.source(feed)
        raise script.refuse(f"the run is fed with `{what}`, which may be no dictionary", feed)
    return replaced(script, feed, f"{{**{script.source(feed)}, {entries}}}")


def _is_dict(script: Script, node: ast.AST | None, depth: int = 5) -> bool:
    """Whether a value is surely a dictionary, also where all callers pass one."""
    match node:
        case ast.Dict() | ast.DictComp():
            return True
        case ast.Call(func=function):
            return script.name(function) == "dict"
        case ast.Name() if depth:
            values = script.possible_values(node)
            return bool(values) and all(_is_dict(script, value, depth - 1) for value in values)
    return False
