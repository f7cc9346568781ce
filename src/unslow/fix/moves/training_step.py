"""Where a training step is in the source, from its tape to its last weight update."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.syntax.nodes import (
    DEFINITIONS,
    STATEMENT_LOOPS,
    NamedFunction,
    StatementLoop,
    inside,
    last_name,
    words,
)

_UPDATES = words("apply_gradients apply minimize assign_sub assign_add")
_TAPES = words("GradientTape")
_MOST_CALLS = 5  # between a tape and its update; no program was seen with more than two


@dataclass(frozen=True)
class Step:
    """A step's update as a statement of the function (None: the module) that holds the tape, and
    the loop
    around it there (None: the function itself is called once per step)."""

    update: ast.stmt
    function: NamedFunction | None
    loop: StatementLoop | None


def _calls(script: Script, node: ast.AST, names: frozenset[str]) -> bool:
    """Whether code calls one of these, itself or through functions of the script's."""
    functions = list(script.functions)
    waiting: list[ast.AST] = [node]
    while waiting:
        called = {last_name(call.func) for call in inside(waiting.pop(), ast.Call)}
        if called & names:
            return True
        waiting += [function for function in functions if function.name in called]
        functions = [function for function in functions if function.name not in called]
    return False


def _minimizes(node: ast.AST) -> bool:
    return "minimize" in {last_name(call.func) for call in inside(node, ast.Call)}


def find_step(script: Script, update_line: int, loop_line: int | None) -> Step:
    """The step that updates at a line, in the function that holds the tape."""
    update = statement(script, update_line)
    wanted = script.now(loop_line) if loop_line is not None else None
    for _ in range(_MOST_CALLS):
        function = script.function_of(update)
        loops = script.loops_around(update)
        loop = next((item for item in loops if wanted in (None, item.lineno)), None)
        step = Step(update, function, loop)
        holds_tape = _calls(script, loop or function or script.tree, _TAPES)
        if holds_tape or _minimizes(update) or function is None:
            return step
        caller = _caller_with_tape(script, function)
        if caller is None:
            return step
        update = script.statement_of(caller)
    return Step(update, script.function_of(update), None)


def _caller_with_tape(script: Script, function: NamedFunction) -> ast.Call | None:
    """A call of a function from code that holds a gradient tape."""
    for call in script.possible_calls(function):
        caller = script.function_of(call)
        if caller is not function and _calls(script, caller or script.tree, _TAPES):
            return call
    return None


def spans(script: Script, step: Step) -> Iterator[Sequence[ast.stmt]]:
    """Runs of statements to compile, largest first; none if no tape leads to the update."""
    node: ast.stmt | None = step.update
    while node is not None:
        block, index = script.block(node)
        before = block[: index + 1]
        tapes = [place for place, item in enumerate(before) if _calls(script, item, _TAPES)]
        if not tapes and _minimizes(node):
            tapes = [index]
        if tapes:
            updates = [place for place, item in enumerate(block) if _calls(script, item, _UPDATES)]
            last = max([index, *updates])
            yield block[tapes[0] : last + 1]
            if (tapes[0], last) != (tapes[-1], index):
                yield block[tapes[-1] : index + 1]
            return
        node = _statement_around(script, node)


def _statement_around(script: Script, node: ast.stmt) -> ast.stmt | None:
    """The statement whose block a statement stands in, within its loop and function."""
    parent = script.statement(script.parents[node])
    return None if isinstance(parent, (*DEFINITIONS, *STATEMENT_LOOPS)) else parent
