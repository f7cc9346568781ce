"""The parts of a function that make ops: what they are, what they need of each other, and what must be fed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_invariance import Look, own_name
from unslow.fix.moves.feedable_values import no_tensor
from unslow.fix.moves.insertion_point import harmless
from unslow.fix.moves.parameter_values import Given, always_given
from unslow.fix.moves.session_feeds import Fed, fed, is_run, made_parts, tf_name
from unslow.syntax.nodes import NamedFunction, dotted, header, last_name, parameters

ACTS = frozenset(
    {"run", "eval", "save", "restore", "add_summary", "write", "flush", "close", "load", "append"}
)


@dataclass
class Piece:
    """Something that is made once: all that is bound to a local name, or a part of a statement."""

    value: ast.expr
    statement: ast.stmt
    local: str | None = None
    name: str = ""
    fed: list[Fed] = field(default_factory=list)
    reads: dict[ast.Name, Piece] = field(default_factory=dict)  # of other pieces
    paths: dict[ast.Name, ast.expr] = field(
        default_factory=dict
    )  # local names for what is known outside too

    def feeds(self) -> list[Fed]:
        inner = [item for piece in self.reads.values() for item in piece.feeds()]
        return list({id(item): item for item in (*inner, *self.fed)}.values())


class Gathering:
    """The pieces of a function, each behind those that it needs."""

    def __init__(self, script: Script, function: NamedFunction) -> None:
        self._script = script
        self._function = function
        self._pieces: dict[ast.AST, Piece] = {}
        self.given: list[Given] = []  # what the function is always given, and its ops are made of

    def of(self, lines: Sequence[int]) -> list[Piece]:
        for line in sorted(lines):
            node = self._script.statement_at(line)
            if node is not None and self._script.function_of(node) is self._function:
                self._statement(node)
        return list(self._pieces.values())

    def _statement(self, node: ast.stmt) -> None:
        runs = [call for call in header(node) if isinstance(call, ast.Call) and is_run(call)]
        acts = any(
            isinstance(call, ast.Call) and last_name(call.func) in ACTS for call in header(node)
        )
        target = (
            node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        )
        if runs:
            for part in [part for call in runs for part in made_parts(self._script, call)]:
                if not isinstance(part, ast.Subscript):
                    self._add(Piece(part, node))
        elif isinstance(node, ast.Assign) and isinstance(target, ast.Name) and not acts:
            if not self._kept(node.value):
                self._add(Piece(node.value, node, target.id))
        else:
            for call in self._makers(node):
                self._add(Piece(call, node))

    def _kept(self, value: ast.expr) -> bool:
        """Whether a value makes nothing: it is only another name for something."""
        return isinstance(value, ast.Name | ast.Constant | ast.Attribute)

    def _makers(self, node: ast.stmt) -> Iterator[ast.Call]:
        """The outermost calls of TensorFlow's functions in a statement."""
        found = [
            call
            for call in header(node)
            if isinstance(call, ast.Call) and tf_name(self._script, call.func)
        ]
        for call in found:
            if not any(owner in found for owner in self._script.ancestors(call)):
                yield call

    def _add(self, piece: Piece) -> Piece:
        key = piece.statement if piece.local else piece.value
        if key in self._pieces:
            return self._pieces[key]
        self._check(piece)
        for name in free_names(self._script, piece.value):
            self._leaf(piece, name)
        self._pieces[key] = piece
        return piece

    def _check(self, piece: Piece) -> None:
        script = self._script
        for owner in script.ancestors(piece.statement):
            if owner is self._function:
                break
            if isinstance(owner, ast.With) and not harmless(script, owner):
                raise script.refuse(
                    "it is made inside a `with` block that may change what is made", owner
                )
            if not isinstance(owner, ast.With | ast.If):
                raise script.refuse("it is made inside a loop or `try` of the function", owner)

    def _leaf(self, piece: Piece, name: ast.Name) -> None:
        """A name in what is made: another piece, a value to feed, or something from outside of the function."""
        script, function = self._script, self._function
        own = [
            item
            for item in script.bindings(name.id, name)
            if item.node in _arguments_and_body(function)
        ]
        if self._stood_in_for(piece, name):
            return
        if not own or name.id == own_name(script, function):
            self._from_outside(piece, name)
            return
        value, node = own[0].assigned, own[0].node
        settled = (
            len(own) == 1
            and value is not None
            and isinstance(node, ast.Assign)
            and self._stays(value)
        )
        if no_tensor(script, name) and not settled:
            piece.fed.append(fed(script, _widest(script, name, piece.value)))
        elif isinstance(node, ast.arg):
            given = always_given(script, function, node) if len(own) == 1 else None
            if given is None:
                reason = f"it depends on `{name.id}`, which `{function.name}` is given and may be a tensor"
                raise script.refuse(reason, name)
            self.given.append(given)
            piece.paths[name] = given.value
        elif len(own) > 1 or value is None or own[0].remote or not isinstance(node, ast.Assign):
            raise script.refuse(
                f"`{name.id}` is bound in more than one way in `{function.name}`", name
            )
        elif dotted(value) and self._known_outside(value):
            piece.paths[name] = value
        else:
            piece.reads[name] = self._add(Piece(value, node, name.id))

    def _from_outside(self, piece: Piece, name: ast.Name) -> None:
        """What is not the function's own stays the same, or is a number to feed; else the look at it refuses."""
        script = self._script
        parent = script.parents[name]
        mine = name.id == own_name(script, self._function) and isinstance(parent, ast.Attribute)
        leaf = parent if mine and isinstance(parent, ast.Attribute) else name
        if not self._stays(leaf) and no_tensor(script, leaf):
            piece.fed.append(fed(script, _widest(script, leaf, piece.value)))

    def _stays(self, value: ast.expr) -> bool:
        """Whether a value needs nothing of the function itself, and is the same at every call."""
        names = free_names(self._script, value)
        inside = _arguments_and_body(self._function)
        own = own_name(self._script, self._function)
        for name in names:
            if name.id != own and any(
                item.node in inside for item in self._script.bindings(name.id, name)
            ):
                return False
        try:
            Look(self._script, own).at(value, set())
        except CannotEdit:
            return False
        return True

    def _stood_in_for(self, piece: Piece, name: ast.Name) -> bool:
        """Whether a placeholder takes the place of a name, and nothing else of it is needed."""
        owners = around(self._script, name)
        return any(item.part in owners and item.like not in owners for item in piece.fed)

    def _known_outside(self, path: ast.expr) -> bool:
        root = next(node for node in ast.walk(path) if isinstance(node, ast.Name))
        own = own_name(self._script, self._function)
        bindings = self._script.bindings(root.id, root)
        return root.id == own or not any(
            item.node in _arguments_and_body(self._function) for item in bindings
        )


def _arguments_and_body(function: NamedFunction) -> set[ast.AST]:
    return {*parameters(function), *(node for top in function.body for node in ast.walk(top))}


def around(script: Script, node: ast.AST) -> list[ast.AST]:
    """A node and all that it is part of."""
    return [node, *script.ancestors(node)]


def free_names(script: Script, value: ast.expr) -> list[ast.Name]:
    """The names in an expression that it does not bind itself."""
    inside = set(ast.walk(value))
    return [
        node
        for node in ast.walk(value)
        if isinstance(node, ast.Name)
        and not any(item.node in inside for item in script.bindings(node.id, node))
    ]


def _widest(script: Script, leaf: ast.expr, within: ast.expr) -> ast.expr:
    """The widest expression around a number that is still a number."""
    found = leaf
    while found is not within:
        parent = script.parents[found]
        if (
            not isinstance(parent, ast.expr)
            or isinstance(parent, ast.Starred)
            or not no_tensor(script, parent)
        ):
            break
        found = parent
    return found
