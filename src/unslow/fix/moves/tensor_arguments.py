"""The moves for `retracing`: a Python number is handed in as a tensor, a function is told to relax its shapes."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced, spelled
from unslow.fix.moves.call_arguments import argument, keyword_set
from unslow.fix.moves.decorators import decorate, decorator
from unslow.fix.moves.step_arguments import reads
from unslow.syntax.nodes import NamedFunction, last_name

_FUNCTION = "tf.function"
_TENSORS = ("tf.constant", "tf.cast", "tf.convert_to_tensor")
_TAKES_TENSORS = frozenset({"tf.cast", "tf.print", "tf.convert_to_tensor"})
_STATIC = frozenset({"shape", "get_shape", "as_list"})


def number_as_tensor(
    script: Script, line: int, function: str, name: str, number: str, body: NamedFunction | None
) -> Script:
    """`step(x, rate)` becomes `step(x, tf.constant(rate))`; `body` is the traced function, in whichever file."""
    kinds = {_use(body, node) for node in reads(body.body, name)} if body is not None else set()
    if "other" in kinds:
        raise CannotEdit(
            f"`{name}` is used in `{function}` in a way that needs a Python number", line
        )
    value = _given(script, line, function, name, body)
    if isinstance(value, ast.Call) and script.name(value.func) in _TENSORS:
        return script
    script, tensorflow = spelled(script, "tf", value)
    # Next to float tensors a Python int becomes a float; an int tensor would not.
    dtype = f", {tensorflow}.float32" if number == "int" and "computed" in kinds else ""
    value = _given(script, line, function, name, body)  # an import may have moved it
    return script.edit(
        [replaced(script, value, f"{tensorflow}.constant({script.source(value)}{dtype})")]
    )


def _given(
    script: Script, line: int, function: str, name: str, body: NamedFunction | None
) -> ast.expr:
    """What a call gives for a parameter."""
    site = called_at(script, line, function)
    value = argument(script, site, name)
    if value is None and body is not None:
        value = argument(script, site, _position(body, site, name))
    if value is None:
        raise script.refuse(f"the call does not give `{name}` by name or place", site)
    return value


def called_at(script: Script, line: int, function: str) -> ast.Call:
    """The call of a traced function at a line, also under the name that `tf.function(…)` was given."""
    calls = script.calls_at(line)
    for call in calls:
        if last_name(call.func) == function:
            return call
    for call in calls:
        if isinstance(call.func, ast.Name):
            for binding in script.bindings(call.func.id, call.func):
                made = binding.assigned
                if isinstance(made, ast.Call) and made.args and last_name(made.args[0]) == function:
                    return call
    raise CannotEdit(f"`{function}` is not called by its name on this line", line)


def _position(body: NamedFunction, site: ast.Call, name: str) -> int:
    names = [given.arg for given in (*body.args.posonlyargs, *body.args.args)]
    if names[:1] == ["self"] and isinstance(site.func, ast.Attribute):
        names = names[1:]
    return names.index(name) if name in names else len(site.args)


def _use(body: NamedFunction, node: ast.Name) -> str:
    """How a function uses a number: "compared" or "computed" with, "taken" as a tensor, or in an "other" way."""
    parent = next(owner for owner in ast.walk(body) if node in ast.iter_child_nodes(owner))
    if isinstance(parent, ast.Compare):
        return "compared"
    if isinstance(parent, ast.Call):
        return (
            "taken"
            if last_name(parent.func) in {each.rpartition(".")[2] for each in _TAKES_TENSORS}
            else "other"
        )
    if isinstance(parent, ast.BinOp) and isinstance(
        parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow
    ):
        return "computed"
    return "computed" if isinstance(parent, ast.UnaryOp) else "other"


def relax_shapes(script: Script, line: int, made: int) -> Script:
    """`reduce_retracing=True` on the function at a line, or on the call that makes it at another."""
    function = script.function_at(line)
    if function is not None and decorator(script, function, _FUNCTION) is not None:
        return decorate(script, script.recorded(function), _FUNCTION, {"reduce_retracing": "True"})
    for call in script.calls_at(made):
        if script.name(call.func) == _FUNCTION:
            return keyword_set(script, call, "reduce_retracing", "True")
    raise CannotEdit("the line that compiles it was not found", made)


def reads_shapes(body: NamedFunction) -> bool:
    """Whether code asks for shapes while it is traced: they may be unknown then."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _STATIC)
        or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
        )
        for node in ast.walk(body)
    )
