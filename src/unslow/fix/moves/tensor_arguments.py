"""Trace a function less often: numbers become tensors, shapes are relaxed."""

from __future__ import annotations

import ast
from collections.abc import Collection

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.call_arguments import keyword_set
from unslow.fix.moves.decorators import decorate
from unslow.fix.moves.python_parts import effect_of_tracing
from unslow.fix.moves.session_feeds import ASSIGNS
from unslow.fix.moves.shapes import (
    DRAWS,
    Code,
    calls_of,
    is_arithmetic,
    is_call,
    names_in,
    reads,
)
from unslow.fix.moves.tensor_lists import bound_around
from unslow.syntax.literals import Obstacle, find_parts
from unslow.syntax.nodes import (
    NamedFunction,
    argument,
    dotted,
    inside,
    is_constant,
    last_name,
    method_of,
    parameter_names,
    positional_names,
    words,
)
from unslow.syntax.python_types import PythonType, type_in_loops

_FUNCTION = "tf.function"
_OTHER_FLOATS = ("float64", "float16", "mixed_")
_TENSORS = ("tf.constant", "tf.cast", "tf.convert_to_tensor")
_TAKES_TENSORS = words("cast print convert_to_tensor")
STRUCTURAL = words("axis name dtype shape num keepdims seed num_or_size_splits")
INDEXING = words("gather gather_nd one_hot fill range")
_OWN_CONSTANTS = words("constant Variable function")
_COMPUTE = words("clip_by_global_norm clip_by_norm clip_by_value maximum minimum multiply pow")
_STATIC = words("shape get_shape as_list")


def number_as_tensor(
    script: Script, line: int, function: str, name: str, number: str, body: NamedFunction | None
) -> Script:
    """`step(x, rate)` becomes `step(x, tf.constant(rate))`."""
    kinds = uses_of_number(script, body, name) if body is not None else set()
    if needs_python(kinds, number == "int"):
        reason = f"`{name}` is used in `{function}` in a way that needs a Python number"
        raise CannotEdit(reason, line)
    if body is not None and _decides_result(script, body, name):
        reason = f"`{name}` decides in `{function}` what Python does or is given back"
        raise CannotEdit(reason, line)
    other = next((each for each in _OTHER_FLOATS if each in script.text), None)
    meets = number == "float" and kinds & {"computed", "real"} and other is not None
    reason = f"`{name}` would be float32, and may meet a tensor of {other} in `{function}`"
    script.refuse_if(meets, reason, line)
    value = _given(script, line, function, name, body)
    if is_call(script, value, *_TENSORS):
        return script
    tensorflow, imports = spelling(script, "tf", value)
    # Next to float tensors a Python int becomes a float; an int tensor would not.
    dtype = f", {tensorflow}.float32" if number == "int" and "computed" in kinds else ""
    new = f"{tensorflow}.constant({script.source(value)}{dtype})"
    return script.edit([*imports, replaced(script, value, new)])


def _decides_result(script: Script, body: NamedFunction, name: str) -> bool:
    """Whether a number decides on more than tensors: a graph does the same on both its paths."""
    branches = [node for node in inside(body.body, ast.If) if name in names_in(node.test)]
    returns = [_form(node.value) for node in inside(body.body, ast.Return)]
    for node in branches:
        both = [*node.body, *node.orelse]
        if any(inside(both, ast.Return)) and len({*returns}) > 1:
            return True
        if effect_of_tracing(script, both, parameter_names(body)) is not None:
            return True
    return False


def _form(value: ast.expr | None) -> str:
    """How many values are given back: one, none, or those of a tuple."""
    if value is None or is_constant(value, None):
        return "none"
    return f"{len(value.elts)}" if isinstance(value, ast.Tuple) else "one"


def parts_as_tensors(
    script: Script, line: int, function: str, leaf: str, body: NamedFunction
) -> Script:
    """`Weights(root=1 - lift)` becomes `Weights(root=tf.constant(1 - lift))`, where it is made.

    `leaf` is the real number in an argument, such as `weights.root` or `options['rate']`. Other
    parts that may change become tensors as well: one of them would leave every trace in place.
    """
    name, key, form = _part(line, leaf)
    try:
        source, parts = find_parts(script, _given(script, line, function, name, body))
    except Obstacle as problem:
        raise script.follow_refused(problem) from problem
    changing = {
        form.format(part): value
        for part, value in parts.items()
        if part == key or not isinstance(value, ast.Constant)
    }
    if key not in parts:
        raise CannotEdit(f"`{leaf}` is not given where the argument is made", line)
    known, edits = spelling(source, "tf", parts[key])
    for each, value in changing.items():
        uses_of = [node for node in inside(body.body, ast.expr) if ast.unparse(node) == each]
        kinds = {use_of_number(body, node, ()) for node in uses_of}
        if kinds and not needs_python(kinds, is_integer=False) and "index" not in kinds:
            dtype = "" if each == leaf else f", {known}.float32"
            edits.append(
                replaced(source, value, f"{known}.constant({source.source(value)}{dtype})")
            )
        elif kinds or each == leaf:
            raise CannotEdit(f"`{each}` is used in `{function}` in a way that needs a number", line)
    return script.along(source.edit(edits), source)


def _part(line: int, leaf: str) -> tuple[str, object, str]:
    """The argument and the part of it that a text such as `weights.root` names, and its form."""
    match ast.parse(leaf, mode="eval").body:
        case ast.Attribute(value=ast.Name(id=name), attr=key):
            return name, key, f"{name}.{{}}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() | int() as key)):
            return name, key, f"{name}[{{!r}}]"
    raise CannotEdit(f"`{leaf}` lies too deep in an argument", line)


def other_numbers(
    script: Script, line: int, function: str, name: str, body: NamedFunction | None
) -> list[tuple[str, str]]:
    """Other parameters that get numbers which change in loops around the call, and their types.

    Handing in one number of several as a tensor would leave a trace for every value of the others.
    """
    site = called_at(script, line, function)
    found = []
    for other in _parameters(body):
        value = argument(site, other, _position(body, site, other))
        if other == name or value is None or not bound_around(script, value):
            continue
        kind = type_in_loops(script, value, script.loops_around(value))
        if kind in (PythonType.INT, PythonType.FLOAT):
            found.append((other, kind.value))
    return found


def _given(
    script: Script, line: int, function: str, name: str, body: NamedFunction | None
) -> ast.expr:
    """What a call gives for a parameter."""
    site = called_at(script, line, function)
    value = argument(site, name, _position(body, site, name))
    if value is None:
        raise script.refuse(f"the call does not give `{name}` by name or place", site)
    return value


def called_at(script: Script, line: int, function: str) -> ast.Call:
    """The call of a traced function at a line, also under the name of its `tf.function`."""
    calls = script.calls_at(line)
    named = [call for call in calls if last_name(call.func) == function]
    aliased = [call for call in calls if _stands_for(script, call.func) == function]
    for call in (*named, *aliased):
        return call
    raise CannotEdit(f"`{function}` is not called by its name on this line", line)


def _stands_for(script: Script, node: ast.expr) -> str:
    """The name of the function that `tf.function(…)` made another name for."""
    match [item.assigned for item in script.assignments(node)]:
        case [ast.Call(args=[inner, *_])]:
            return last_name(inner)
    return ""


def _position(body: NamedFunction | None, site: ast.Call, name: str) -> int | None:
    names = _parameters(body)
    if names[:1] == ["self"] and method_of(site):
        names = names[1:]
    return names.index(name) if name in names else None


def _parameters(body: NamedFunction | None) -> list[str]:
    return positional_names(body) if body is not None else []


def uses_of_number(
    script: Script, body: NamedFunction, name: str, around: tuple[NamedFunction, ...] = ()
) -> set[str]:
    """How a function uses a number, also in the functions of this file that it hands it on to."""
    kinds: set[str] = set()
    for node in reads(body.body, name):
        kind = use_of_number(body, node, positional_names(body))
        taker = _taker(script, node) if kind == "other" and body in script.functions else None
        if taker is None or taker[0] in (*around, body):
            kinds.add(kind)
        else:
            kinds |= uses_of_number(script, *taker, (*around, body))
    return kinds


def needs_python(kinds: set[str], is_integer: bool) -> bool:
    """Whether a number must stay Python's.

    Beside real tensors Python's integers become real, while a tensor must be of one type only.
    """
    mixed = "real" in kinds or {"computed", "index"} <= kinds
    return "other" in kinds or (is_integer and mixed)


def _taker(script: Script, node: ast.Name) -> tuple[NamedFunction, str] | None:
    """The function that a value is an argument of, and its parameter."""
    call = script.parents[node]
    if isinstance(call, ast.keyword):
        call = script.parents[call]
    function = script.own_function(call) if isinstance(call, ast.Call) else None
    if function is None or not isinstance(call, ast.Call):
        return None
    given = script.arguments_of(function, call)
    return next(((function, name) for name, value in given if value is node), None)


def use_of_number(body: Code, node: ast.expr, given: Collection[str]) -> str:
    """How code uses a number: "compared", "computed" with, "taken" as a tensor of any type, as an
    "index", as a "real" number, or "other". `given` are the parameters of the code.
    """
    if any(node in ast.walk(part) for part in _bounds(body, given)):
        return "taken"  # `image[row : row + 8]`: a tensor is cut by tensors as well
    inner = inside(body, ast.AST)
    owners = {part: owner for owner in inner for part in ast.iter_child_nodes(owner)}
    owner = owners[node]
    match owner:
        case ast.Compare():
            return "compared"
        case ast.BinOp(op=ast.Mod()):
            return "compared" if isinstance(owners.get(owner), ast.Compare) else "other"
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
            return "computed"
        case ast.UnaryOp():
            return "computed"
        case ast.Call():
            return _use_in_call(owner)
        case ast.keyword(arg=name) if name not in STRUCTURAL:
            call = owners[owner]
            return _use_in_call(call) if isinstance(call, ast.Call) else "other"
    return "other"


def _use_in_call(call: ast.Call) -> str:
    """What a function of TensorFlow makes of a number that it is given."""
    name, path = last_name(call.func), dotted(call.func) or ""
    if name in _TAKES_TENSORS:
        return "taken"
    if name in _COMPUTE:
        return "computed"
    if not path.startswith(("tf.", "tensorflow.")) or ".keras." in path:
        return "real" if method_of(call) in ASSIGNS else "other"
    if name in INDEXING:
        return "index"
    return "real" if name not in _OWN_CONSTANTS else "other"


def _bounds(body: Code, given: Collection[str]) -> list[ast.Slice]:
    """The bounds of cuts of what the code is given, computed by sums and differences only."""
    cuts = [cut.slice for cut in inside(body, ast.Subscript) if dotted(cut.value) in given]
    parts = [part for part in inside(cuts, ast.Slice) if part.step is None]
    return [part for part in parts if all(map(is_arithmetic, ast.iter_child_nodes(part)))]


def relax_shapes(script: Script, line: int, made: int) -> Script:
    """`reduce_retracing=True` on the function at a line, or on the call that makes it."""
    function = script.function_at(line)
    if function is not None and script.compiler(function) is not None:
        return decorate(script, script.recorded(function), {"reduce_retracing": "True"})
    for call in calls_of(script, script.calls_at(made), _FUNCTION):
        return keyword_set(script, call, "reduce_retracing", "True")
    raise CannotEdit("the line that compiles it was not found", made)


def draws(body: NamedFunction) -> bool:
    """Whether code draws random numbers: with a seed, each trace begins a sequence of its own."""
    calls = (dotted(call.func) or "" for call in inside(body, ast.Call))
    return any(name.startswith(DRAWS) for name in calls)


def reads_shapes(body: NamedFunction) -> bool:
    """Whether code asks for shapes while it is traced: they may be unknown then."""
    attributes = {node.attr for node in inside(body, ast.Attribute)}
    calls = {dotted(call.func) for call in inside(body, ast.Call)}
    return bool(attributes & _STATIC) or "len" in calls
