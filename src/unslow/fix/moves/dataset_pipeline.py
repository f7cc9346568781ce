"""Edits of tf.data pipelines: threads, parallel maps, functions on whole batches, work ahead."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from unslow.facts.schema import Place
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before, spelled
from unslow.fix.moves.call_arguments import keyword_set
from unslow.fix.moves.method_chain import (
    add_link,
    changing_function,
    dataset_chain_at,
    pipeline_end,
    stage_call,
    swap_links,
)
from unslow.fix.moves.shapes import calls_of, is_call, mentions, names_in, only
from unslow.model import Fix, Safety
from unslow.syntax.callees import Definition
from unslow.syntax.nodes import (
    FUNCTIONS,
    Function,
    NamedFunction,
    argument,
    inside,
    is_constant,
    last_name,
    parameter_names,
    root_name,
    words,
)
from unslow.syntax.uses import changed, declared, uses

# Ops that treat every number alike, so that a batch of elements goes through them like one element.
_ELEMENTWISE = words(
    "Placeholder Const Identity IdentityN NoOp Cast Add AddV2 Sub Mul Div RealDiv DivNoNan"
    " FloorDiv FloorMod Maximum Minimum Neg Abs Square Sqrt Rsqrt Exp Log Log1p Pow Tanh"
    " Sigmoid Relu Relu6 Elu ClipByValue Round Rint Floor Ceil Sign Sin Cos Less LessEqual"
    " Greater GreaterEqual Equal NotEqual LogicalAnd LogicalOr LogicalNot SelectV2"
)
_BETWEEN_TWO = words(
    "Add AddV2 Sub Mul Div RealDiv DivNoNan FloorDiv FloorMod Maximum Minimum Pow Less LessEqual"
    " Greater GreaterEqual Equal NotEqual LogicalAnd LogicalOr SelectV2 ClipByValue"
)
# Methods, and where they may be given `num_parallel_calls` without its name.
_METHODS = {"Map": ("map", 1), "Interleave": ("interleave", 3)}


def parallel_map(script: Script, line: int, kind: str, random: bool, function: Place | None) -> Fix:
    """`num_parallel_calls=tf.data.AUTOTUNE` for the map (or interleave) at a line."""
    method, position = _METHODS[kind]
    node = stage_call(script, line, method, function)
    script, value = spelled(script, "tf.data.AUTOTUNE", node)
    node = stage_call(script, line, method, function)
    edited = keyword_set(script, node, "num_parallel_calls", value, position)
    title = f"let `{method}` use the cores that are idle"
    note = _of_several_calls(script, node, random)
    if not note:
        return Fix(title, Safety.EXACT, {script.path: edited.text})
    return Fix(title, Safety.REVIEW, {script.path: edited.text}, note)


def _of_several_calls(script: Script, node: ast.Call, random: bool) -> str:
    """How several calls at once may change what a stage gives; empty where they do not."""
    if random:
        note = "The function draws random numbers: with several calls at once they go to other "
        return note + "elements than before."
    name = changing_function(script, node)
    if name:
        note = f"`{name}` may be another function in each call: where one draws random numbers, "
        return note + "they go to other elements than before."
    if _is_unordered(script, node):
        note = "The order of its elements is left open: with several calls at once it is another "
        return note + "one in each run."
    return ""


def _is_unordered(script: Script, node: ast.Call) -> bool:
    """Whether a stage, or an option of a pipeline, leaves the order of elements open."""
    if is_constant(argument(node, "deterministic"), False):
        return True
    set_to = (item.value for item in script.every(ast.Assign) if _is_order_option(item))
    return any(is_constant(value, False) for value in set_to)


def _is_order_option(node: ast.Assign) -> bool:
    return last_name(node.targets[0]) in ("deterministic", "experimental_deterministic")


def more_threads(script: Script, line: int, threads: int, place: tuple[str, int, str]) -> Fix:
    """Many calls at once for a map that sleeps, and as many threads to run them."""
    risk = _shared_state(script, place)
    edited = keyword_set(
        script, stage_call(script, line, "map"), "num_parallel_calls", str(threads)
    )
    edited, options = spelled(edited, "tf.data.Options", stage_call(edited, line, "map"))
    name = edited.fresh("input_options")
    code = f"{name} = {options}()\n{name}.threading.private_threadpool_size = {threads}"
    if "private_threadpool_size" not in script.text:
        edited = insert_before(edited, line, code)
        edited = add_link(edited, line, f"with_options({name})", after="map")
    title = f"call `{place[2]}` {threads} times at once"
    if not risk:
        return Fix(title, Safety.EXACT, {script.path: edited.text})
    note = f"`{place[2]}` is called by {threads} threads at once, and {risk}."
    return Fix(title, Safety.REVIEW, {script.path: edited.text}, note)


def _shared_state(script: Script, place: tuple[str, int, str]) -> str:
    """Why concurrent calls of a function might interfere; empty where they cannot."""
    function = script.function_at(place[1]) if place[0] == script.path else None
    if function is None or function.name != place[2]:
        return "what it shares between its calls could not be read"
    if declared(function):
        return "it sets a global name"
    local = uses(function.body).writes | parameter_names(function)
    for path in sorted(changed(function.body)):
        if path.partition(".")[0] not in local:
            return f"it changes `{path}`"
    reasons = (_stateful(script, node, local) for node in inside(function, ast.Call))
    return next(filter(None, reasons), "")


def _stateful(script: Script, node: ast.Call, local: set[str]) -> str:
    name = script.name(node.func)
    if name.startswith(("numpy.random.", "random.")):
        return "" if name == "numpy.random.default_rng" and node.args else f"it draws from `{name}`"
    owner = root_name(node.func)
    top = next(iter(mentions(node.func, owner)), None)
    if owner is None or owner in local or script.name(top):
        # of its own, or a module's function: calls inside of a chain are looked at by themselves
        return ""
    if not isinstance(node.func, ast.Name):
        return f"`{owner}` is shared by all of them"
    known = [each for each in script.functions if each.name == owner]
    return _shared_state(script, (script.path, known[0].lineno, owner)) if known else ""


def whole_batches(script: Script, line: int, types: Collection[str], scalars: bool) -> Fix:
    """`.map(f).batch(n)` becomes `.batch(n).map(f)` where `f` is elementwise."""
    parse = _single_parse(script, line)
    alike = _ELEMENTWISE if parse is None else _ELEMENTWISE | _OF_PARSING
    strange = sorted(set(types or ["an unknown op"]) - alike)
    mapped, used = stage_call(script, line, "map"), ", ".join(strange[:3])
    reason = f"the function may mean something else for a whole batch: it uses {used}"
    script.refuse_if(strange, reason, mapped)
    reason = "the function uses arrays that would meet another shape in a batch"
    script.refuse_if(not scalars, reason, mapped)
    meets = parse is None and bool(_BETWEEN_TWO.intersection(types))
    function = _function_of(script, mapped) if meets else None
    if function is not None:
        _require_apart(script, mapped, function)
    edited = script
    if parse is not None:
        many = script.source(parse.func).replace("parse_single_example", "parse_example")
        edited = script.edit([Splice(*script.span(parse.func), many)])
    edited = swap_links(edited, line, "map", "batch")
    title, files = "call the function once per batch", {script.path: edited.text}
    if not meets or function is not None:
        return Fix(title, Safety.CLOSE, files)
    note = "The function was not read: parts of an element of different shapes must not meet in it."
    return Fix(title, Safety.REVIEW, files, note)


def _function_of(script: Script, mapped: ast.Call) -> Function | None:
    """The function that is mapped, where the program defines it."""
    given = argument(mapped, "map_func", 0)
    if isinstance(given, ast.Lambda):
        return given
    found = script.definition(given) if given is not None else None
    return found.node if found is not None and isinstance(found.node, FUNCTIONS) else None


def _require_apart(script: Script, mapped: ast.Call, function: Function) -> None:
    """Raises where parts of an element meet: numbers of one each would meet rows of a batch."""
    parts = {name: {name} for name in parameter_names(function)}
    for node in inside(function.body, ast.AST):
        if isinstance(node, ast.Assign):
            read = _parts_of(node.value, parts)
            parts |= {name: parts.get(name, set()) | read for name in names_in(node.targets)}
    for node in inside(function.body, ast.AST):
        computes = isinstance(node, ast.BinOp | ast.Compare | ast.Call | ast.IfExp)
        together = sorted(_parts_of(node, parts)) if computes else []
        if len(together) > 1:
            what = f"`{together[0]}` and `{together[1]}`"
            reason = f"{what} may meet in other shapes in a batch"
            raise script.refuse(reason, mapped)


def _parts_of(code: ast.AST, parts: Mapping[str, set[str]]) -> set[str]:
    """The parts of an element that code computes with: arguments, and items of them."""
    found: set[str] = set()
    items = [each for each in inside(code, ast.Subscript) if root_name(each) in parts]
    roots = {name for each in items for name in inside(each.value, ast.Name)}
    for name in inside(code, ast.Name):
        found |= parts.get(name.id, set()) if name not in roots else set()
    return found | {ast.unparse(each) for each in items}


# What parsing records and stacking their numbers is made of.
_OF_PARSING = words("ParseSingleExample ParseExampleV2 Pack ExpandDims Reshape")


def _single_parse(script: Script, line: int) -> ast.Call | None:
    """The call that parses one record in the mapped function, where a whole batch is parsed alike.

    Every feature must be a single number, and what is stacked must be stacked along the last axis.
    """
    function = _mapped(script, line)
    calls = [] if function is None else list(inside(function.body, ast.Call))
    parse = only(calls_of(script, calls, *_PARSES))
    if parse is None or not all(_is_last_axis(script, each) for each in calls):
        return None
    spec = argument(parse, "features", 1)
    features = script.only_value(spec) if isinstance(spec, ast.Name) else spec
    values = list(inside(features, ast.Call)) if features is not None else []
    return parse if values and all(map(_is_scalar_feature, values)) else None


_PARSES = ("tf.io.parse_single_example", "tf.parse_single_example")


def _mapped(script: Script, line: int) -> NamedFunction | None:
    """The function that is mapped at a line, where nothing else uses it."""
    given = argument(stage_call(script, line, "map"), "map_func", 0)
    if not isinstance(given, ast.Name) or len(mentions(script.tree, given.id)) > 1:
        return None
    match script.definition(given):
        case Definition(source=source, node=ast.FunctionDef() as node) if source is script:
            return node
    return None


def _is_last_axis(script: Script, node: ast.Call) -> bool:
    if is_call(script, node, "tf.reshape"):
        return False
    axis = argument(node, "axis", 1)
    is_last = axis is not None and ast.unparse(axis) == "-1"
    return is_last or not is_call(script, node, "tf.stack", "tf.concat", "tf.expand_dims")


def _is_scalar_feature(node: ast.Call) -> bool:
    match argument(node, "shape", 0):
        case ast.List(elts=[]) | ast.Tuple(elts=[]):
            return last_name(node.func) == "FixedLenFeature"
    return False


def shuffle_first(script: Script, line: int, is_repeatable: bool) -> Fix:
    """`.map(f).shuffle(n)` becomes `.shuffle(n).map(f)`: the buffer holds what is small.

    A repeatable `f` gives the same result for an element whenever it is called.
    """
    edited = swap_links(script, line, "map", "shuffle")
    script.refuse_if(edited == script, "no `map` stands right in front of the shuffle", line)
    title, files = "shuffle in front of the map", {script.path: edited.text}
    if is_repeatable:
        return Fix(title, Safety.EXACT, files)
    note = "A function that draws random numbers draws them for other elements."
    return Fix(title, Safety.REVIEW, files, note)


def work_ahead(script: Script, line: int) -> Fix:
    """A prefetch at the end of the pipeline that a line is part of."""
    end = pipeline_end(script, line)
    script, value = spelled(script, "tf.data.AUTOTUNE", dataset_chain_at(script, end)[-1].call)
    edited = add_link(script, end, f"prefetch({value})")
    return Fix("make batches while the step runs", Safety.EXACT, {script.path: edited.text})


def work_ahead_tuned(script: Script, line: int) -> Fix:
    """TensorFlow chooses how many elements the prefetch at a line holds."""
    script, value = spelled(script, "tf.data.AUTOTUNE", stage_call(script, line, "prefetch"))
    node = stage_call(script, line, "prefetch")
    edited = keyword_set(script, node, "buffer_size", value, position=0)
    return Fix("prefetch a few elements", Safety.EXACT, {script.path: edited.text})


def fill_queue(script: Script, line: int, threads: int) -> Fix:
    """More threads for a queue of TensorFlow 1 whose batches a line takes."""
    shuffled = script.call_at(line, "shuffle_batch")
    node, position = (
        (shuffled, 4) if shuffled is not None else (stage_call(script, line, "batch"), 2)
    )
    edited = keyword_set(script, node, "num_threads", str(threads), position=position)
    note = (
        "Several threads read and prepare examples at once: they come in another order than before."
    )
    title = f"fill the queue with {threads} threads"
    return Fix(title, Safety.REVIEW, {script.path: edited.text}, note)


def smaller_shuffle(script: Script, line: int, size: int) -> Fix:
    """Another buffer size for the shuffle; whether it mixes well is for its owner to say."""
    node = stage_call(script, line, "shuffle")
    edited = keyword_set(script, node, "buffer_size", str(size), position=0)
    note = (
        f"With {size} elements in the buffer the order is less random: see that the source is not "
        "sorted."
    )
    title = f"a shuffle buffer of {size} elements"
    return Fix(title, Safety.REVIEW, {script.path: edited.text}, note)
