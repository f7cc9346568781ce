"""`tf.vectorized_map`, one op for all elements, in the place of `tf.map_fn`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import spelling
from unslow.fix.moves.python_parts import effect_of_tracing
from unslow.fix.moves.shapes import DRAWS, calls_of, is_call, names_in
from unslow.syntax.nodes import (
    FUNCTIONS,
    Function,
    argument,
    given_values,
    inside,
    is_constant,
    method_of,
    parameter_names,
    words,
)
from unslow.syntax.uses import uses

_MAP = "tf.map_fn"
_VECTORIZED = "tf.vectorized_map"
# Options of tf.map_fn about how it runs, which mean nothing without a loop.
_ABOUT_THE_LOOP = words("parallel_iterations swap_memory infer_shape name")
_OUTPUT = ("dtype", "fn_output_signature")
# What has another size for each element, or is no op that could be done for all at once.
_UNLIKE = (
    *("tf.boolean_mask", "tf.where", "tf.unique", "tf.ragged.", "tf.RaggedTensor", "tf.sparse."),
    *("tf.io.", "tf.strings.", "tf.py_function", "tf.numpy_function", "tf.print", "tf.while_loop"),
    *("tf.cond", "tf.case", "tf.switch_case", "tf.scan", "tf.foldl", "tf.foldr", "tf.image.decode"),
    *("tf.Variable", "tf.TensorArray", "tf.debugging.", "tf.dynamic_partition", "tf.map_fn"),
)
_CHANGES = words("assign assign_add assign_sub update_state numpy")
_BRANCHES = (ast.If, ast.While, ast.For, ast.IfExp)
_DEEPEST = 5  # functions that the mapped one calls; a judgement


@dataclass(frozen=True)
class Vectorized:
    """The edited script, and whether each element drew random numbers of its own."""

    script: Script
    draws: bool


def vectorize_map(script: Script, line: int) -> Vectorized:
    """`tf.map_fn(f, x)` at a line becomes `tf.vectorized_map(f, x)`; CannotEdit says why not."""
    call = _map_call(script, line)
    if call is None:
        if _is_done(script, line):
            return Vectorized(script, False)
        raise script.refuse("the loop is not made by `tf.map_fn` on this line", line)
    function, elements = argument(call, "fn", 0), argument(call, "elems", 1)
    if function is None or elements is None or len(call.args) > 2:
        raise script.refuse("the arguments of `tf.map_fn` are not written out", call)
    _require_plain_options(script, call)
    made = [elements, *(script.possible_values(elements) if _is_place(elements) else [])]
    called = [script.name(each.func) for each in made if isinstance(each, ast.Call)]
    ragged = any("ragged" in name.lower() for name in called)
    script.refuse_if(ragged, "the elements of a ragged tensor have other sizes", call)
    names = list(_ops(script, function))
    given, done = script.source(function), script.source(elements)
    name, imports = spelling(script, _VECTORIZED, call)
    edited = script.edit([*imports, Splice(*script.span(call), f"{name}({given}, {done})")])
    return Vectorized(edited, any(op.startswith(DRAWS) for op in names))


def _is_place(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def _map_call(script: Script, line: int) -> ast.Call | None:
    return next(iter(calls_of(script, script.calls_at(line, "map_fn"), _MAP)), None)


def _is_done(script: Script, line: int) -> bool:
    return bool(calls_of(script, script.calls_at(line), _VECTORIZED))


def _require_plain_options(script: Script, call: ast.Call) -> None:
    for keyword in call.keywords:
        if keyword.arg in ("fn", "elems") or keyword.arg in _ABOUT_THE_LOOP:
            continue
        if keyword.arg == "back_prop":
            stops = not is_constant(keyword.value, True)
            script.refuse_if(stops, "`back_prop` keeps gradients from flowing back", keyword.value)
            continue
        if keyword.arg not in _OUTPUT or not _is_plain_output(script, keyword.value):
            what = script.source(keyword.value)
            raise script.refuse(f"`{what}` says more about the results than a dtype", keyword.value)


def _is_plain_output(script: Script, output: ast.expr) -> bool:
    """Whether results are told to be tensors of some dtypes and shapes, as they are anyway."""
    match output:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_is_plain_output(script, part) for part in parts)
        case ast.Call():
            return is_call(script, output, "tf.TensorSpec")
    return script.name(output).startswith("tf.")


def _ops(script: Script, function: ast.expr) -> Iterator[str]:
    """TensorFlow's functions that a mapped function calls; raises for what cannot be vectorised."""
    found = script.definition(function)
    if found is None:
        if script.name(function).startswith("tf."):
            yield _allowed(script, function, script.name(function))
            return
        what = script.source(function)
        raise script.refuse(f"what `{what}` does with an element is not known", function)
    if found.source is not script or not isinstance(found.node, FUNCTIONS):
        what = script.source(function)
        raise script.refuse(f"`{what}` is defined in another file or is no function", function)
    yield from _ops_inside(script, found.node, _DEEPEST)


def _ops_inside(script: Script, function: Function, depth: int) -> Iterator[str]:
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    own = uses(body).writes | parameter_names(function)
    for node in inside(body, ast.AST):
        if not isinstance(node, _BRANCHES):
            continue
        decided_by = node.iter if isinstance(node, ast.For) else node.test
        reason = "what is done may be another thing for each element"
        script.refuse_if(names_in(decided_by) & own, reason, node)
    effect = effect_of_tracing(script, body, parameter_names(function))
    if effect is not None:
        raise script.refuse(*effect)
    for call in inside(body, ast.Call):
        name = script.name(call.func)
        if name and not _is_choice(script, call):
            yield _allowed(script, call, name)
        elif method_of(call) in _CHANGES:
            raise script.refuse(f"`.{method_of(call)}()` cannot be done for all at once", call)
        inner = script.own_function(call)
        if inner is not None and depth == 0:
            raise script.refuse("the function leads through too many others", call)
        if inner is not None:
            yield from _ops_inside(script, inner, depth - 1)


def _is_choice(script: Script, call: ast.Call) -> bool:
    """Whether `tf.where` chooses between two values: with a condition alone, it lists indices."""
    return is_call(script, call, "tf.where") and len(given_values(call)) > 1


def _allowed(script: Script, node: ast.AST, name: str) -> str:
    if f"{name}.".startswith(tuple(f"{each.rstrip('.')}." for each in _UNLIKE)):
        raise script.refuse(f"`{name}` cannot be done for all elements at once", node)
    return name
