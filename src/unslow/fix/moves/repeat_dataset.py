"""Repeats a distributed dataset, and counts its batches instead of asking all workers."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before, replaced, spelled
from unslow.syntax.nodes import argument, first_line, method_of

_DISTRIBUTES = "experimental_distribute_dataset"
_POLICY = "AutoShardPolicy"
_SHARED_OUT = ("AUTO", "DATA")  # the elements; with OFF every worker gets all of them


def repeat_distributed(script: Script, line: int) -> Script:
    """`for batch in distributed:` takes as many batches as the dataset has from one without end.

    The line is that of the loop over the distributed dataset, outside of any graph.
    """
    _refuse_unequal_shards(script)
    script, itertools = spelled(script, "itertools")
    script = _named(script, line)
    loop, call, data = _parts(script, line)
    if not isinstance(data, ast.Name):
        raise script.refuse("the dataset that is distributed has no name of its own", call)
    for binding in script.bindings(data.id, data):
        is_later = script.loops_around(binding.node) or first_line(binding.node) > call.lineno
        script.refuse_if(is_later, f"`{data.id}` is set again later", binding.node)
    if script.bindings(data.id, loop) != script.bindings(data.id, data):
        raise script.refuse(f"`{data.id}` is not known at the loop", loop)
    counted = f"{itertools}.islice({script.source(loop.iter)}, int({data.id}.cardinality()))"
    repeated = replaced(script, data, f"{data.id}.repeat()")
    return script.edit([repeated, replaced(script, loop.iter, counted)])


def _refuse_unequal_shards(script: Script) -> None:
    """Each worker's number of batches is the dataset's only where its elements are shared out."""
    for node in ast.walk(script.tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith(_POLICY):
            is_other = node.attr not in _SHARED_OUT
            script.refuse_if(is_other, "not every worker gets an equal share of the batches", node)


def _named(script: Script, line: int) -> Script:
    """The same with a name for the dataset, where it is an expression."""
    _, call, data = _parts(script, line)
    if not isinstance(data, ast.Call):
        return script
    name = script.fresh("one_pass")
    named = script.edit([replaced(script, data, name)])
    return insert_before(named, script.recorded(call), f"{name} = {script.source(data)}")


def _parts(script: Script, line: int) -> tuple[ast.For, ast.Call, ast.expr | None]:
    """The loop, the call that distributes its dataset, and that dataset."""
    loop = script.statement_at(line)
    if not isinstance(loop, ast.For):
        raise script.refuse("the line is no `for` loop over the distributed dataset", line)
    call = _distributing(script, loop)
    return loop, call, argument(call, "dataset", 0)


def _distributing(script: Script, loop: ast.For) -> ast.Call:
    """The call that distributes the dataset of a loop."""
    made: ast.expr | None = loop.iter
    if isinstance(made, ast.Name):
        bindings = script.bindings(made.id, made)
        made = bindings[0].assigned if len(bindings) == 1 else None
    if not isinstance(made, ast.Call) or method_of(made) != _DISTRIBUTES:
        raise script.refuse(f"the loop is not over what one `{_DISTRIBUTES}` returned", loop)
    return made
