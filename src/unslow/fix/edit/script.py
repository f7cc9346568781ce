"""The script being edited: looked at through `ast`, changed only in named spans, checked after every edit."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from unslow.fix.edit.lines import Lines, Splice, matched, moved, spliced
from unslow.fix.edit.verification import parsed, same_outside, span_of
from unslow.fix.names import Names
from unslow.fix.scope import FUNCTIONS, LOOPS, Function, Loop

_BOM = "\ufeff"


class CannotEdit(Exception):
    """Why an edit is not made, and the line (of the text as it was recorded) that stands in the way."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class Script:
    """A file's text and its tree. Every edit gives a new Script.

    Lines that callers give, and those in CannotEdit, are lines of the text that was recorded, however
    often the script has been edited since; nodes belong to the Script that handed them out.
    """

    path: str
    text: str
    _origin: Script | None = field(default=None, compare=False, repr=False)
    _places: tuple[int, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        try:
            self.tree  # noqa: B018 - parsed here so that a script that exists is a script that compiles
        except SyntaxError as problem:
            raise CannotEdit(
                f"{self.path} cannot be parsed: {problem.msg}", problem.lineno
            ) from problem
        except (ValueError, RecursionError) as problem:
            raise CannotEdit(f"{self.path} cannot be parsed: {problem}") from problem

    @classmethod
    def continued(cls, path: str, recorded: str, text: str) -> Script:
        """A script that was edited before, from its texts alone: lines still count in the recorded one."""
        places = matched(Lines(recorded.removeprefix(_BOM)), Lines(text.removeprefix(_BOM)))
        return cls(path, text, cls(path, recorded), tuple(places))

    @property
    def origin(self) -> Script:
        """The script as it was recorded."""
        return self._origin or self

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text.removeprefix(_BOM))

    @cached_property
    def tree(self) -> ast.Module:
        return parsed(self.lines, self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node, outer ones first; walked once, so that asking again is cheap."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        return tuple(node for node in self.nodes if isinstance(node, FUNCTIONS))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def names(self) -> Names:
        return Names(self.tree, self.parents)

    # Lines, as recorded and as they are

    def now(self, line: int) -> int | None:
        """Where a recorded line stands in this text; None if it is gone."""
        if not 0 < line <= self.origin.lines.count:
            return None
        return (self._places[line] or None) if self._origin else line

    def gone(self, line: int) -> bool:
        """Whether an edit took a recorded line out."""
        return 0 < line <= self.origin.lines.count and self.now(line) is None

    def recorded(self, node: ast.AST | int) -> int:
        """The recorded line of a node; of the nearest one above it where the edits made it."""
        line = node if isinstance(node, int) else int(getattr(node, "lineno", 1))
        if self._origin is None:
            return line
        above = ((place, old) for old, place in enumerate(self._places) if 0 < place <= line)
        return max(above, default=(0, 1))[1]

    def refuse(self, reason: str, node: ast.AST | int | None = None) -> CannotEdit:
        """The refusal to raise, with the recorded line of the node that stands in the way."""
        return CannotEdit(reason, None if node is None else self.recorded(node))

    # Looking

    def span(self, node: ast.AST) -> tuple[int, int]:
        found = span_of(self.lines, node)
        assert found is not None, f"{type(node).__name__} has no place"
        return found

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.lines.text[start:end]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """The block that a statement stands in, and its place there."""
        parent = self.parents[statement]
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and statement in value:
                return value, value.index(statement)
        raise AssertionError("a statement is always in a block")

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node belongs to."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def statement_at(self, line: int) -> ast.stmt | None:
        """The statement that a line is part of: a compound one only for the lines of its header."""
        now = self.now(line)
        best: ast.stmt | None = None
        for node in self.nodes:
            if (
                isinstance(node, ast.stmt)
                and now is not None
                and first_line(node) <= now <= _head_end(node)
            ):
                inner = (
                    best is None or first_line(node) > first_line(best) or node.lineno > best.lineno
                )
                best = node if inner else best
        return best

    def calls_at(self, line: int, name: str | None = None) -> list[ast.Call]:
        """The calls that a line is part of, by the last part of their names; the likeliest first.

        A call made on this very line (its name stands there) comes before one that only spans it,
        the outer before the inner, the left before the right.
        """
        now = self.now(line)
        if now is None:
            return []
        found = [
            node
            for node in self.calls
            if node.lineno <= now <= (node.end_lineno or node.lineno)
            and (name is None or last_name(node.func) == name)
        ]

        def order(call: ast.Call) -> tuple[bool, bool, int, int]:
            start, end = self.span(call)
            return call.func.end_lineno != now, call.lineno != now, start, -end

        return sorted(found, key=order)

    def call_at(self, line: int, name: str | None = None) -> ast.Call | None:
        return next(iter(self.calls_at(line, name)), None)

    def function_at(self, line: int) -> Function | None:
        """The innermost function that a line is part of, its decorators included."""
        now = self.now(line)
        around = [
            node
            for node in self.functions
            if now is not None and first_line(node) <= now <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    def loop_at(self, line: int) -> Loop | None:
        """The innermost for or while that a line is part of, within the same function."""
        now = self.now(line)
        loops = [node for node in self.nodes if isinstance(node, LOOPS)]
        around = [
            loop for loop in loops if loop.lineno <= (now or 0) <= (loop.body[-1].end_lineno or 0)
        ]
        innermost = max(around, key=lambda node: node.lineno, default=None)
        function = self.function_at(line)
        if innermost is None or (function is not None and function.lineno > innermost.lineno):
            return None
        return innermost

    def loops_around(self, node: ast.AST) -> list[Loop]:
        """The loops whose bodies a node is in, innermost first, up to the function it stands in."""
        found: list[Loop] = []
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(parent, LOOPS) and child in parent.body:
                found.append(parent)
            child = parent
        return found

    def function_of(self, node: ast.AST) -> Function | None:
        return next(
            (parent for parent in self.ancestors(node) if isinstance(parent, FUNCTIONS)), None
        )

    # Names

    def resolve(self, node: ast.AST) -> str | None:
        """`tensorflow.function` for `tf.function`, however it was imported; None where it is unclear."""
        return self.names.resolve(node)

    def alias(self, name: str, at: ast.AST | None = None) -> str | None:
        """How the user spells a dotted name such as `tensorflow.constant`; None if it is not imported."""
        return self.names.alias(name, at)

    def fresh(self, wanted: str) -> str:
        """A name like the wanted one that nothing in the script uses."""
        return self.names.fresh(wanted)

    # Editing

    def edit(self, splices: Sequence[Splice]) -> Script:
        """The script after the splices; raises CannotEdit if it would not compile or mean something else."""
        ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
        text, spans = spliced(self.lines.text, ordered)
        if text == self.lines.text:
            return self
        lines = Lines(text)
        where = self.lines.at(ordered[0].start)
        gone = [(splice.start, splice.end) for splice in ordered]
        try:
            tree = parsed(lines, self.path)
            same = same_outside(self.tree, self.lines, gone, tree, lines, spans)
        except (SyntaxError, ValueError, RecursionError) as problem:
            raise self.refuse(f"the edited line would not compile ({problem})", where) from problem
        if not same:
            raise self.refuse("the edit would change the code around it", where)
        step = moved(self.lines, lines, ordered, spans)
        places = [step[place] for place in self._places] if self._origin else step
        bom = _BOM if self.text.startswith(_BOM) else ""
        return Script(self.path, bom + text, self.origin, tuple(places))


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def header(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's own nodes: those of the statements in its body are left out."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from header(child)


def last_name(node: ast.AST) -> str | None:
    """The last part of what is called: `fit` of `self.model.fit`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _head_end(node: ast.stmt) -> int:
    """The last line of a statement, of its header if it has a body."""
    if isinstance(node, ast.Match):
        return node.subject.end_lineno or node.lineno
    body = getattr(node, "body", None)
    if not body:
        return node.end_lineno or node.lineno
    below = first_line(body[0])
    return max(node.lineno, below - 1)
