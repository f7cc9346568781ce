"""The move from a fit() per batch to `train_on_batch`, where both do the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.call_arguments import call, keyword_removed, keyword_set, rename_call
from unslow.fix.moves.shapes import reads
from unslow.syntax.nodes import argument, dotted, has_starred, receiver_of

# What train_on_batch does not take, and does not need for a single batch.
_NEEDLESS = ("epochs", "verbose", "batch_size", "shuffle")


def fit_as_batch(script: Script, line: int) -> Script:
    """`model.fit(x, y, epochs=1)` becomes `model.train_on_batch(x, y)`.

    Where the program reads values of the epoch out of the history, they are those of this batch.
    """
    if script.call_at(line, "fit") is None and script.call_at(line, "train_on_batch") is not None:
        return script
    found = call(script, line, "fit")
    _require_plain(script, found)
    model = dotted(receiver_of(found))
    kept = [each for each in script.every(ast.Attribute) if each.attr == "history"]
    read = [each for each in kept if model is not None and dotted(each.value) == model]
    script.refuse_if(read, f"`{model}.history` is what fit() keeps", next(iter(read), None))
    is_used = not isinstance(script.parents[found], ast.Expr)
    if is_used:
        script = _with_logs(script, found)
    for name in _NEEDLESS:
        script = keyword_removed(script, call(script, line, "fit"), name)
    if not is_used:
        return rename_call(script, line, "fit", "train_on_batch")
    script = keyword_set(script, call(script, line, "fit"), "return_dict", "True")
    found = call(script, line, "fit")
    assert isinstance(found.func, ast.Attribute)
    model = script.source(found.func.value)
    script = rename_call(script, line, "fit", "train_on_batch")
    # fit() begins each epoch so; without it, the logs would be means over all batches so far.
    return insert_before(script, line, f"{model}.reset_metrics()\n")


def _require_plain(script: Script, found: ast.Call) -> None:
    """Raises where the call asks for more than one pass over one batch."""
    if len(found.args) > 2 or has_starred(found.args):
        raise script.refuse("fit() is given more than the data by place", found)
    for keyword in found.keywords:
        if keyword.arg not in (*_NEEDLESS, "x", "y"):
            raise script.refuse(
                f"train_on_batch() has no `{keyword.arg or '**'}` that does the same", found
            )
    match argument(found, "epochs"):
        case None | ast.Constant(value=1):
            return
    raise script.refuse("fit() may run several epochs", found)


@dataclass(frozen=True)
class _Value:
    """A value that is read from a history: `result.history["loss"][0]`."""

    whole: ast.Subscript
    history: ast.expr  # `result`
    key: ast.expr  # `"loss"`


def _with_logs(script: Script, found: ast.Call) -> Script:
    """Every value that is read from the history becomes one of the batch's logs."""
    splices = []
    uses = list(_uses(script, found))
    script.refuse_if(not uses, "what fit() returns is used", found)
    for use in uses:
        value = _value_read(script, use)
        logs, key = script.source(value.history), script.source(value.key)
        splices.append(Splice(*script.span(value.whole), f"float({logs}[{key}])"))
    return script.edit(splices)


def _uses(script: Script, found: ast.Call) -> Iterator[ast.expr]:
    """The call where its result is read at once, or the names that keep its result."""
    parent = script.parents[found]
    if isinstance(parent, ast.Attribute):
        yield found
        return
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        raise script.refuse("what fit() returns is used", found)
    name = parent.targets[0].id
    for node in reads(script.home(found), name):
        if [binding.node for binding in script.reaching(node)] != [parent]:
            raise script.refuse(f"`{name}` may be another history here", node)
        yield node


def _value_read(script: Script, history: ast.expr) -> _Value:
    """The one value that is read from a history; raises where it is used in another way."""
    match [script.parents[history], *script.ancestors(script.parents[history])]:
        case [
            ast.Attribute(attr="history"),
            ast.Subscript(slice=ast.Constant(value=str()) as key),
            ast.Subscript(slice=index) as whole,
            *_,
        ] if ast.unparse(index) in ("0", "-1"):
            return _Value(whole, history, key)
    raise script.refuse("what fit() returns is used for more than its values", history)
