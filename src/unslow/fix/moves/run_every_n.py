"""Run a statement of a loop every n-th time only."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import in_place, indent, put_above, reindented, siblings, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.extract_function import read_afterwards
from unslow.syntax.nodes import StatementLoop, argument, dotted, inside, last_name, words
from unslow.syntax.uses import jumps, uses

_BATCH_METHODS = words("on_train_batch_begin on_train_batch_end on_batch_begin on_batch_end")
# What writes summaries, with the position of the step among its arguments.
_STEP_ARGUMENT = {
    "as_default": 0,
    "add_summary": 1,
    "scalar": 2,
    "histogram": 2,
    "image": 2,
    "text": 2,
    "audio": 3,
}
_OF_WRITERS = {"as_default": "step", "add_summary": "global_step"}  # methods, and their keyword
_CALLBACKS = ("keras.callbacks.Callback", "keras.callbacks.callback.Callback")


def guard(script: Script, line: int, every: int, last: int | None = None) -> Script:
    """Puts the statement at a line (or those from it to another) under `if step % every == 0`."""
    part = siblings(script, line, last or line)
    present = _period(script, part[0])
    if present == every:
        return script
    if present is not None:
        raise script.refuse(f"the statement already runs every {present} steps only", part[0])
    loops = script.loops_around(part[0])
    if not loops:
        number = batch_number(script, part[0]) or _written_step(script, part)
        if number is None:
            raise script.refuse("the statement is not in a loop", part[0])
        _may_be_left_out(script, part)
        return script.edit([_guarded(script, part, number, every)])
    _may_be_left_out(script, part)
    loop = loops[0]
    counter = _counter(script, loop)
    if counter is not None:
        return script.edit([_guarded(script, part, counter, every)])
    counter = script.fresh("step")
    if isinstance(loop, ast.For):
        return script.edit(
            [*_enumerated(script, loop, counter), _guarded(script, part, counter, every)]
        )
    return script.edit(_counted(script, loop, part, counter, every))


def _period(script: Script, node: ast.stmt) -> int | None:
    """The n of a statement that stands under `if … % n == 0` already."""
    match script.parents[node]:
        case (
            ast.If(
                test=ast.Compare(
                    left=ast.BinOp(op=ast.Mod(), right=ast.Constant(value=int(period))),
                    ops=[ast.Eq()],
                )
            ) as parent
        ) if node in parent.body:
            return period
    return None


def batch_number(script: Script, node: ast.stmt) -> str | None:
    """The batch number among the parameters of a Keras callback's method."""
    function = script.function_of(node)
    if function is None or function.name not in _BATCH_METHODS or len(function.args.args) < 2:
        return None
    owner = script.class_of_method(function)
    is_callback = owner is not None and script.inherits(owner, *_CALLBACKS)
    name = function.args.args[1].arg
    return name if is_callback and name not in uses(function.body).changes else None


def _written_step(script: Script, part: Sequence[ast.stmt]) -> str | None:
    """The step that statements give to what they write into a summary."""
    for call in inside(part, ast.Call):
        method = last_name(call.func)
        known = method in _OF_WRITERS or script.name(call.func).startswith("tf.summary.")
        keyword = _OF_WRITERS.get(method, "step")
        step = argument(call, keyword, _STEP_ARGUMENT.get(method)) if known else None
        path = dotted(step)
        if path is not None and path.partition(".")[0] not in uses(part).writes:
            return path
    return None


def _may_be_left_out(script: Script, part: Sequence[ast.stmt]) -> None:
    left = jumps(part)
    script.refuse_if(left is not None, "the statement steers the loop it is in", left)
    for name in sorted(uses(part).writes & read_afterwards(script, part)):
        raise script.refuse(
            f"`{name}` is read afterwards, so it must be bound in every step", part[0]
        )


def _counter(script: Script, loop: StatementLoop) -> str | None:
    """The name that counts iterations: the target of `range(…)` or of `enumerate(…)`."""
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Call(func=function, args=[_] | [_, _])):
            counts = script.name(function) == "range"
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), _]), iter=ast.Call(func=function)):
            counts = script.name(function) == "enumerate"
        case _:
            return None
    kept = name != "_" and name not in uses(loop.body).changes
    return name if counts and kept else None


def _guarded(
    script: Script, part: Sequence[ast.stmt], counter: str, every: int, tail: str = ""
) -> Splice:
    margin, newline = indent(script, part[0]), script.lines.newline
    body = reindented(script, part, margin + unit(script, part[0]))
    text = f"{margin}if {counter} % {every} == 0:{newline}{body}{tail}"
    return in_place(script, part, text)


def _enumerated(script: Script, loop: ast.For, counter: str) -> list[Splice]:
    target, source = script.source(loop.target), script.source(loop.iter)
    if isinstance(loop.target, ast.Tuple) and not target.startswith("("):
        target = f"({target})"
    if isinstance(loop.iter, ast.Tuple) and not source.startswith("("):
        source = f"({source})"
    return [
        Splice(*script.span(loop.target), f"{counter}, {target}"),
        Splice(*script.span(loop.iter), f"enumerate({source})"),
    ]


def _counted(
    script: Script, loop: StatementLoop, part: Sequence[ast.stmt], counter: str, every: int
) -> list[Splice]:
    """A counter of our own for loops that `enumerate` cannot count."""
    zero = put_above(script, loop, f"{counter} = 0")
    step = f"{indent(script, part[0])}{counter} += 1{script.lines.newline}"
    return [zero, _guarded(script, part, counter, every, tail=step)]
