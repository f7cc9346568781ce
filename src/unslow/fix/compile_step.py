"""The move for `eager-step`: a training step that runs op by op becomes a `tf.function`, where that is safe."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unslow.fix.decorators import decorate, decorator
from unslow.fix.frozen import call_sites, called_in_loop, frozen
from unslow.fix.graphable import Offence, handed_to, offence
from unslow.fix.handed import as_tensor, bound_in, numbers_to_wrap, one_object_each, reads
from unslow.fix.lift import Part, in_order, lifted, part_of
from unslow.fix.move_out import move_out, updates_metric
from unslow.fix.scope import FUNCTIONS, Function, Loop, parameters, uses
from unslow.fix.script import CannotEdit, Script, last_name
from unslow.fix.statements import replaced, with_import
from unslow.fix.step import Step, find_step, spans
from unslow.fix.values import kind, objects

_FUNCTION = "tensorflow.function"
_RAGGED = frozenset({"padded_batch", "bucket_by_sequence_length", "ragged_batch", "dense_to_ragged_batch"})


def compile_step(
    script: Script, update_line: int, loop_line: int | None = None, varying_shapes: bool = False
) -> Script:
    """The step that updates the weights at a line runs as a `tf.function`; CannotEdit says what forbids it.

    A step in a function of its own is decorated, or split if it also does what only Python can do; a step
    inside a loop is lifted into a function. `loop_line` is the loop's own line where it is in this script.
    """
    keywords = {"reduce_retracing": "True"} if varying_shapes or _varies(script) else {}
    for _ in range(20):  # each round moves one statement out of the step
        step = find_step(script, update_line, loop_line)
        if _compiled(script, step):
            return script
        try:
            if step.loop is None:
                return _called_step(script, step, keywords)
            return _inline_step(script, step, keywords)
        except _Offends as problem:
            script = move_out(script, problem.offence, problem.statements)
        except _NotImported:
            before, (script, _) = script, with_import(script, "tensorflow")
            if script == before:
                raise script.refuse(
                    "TensorFlow is imported too late for a function before this step", step.update
                ) from None
    raise CannotEdit("too much of the step is Python's", update_line)


class _Offends(Exception):
    """Something in a run of statements cannot be compiled; it may be possible to move it behind them."""

    def __init__(self, offence: Offence, statements: Sequence[ast.stmt]) -> None:
        super().__init__(offence.reason)
        self.offence = offence
        self.statements = statements


class _NotImported(Exception):
    """TensorFlow cannot be named where the compiled function is to stand."""


def _varies(script: Script) -> bool:
    """Whether the script pads its batches to the longest of each, so that every one has its own shape."""
    return any(last_name(call.func) in _RAGGED for call in script.calls)


def _compiled(script: Script, step: Step) -> bool:
    """Whether the step is in (or calls for) a compiled function already."""
    for owner in script.ancestors(step.update):
        if isinstance(owner, FUNCTIONS) and decorator(script, owner, _FUNCTION) is not None:
            return True
    for node in script.calls:
        name = last_name(node.args[0]) if node.args else None
        if step.function is not None and name == step.function.name and script.resolve(node.func) == _FUNCTION:
            raise script.refuse(f"`{name}` is compiled here already", node)
    return False


# A step in a function of its own


def _called_step(script: Script, step: Step, keywords: Mapping[str, str]) -> Script:
    function = step.function
    if function is None:
        raise script.refuse("the update is neither in a loop nor in a function", step.update)
    _fit_to_compile(script, function)
    try:
        wrapped = _whole_function(script, function)
    except (CannotEdit, _Offends) as problem:
        return _split(script, step, keywords, problem)
    if wrapped:
        known = script.alias("tensorflow", function)
        if known is None:
            raise _NotImported
        # The function's body stays as it is, so its line still finds it.
        tensors = [replaced(script, node, f"{known}.constant({script.source(node)})") for node in wrapped]
        line, script = script.recorded(function), script.edit(tensors)
    else:
        line = script.recorded(function)
    return decorate(script, line, _FUNCTION, keywords)


def _fit_to_compile(script: Script, function: Function) -> None:
    if isinstance(function, ast.AsyncFunctionDef):
        raise script.refuse(f"`{function.name}` is a coroutine", function)
    owner = script.parents[function]
    bases = [script.resolve(base) or "" for base in owner.bases] if isinstance(owner, ast.ClassDef) else []
    keras = function.name == "train_step" and any("keras" in base for base in bases)
    if keras and not call_sites(script, function.name):
        raise script.refuse("Keras compiles `train_step` itself unless it is told to run eagerly", function)


def _whole_function(script: Script, function: Function) -> list[ast.expr]:
    """The arguments to wrap if the function is compiled as it stands; raises where it cannot be."""
    handed = handed_to(function)
    found = offence(script, function.body, handed, function) or frozen(script, function.body, handed, function, None)
    if found is None:
        found = _odd_result(script, function)
    if found is not None:
        raise _Offends(found, function.body)
    one_object_each(script, function, objects(function.body)[0])
    return [value for values in numbers_to_wrap(script, function, function.body).values() for value in values]


def _odd_result(script: Script, function: Function) -> Offence | None:
    """A compiled function can give back tensors only."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            if kind(script, node.value) == "text" or isinstance(node.value, ast.Lambda):
                return Offence("it returns something that is no tensor", node)
            called, _ = objects(function.body)
            names = {item.id for item in _returned(node.value) if isinstance(item, ast.Name)}
            for name in sorted(names & called):
                return Offence(f"it returns `{name}`, which is no tensor", node)
    return None


def _returned(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        return [inner for item in node.elts for inner in _returned(item)]
    return [value for item in node.values for value in _returned(item)] if isinstance(node, ast.Dict) else [node]


def _split(script: Script, step: Step, keywords: Mapping[str, str], problem: CannotEdit | _Offends) -> Script:
    """The function keeps what is Python's; its tape and update become a compiled function beside it."""
    function = step.function
    assert function is not None
    runs = list(spans(script, step))
    if not runs:
        if isinstance(problem, _Offends):
            raise script.refuse(problem.offence.reason, problem.offence.node) from problem
        raise problem
    return _first_that_works(script, runs, step, f"compiled_{function.name.lstrip('_')}", keywords)


# A step inside a loop


def _inline_step(script: Script, step: Step, keywords: Mapping[str, str]) -> Script:
    runs = list(spans(script, step))
    if not runs:
        raise script.refuse("no gradient tape leads to this update in its loop", step.update)
    return _first_that_works(script, runs, step, "train_step", keywords)


def _first_that_works(
    script: Script, runs: Sequence[Sequence[ast.stmt]], step: Step, name: str, keywords: Mapping[str, str]
) -> Script:
    problem: CannotEdit | _Offends | None = None
    for run in runs:
        try:
            plan = _plan(script, _extended(script, run, step), step)
        except (CannotEdit, _Offends) as found:
            problem = found
            continue
        return _lift_out(script, plan, name, keywords)
    assert problem is not None
    raise problem


@dataclass(frozen=True)
class _Plan:
    """A part that can be compiled, the statement its function goes in front of, and what it is handed."""

    part: Part
    before: ast.stmt
    inputs: list[str]
    tensors: set[str]  # inputs that are numbers, to be handed over as tensors
    method_of: str | None  # the name of `self` if the function becomes a method


def _extended(script: Script, run: Sequence[ast.stmt], step: Step) -> Sequence[ast.stmt]:
    """The run with the metric updates right behind it, which cost as much op by op as the step does."""
    block, start = script.block(run[0])
    end = start + len(run)
    while end < len(block) and updates_metric(block[end]):
        try:
            _plan(script, block[start : end + 1], step)
        except (CannotEdit, _Offends):
            break
        end += 1
    return block[start:end]


def _plan(script: Script, run: Sequence[ast.stmt], step: Step) -> _Plan:
    part = part_of(script, run)
    function, loop = step.function, _loop_to_leave(script, run, step)
    before: ast.stmt
    method_of: str | None = None
    if loop is not None:
        before = loop
        known = bound_in(loop)
    else:
        assert function is not None
        before = function
        known = uses(function.body).writes | parameters(function)
        for name in sorted(_imported_in(function, run)):
            raise script.refuse(f"`{name}` is imported inside `{function.name}`", function)
        method_of = _self_name(script, function)
    inputs = in_order([before], (part.needs & known) - {method_of or ""})
    handed = set(inputs)
    found = offence(script, run, handed, None) or frozen(script, run, handed | {method_of or ""}, None, loop)
    if found is not None:
        raise _Offends(found, run)
    tensors = _judged_inputs(script, part, inputs, step, beside=loop is None)
    return _Plan(part, before, inputs, tensors, method_of)


def _loop_to_leave(script: Script, run: Sequence[ast.stmt], step: Step) -> Loop | None:
    """The loop that the compiled function goes in front of; None: in front of the whole function around it.

    A function that is called again and again would make (and trace) a new compiled function each time.
    """
    function = step.function
    if step.loop is None:
        return None
    called, _ = objects(run)
    made_here = uses(run).writes
    imported = _imported_in(function, run) if function is not None else set()
    if function is not None and not imported and not _made_in(script, function, called - made_here):
        repeated = len(call_sites(script, function.name)) > 1 or called_in_loop(script, function)
        if repeated or isinstance(script.parents[function], ast.ClassDef):
            return None
    chosen: Loop | None = None
    for loop in script.loops_around(run[0]):
        remade = (called - made_here) & bound_in(loop)
        if remade and chosen is None:
            raise script.refuse(f"`{min(remade)}` is made again in every step", loop)
        if remade:
            break
        chosen = loop
    return chosen


def _imported_in(function: Function, run: Sequence[ast.stmt]) -> set[str]:
    """Names that code reads and that only the function around it imports."""
    imports = (node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom))
    return uses(run).reads & uses(imports).writes


def _made_in(script: Script, function: Function, names: set[str]) -> bool:
    """Whether a function makes one of these objects itself, so that each call of it has its own."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and names & {inner.id for target in node.targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}
        for node in ast.walk(function)
    )


def _self_name(script: Script, function: Function) -> str | None:
    """The name of the instance if the function is a plain method."""
    if not isinstance(script.parents[function], ast.ClassDef):
        return None
    kinds = {script.resolve(node) for node in function.decorator_list}
    if kinds & {"builtins.staticmethod", "builtins.classmethod", "builtins.property"} or not function.args.args:
        raise script.refuse(f"`{function.name}` is not a plain method", function)
    return function.args.args[0].arg


def _judged_inputs(script: Script, part: Part, inputs: Sequence[str], step: Step, beside: bool) -> set[str]:
    """The inputs that are numbers to be handed over as tensors; raises for those that cannot be handed over."""
    tensors: set[str] = set()
    written = uses(part.statements).writes
    for name in inputs:
        seen = reads(part.statements, name)
        if name in written:
            _carried(script, name, part)
        if seen and as_tensor(script, seen[0], name, part.statements, seen[0]):
            tensors.add(name)
    if beside and step.function is not None:
        one_object_each(script, step.function, set(inputs) & objects(part.statements)[0])
        tensors |= set(numbers_to_wrap(script, step.function, part.statements)) & set(inputs)
    return tensors


def _carried(script: Script, name: str, part: Part) -> None:
    """A value that one step hands to the next must be a tensor from the start."""
    simple = (node for top in part.statements for node in ast.walk(top) if isinstance(node, ast.stmt))
    node = next(node for node in simple if not hasattr(node, "body") and name in uses([node]).writes)
    for binding in script.names.bindings(name, node):
        if isinstance(binding.value, ast.Constant) and binding.value.value is not None:
            reason = f"`{name}` is a Python number that one step hands to the next"
            raise _Offends(Offence(reason, node), part.statements)


def _lift_out(script: Script, plan: _Plan, name: str, keywords: Mapping[str, str]) -> Script:
    known = script.alias("tensorflow", plan.before)
    if known is None:
        raise _NotImported
    given = ", ".join(f"{key}={value}" for key, value in keywords.items())
    spelling = f"{known}.function({given})" if given else f"{known}.function"
    calls = {item: f"{known}.constant({item})" for item in plan.tensors}
    new = script.fresh(name)
    return script.edit(lifted(script, plan.part, new, plan.inputs, plan.before, spelling, calls, plan.method_of))
