"""Make the ops of a function once; the function only runs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from unslow.fix.edit.blocks import at_end, extent, put_above, removal, unit
from unslow.fix.edit.lines import Splice, spliced
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_invariance import Invariance, own_name
from unslow.fix.moves.insertion_point import Frames, at_first_call, find_place
from unslow.fix.moves.op_expressions import Gathering, Piece, around, free_names
from unslow.fix.moves.op_names import Naming
from unslow.fix.moves.op_order import Place
from unslow.fix.moves.session_feeds import ASSIGNS, Fed, feeding, fetched, is_run
from unslow.fix.moves.shapes import is_text
from unslow.syntax.nodes import NamedFunction, inside, is_stored, method_of

Reads = dict[ast.Name, Piece]


def ops_in_function(
    script: Script, lines: Sequence[int], frames: Frames, imported: bool = False
) -> Script:
    """Make the ops of some lines once; `frames` lead to the function's calls.

    Where another file calls an `imported` function, the graph may begin after the import: what
    needs nothing of the module is made at the first call.
    """
    function = script.function_at(frames[0][0])
    if function is None or function.name != frames[0][1]:
        return _unless_unchanged(script, frames)
    pieces = Gathering(script, function).of(lines)
    if not pieces:
        return _unless_unchanged(script, frames)
    check = Invariance(script, own_name(script, function))
    for piece in pieces:
        _require_invariant(check, piece)
    first_call = at_first_call(script, function, check.needs) if imported else None
    place = first_call or find_place(script, function, check.needs, frames[1:])
    others = _reads_outside(script, function, pieces)
    Naming(script, function, pieces, place, others.values()).name_all()
    rows = _rows(script, pieces, function)
    if first_call is not None:
        made = _made_at_first_call(script, pieces, first_call, rows, function)
    else:
        made = [_made_once(script, place, rows)]
    return script.edit([*made, *_run_only(script, pieces, others)])


def _require_invariant(check: Invariance, piece: Piece) -> None:
    known: set[ast.AST] = {*piece.reads, *piece.paths}
    check.require(piece.value, {*known, *(item.part for item in piece.fed)})
    like = [item.like for item in piece.fed if item.like is not None]
    for part in (*piece.paths.values(), *like):
        check.require(part, known)


def _unless_unchanged(script: Script, frames: Frames) -> Script:
    """A script that was edited before has it done; one that was not holds something else."""
    line, name = frames[0]
    if script.text == script.origin.text:
        reason = f"`{name}` makes its ops and runs them: it must be given them instead"
        raise CannotEdit(reason, line)
    return script


def _reads_outside(script: Script, function: NamedFunction, pieces: Sequence[Piece]) -> Reads:
    """Where the rest of the function reads what is made."""
    made = set(inside([piece.value for piece in pieces], ast.Name))
    named = {piece.local: piece for piece in pieces if piece.local}
    found: Reads = {}
    for node in inside(function, ast.Name):
        piece = named.get(node.id) if node not in made else None
        if piece is None:
            continue
        if not is_stored(node):
            found[node] = piece
        elif script.statement_of(node) is not piece.statement:
            reason = f"`{node.id}` is bound in more than one way in `{function.name}`"
            raise script.refuse(reason, node)
    return found


# Text


def _rows(script: Script, pieces: Sequence[Piece], function: NamedFunction) -> list[str]:
    """The statements that make the ops, and the placeholders before them."""
    placeholder = script.alias("tf.compat.v1.placeholder", function)
    rows: list[str] = []
    for piece in pieces:
        if piece.fed and placeholder is None:
            raise script.refuse("TensorFlow is not imported at the top", piece.value)
        changes: dict[ast.expr, str] = {name: other.name for name, other in piece.reads.items()}
        changes |= {name: script.source(path) for name, path in piece.paths.items()}
        for item in piece.fed:
            like = _rewritten(script, item.like, changes) if item.like is not None else ""
            rows.append(f"{item.name} = {placeholder}({item.how.format(like)})")
        changes |= {item.part: item.name for item in piece.fed}
        value = _rewritten(script, piece.value, changes)
        rows.append(f"{piece.name} = {value}{_comment(script, piece)}")
    return rows


def _made_once(script: Script, place: Place, rows: Sequence[str]) -> Splice:
    newline = script.lines.newline
    text = "".join(f"{place.margin}{row}{newline}" for row in rows)
    return at_end(script, place.offset, text + newline * 2 if place.gap else text)


def _made_at_first_call(
    script: Script,
    pieces: Sequence[Piece],
    place: Place,
    rows: Sequence[str],
    function: NamedFunction,
) -> list[Splice]:
    """Globals that are None until the function makes the ops at its first call."""
    body = [node for node in function.body if not is_text(node)]
    placeholders = [item.name for piece in pieces for item in piece.fed]
    names = [*placeholders, *(piece.name for piece in pieces)]
    step = unit(script, function)
    code = [f"global {', '.join(names)}", f"if {names[-1]} is None:"]
    code += [f"{step}{row}" for row in rows]
    none = _made_once(script, place, [f"{name} = None" for name in names])
    return [none, put_above(script, body[0], *code)]


def _rewritten(script: Script, node: ast.expr, changes: dict[ast.expr, str]) -> str:
    """The text of an expression in which other expressions stand for some of its parts."""
    start, end = script.span(node)
    splices = []
    for part, new in changes.items():
        outermost = not any(other in changes for other in script.ancestors(part))
        if outermost and script.within(part, node):
            low, high = _with_parentheses(script, part)
            splices.append(Splice(low - start, high - start, new))
    ordered = sorted(splices, key=lambda splice: splice.start)
    text, _ = spliced(script.lines.text[start:end], ordered)
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return f"({text})"
    return text


def _with_parentheses(script: Script, part: ast.expr) -> tuple[int, int]:
    """The characters of an operand, with parentheses that a name in its place does not need."""
    start, end = script.span(part)
    text = script.lines.text
    is_operand = isinstance(script.parents[part], ast.BinOp) and isinstance(part, ast.BinOp)
    enclosed = is_operand and text[start - 1] == "(" and text[end : end + 1] == ")"
    return (start - 1, end + 1) if enclosed else (start, end)


def _comment(script: Script, piece: Piece) -> str:
    """The comment behind a statement that moves as a whole."""
    if piece.local is None:
        return ""
    rest = script.lines.text[script.span(piece.statement)[1] : extent(script, [piece.statement])[1]]
    return f"  {rest.strip()}" if rest.strip() else ""


def _run_only(script: Script, pieces: Sequence[Piece], others: Reads) -> Iterator[Splice]:
    """The function without what is made once, its runs fed with what changes."""
    runs: dict[ast.Call, list[Fed]] = {}
    yield from _removals(script, [piece.statement for piece in pieces if piece.local])
    for piece in pieces:
        if piece.local is None:
            yield replaced(script, piece.value, piece.name)
            _note_feeds(script, piece.value, piece, runs)
    for name, piece in others.items():
        if piece.name != name.id:
            yield replaced(script, name, piece.name)
        _note_feeds(script, name, piece, runs)
    for call, values in runs.items():
        entries = ", ".join(f"{item.name}: {script.source(item.value)}" for item in values)
        yield feeding(script, call, entries)


def _removals(script: Script, statements: Sequence[ast.stmt]) -> Iterator[Splice]:
    """Takes statements out, and with them a `with` that holds nothing else."""
    gone = list(statements)
    for statement in gone:
        owner = script.parents[statement]
        if isinstance(owner, ast.With) and owner not in gone and set(owner.body) <= set(gone):
            gone.append(owner)
    outer = [node for node in gone if not set(script.ancestors(node)) & set(gone)]
    for statement in outer:
        block, index = script.block(statement)
        if not set(block) <= set(gone):
            yield removal(script, [statement])
        elif index == 0:
            yield removal(script, block)


def _note_feeds(
    script: Script, node: ast.expr, piece: Piece, runs: dict[ast.Call, list[Fed]]
) -> None:
    """Note the run to feed for a piece; raises where its values may differ by then."""
    values = piece.feeds()
    if not values:
        return
    run = _run_of(script, node)
    if method_of(piece.value) in ASSIGNS and method_of(run) == "eval":
        # `eval` of a variable takes no feed_dict.
        raise script.refuse("`eval` of an assignment cannot be fed: `session.run` can", run)
    for value in values:
        together = script.statement_of(value.value) is script.statement_of(run)
        if not together and not _lasts(script, value.value):
            what = script.source(value.value)
            raise script.refuse(f"`{what}` may be another value when the op is run", value.value)
        if value not in runs.setdefault(run, []):
            runs[run].append(value)


def _run_of(script: Script, node: ast.expr) -> ast.Call:
    owners = around(script, node)
    calls = [owner for owner in owners if isinstance(owner, ast.Call) and is_run(owner)]
    if not calls or not set(owners).intersection(fetched(calls[0])):
        what = script.source(node)
        reason = f"`{what}` is used for more than being run: its values cannot be fed"
        raise script.refuse(reason, node)
    return calls[0]


def _lasts(script: Script, value: ast.expr) -> bool:
    """Whether a value is the same later in the function: made of names that are bound once."""
    if any(isinstance(node, ast.Call | ast.Attribute | ast.Subscript) for node in ast.walk(value)):
        return False
    return all(len(script.bindings(name.id, name)) == 1 for name in free_names(script, value))
