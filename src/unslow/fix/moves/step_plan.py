"""What a compiled step takes in and where its function goes; says so before anything is edited."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.captured_values import called_in_loop, captured, reset_objects
from unslow.fix.moves.defer_statement import updates_metric
from unslow.fix.moves.extract_function import Part, in_order, part_of
from unslow.fix.moves.graph_rules import Offence, offence
from unslow.fix.moves.step_arguments import (
    as_tensor,
    numbers_to_wrap,
    one_object_each,
    reads,
)
from unslow.fix.moves.training_step import Step
from unslow.syntax.nodes import NamedFunction, StatementLoop, parameter_names
from unslow.syntax.python_types import called_objects
from unslow.syntax.uses import bound_in, uses


class Offends(Exception):
    """Something in a run of statements cannot be compiled; it may be possible to move it behind them."""

    def __init__(self, offence: Offence, statements: Sequence[ast.stmt]) -> None:
        super().__init__(offence.reason)
        self.offence = offence
        self.statements = statements


@dataclass(frozen=True)
class Plan:
    """A part that can be compiled, the statement its function goes in front of, and what it is handed."""

    part: Part
    before: ast.stmt
    inputs: list[str]
    tensors: set[str]  # inputs that are numbers, to be handed over as tensors
    method_of: str | None  # the name of `self` if the function becomes a method


def extended(script: Script, run: Sequence[ast.stmt], step: Step) -> Sequence[ast.stmt]:
    """The run with the metric updates right behind it, which cost as much op by op as the step does."""
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
    function, loop = step.function, _loop_to_leave(script, run, step)
    before: ast.stmt
    method_of: str | None = None
    if loop is not None:
        before = loop
        known = bound_in(loop)
    else:
        assert function is not None
        before = function
        known = uses(function.body).writes | parameter_names(function)
        for name in sorted(_imported_in(function, run)):
            raise script.refuse(f"`{name}` is imported inside `{function.name}`", function)
        method_of = _self_name(script, function)
    inputs = in_order([before], (part.needs & known) - {method_of or ""})
    handed = set(inputs)
    found = offence(script, run, handed, None) or captured(
        script, run, handed | {method_of or ""}, None, loop
    )
    found = found or reset_objects(script, run, training_loops(script, run, function))
    if found is not None:
        raise Offends(found, run)
    tensors = _judged_inputs(script, part, inputs, step, beside=loop is None)
    return Plan(part, before, inputs, tensors, method_of)


def training_loops(
    script: Script, run: Sequence[ast.stmt], function: NamedFunction | None
) -> list[StatementLoop]:
    """The loops around a step, in its own function and where the script calls that."""
    sites = script.possible_calls(function) if function is not None else []
    return [loop for node in (run[0], *sites) for loop in script.loops_around(node)]


def _loop_to_leave(script: Script, run: Sequence[ast.stmt], step: Step) -> StatementLoop | None:
    """The loop that the compiled function goes in front of; None: in front of the whole function around it.

    A function that is called again and again would make (and trace) a new compiled function each time.
    """
    function = step.function
    if step.loop is None:
        return None
    called, _ = called_objects(run)
    made_here = uses(run).writes
    imported = _imported_in(function, run) if function is not None else set()
    if function is not None and not imported and not _made_in(script, function, called - made_here):
        repeated = len(script.possible_calls(function)) > 1 or called_in_loop(script, function)
        if repeated or isinstance(script.parents[function], ast.ClassDef):
            return None
    chosen: StatementLoop | None = None
    for loop in script.loops_around(run[0]):
        remade = (called - made_here) & bound_in(loop)
        if remade and chosen is None:
            raise script.refuse(f"`{min(remade)}` is made again in every step", loop)
        if remade:
            break
        chosen = loop
    return chosen


def _imported_in(function: NamedFunction, run: Sequence[ast.stmt]) -> set[str]:
    """Names that code reads and that only the function around it imports."""
    imports = (node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom))
    return uses(run).reads & uses(imports).writes


def _made_in(script: Script, function: NamedFunction, names: set[str]) -> bool:
    """Whether a function makes one of these objects itself, so that each call of it has its own."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and names
        & {
            inner.id
            for target in node.targets
            for inner in ast.walk(target)
            if isinstance(inner, ast.Name)
        }
        for node in ast.walk(function)
    )


def _self_name(script: Script, function: NamedFunction) -> str | None:
    """The name of the instance if the function is a plain method."""
    if not isinstance(script.parents[function], ast.ClassDef):
        return None
    kinds = {script.name(node) for node in function.decorator_list}
    if kinds & {"staticmethod", "classmethod", "property"} or not function.args.args:
        raise script.refuse(f"`{function.name}` is not a plain method", function)
    return function.args.args[0].arg


def _judged_inputs(
    script: Script, part: Part, inputs: Sequence[str], step: Step, beside: bool
) -> set[str]:
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
        one_object_each(script, step.function, set(inputs) & called_objects(part.statements)[0])
        tensors |= set(numbers_to_wrap(script, step.function, part.statements)) & set(inputs)
    return tensors


def _carried(script: Script, name: str, part: Part) -> None:
    """A value that one step hands to the next must be a tensor from the start."""
    simple = (
        node for top in part.statements for node in ast.walk(top) if isinstance(node, ast.stmt)
    )
    bind = (node for node in simple if not hasattr(node, "body") and name in uses([node]).writes)
    node = next(bind, part.statements[0])
    for binding in script.bindings(name, node):
        if isinstance(binding.assigned, ast.Constant) and binding.assigned.value is not None:
            reason = f"`{name}` is a Python number that one step hands to the next"
            raise Offends(Offence(reason, node), part.statements)
