"""The parts of a function that make ops, what they need of each other, what is fed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unslow.fix.edit.script import Script
from unslow.fix.moves.call_invariance import own_name, stays_the_same
from unslow.fix.moves.insertion_point import harmless
from unslow.fix.moves.session_feeds import Fed, fed, is_run, made_parts, tf_name
from unslow.syntax.nodes import NamedFunction, dotted, header_calls, inside, last_name, words
from unslow.syntax.python_types import is_plain
from unslow.syntax.scopes import Binding

# Calls that do something now, rather than make ops for later.
ACTS = words("run eval save restore add_summary write flush close load append")


@dataclass
class Piece:
    """Something that is made once: all that is bound to a local name, or a part of a statement."""

    value: ast.expr
    statement: ast.stmt
    local: str | None = None
    name: str = ""
    fed: list[Fed] = field(default_factory=list)
    reads: dict[ast.Name, Piece] = field(default_factory=dict)  # of other pieces
    # Local names for what is known outside too.
    paths: dict[ast.Name, ast.expr] = field(default_factory=dict)

    def feeds(self) -> list[Fed]:
        """What must be fed to run it, what its parts need included."""
        found: dict[int, Fed] = {}
        for piece in self.reads.values():
            found |= {id(item): item for item in piece.feeds()}
        return list((found | {id(item): item for item in self.fed}).values())


class Gathering:
    """The pieces of a function, each behind those that it needs."""

    def __init__(self, script: Script, function: NamedFunction) -> None:
        self._script = script
        self._function = function
        self._own = own_name(script, function)
        self._pieces: dict[ast.AST, Piece] = {}

    def of(self, lines: Sequence[int]) -> list[Piece]:
        for line in sorted(lines):
            node = self._script.statement_at(line)
            if node is not None and self._script.function_of(node) is self._function:
                self._statement(node)
        return list(self._pieces.values())

    def _statement(self, node: ast.stmt) -> None:
        calls = header_calls(node)
        acts = any(last_name(call.func) in ACTS for call in calls)
        match node:
            case _ if any(is_run(call) for call in calls):
                for part in self._run_parts(calls):
                    self._add(Piece(part, node))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not acts:
                if not isinstance(value, ast.Name | ast.Constant | ast.Attribute):
                    self._add(Piece(value, node, name))
            case _:
                for call in self._makers(calls):
                    self._add(Piece(call, node))

    def _run_parts(self, calls: Sequence[ast.Call]) -> Iterator[ast.expr]:
        for call in filter(is_run, calls):
            for part in made_parts(call):
                if not isinstance(part, ast.Subscript):
                    yield part

    def _makers(self, calls: Sequence[ast.Call]) -> Iterator[ast.Call]:
        """The outermost calls of TensorFlow's functions in a statement."""
        found = [call for call in calls if tf_name(self._script, call.func)]
        for call in found:
            if not any(owner in found for owner in self._script.ancestors(call)):
                yield call

    def _add(self, piece: Piece) -> Piece:
        key = piece.statement if piece.local else piece.value
        if key not in self._pieces:
            self._require_plain_block(piece)
            for name in free_names(self._script, piece.value):
                self._leaf(piece, name)
            self._pieces[key] = piece
        return self._pieces[key]

    def _require_plain_block(self, piece: Piece) -> None:
        script = self._script
        for owner in script.ancestors(piece.statement):
            if owner is self._function:
                break
            if isinstance(owner, ast.With) and not harmless(script, owner):
                reason = "it is made inside a `with` block that may change what is made"
                raise script.refuse(reason, owner)
            if not isinstance(owner, ast.With | ast.If):
                raise script.refuse("it is made inside a loop or `try` of the function", owner)

    def _leaf(self, piece: Piece, name: ast.Name) -> None:
        """A name in what is made: another piece, a value to feed, or something from outside."""
        if self._is_stood_in_for(piece, name):
            return
        own = self._own_bindings(name)
        if not own or name.id == self._own:
            self._from_outside(piece, name)
        elif is_plain(self._script, name) and not self._is_settled(own):
            self._feed(piece, name)
        else:
            self._made_before(piece, name, own)

    def _made_before(self, piece: Piece, name: ast.Name, own: list[Binding]) -> None:
        """A name that the function binds once, to another piece or to something known."""
        script, function = self._script, self._function
        value, statement = own[0].assigned, own[0].node
        reason = f"it depends on `{name.id}`, which `{function.name}` is given and may be a tensor"
        script.refuse_if(isinstance(statement, ast.arg), reason, name)
        once = len(own) == 1 and isinstance(statement, ast.Assign) and not own[0].remote
        if not once or value is None or not isinstance(statement, ast.stmt):
            reason = f"`{name.id}` is bound in more than one way in `{function.name}`"
            raise script.refuse(reason, name)
        if dotted(value) and self._is_known_outside(value):
            piece.paths[name] = value
        else:
            piece.reads[name] = self._add(Piece(value, statement, name.id))

    def _from_outside(self, piece: Piece, name: ast.Name) -> None:
        """What is not the function's own must stay the same or be a number to feed."""
        leaf: ast.expr = name
        match self._script.parents[name]:
            case ast.Attribute() as attribute if name.id == self._own:
                leaf = attribute
        if not self._stays(leaf) and is_plain(self._script, leaf):
            self._feed(piece, leaf)

    def _feed(self, piece: Piece, leaf: ast.expr) -> None:
        piece.fed.append(fed(self._script, _widest(self._script, leaf, piece.value)))

    def _own_bindings(self, name: ast.Name) -> list[Binding]:
        bindings = self._script.bindings(name.id, name)
        return [item for item in bindings if self._script.within(item.node, self._function)]

    def _is_settled(self, own: list[Binding]) -> bool:
        value = own[0].assigned
        return len(own) == 1 and value is not None and self._stays(value)

    def _stays(self, value: ast.expr) -> bool:
        """Whether a value needs nothing of the function itself, and is the same at every call."""
        others = [name for name in free_names(self._script, value) if name.id != self._own]
        local = any(self._own_bindings(name) for name in others)
        return not local and stays_the_same(self._script, self._own, value)

    def _is_stood_in_for(self, piece: Piece, name: ast.Name) -> bool:
        """Whether a placeholder takes the place of a name, and nothing else of it is needed."""
        owners = around(self._script, name)
        return any(item.part in owners and item.like not in owners for item in piece.fed)

    def _is_known_outside(self, path: ast.expr) -> bool:
        root = next(inside(path, ast.Name))
        return root.id == self._own or not self._own_bindings(root)


def around(script: Script, node: ast.AST) -> list[ast.AST]:
    """A node and all that it is part of."""
    return [node, *script.ancestors(node)]


def free_names(script: Script, value: ast.expr) -> list[ast.Name]:
    """The names in an expression that it does not bind itself."""

    def is_free(name: ast.Name) -> bool:
        bindings = script.bindings(name.id, name)
        return not any(script.within(item.node, value) for item in bindings)

    return [name for name in inside(value, ast.Name) if is_free(name)]


def _widest(script: Script, leaf: ast.expr, within: ast.expr) -> ast.expr:
    """The widest expression around a number that is still a number."""
    parent = script.parents[leaf]
    if leaf is within or not isinstance(parent, ast.expr) or not is_plain(script, parent):
        return leaf
    return _widest(script, parent, within)
