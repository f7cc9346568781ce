"""Make tensors once, before the function, of arrays that it copies into its graph."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import put_above
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import spelling
from unslow.syntax.library import TENSOR_LIKE, Kind
from unslow.syntax.nodes import (
    NamedFunction,
    given_values,
    inside,
    is_stored,
    last_name,
    parameter_names,
    words,
)
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import changed, uses

_CONSTANT = "tf.constant"
# They take an array first, whose type depends on nothing else: beside a tensor of another type, an
# array would get that type.
_ALONE = words(
    "tf.gather tf.gather_nd tf.nn.embedding_lookup tf.cast tf.reshape tf.transpose tf.identity"
    " tf.convert_to_tensor tf.expand_dims tf.squeeze tf.slice tf.reduce_sum tf.reduce_mean"
    " tf.reduce_max tf.reduce_min"
)
_OTHER_TYPES = ("float64", "float16", "double")
_NO_ARRAYS = (*TENSOR_LIKE, Kind.MODEL, Kind.OPTIMIZER, Kind.METRIC)


def constants_outside(script: Script, line: int) -> Script:
    """`tf.gather(table, ids)` in a compiled function reads a tensor that is made before the
    function.

    A tensor from outside is handed to the graph; an array would be copied into it, and with it
    through every stage of making it.
    """
    function = script.function_at(line)
    if function is None:
        raise script.refuse("the line is in no function", line)
    if script.function_of(function) is not None or script.class_of_method(function) is not None:
        raise script.refuse("the function is not at the module's level", function)
    reads = _arrays(script, function)
    script.refuse_if(not reads, "no array of the module is handed to TensorFlow there", line)
    return _replaced(script, function, reads)


def _arrays(script: Script, function: NamedFunction) -> list[ast.Name]:
    """Where the function passes TensorFlow an array that the module binds once before it."""
    local = uses(function.body).writes | parameter_names(function)
    found = []
    for node in inside(function.body, ast.Name):
        if is_stored(node) or node.id in local or not _is_given(script, node):
            continue
        bindings = script.bindings(node.id, node)
        one_early = len(bindings) == 1 and _is_array_before(script, bindings[0], function)
        if one_early:
            _require_same(script, node, function)
        if one_early and script.kind(node) not in _NO_ARRAYS:
            found.append(node)
    return found


def _is_given(script: Script, node: ast.Name) -> bool:
    """Whether a name as a whole is an argument of one of TensorFlow's functions."""
    parent = script.parents[node]
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    name = script.name(parent.func)
    if name in _ALONE and parent.args[0] is node and not _gives_type(parent):
        return True
    return name.startswith("tf.") and name != _CONSTANT and _is_float32(script, node)


def _is_float32(script: Script, node: ast.Name) -> bool:
    """Whether an array is of TensorFlow's usual type, as all else in the script seems to be."""
    values = [item.assigned for item in script.bindings(node.id, node)]
    told = all(value is not None and "float32" in script.source(value) for value in values)
    return bool(values) and told and not any(each in script.text for each in _OTHER_TYPES)


def _gives_type(call: ast.Call) -> bool:
    """`tf.convert_to_tensor(table, tf.float32)`: a tensor of another type cannot be converted."""
    return last_name(call.func) == "convert_to_tensor" and len(given_values(call)) > 1


def _require_same(script: Script, node: ast.Name, function: NamedFunction) -> None:
    """Raises where the array is changed in place between the function and its first call."""
    for other in inside(script.tree, ast.stmt):
        is_early = script.function_of(other) is None and other.lineno < function.lineno
        if not hasattr(other, "body") and not is_early and node.id in changed([other]):
            raise script.refuse(f"`{node.id}` is changed in place here", other)


def _is_array_before(script: Script, binding: Binding, function: NamedFunction) -> bool:
    node = binding.node
    at_top = script.function_of(node) is None and not script.loops_around(node)
    before = int(getattr(node, "lineno", 0)) < function.lineno
    plain = isinstance(binding.assigned, ast.Constant)
    is_assigned = isinstance(node, ast.Assign | ast.AnnAssign)
    return at_top and before and is_assigned and not plain


def _replaced(script: Script, function: NamedFunction, reads: list[ast.Name]) -> Script:
    constant, imports = spelling(script, _CONSTANT, function)
    is_late = not imports and script.alias(_CONSTANT, function) is None
    script.refuse_if(is_late, "TensorFlow is imported too late for this function", function)
    names = {node.id: script.fresh(f"{node.id}_tensor") for node in reads}
    rows = [f"{new} = {constant}({old})" for old, new in names.items()]
    made = put_above(script, function, *rows, blank_lines=2)
    uses_ = [Splice(*script.span(node), names[node.id]) for node in reads]
    return script.edit([*imports, made, *uses_])
