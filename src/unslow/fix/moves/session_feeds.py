"""Values that a run of a session is fed with: which ones can be, with what dtype, and how the run is told."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_arguments import argument
from unslow.fix.moves.feedable_values import DTYPES, handed, number
from unslow.syntax.nodes import dotted, last_name

ASSIGNS = frozenset({"assign", "assign_add", "assign_sub"})
_ARITHMETIC = frozenset(
    {"add", "subtract", "multiply", "divide", "truediv", "pow", "maximum", "minimum"}
)
# Functions of TensorFlow that surely give one tensor (or variable), so that it has a dtype to ask for.
_TENSORS = (
    frozenset(
        {
            "Variable",
            "get_variable",
            "placeholder",
            "constant",
            "zeros",
            "ones",
            "matmul",
            "cast",
            "square",
            "sqrt",
        }
        | {"exp", "log", "abs"}
    )
    | _ARITHMETIC
)


def tf_name(script: Script, node: ast.AST) -> str | None:
    """`train.Saver` for `tf.train.Saver`, whichever of TensorFlow's interfaces it is taken from; None for others."""
    name = script.name(node)
    return name.removeprefix("tf.") if name.startswith(("tf.", "keras.")) else None


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
    """How to feed a value; raises where the dtype is not certain, or no tensor can stand in for it."""
    owner = script.parents[value]
    if isinstance(owner, ast.keyword):
        owner = script.parents[owner]
    if isinstance(owner, ast.BinOp):
        return _computed_with(script, owner.right if value is owner.left else owner.left, value)
    if isinstance(owner, ast.Call):
        return _in_call(script, owner, value)
    what = script.source(value)
    raise script.refuse(
        f"`{what}` changes, and what it is used for needs it when the op is made", value
    )


def _in_call(script: Script, call: ast.Call, value: ast.expr) -> Fed:
    name = tf_name(script, call.func)
    target = assigned(script, call, value)
    if target is not None:
        usual = all(
            word.arg in ("value", "delta", "ref", "use_locking", "name", "read_value")
            for word in call.keywords
        )
        return Fed(value, value, f"{{0}}.dtype.base_dtype{', {0}.shape' if usual else ''}", target)
    first = call.args[:1] == [value] or any(
        word.arg == "value" and word.value is value for word in call.keywords
    )
    plain = len(call.args) <= 2 and all(
        word.arg in ("value", "dtype", "name") for word in call.keywords
    )
    if name in ("constant", "convert_to_tensor") and first and plain:
        dtype = argument(script, call, "dtype") or argument(script, call, 1)
        if dtype is not None and number(script, value):
            return Fed(value, call, "{0}, []", dtype)
        return Fed(value, call, _own_dtype(script, value))
    if name == "cast" and first:
        return Fed(value, value, _own_dtype(script, value))
    if name in _ARITHMETIC and len(call.args) == 2 and value in call.args:
        return _computed_with(script, call.args[1 - call.args.index(value)], value)
    what = script.source(value)
    raise script.refuse(
        f"`{script.source(call.func)}` may need the value of `{what}` to be made", value
    )


def assigned(script: Script, call: ast.Call, value: ast.expr) -> ast.expr | None:
    """The variable that a call assigns a value to, however it is written."""
    if last_name(call.func) not in ASSIGNS or not isinstance(call.func, ast.Attribute):
        return None
    given_by_name = next((word for word in call.keywords if word.value is value), None)
    if tf_name(script, call.func) in ASSIGNS:
        target = call.args[0] if call.args else argument(script, call, "ref")
        fits = given_by_name.arg == "value" if given_by_name else call.args[1:2] == [value]
    else:
        target = call.func.value
        fits = (
            given_by_name.arg in ("value", "delta") if given_by_name else call.args[:1] == [value]
        )
    return target if fits and target is not None and dotted(target) else None


def _own_dtype(script: Script, value: ast.expr) -> str:
    found, tensorflow = number(script, value), script.alias("tf", value)
    if found is None or tensorflow is None:
        raise script.refuse(
            f"the type of `{script.source(value)}` is not known: it cannot be fed", value
        )
    return f"{tensorflow}.{DTYPES[found]}, []"


def _computed_with(script: Script, other: ast.expr, value: ast.expr) -> Fed:
    """A number takes on the dtype of the tensor that it is computed with."""
    if number(script, value) is None or not _is_tensor(script, other):
        raise script.refuse(
            f"the type of `{script.source(value)}` is not known: it cannot be fed", value
        )
    return Fed(value, value, "{0}.dtype.base_dtype, []", other)


def _is_tensor(script: Script, node: ast.expr) -> bool:
    """Whether a name or attribute surely holds one tensor or variable."""
    made: list[ast.expr | None] = []
    if isinstance(node, ast.Name):
        made = [item.assigned for item in script.bindings(node.id, node)]
    elif isinstance(node, ast.Attribute):
        for other in script.nodes:
            if (
                isinstance(other, ast.Attribute)
                and other.attr == node.attr
                and not isinstance(other.ctx, ast.Load)
            ):
                owner = script.parents[other]
                made.append(
                    owner.value
                    if isinstance(owner, ast.Assign) and owner.targets == [other]
                    else None
                )
    names = [tf_name(script, value.func) if isinstance(value, ast.Call) else None for value in made]
    return bool(names) and all(
        name in _TENSORS or (name or "").startswith("reduce_") for name in names
    )


# Runs


def is_run(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("run", "eval")
    )


def fetched(script: Script, call: ast.Call) -> list[ast.expr]:
    """What a run gets: its first argument, or what `eval` (or `run` of an op) is called on."""
    if _of_an_op(script, call):
        return [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return call.args[:1] or [word.value for word in call.keywords if word.arg == "fetches"]


def made_parts(script: Script, call: ast.Call) -> Iterator[ast.expr]:
    """The parts of what is run that are made by a call or computed; names are made elsewhere."""
    given = fetched(script, call)
    while given:
        part = given.pop(0)
        if isinstance(part, ast.List | ast.Tuple):
            given = [*part.elts, *given]
        elif isinstance(part, ast.Dict):
            given = [*part.values, *given]
        elif dotted(part) is None and not isinstance(part, ast.Constant | ast.Starred):
            yield part


def op_name(part: ast.expr) -> str | None:
    """`mean_op` for what `tf.reduce_mean(…)` makes, `saver` for `tf.train.Saver()`."""
    made_by = last_name(part.func) if isinstance(part, ast.Call) else None
    if made_by is None:
        return None
    return made_by.lower() if made_by[0].isupper() else f"{made_by.removeprefix('reduce_')}_op"


def _of_an_op(script: Script, call: ast.Call) -> bool:
    if last_name(call.func) == "eval":
        return True
    held = call.func.value if isinstance(call.func, ast.Attribute) else call
    made = held.value if isinstance(held, ast.Attribute) and held.attr == "op" else held
    return isinstance(made, ast.Call) and last_name(made.func) in ASSIGNS


def feeding(script: Script, call: ast.Call, entries: str) -> Splice:
    """The run is fed with more: beside what it is fed with already, if that is surely a dictionary."""
    position = 0 if _of_an_op(script, call) else 1
    feed = argument(script, call, "feed_dict") or argument(script, call, position)
    if feed is None:
        if any(word.arg is None for word in call.keywords):
            raise script.refuse("the run unpacks its arguments", call)
        parts = [*call.args, *call.keywords]
        end = max(script.span(part)[1] for part in parts) if parts else script.span(call)[1] - 1
        return Splice(end, end, f"{', ' if parts else ''}feed_dict={{{entries}}}")
    if isinstance(feed, ast.Dict):
        start = (
            script.span(feed.keys[0])[0]
            if feed.keys and feed.keys[0] is not None
            else script.span(feed)[0] + 1
        )
        return Splice(start, start, f"{entries}, " if feed.keys else entries)
    if not _is_dict(script, feed):
        raise script.refuse(
            f"the run is fed with `{script.source(feed)}`, which may be no dictionary", feed
        )
    return replaced(script, feed, f"{{**{script.source(feed)}, {entries}}}")


def _is_dict(script: Script, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether a value is surely a dictionary: written out, made by `dict()`, or given so by all callers."""
    if isinstance(node, ast.Dict | ast.DictComp):
        return True
    if isinstance(node, ast.Call):
        return script.name(node.func) == "dict"
    if not isinstance(node, ast.Name) or node in seen:
        return False
    values: list[ast.expr | None] = []
    for item in script.bindings(node.id, node):
        values += handed(script, item.node) if isinstance(item.node, ast.arg) else [item.assigned]
    return bool(values) and all(
        value is not None and _is_dict(script, value, seen | {node}) for value in values
    )
