"""Run a model over data in batches by `predict`, in place of one call with all of it."""

from __future__ import annotations

import ast

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.library import Kind
from unslow.syntax.nodes import receiver_of

_TRAINING = "training"


def predict_instead(script: Script, line: int, batch_size: str) -> Script:
    """`model(x, training=False).numpy()` becomes `model.predict(x, batch_size=32, verbose=0)`.

    So do other such calls of the model beside it: the largest that is left would be the peak.
    """
    called = [call for call in script.calls_at(line) if _is_of_model(script, call)]
    if len(called) != 1:
        raise script.refuse("which call on this line is that of the model is not clear", line)
    (call,) = called
    is_tensor = _fetching(script, call) is None
    script.refuse_if(is_tensor, "its result is used as a tensor; `predict` returns an array", call)
    script.refuse_if(_gives_more(call), "the model is called with more than its data", call)
    beside = [each for each in script.every(ast.Call) if _is_like(script, each, call)]
    return script.edit([_predicting(script, each, batch_size) for each in beside])


def _is_of_model(script: Script, call: ast.Call) -> bool:
    return script.kind(call.func) is Kind.MODEL


def _is_like(script: Script, call: ast.Call, other: ast.Call) -> bool:
    """Whether a call runs the same model in the same function, once, and as one may."""
    if ast.dump(call.func) != ast.dump(other.func) or _gives_more(call):
        return False
    is_once = script.function(call) is script.function(other) and not script.loops(call)
    return call is other or (is_once and _fetching(script, call) is not None)


def _predicting(script: Script, call: ast.Call, batch_size: str) -> Splice:
    fetching = _fetching(script, call)
    assert fetching is not None
    function, data = script.source(call.func), script.source(call.args[0])
    new = f"{function}.predict({data}, batch_size={batch_size}, verbose=0)"
    return replaced(script, fetching, new)


def _fetching(script: Script, call: ast.Call) -> ast.Call | None:
    """The call of `.numpy()` on what a call returns."""
    around = script.parents.get(script.parents.get(call, call))
    match around:
        case ast.Call(func=ast.Attribute(attr="numpy"), args=[], keywords=[]):
            return around if receiver_of(around) is call else None
    return None


def _gives_more(call: ast.Call) -> bool:
    is_single = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)
    return not is_single or not all(map(_is_no_training, call.keywords))


def _is_no_training(keyword: ast.keyword) -> bool:
    off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
    return keyword.arg == _TRAINING and off
