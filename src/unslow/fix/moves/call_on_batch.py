"""Call `predict_on_batch` or `test_on_batch` instead of what sets up a pipeline for each call."""

from __future__ import annotations

import ast
from collections.abc import Collection

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.call_arguments import call
from unslow.syntax.nodes import COMPREHENSIONS, FUNCTIONS, dotted, of_type, receiver_of

_IGNORED = ("verbose", "batch_size", "callbacks")  # they change no result
_SEVERAL_TIMES = (ast.While, ast.For)  # statements whose first line may run more than once
_NOT_ALWAYS = (ast.IfExp, ast.BoolOp, *COMPREHENSIONS, *FUNCTIONS)


def gives_only(script: Script, line: int, method: str, most: int, names: Collection[str]) -> bool:
    """Whether a call gives nothing but what may stay, and what may go.

    One unpacked argument, `*held_out`, stands for all that goes by position.
    """
    node = call(script, line, method)
    starred = of_type(node.args, ast.Starred)
    few = len(node.args) <= most if not starred else len(node.args) == 1 < most
    known = [word.arg for word in node.keywords if word.arg in (*names, *_IGNORED)]
    return few and len(known) == len(node.keywords)


def reset_metrics_before(script: Script, line: int, method: str) -> Script:
    """`model.reset_metrics()` in front of a statement: `evaluate` begins with it too."""
    node, made = statement(script, line), call(script, line, method)
    model = dotted(receiver_of(made))
    if model is None:
        raise script.refuse("the model is made where it is called", made)
    between = [owner for owner in script.ancestors(made) if script.within(owner, node)]
    if isinstance(node, _SEVERAL_TIMES) or any(isinstance(each, _NOT_ALWAYS) for each in between):
        raise script.refuse(f"`{method}` does not run once for each time its line runs", made)
    return insert_before(script, line, f"{model}.reset_metrics()\n")
