"""Run a training step as a `tf.function` where that is safe."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_function import (
    arguments_to_wrap,
    compile_function,
    decorated,
    known_tensorflow,
    require_compilable,
)
from unslow.fix.moves.defer_statement import move_out
from unslow.fix.moves.extract_function import NewFunction, lifted
from unslow.fix.moves.step_arguments import SeveralObjects
from unslow.fix.moves.step_plan import Offends, Plan, extended, planned
from unslow.fix.moves.training_step import Step, find_step, spans
from unslow.syntax.literals import Literal, without_not
from unslow.syntax.nodes import (
    DEFINITIONS,
    NAMED_FUNCTIONS,
    NamedFunction,
    last_name,
)

_FUNCTION = "tf.function"
_RAGGED = frozenset(
    {"padded_batch", "bucket_by_sequence_length", "ragged_batch", "dense_to_ragged_batch"}
)


def compile_step(
    script: Script, update_line: int, loop_line: int | None = None, varying_shapes: bool = False
) -> Script:
    """The step that updates the weights at a line runs as a `tf.function`; CannotEdit says what
    forbids it.

    A step in a function of its own is decorated, or split if it also does what only Python can do;
    a step inside a loop is lifted into a function; where a switch of the program decides whether
    the step is compiled, the switch is set. `loop_line` is the loop's own line where it is
    in this script.
    """
    keywords = {"reduce_retracing": "True"} if varying_shapes or _varies(script) else {}
    for _ in range(20):  # each round moves one statement out of the step
        step = find_step(script, update_line, loop_line)
        if _compiled(script, step):
            return script
        wrapping = _wrapping(script, step)
        if wrapping is not None:
            return _switched_on(script, step, wrapping)
        try:
            if step.loop is None:
                return _called_step(script, step, keywords)
            return _inline_step(script, step, keywords)
        except Offends as problem:
            script = move_out(script, problem.offence, problem.statements)
    raise CannotEdit("too much of the step is Python's", update_line)


def _varies(script: Script) -> bool:
    """Whether the script pads batches to their longest item, so that shapes vary."""
    return any(last_name(call.func) in _RAGGED for call in script.every(ast.Call))


def _compiled(script: Script, step: Step) -> bool:
    """Whether the step is compiled already."""
    owners = script.ancestors(step.update)
    around = [owner for owner in owners if isinstance(owner, NAMED_FUNCTIONS)]
    return any(script.compiler(owner) is not None for owner in around)


# A step that a switch of the program compiles


def _wrapping(script: Script, step: Step) -> ast.Call | None:
    """The call that compiles the step's function, though the step was seen to run op by op."""
    if step.function is None:
        return None
    own = step.function.name
    calls = (call for call in script.calls(_FUNCTION) if own in map(last_name, call.args[:1]))
    return next(calls, None)


def _switched_on(script: Script, step: Step, wrapping: ast.Call) -> Script:
    """Sets the program's own switch, on which it depends whether the step is compiled."""
    function = step.function
    assert function is not None
    test, wanted = _switch(script, function, wrapping)
    try:
        wrapped = arguments_to_wrap(script, function)
    except Offends as problem:
        raise script.refuse(problem.offence.reason, problem.offence.node) from problem
    if wrapped:
        reason = "a number changes from step to step: hand it over as a tensor first"
        raise script.refuse(reason, wrapped[0])

    def set_to(literal: Literal[Script]) -> str:
        what = f"the switch is `{literal.source.source(literal.node)}`"
        eager = f"{what} already, and something keeps the step eager"
        script.refuse_if(literal.value is wanted, eager, test)
        is_switch = isinstance(literal.value, bool)
        script.refuse_if(not is_switch, f"{what}, which is no True or False", test)
        return str(wanted)

    return script.with_value(test, set_to)


def _switch(script: Script, function: NamedFunction, wrapping: ast.Call) -> tuple[ast.expr, bool]:
    """The condition under which a call is made, and the value of it that leads there."""
    conditions: list[tuple[ast.expr, bool]] = []
    inner: ast.AST = wrapping
    for owner in script.ancestors(wrapping):
        if isinstance(owner, DEFINITIONS):
            break
        if isinstance(owner, ast.If | ast.IfExp) and inner is not owner.test:
            taken = owner.body if isinstance(owner.body, list) else [owner.body]
            conditions.append((owner.test, inner in taken))
        inner = owner
    if len(conditions) != 1:
        reason = f"`{function.name}` is compiled here already"
        if conditions:
            reason = f"`{function.name}` is compiled here under more than one condition"
        raise script.refuse(reason, wrapping)
    return without_not(*conditions[0])


# A step in a function of its own


def _called_step(script: Script, step: Step, keywords: Mapping[str, str]) -> Script:
    function = step.function
    if function is None:
        raise script.refuse("the update is neither in a loop nor in a function", step.update)
    require_compilable(script, function)
    try:
        wrapped = arguments_to_wrap(script, function)
    except SeveralObjects as problem:
        return _compiled_callers(script, function, keywords, problem)
    except (CannotEdit, Offends) as problem:
        return _split(script, step, keywords, problem)
    return decorated(script, function, wrapped, keywords)


def _compiled_callers(
    script: Script, function: NamedFunction, keywords: Mapping[str, str], problem: SeveralObjects
) -> Script:
    """Compile each caller that passes a model of its own: the step is traced in them."""
    lines = []
    for site in script.possible_calls(function):
        caller = script.function_of(site)
        if caller is None or script.loops_around(site):
            raise problem
        lines.append(script.recorded(caller))
    for line in dict.fromkeys(lines):
        caller = script.function_at(line)
        assert caller is not None
        script = compile_function(script, caller, keywords)
    return script


def _split(
    script: Script, step: Step, keywords: Mapping[str, str], problem: CannotEdit | Offends
) -> Script:
    """Compile tape and update beside the function, which keeps the Python parts."""
    function = step.function
    assert function is not None
    runs = list(spans(script, step))
    if not runs:
        if isinstance(problem, Offends):
            raise script.refuse(problem.offence.reason, problem.offence.node) from problem
        raise problem
    in_loop = bool(script.loops_around(runs[0][0]))
    name = "train_step" if in_loop else f"compiled_{function.name.lstrip('_')}"
    return _first_that_works(script, runs, step, name, keywords)


# A step inside a loop


def _inline_step(script: Script, step: Step, keywords: Mapping[str, str]) -> Script:
    runs = list(spans(script, step))
    script.refuse_if(not runs, "no gradient tape leads to this update in its loop", step.update)
    return _first_that_works(script, runs, step, "train_step", keywords)


def _first_that_works(
    script: Script,
    runs: Sequence[Sequence[ast.stmt]],
    step: Step,
    name: str,
    keywords: Mapping[str, str],
) -> Script:
    problem: CannotEdit | Offends | None = None
    for run in runs:
        try:
            plan = planned(script, extended(script, run, step), step)
        except (CannotEdit, Offends) as found:
            problem = found
            continue
        return _lift_out(script, plan, name, keywords)
    assert problem is not None
    raise problem


def _lift_out(script: Script, plan: Plan, name: str, keywords: Mapping[str, str]) -> Script:
    known, imports = known_tensorflow(script, plan.before)
    options = ", ".join(f"{key}={value}" for key, value in keywords.items())
    decorator = f"{known}.function({options})" if options else f"{known}.function"
    new = NewFunction(
        script.fresh(name),
        plan.inputs,
        plan.before,
        decorator,
        {item: f"{known}.constant({item})" for item in plan.tensors},
        plan.method_of,
    )
    return script.edit([*imports, *lifted(script, plan.part, new)])
