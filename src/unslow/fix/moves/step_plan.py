"""What a compiled step takes in and where its function goes; says so before anything is edited."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.captured_values import called_in_loop, called_objects, captured, reset_objects
from unslow.fix.moves.defer_statement import updates_metric
from unslow.fix.moves.extract_function import Part, in_order, part_of
from unslow.fix.moves.graph_rules import Offence, offence
from unslow.fix.moves.shapes import reads
from unslow.fix.moves.step_arguments import as_tensor, numbers_to_wrap, one_object_each
from unslow.fix.moves.training_step import Step
from unslow.syntax.nodes import (
    NamedFunction,
    StatementLoop,
    has_decorator,
    inside,
    parameter_names,
    positional_names,
)
from unslow.syntax.uses import bound_in, uses


class Offends(Exception):
    """Something in a run of statements cannot be compiled; it may be possible to move it behind
    them."""

    def __init__(self, offence: Offence, statements: Sequence[ast.stmt]) -> None:
        super().__init__(offence.reason)
        self.offence = offence
        self.statements = statements


@dataclass(frozen=True)
class Plan:
    """A part that can be compiled, the statement its function precedes, and its inputs."""

    part: Part
    before: ast.stmt
    inputs: list[str]
    tensors: set[str]  # inputs that are numbers, to be handed over as tensors
    method_of: str | None  # the name of `self` if the function becomes a method


def extended(script: Script, run: Sequence[ast.stmt], step: Step) -> Sequence[ast.stmt]:
    """The run with the metric updates after it, which cost as much op by op."""
    block, start = script.block(run[0])
    end = start + len(run)
    while end < len(block) and updates_metric(block[end]):
        try:
            planned(script, block[start : end + 1], step)
        except (CannotEdit, Offends):
            break
        end += 1
    return block[start:end]


def planned(script: Script, run: Sequence[ast.stmt], step: Step) -> Plan:
    part = part_of(script, run)
    _require_tensors_given(script, part)
    loop = _loop_to_leave(script, run, step)
    if loop is not None:
        before: ast.stmt = loop
        known, method_of = bound_in(loop), None
    else:
        function = step.function
        assert function is not None
        for name in sorted(_imported_in(function, run)):
            raise script.refuse(f"`{name}` is imported inside `{function.name}`", function)
        before, known = function, uses(function.body).writes | parameter_names(function)
        method_of = _self_name(script, function)
    inputs = in_order([before], (part.needs & known) - {method_of})
    _require_graph(script, run, step, {*inputs, method_of or ""}, loop)
    tensors = _tensors(script, part, inputs)
    if loop is None and step.function is not None:
        objects = set(inputs) & called_objects(run)[0]
        one_object_each(script, step.function, objects)
        tensors |= set(numbers_to_wrap(script, step.function, run)) & set(inputs)
    return Plan(part, before, inputs, tensors, method_of)


def _require_tensors_given(script: Script, part: Part) -> None:
    """Raises where a tape is read afterwards: a compiled function cannot return it."""
    entered = [item for node in inside(part.statements, ast.With) for item in node.items]
    names = [item.optional_vars for item in entered if isinstance(item.optional_vars, ast.Name)]
    for name in names:
        script.refuse_if(name.id in part.gives, f"`{name.id}` is used after the step", name)


def _require_graph(
    script: Script, run: Sequence[ast.stmt], step: Step, taken: set[str], loop: StatementLoop | None
) -> None:
    """Raises where the run does something that a graph cannot keep."""
    found = (
        offence(script, run, taken, None)
        or captured(script, run, taken, None, loop)
        or reset_objects(script, run, training_loops(script, run, step.function))
    )
    if found is not None:
        raise Offends(found, run)


def training_loops(
    script: Script, run: Sequence[ast.stmt], function: NamedFunction | None
) -> list[StatementLoop]:
    """The loops around a step, in its own function and where the script calls that."""
    sites = script.possible_calls(function) if function is not None else []
    return [loop for node in (run[0], *sites) for loop in script.loops_around(node)]


def _loop_to_leave(script: Script, run: Sequence[ast.stmt], step: Step) -> StatementLoop | None:
    """The loop that the compiled function precedes; None for the function around it."""
    if step.loop is None:
        return None
    objects = called_objects(run)[0] - uses(run).writes
    if step.function is not None and _belongs_beside(script, run, step.function, objects):
        return None
    chosen: StatementLoop | None = None
    for loop in script.loops_around(run[0]):
        remade = objects & bound_in(loop)
        if remade and chosen is None:
            raise script.refuse(f"`{min(remade)}` is made again in every step", loop)
        if remade:
            break
        chosen = loop
    return chosen


def _belongs_beside(
    script: Script, run: Sequence[ast.stmt], function: NamedFunction, objects: set[str]
) -> bool:
    """Whether the compiled function must stand beside the one that the step is in, not inside.

    A function that is called repeatedly would make (and trace) a new compiled function each time.
    """
    if _imported_in(function, run) or _makes(function, objects):
        return False
    if script.class_of_method(function) is not None:
        return True
    return len(script.possible_calls(function)) > 1 or called_in_loop(script, function)


def _imported_in(function: NamedFunction, run: Sequence[ast.stmt]) -> set[str]:
    """Names that code reads and that only the function around it imports."""
    imports = [*inside(function, ast.Import), *inside(function, ast.ImportFrom)]
    return uses(run).reads & uses(imports).writes


def _makes(function: NamedFunction, names: set[str]) -> bool:
    """Whether a function makes one of these objects itself, so that each call of it has its own."""
    made = [node for node in inside(function, ast.Assign) if isinstance(node.value, ast.Call)]
    return any(uses(node.targets).writes & names for node in made)


def _self_name(script: Script, function: NamedFunction) -> str | None:
    """The name of the instance if the function is a plain method."""
    if script.class_of_method(function) is None:
        return None
    names = positional_names(function)
    if not names or has_decorator(function, "staticmethod", "classmethod", "property"):
        raise script.refuse(f"`{function.name}` is not a plain method", function)
    return names[0]


def _tensors(script: Script, part: Part, inputs: Sequence[str]) -> set[str]:
    """Inputs to pass as tensors; raises for those that cannot be passed."""
    tensors: set[str] = set()
    written = uses(part.statements).writes
    for name in inputs:
        seen = reads(part.statements, name)
        if name in written:
            _require_tensor_state(script, name, part)
        if seen and as_tensor(script, seen[0], name, part.statements, seen[0]):
            tensors.add(name)
    return tensors


def _require_tensor_state(script: Script, name: str, part: Part) -> None:
    """A value that one step hands to the next must be a tensor from the start."""
    statements = list(inside(part.statements, ast.stmt))
    simple = [node for node in statements if not hasattr(node, "body")]
    binding = next((node for node in simple if name in uses([node]).writes), part.statements[0])
    for item in script.bindings(name, binding):
        if isinstance(item.assigned, ast.Constant) and item.assigned.value is not None:
            reason = f"`{name}` is a Python number that one step hands to the next"
            raise Offends(Offence(reason, binding), part.statements)
