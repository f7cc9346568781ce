"""Make the body of a Python loop a function that `tf.while_loop` runs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from unslow.fix.edit.blocks import extent, in_place, indent
from unslow.fix.edit.lines import Splice, spliced
from unslow.fix.edit.script import Script
from unslow.fix.moves.extract_function import in_order, part_of
from unslow.fix.moves.shapes import names_in
from unslow.syntax.nodes import inside, last_name, method_of, of_type
from unslow.syntax.uses import declared, uses


def while_loop(
    script: Script, loop: ast.For, carried: Collection[str], edits: Sequence[Splice], runs: str
) -> list[Splice]:
    """The edits that run a loop over `range(n)` by `tf.while_loop`, in any kind of function.

    AutoGraph need not see it: the edit also holds in the `call` of a Keras layer, where
    `@tf.function` would keep a trace that Keras made before the layer had its weights. `edits` are
    others, some of them in the body; `runs` is how `tf.while_loop` is spelled.
    """
    counter = loop.target
    assert isinstance(loop.iter, ast.Call) and isinstance(counter, ast.Name)
    _require_function(script, loop, carried)
    names = in_order([loop], carried)
    function, margin = script.fresh("loop_body"), indent(script, loop)
    inner, newline = indent(script, loop.body[0]), script.lines.newline
    own = counter.id if "_" in names_in(script.home(loop)) else "_"
    start = ", ".join(["0", *names]) if names else "0,"
    comment, body = _body(script, loop, edits)
    above = script.lines.content(loop.lineno - 1).strip()
    rows = [""] if above and not above.endswith(":") else []
    rows += [
        f"{margin}def {function}({', '.join([counter.id, *names])}):{comment}",
        f"{body}{inner}return {', '.join([f'{counter.id} + 1', *names])}",
        "",
        f"{margin}{', '.join([own, *names])} = {runs}(",
        f"{inner}lambda *_: True,",
        f"{inner}{function},",
        f"{inner}({start}),",
        f"{inner}maximum_iterations={script.source(loop.iter.args[0])},",
        f"{margin})",
    ]
    rest = [edit for edit in edits if not _is_in(script, edit, loop)]
    return [*rest, in_place(script, [loop], newline.join(rows) + newline)]


def _require_function(script: Script, loop: ast.For, carried: Collection[str]) -> None:
    """Raises where the body would mean something else in a function of its own."""
    part_of(script, loop.body)
    outer = declared(script.home(loop)) & uses(loop.body).writes
    script.refuse_if(outer, "the body binds names of an outer scope", loop)
    script.refuse_if(loop.orelse, "the loop has an `else`", loop)
    script.refuse_if(loop.body[0].lineno == loop.lineno, "the body has no line of its own", loop)
    counts = isinstance(loop.iter, ast.Call) and len(loop.iter.args) == 1
    script.refuse_if(not counts, "AutoGraph may not see it, and it does not count from 0", loop)
    is_kept = last_name(loop.target) in carried
    script.refuse_if(is_kept, "the counter is used after the loop", loop)
    for node in inside(loop.body, ast.expr):
        if isinstance(node, ast.IfExp | ast.BoolOp | ast.Compare):
            reason = "a condition in the body, which AutoGraph would have to convert"
            raise script.refuse(reason, node)
    for call in _dropped(loop):
        is_known = script.name(call.func).startswith("tf.") or method_of(call) == "append"
        script.refuse_if(not is_known, "what is called for its effect may need Python", call)


def _dropped(loop: ast.For) -> list[ast.Call]:
    """The calls in the body whose result is dropped."""
    return of_type((node.value for node in of_type(loop.body, ast.Expr)), ast.Call)


def _is_in(script: Script, edit: Splice, loop: ast.For) -> bool:
    start, end = script.span(loop)
    return start <= edit.start and edit.end <= end


def _body(script: Script, loop: ast.For, edits: Sequence[Splice]) -> tuple[str, str]:
    """The comment in the head of a loop, and the lines of its body after the edits."""
    lines = script.lines
    colon = lines.text.index(":", script.span(loop.iter)[1])
    start, end = lines.stop(lines.at(colon)), extent(script, [loop])[1]
    inside_body = [edit for edit in edits if _is_in(script, edit, loop)]
    moved = [Splice(edit.start - start, edit.end - start, edit.text) for edit in inside_body]
    text, _ = spliced(lines.text[start:end], sorted(moved, key=lambda edit: edit.start))
    ending = "" if text.endswith(("\n", "\r")) else lines.newline
    return lines.text[colon + 1 : start].rstrip(), text + ending
