"""The move for a function that makes ops and runs them: they are made once, and the function only runs them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from unslow.fix.edit.blocks import at_end, extent, removal
from unslow.fix.edit.lines import Splice, spliced
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_invariance import Look, own_name
from unslow.fix.moves.insertion_point import Place, find_place
from unslow.fix.moves.op_expressions import Gathering, Piece, around, free_names
from unslow.fix.moves.parameter_values import Calls, Given, hand_in
from unslow.fix.moves.session_feeds import ASSIGNS, Fed, assigned, feeding, fetched, is_run, op_name
from unslow.syntax.nodes import NamedFunction, last_name


def ops_in_function(
    script: Script, lines: Sequence[int], frames: Sequence[tuple[int, str]]
) -> Script:
    """What the function around some lines makes there is made once; `frames` (line, function) lead to its calls."""
    function = script.function_at(frames[0][0])
    if function is None or function.name != frames[0][1]:
        return _unless_unchanged(script, frames)
    gathering = Gathering(script, function)
    pieces = gathering.of(lines)
    if not pieces:
        return _unless_unchanged(script, frames)
    look = Look(script, own_name(script, function))
    for piece in pieces:
        known: set[ast.AST] = {*piece.reads, *piece.paths}
        look.at(piece.value, {*known, *(item.part for item in piece.fed)})
        for part in (
            *piece.paths.values(),
            *(item.like for item in piece.fed if item.like is not None),
        ):
            look.at(part, known)
    caller, calls = _one_caller(script, gathering.given)
    place = find_place(script, function, look.needs, frames[1:], caller)
    others = _reads_outside(script, function, pieces)
    _name_all(script, function, pieces, place, others)
    handed = [item.name for piece in pieces for item in piece.fed]
    handed += [piece.name for piece in pieces if piece.local is None or piece in others.values()]
    edits = [_made_once(script, pieces, place, function), *_run_only(script, pieces, others)]
    return script.edit([*edits, *hand_in(script, calls, handed)])


def _one_caller(script: Script, given: Sequence[Given]) -> tuple[NamedFunction | None, Calls]:
    """The function that holds what the ops are made of, with the calls from there; none where the module does."""
    found = [(item.home, item.calls) for item in given if not isinstance(item.home, ast.Module)]
    if any(home is not found[0][0] for home, _ in found):
        raise script.refuse(
            "what its ops are made of comes from more than one function", given[0].value
        )
    caller, calls = found[0] if found else (None, ())
    assert not isinstance(caller, ast.Module)
    return caller, calls


def _unless_unchanged(script: Script, frames: Sequence[tuple[int, str]]) -> Script:
    """A script that was edited before has it done; one that was not holds something else."""
    if script.text == script.origin.text:
        raise CannotEdit(
            f"`{frames[0][1]}` makes its ops and runs them: it must be given them instead",
            frames[0][0],
        )
    return script


# Names


def _reads_outside(
    script: Script, function: NamedFunction, pieces: Sequence[Piece]
) -> dict[ast.Name, Piece]:
    """Where the rest of the function reads what is made."""
    inside = {node for piece in pieces for node in ast.walk(piece.value)}
    named = {piece.local: piece for piece in pieces if piece.local}
    found: dict[ast.Name, Piece] = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id not in named or node in inside:
            continue
        if isinstance(node.ctx, ast.Load):
            found[node] = named[node.id]
        elif script.statement_of(node) is not named[node.id].statement:
            raise script.refuse(
                f"`{node.id}` is bound in more than one way in `{function.name}`", node
            )
    return found


def _name_all(
    script: Script,
    function: NamedFunction,
    pieces: Sequence[Piece],
    place: Place,
    others: dict[ast.Name, Piece],
) -> None:
    taken: set[str] = set()

    def fresh(wanted: str) -> str:
        name, number = script.fresh(wanted), 2
        while name in taken:
            name, number = script.fresh(f"{wanted}_{number}"), number + 1
        taken.add(name)
        return name

    outside = _names_outside(script, function)
    own = f"{place.own}." if place.own else ""
    inline = [piece for piece in pieces if piece.local is None]
    for piece in pieces:
        for item in piece.fed:
            item.name = own + fresh(f"{_word(script, item)}_placeholder")
        if piece.local is None:
            wanted = op_name(piece.value) or "op"
            if len(inline) == 1 and wanted.endswith("op"):
                wanted = f"{function.name.strip('_')}_op"
            piece.name = own + fresh(wanted)
        elif own and piece in others.values():
            piece.name = own + fresh(_as_op(piece.local))
        elif piece.local not in outside | taken:
            piece.name = piece.local
            taken.add(piece.local)
        else:
            piece.name = fresh(_as_op(piece.local))


def _as_op(name: str) -> str:
    return name if name.endswith(("op", "ops")) else f"{name}_op"


def _names_outside(script: Script, function: NamedFunction) -> set[str]:
    """Every name that is used anywhere but in a function, and those that mean something by themselves."""
    inside = set(ast.walk(function))
    found = set(dir(builtins))
    for node in script.nodes:
        if node not in inside:
            names = (getattr(node, key, None) for key in ("id", "arg", "name", "asname", "attr"))
            found |= {name for name in names if isinstance(name, str)}
    return found


def _word(script: Script, item: Fed) -> str:
    """What a placeholder is called after: the variable it is assigned to, or the name of the value."""
    call = script.parents[item.value]
    call = script.parents[call] if isinstance(call, ast.keyword) else call
    target = assigned(script, call, item.value) if isinstance(call, ast.Call) else None
    return (last_name(target if target is not None else item.value) or "value").strip("_")


# Text


def _made_once(
    script: Script, pieces: Sequence[Piece], place: Place, function: NamedFunction
) -> Splice:
    placeholder = script.alias("tf.compat.v1.placeholder", function)
    newline, rows = script.lines.newline, []
    for piece in pieces:
        if piece.fed and placeholder is None:
            raise script.refuse("TensorFlow is not imported at the top", piece.value)
        changes: dict[ast.expr, str] = {name: other.name for name, other in piece.reads.items()}
        changes |= {name: script.source(path) for name, path in piece.paths.items()}
        for item in piece.fed:
            like = _rewritten(script, item.like, changes) if item.like is not None else ""
            rows.append(f"{item.name} = {placeholder}({item.how.format(like)})")
        changes |= {item.part: item.name for item in piece.fed}
        rows.append(
            f"{piece.name} = {_rewritten(script, piece.value, changes)}{_remark(script, piece)}"
        )
    text = "".join(f"{place.margin}{row}{newline}" for row in rows)
    return at_end(script, place.offset, text + newline * 2 if place.gap else text)


def _rewritten(script: Script, node: ast.expr, changes: dict[ast.expr, str]) -> str:
    start, end = script.span(node)
    splices = []
    for place, new in changes.items():
        low, high = script.span(place)
        if (
            start <= low
            and high <= end
            and not any(other in changes for other in script.ancestors(place))
        ):
            splices.append(Splice(low - start, high - start, new))
    text, _ = spliced(
        script.lines.text[start:end], sorted(splices, key=lambda splice: splice.start)
    )
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return f"({text})"
    return text


def _remark(script: Script, piece: Piece) -> str:
    """The comment behind a statement that moves as a whole."""
    if piece.local is None:
        return ""
    rest = script.lines.text[script.span(piece.statement)[1] : extent(script, [piece.statement])[1]]
    return f"  {rest.strip()}" if rest.strip() else ""


def _run_only(
    script: Script, pieces: Sequence[Piece], others: dict[ast.Name, Piece]
) -> Iterator[Splice]:
    """The function without what is made once, its runs fed with what changes."""
    runs: dict[ast.Call, list[Fed]] = {}
    yield from _removals(script, [piece.statement for piece in pieces if piece.local])
    for piece in pieces:
        if piece.local is None:
            yield replaced(script, piece.value, piece.name)
            _feed(script, piece.value, piece, runs)
    for name, piece in others.items():
        if piece.name != name.id:
            yield replaced(script, name, piece.name)
        _feed(script, name, piece, runs)
    for call, values in runs.items():
        entries = ", ".join(f"{item.name}: {script.source(item.value)}" for item in values)
        yield feeding(script, call, entries)


def _removals(script: Script, statements: Sequence[ast.stmt]) -> Iterator[Splice]:
    """Takes statements out, and with them a `with` that holds nothing else."""
    gone = list(statements)
    for statement in gone:
        block, _ = script.block(statement)
        owner = script.parents[statement]
        if (
            isinstance(owner, ast.With)
            and owner not in gone
            and all(node in gone for node in block)
        ):
            gone.append(owner)
    for statement in gone:
        if not any(owner in gone for owner in script.ancestors(statement)):
            block, index = script.block(statement)
            if not all(node in gone for node in block):
                yield removal(script, [statement])
            elif index == 0:
                yield removal(script, block)


def _feed(script: Script, node: ast.expr, piece: Piece, runs: dict[ast.Call, list[Fed]]) -> None:
    """Notes the run that must be fed for a piece; raises where it is not run, or its values may be others by then."""
    values = piece.feeds()
    if not values:
        return
    owners = around(script, node)
    run = next((call for call in owners if isinstance(call, ast.Call) and is_run(call)), None)
    if run is None or not any(part in owners for part in fetched(script, run)):
        raise script.refuse(
            f"`{script.source(node)}` is used for more than being run: its values cannot be fed",
            node,
        )
    assigns = isinstance(piece.value, ast.Call) and last_name(piece.value.func) in ASSIGNS
    if assigns and last_name(run.func) == "eval":  # of a variable, which takes no feed_dict
        raise script.refuse("`eval` of an assignment cannot be fed: `session.run` can", run)
    for value in values:
        if script.statement_of(value.value) is not script.statement_of(run) and not _lasts(
            script, value.value
        ):
            raise script.refuse(
                f"`{script.source(value.value)}` may be another value when the op is run",
                value.value,
            )
        if value not in runs.setdefault(run, []):
            runs[run].append(value)


def _lasts(script: Script, value: ast.expr) -> bool:
    """Whether a value is the same later in the function: made of names that are bound once."""
    if any(isinstance(node, ast.Call | ast.Attribute | ast.Subscript) for node in ast.walk(value)):
        return False
    return all(len(script.bindings(name.id, name)) == 1 for name in free_names(script, value))
