"""Let a Keras callback do once per epoch what it does for every batch."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, indent, laid_out, removal, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.run_every_n import batch_number
from unslow.fix.moves.shapes import is_text, method_named
from unslow.syntax.nodes import NamedFunction, header_calls, last_name, words
from unslow.syntax.uses import uses

_HOOK = "on_epoch_begin"
_RESETS = words("seed set_seed set_random_seed clear_session collect")


def reset_each_epoch(script: Script, lines: Sequence[int]) -> Script | None:
    """Moves a reset out of a hook for batches into `on_epoch_begin`.

    The lines are those of the reset and of its callers; None where no such hook is among them.
    """
    for line in lines:
        node = script.statement_at(line)
        batch = batch_number(script, node) if node is not None else None
        if node is not None and batch is not None:
            return _moved(script, node, batch)
        if node is None or not _only_resets(script.function_of(node)):
            return None
    return None


def _only_resets(function: NamedFunction | None) -> bool:
    """Whether a helper does nothing but reset things, so that it can move as a whole."""
    body = function.body if function is not None else []
    done = [node for node in body if not is_text(node)]
    return function is not None and all(map(_is_reset, done))


def _is_reset(node: ast.stmt) -> bool:
    calls = header_calls(node)
    return isinstance(node, ast.Expr) and bool(calls) and last_name(calls[0].func) in _RESETS


def _moved(script: Script, node: ast.stmt, batch: str) -> Script:
    hook = script.function_of(node)
    owner = script.class_of_method(hook) if hook is not None else None
    assert hook is not None and owner is not None
    if node not in hook.body or not isinstance(node, ast.Expr):
        raise script.refuse("the callback does not reset it for every batch", node)
    own = hook.args.args[0].arg
    local = uses(hook.body).writes | {each.arg for each in hook.args.args[2:]}
    for name in sorted(uses([node]).reads & local):
        raise script.refuse(f"`{name}` is only known for a batch", node)
    code = ast.unparse(_FirstBatch(batch).visit(ast.parse(script.source(node))))
    present = method_named(owner, _HOOK)
    script.refuse_if(present, f"`{owner.name}` has an `{_HOOK}`: the reset belongs there", present)
    margin, step = indent(script, hook), unit(script, hook)
    method = f"def {_HOOK}({own}, epoch, logs=None):\n    {code}\n"
    rest = [each for each in hook.body if each is not node and not is_text(each)]
    text = laid_out(script, method, margin, step)
    if not rest:
        start, end = above(script, hook), script.lines.stop(hook.end_lineno or hook.lineno)
        return script.edit([Splice(start, end, text)])
    start = above(script, hook)
    new = Splice(start, start, text + script.lines.newline)
    return script.edit([new, removal(script, [node])])


class _FirstBatch(ast.NodeTransformer):
    """An expression as it is for batch 0: `seed + batch` is `seed`."""

    def __init__(self, batch: str) -> None:
        self.batch = batch

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(0) if node.id == self.batch else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=0), op=ast.Add(), right=rest):
                return rest
            case ast.BinOp(left=rest, op=ast.Add(), right=ast.Constant(value=0)):
                return rest
        return node
