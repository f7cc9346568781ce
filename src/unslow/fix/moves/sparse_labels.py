"""Integer labels and the sparse loss, in place of one-hot labels."""

from __future__ import annotations

import ast

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced, spelling
from unslow.fix.moves.shapes import reads
from unslow.syntax.library import Kind
from unslow.syntax.nodes import inside, is_constant, last_name, words

_TO_ONE_HOT = "to_categorical"
_LOSS = "categorical_crossentropy"
_SPELLINGS = {
    "categorical_crossentropy": "sparse_categorical_crossentropy",
    "categorical_accuracy": "sparse_categorical_accuracy",
    "top_k_categorical_accuracy": "sparse_top_k_categorical_accuracy",
    "CategoricalCrossentropy": "SparseCategoricalCrossentropy",
    "CategoricalAccuracy": "SparseCategoricalAccuracy",
    "TopKCategoricalAccuracy": "SparseTopKCategoricalAccuracy",
}
_LOSSES = ("keras.losses.CategoricalCrossentropy", f"keras.losses.{_LOSS}")
# Metrics that compare columns.
_OF_COLUMNS = words("Precision Recall AUC F1Score FBetaScore BinaryAccuracy IoU MeanIoU OneHotIoU")


def sparse_labels(script: Script, line: int, name: str) -> Script:
    """`y = to_categorical(y)` becomes `y = y`'s integers, with the sparse loss and metrics."""
    call = script.call_at(line, _TO_ONE_HOT)
    if call is None or not call.args:
        raise script.refuse(f"`{name}` is not made by `{_TO_ONE_HOT}` on this line", line)
    for read in reads(script.tree, name):
        columns = _asks_for_columns(script, read)
        script.refuse_if(columns, f"`{name}` is read by its columns here", read)
    integers = script.source(call.args[0])
    imports: list[Splice] = []
    if script.kind(call.args[0]) is not Kind.ARRAY:  # the call also takes a list
        asarray, imports = spelling(script, "numpy.asarray")
        integers = f"{asarray}({integers})"
    return script.edit([*imports, replaced(script, call, integers), *_sparse(script)])


def _asks_for_columns(script: Script, read: ast.Name) -> bool:
    """`y.shape[1]`, `y.argmax(1)`, `y[:, 0]`, `np.argmax(y, 1)`."""
    match script.parents[read]:
        case ast.Attribute(attr="shape") as shape:
            asked = script.parents[shape]
            return not (isinstance(asked, ast.Subscript) and is_constant(asked.slice, 0))
        case ast.Attribute(attr="argmax" | "sum" | "mean"):
            return True
        case ast.Subscript(slice=ast.Tuple()):
            return True
        case ast.Call(func=function):
            return last_name(function) in ("argmax", "sum", "mean")
    return False


def _require_plain_loss(script: Script) -> None:
    """Raises where the program has not just the one loss, or uses the columns of its labels."""
    losses = [each for each in script.every(ast.Constant) if each.value == _LOSS]
    named = [each for each in script.every(ast.Attribute) if script.name(each) in _LOSSES]
    if len(losses) + len(named) != 1:
        what = "more than once" if losses or named else "nowhere"
        raise script.refuse(f'the loss "{_LOSS}" is written out {what} in this file')
    for call in script.every(ast.Call):
        smooths = "label_smoothing" in {word.arg for word in call.keywords}
        script.refuse_if(smooths, "the loss smooths its labels, which integers cannot be", call)
    compiles = [call for call in script.every(ast.Call) if last_name(call.func) == "compile"]
    for part in inside(compiles, ast.Attribute):
        of_columns = part.attr in _OF_COLUMNS
        script.refuse_if(of_columns, f"`{part.attr}` compares the columns of labels", part)


def _sparse(script: Script) -> list[Splice]:
    """The one loss of the program, and its metrics, for labels that are integers."""
    _require_plain_loss(script)
    edits = []
    for text in script.every(ast.Constant):
        if isinstance(text.value, str) and text.value in _SPELLINGS:
            edits.append(replaced(script, text, f'"{_SPELLINGS[text.value]}"'))
    for place in script.every(ast.Attribute):
        if script.name(place).startswith("keras.") and place.attr in _SPELLINGS:
            new = f"{script.source(place.value)}.{_SPELLINGS[place.attr]}"
            edits.append(replaced(script, place, new))
    return edits
