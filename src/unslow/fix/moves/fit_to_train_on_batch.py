"""The move from a fit() per batch to `train_on_batch`, where both do the same."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import argument, call, remove_keyword, rename_call

# What train_on_batch does not take, and does not need for a single batch.
_NEEDLESS = ("epochs", "verbose", "batch_size", "shuffle")


def fit_as_batch(script: Script, line: int) -> Script:
    """`model.fit(x, y, epochs=1)` becomes `model.train_on_batch(x, y)`; only where its result is
    not used."""
    if script.call_at(line, "fit") is None and script.call_at(line, "train_on_batch") is not None:
        return script
    found = call(script, line, "fit")
    if not isinstance(script.parents[found], ast.Expr):
        raise script.refuse("what fit() returns is used", found)
    if len(found.args) > 2 or any(isinstance(given, ast.Starred) for given in found.args):
        raise script.refuse("fit() is given more than the data by place", found)
    for keyword in found.keywords:
        if keyword.arg not in (*_NEEDLESS, "x", "y"):
            raise script.refuse(
                f"train_on_batch() has no `{keyword.arg or '**'}` that does the same", found
            )
    epochs = argument(script, found, "epochs")
    if epochs is not None and not (isinstance(epochs, ast.Constant) and epochs.value == 1):
        raise script.refuse("fit() may run several epochs", found)
    for name in _NEEDLESS:
        script = remove_keyword(script, line, "fit", name)
    return rename_call(script, line, "fit", "train_on_batch")
