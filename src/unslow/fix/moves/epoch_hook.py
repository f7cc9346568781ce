"""Let a Keras callback do once per epoch what it does for every batch."""

from __future__ import annotations

import ast

from unslow.facts.schema import Stack
from unslow.fix.edit.blocks import above, indent, laid_out, removal, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.hoist_reset import reset_sites
from unslow.fix.moves.run_every_n import batch_number
from unslow.fix.moves.shapes import is_text, method_named
from unslow.syntax.uses import uses

_HOOK = "on_epoch_begin"


def reset_each_epoch(script: Script, stack: Stack) -> Script | None:
    """Moves a reset out of a hook for batches into `on_epoch_begin`.

    The stack leads to the reset; None where no such hook is among its lines.
    """
    for owner, node in reset_sites(script, stack):
        batch = batch_number(owner, node)
        if batch is not None:
            return script.along(_moved(owner, node, batch), owner)
    return None


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
