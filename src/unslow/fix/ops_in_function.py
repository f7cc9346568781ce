"""The move for a function that makes ops and runs them: they are made once, and the function only runs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unslow.fix.blocks import at_end, extent, removal
from unslow.fix.feedable import no_tensor
from unslow.fix.feeding import assigned, fed_part, feeding, fetched, is_run, made_parts, op_name, tf_name
from unslow.fix.lines import Splice, spliced
from unslow.fix.once_place import Place, find_place, harmless
from unslow.fix.scope import Function, arguments
from unslow.fix.script import CannotEdit, Script, header, last_name
from unslow.fix.statements import replaced
from unslow.fix.stays import Look, own_name

ACTS = frozenset({"run", "eval", "save", "restore", "add_summary", "write", "flush", "close", "load", "append"})


@dataclass
class _Fed:
    """A value that changes from call to call: `part` gives way to a placeholder, which is fed with `value`."""

    value: ast.expr
    part: ast.expr
    arguments: str
    name: str = ""


@dataclass
class _Piece:
    """Something that is made once: all that is bound to a local name, or a part of a statement."""

    value: ast.expr
    statement: ast.stmt
    local: str | None = None
    name: str = ""
    fed: list[_Fed] = field(default_factory=list)
    reads: dict[ast.Name, _Piece] = field(default_factory=dict)  # of other pieces

    def feeds(self) -> list[_Fed]:
        inner = [fed for piece in self.reads.values() for fed in piece.feeds()]
        return list({id(fed): fed for fed in (*inner, *self.fed)}.values())


def ops_in_function(script: Script, lines: Sequence[int], frames: Sequence[tuple[int, str]]) -> Script:
    """What the function around some lines makes there is made once; `frames` (line, function) lead to its calls."""
    function = script.function_at(frames[0][0])
    if function is None or function.name != frames[0][1]:
        return _unless_unchanged(script, frames)
    pieces = _Gathering(script, function).of(lines)
    if not pieces:
        return _unless_unchanged(script, frames)
    look = Look(script, own_name(script, function))
    for piece in pieces:
        look.at(piece.value, {*piece.reads, *(fed.part for fed in piece.fed)})
    place = find_place(script, function, look.needs, frames[1:])
    others = _reads_outside(script, function, pieces)
    _name_all(script, function, pieces, place, others)
    return script.edit([_made_once(script, pieces, place, function), *_run_only(script, pieces, others, place)])


def _unless_unchanged(script: Script, frames: Sequence[tuple[int, str]]) -> Script:
    """A script that was edited before has it done; one that was not holds something else."""
    if script.text == script.origin.text:
        raise CannotEdit(f"`{frames[0][1]}` makes its ops and runs them: it must be given them instead", frames[0][0])
    return script


# What is made


class _Gathering:
    """The pieces of a function, each behind those that it needs."""

    def __init__(self, script: Script, function: Function) -> None:
        self._script = script
        self._function = function
        self._pieces: dict[ast.AST, _Piece] = {}

    def of(self, lines: Sequence[int]) -> list[_Piece]:
        for line in sorted(lines):
            node = self._script.statement_at(line)
            if node is not None and self._script.function_of(node) is self._function:
                self._statement(node)
        return list(self._pieces.values())

    def _statement(self, node: ast.stmt) -> None:
        runs = [call for call in header(node) if isinstance(call, ast.Call) and is_run(call)]
        acts = any(isinstance(call, ast.Call) and last_name(call.func) in ACTS for call in header(node))
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if runs:
            for part in [part for call in runs for part in made_parts(self._script, call)]:
                if not isinstance(part, ast.Subscript):
                    self._add(_Piece(part, node))
        elif isinstance(node, ast.Assign) and isinstance(target, ast.Name) and not acts:
            if not self._kept(node.value):
                self._add(_Piece(node.value, node, target.id))
        else:
            for call in self._makers(node):
                self._add(_Piece(call, node))

    def _kept(self, value: ast.expr) -> bool:
        """Whether a value makes nothing: it is only another name for something."""
        return isinstance(value, ast.Name | ast.Constant | ast.Attribute)

    def _makers(self, node: ast.stmt) -> Iterator[ast.Call]:
        """The outermost calls of TensorFlow's functions in a statement."""
        found = [call for call in header(node) if isinstance(call, ast.Call) and tf_name(self._script, call.func)]
        for call in found:
            if not any(owner in found for owner in self._script.ancestors(call)):
                yield call

    def _add(self, piece: _Piece) -> _Piece:
        key = piece.statement if piece.local else piece.value
        if key in self._pieces:
            return self._pieces[key]
        self._check(piece)
        for name in _free_names(self._script, piece.value):
            self._leaf(piece, name)
        self._pieces[key] = piece
        return piece

    def _check(self, piece: _Piece) -> None:
        script = self._script
        for owner in script.ancestors(piece.statement):
            if owner is self._function:
                break
            if isinstance(owner, ast.With) and not harmless(script, owner):
                raise script.refuse("it is made inside a `with` block that may change what is made", owner)
            if not isinstance(owner, ast.With | ast.If):
                raise script.refuse("it is made inside a loop or `try` of the function", owner)

    def _leaf(self, piece: _Piece, name: ast.Name) -> None:
        """A name in what is made: another piece, a value to feed, or something from outside of the function."""
        script, function = self._script, self._function
        bindings = script.names.bindings(name.id, name)
        own = [item for item in bindings if item.node in arguments_and_body(function)]
        if (
            not own
            or name.id == own_name(script, function)
            or any(fed.part in _around(script, name) for fed in piece.fed)
        ):
            return
        if no_tensor(script, name):
            value = _widest(script, name, piece.value)
            part, how = fed_part(script, value)
            piece.fed.append(_Fed(value, part, how))
            return
        if isinstance(own[0].node, ast.arg):
            raise script.refuse(
                f"it depends on `{name.id}`, which `{function.name}` is given and may be a tensor", name
            )
        if len(own) > 1 or own[0].value is None or not isinstance(own[0].node, ast.Assign):
            raise script.refuse(f"`{name.id}` is bound in more than one way in `{function.name}`", name)
        piece.reads[name] = self._add(_Piece(own[0].value, own[0].node, name.id))


def arguments_and_body(function: Function) -> set[ast.AST]:
    return {*arguments(function), *(node for top in function.body for node in ast.walk(top))}


def _around(script: Script, node: ast.AST) -> list[ast.AST]:
    return [node, *script.ancestors(node)]


def _free_names(script: Script, value: ast.expr) -> list[ast.Name]:
    """The names in an expression that it does not bind itself."""
    inside = set(ast.walk(value))
    return [
        node
        for node in ast.walk(value)
        if isinstance(node, ast.Name) and not any(item.node in inside for item in script.names.bindings(node.id, node))
    ]


def _widest(script: Script, name: ast.Name, within: ast.expr) -> ast.expr:
    """The widest expression around a number that is still a number."""
    found: ast.expr = name
    while found is not within:
        parent = script.parents[found]
        if not isinstance(parent, ast.expr) or isinstance(parent, ast.Starred) or not no_tensor(script, parent):
            break
        found = parent
    return found


# Names


def _reads_outside(script: Script, function: Function, pieces: Sequence[_Piece]) -> dict[ast.Name, _Piece]:
    """Where the rest of the function reads what is made."""
    inside = {node for piece in pieces for node in ast.walk(piece.value)}
    named = {piece.local: piece for piece in pieces if piece.local}
    found: dict[ast.Name, _Piece] = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id not in named or node in inside:
            continue
        if isinstance(node.ctx, ast.Load):
            found[node] = named[node.id]
        elif script.statement_of(node) is not named[node.id].statement:
            raise script.refuse(f"`{node.id}` is bound in more than one way in `{function.name}`", node)
    return found


def _name_all(
    script: Script, function: Function, pieces: Sequence[_Piece], place: Place, others: dict[ast.Name, _Piece]
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
        for fed in piece.fed:
            fed.name = own + fresh(f"{_word(script, fed)}_placeholder")
        if piece.local is None:
            wanted = op_name(piece.value) or "op"
            if len(inline) == 1 and wanted.endswith("op"):
                wanted = f"{function.name.strip('_')}_op"
            piece.name = own + fresh(wanted)
        elif own and piece in others.values():
            piece.name = own + fresh(f"{piece.local.removesuffix('_op')}_op")
        elif piece.local not in outside | taken:
            piece.name = piece.local
            taken.add(piece.local)
        else:
            piece.name = fresh(f"{piece.local.removesuffix('_op')}_op")


def _names_outside(script: Script, function: Function) -> set[str]:
    """Every name that is used anywhere but in a function."""
    inside = set(ast.walk(function))
    found: set[str] = set()
    for node in script.nodes:
        if node not in inside:
            names = (getattr(node, key, None) for key in ("id", "arg", "name", "asname", "attr"))
            found |= {name for name in names if isinstance(name, str)}
    return found


def _word(script: Script, fed: _Fed) -> str:
    """What a placeholder is called after: the variable it is assigned to, or the name of the value."""
    call = script.parents[fed.value]
    call = script.parents[call] if isinstance(call, ast.keyword) else call
    target = assigned(script, call, fed.value) if isinstance(call, ast.Call) else None
    return (last_name(target if target is not None else fed.value) or "value").strip("_")


# Text


def _made_once(script: Script, pieces: Sequence[_Piece], place: Place, function: Function) -> Splice:
    placeholder = script.alias("tensorflow.compat.v1.placeholder", function)
    newline, rows = script.lines.newline, []
    for piece in pieces:
        if piece.fed and placeholder is None:
            raise script.refuse("TensorFlow is not imported at the top", piece.value)
        rows += [f"{fed.name} = {placeholder}({fed.arguments})" for fed in piece.fed]
        changes: dict[ast.expr, str] = {name: other.name for name, other in piece.reads.items()}
        changes |= {fed.part: fed.name for fed in piece.fed}
        rows.append(f"{piece.name} = {_rewritten(script, piece.value, changes)}{_remark(script, piece)}")
    text = "".join(f"{place.margin}{row}{newline}" for row in rows)
    return at_end(script, place.offset, text + newline * 2 if place.gap else text)


def _rewritten(script: Script, node: ast.expr, changes: dict[ast.expr, str]) -> str:
    start, end = script.span(node)
    splices = []
    for place, new in changes.items():
        low, high = script.span(place)
        splices.append(Splice(low - start, high - start, new))
    text, _ = spliced(script.lines.text[start:end], sorted(splices, key=lambda splice: splice.start))
    try:
        ast.parse(text)
    except SyntaxError:
        return f"({text})"
    return text


def _remark(script: Script, piece: _Piece) -> str:
    """The comment behind a statement that moves as a whole."""
    if piece.local is None:
        return ""
    rest = script.lines.text[script.span(piece.statement)[1] : extent(script, [piece.statement])[1]]
    return f"  {rest.strip()}" if rest.strip() else ""


def _run_only(
    script: Script, pieces: Sequence[_Piece], others: dict[ast.Name, _Piece], place: Place
) -> Iterator[Splice]:
    """The function without what is made once, its runs fed with what changes."""
    fed: dict[ast.AST, list[_Fed]] = {}
    for piece in pieces:
        if piece.local is None:
            yield replaced(script, piece.value, piece.name)
            _feed(script, piece.value, piece, fed)
        else:
            yield removal(script, [piece.statement])
    for name, piece in others.items():
        if piece.name != name.id:
            yield replaced(script, name, piece.name)
        _feed(script, name, piece, fed)
    for call, values in fed.items():
        assert isinstance(call, ast.Call)
        entries = ", ".join(f"{item.name}: {script.source(item.value)}" for item in values)
        yield feeding(script, call, entries)


def _feed(script: Script, node: ast.expr, piece: _Piece, fed: dict[ast.AST, list[_Fed]]) -> None:
    """Notes the run that must be fed for a piece; raises where it is not run, or its values may be others by then."""
    values = piece.feeds()
    if not values:
        return
    around = _around(script, node)
    run = next((call for call in around if isinstance(call, ast.Call) and is_run(call)), None)
    if run is None or not any(part in around for part in fetched(script, run)):
        raise script.refuse(f"`{script.source(node)}` is used for more than being run: its values cannot be fed", node)
    for value in values:
        if script.statement_of(value.value) is not script.statement_of(run) and not _lasts(script, value.value):
            raise script.refuse(f"`{script.source(value.value)}` may be another value when the op is run", value.value)
        if value not in fed.setdefault(run, []):
            fed[run].append(value)


def _lasts(script: Script, value: ast.expr) -> bool:
    """Whether a value is the same later in the function: made of names that are bound once."""
    if any(isinstance(node, ast.Call | ast.Attribute | ast.Subscript) for node in ast.walk(value)):
        return False
    return all(len(script.names.bindings(name.id, name)) == 1 for name in _free_names(script, value))
