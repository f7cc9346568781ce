"""Where a training step is in the source: the statements from its tape to its last weight update."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    STATEMENT_LOOPS,
    NamedFunction,
    StatementLoop,
    last_name,
)

_UPDATES = frozenset({"apply_gradients", "apply", "minimize", "assign_sub", "assign_add"})


@dataclass(frozen=True)
class Step:
    """A step's update as a statement of the function (None: the module) that holds the tape, and the loop
    around it there (None: the function itself is called once per step)."""

    update: ast.stmt
    function: NamedFunction | None
    loop: StatementLoop | None


def _calls(script: Script, node: ast.AST, names: frozenset[str]) -> bool:
    """Whether code calls one of these, itself or through functions of the script's."""
    todo: list[ast.AST] = [node]
    seen: set[str | None] = set()
    while todo:
        called = {
            last_name(inner.func) for inner in ast.walk(todo.pop()) if isinstance(inner, ast.Call)
        }
        if called & names:
            return True
        todo += (function for function in script.functions if function.name in called - seen)
        seen |= called
    return False


def _tapes(script: Script, node: ast.AST) -> bool:
    return _calls(script, node, frozenset({"GradientTape"}))


def _minimizes(node: ast.AST) -> bool:
    return any(
        isinstance(inner, ast.Call) and last_name(inner.func) == "minimize"
        for inner in ast.walk(node)
    )


def find_step(script: Script, update_line: int, loop_line: int | None) -> Step:
    """The step that updates at a line: in the function with the tape, up the calls if it is not the updating one."""
    update = statement(script, update_line)
    function = script.function_of(update)
    wanted = script.now(loop_line) if loop_line is not None else None
    for _ in range(5):  # no more than a few calls lie between a tape and its update
        around = script.loops_around(update)
        loop = next((item for item in around if wanted is None or item.lineno == wanted), None)
        scope: ast.AST = loop or function or script.tree
        if _tapes(script, scope) or _minimizes(update) or function is None:
            return Step(update, function, loop)
        callers = [
            call
            for call in script.possible_calls(function)
            if script.function_of(call) is not function
        ]
        tapes = [
            call for call in callers if _tapes(script, script.function_of(call) or script.tree)
        ]
        if not tapes:
            return Step(update, function, loop)
        update = script.statement_of(tapes[0])
        function = script.function_of(update)
    return Step(update, function, None)


def spans(script: Script, step: Step) -> Iterator[Sequence[ast.stmt]]:
    """The runs of statements that could be compiled, the largest first; nothing if no tape leads to the update."""
    node = step.update
    while True:
        block, index = script.block(node)
        tapes = [place for place, item in enumerate(block[: index + 1]) if _tapes(script, item)]
        if _minimizes(node) and not tapes:
            tapes = [index]
        if tapes:
            last = max(
                place
                for place, item in enumerate(block)
                if place == index or _calls(script, item, _UPDATES)
            )
            yield block[tapes[0] : last + 1]
            if (tapes[0], last) != (tapes[-1], index):
                yield block[tapes[-1] : index + 1]
            return
        parent = script.parents[node]
        while isinstance(parent, ast.ExceptHandler | ast.match_case):
            parent = script.parents[parent]
        if not isinstance(parent, ast.stmt) or isinstance(
            parent, (*NAMED_FUNCTIONS, *STATEMENT_LOOPS, ast.ClassDef)
        ):
            return
        node = parent
