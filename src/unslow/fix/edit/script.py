"""The script being edited: changed only in named spans, checked after every edit."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from unslow.fix.edit.lines import Lines, Splice, matched, moved, spliced
from unslow.fix.edit.verification import parsed, same_outside, span_of
from unslow.syntax import Source
from unslow.syntax.literals import Literal, Obstacle, find_literal
from unslow.syntax.modules import module_path
from unslow.syntax.nodes import NamedFunction, StatementLoop, last_header_line, last_name

if TYPE_CHECKING:
    from typing_extensions import Self

_BOM = "\ufeff"
Needed = TypeVar("Needed")


class CannotEdit(Exception):
    """Why an edit is not made, and the recorded line that stands in the way."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Script(Source):
    """A file that can be edited. Every edit gives a new Script.

    Lines that callers give, and those in CannotEdit, are lines of the text that was recorded,
    however often the script has been edited since; nodes belong to the Script that handed them out.
    """

    def __init__(self, path: str, text: str, modules: Mapping[str, str] | None = None) -> None:
        self.lines = Lines(text.removeprefix(_BOM))
        self.modules = modules or {}  # the texts of the program's files, by path
        self._origin: Script | None = None
        self._places: Sequence[int] = ()
        self._others: dict[str, str] = {}  # other files of the program that were edited along
        try:
            super().__init__(path, text)
        except SyntaxError as problem:
            raise CannotEdit(f"{path} cannot be parsed: {problem.msg}", problem.lineno) from problem
        except (ValueError, RecursionError) as problem:
            raise CannotEdit(f"{path} cannot be parsed: {problem}") from problem

    def _parse(self) -> ast.Module:
        return parsed(self.lines, self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Script) and (other.path, other.text) == (self.path, self.text)

    def __hash__(self) -> int:
        return hash((self.path, self.text))

    @classmethod
    def continued(
        cls, path: str, recorded: str, text: str, modules: Mapping[str, str] | None = None
    ) -> Script:
        """A script from its recorded and its edited text; lines still count in the recorded one."""
        places = matched(Lines(recorded.removeprefix(_BOM)), Lines(text.removeprefix(_BOM)))
        return cls(path, text, modules)._since(cls(path, recorded), places)

    def _since(self, origin: Script, places: Sequence[int]) -> Script:
        self._origin, self._places = origin, places
        return self

    @property
    def origin(self) -> Script:
        """The script as it was recorded."""
        return self._origin or self

    def neighbour(self, module: str) -> Self | None:
        """Another file of the program, as it was recorded: the file on disk may differ."""
        path = module_path(self.path, module, self._is_recorded)
        if path is None:
            return None
        try:
            return type(self)(str(path), self.modules[str(path)], self.modules)
        except CannotEdit:
            return None

    def of(self, path: str) -> Script:
        """Another file of the program, by its path."""
        if path == self.path:
            return self
        if path not in self.modules:
            raise CannotEdit(f"the source of {path} was not kept with the run")
        return Script(path, self.modules[path], self.modules)

    def other_files(self, mention: str) -> Iterator[Self]:
        """The program's other files, as they were recorded, in which a word occurs."""
        for path, text in self.modules.items():
            if path != self.path and mention in text:
                with suppress(CannotEdit):
                    yield type(self)(path, text, self.modules)

    def _is_recorded(self, path: Path) -> bool:
        return str(path) in self.modules

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

    def refuse_if(self, obstacle: object, reason: str, node: ast.AST | int | None = None) -> None:
        """Raises the refusal where something stands in the way."""
        if obstacle:
            raise self.refuse(reason, node)

    def needed(
        self, value: Needed | None, reason: str, node: ast.AST | int | None = None
    ) -> Needed:
        """A value without which there is no edit; raises the refusal where it is None."""
        if value is None:
            raise self.refuse(reason, node)
        return value

    # Looking

    def span(self, node: ast.AST) -> tuple[int, int]:
        found = span_of(self.lines, node)
        assert found is not None, f"{type(node).__name__} has no place"
        return found

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.lines.text[start:end]

    def statement_at(self, line: int) -> ast.stmt | None:
        """The statement that a line is part of: a compound one only for the lines of its header."""
        now = self.now(line) or 0
        around = [node for node in self.around(now) if now <= last_header_line(node)]
        return around[-1] if around else None

    def calls_at(self, line: int, name: str | None = None) -> list[ast.Call]:
        """The calls that a line is part of, by the last part of their names; the likeliest first.

        A call made on this very line (its name stands there) comes before one that only spans it,
        the outer before the inner, the left before the right.
        """
        now = self.now(line) or 0
        spanning = [
            call for call in self.every(ast.Call) if call.lineno <= now <= (call.end_lineno or 0)
        ]

        def order(call: ast.Call) -> tuple[bool, bool, int, int]:
            start, end = self.span(call)
            return call.func.end_lineno != now, call.lineno != now, start, -end

        named = [call for call in spanning if name is None or last_name(call.func) == name]
        return sorted(named, key=order)

    def call_at(self, line: int, name: str | None = None) -> ast.Call | None:
        return next(iter(self.calls_at(line, name)), None)

    def function_at(self, line: int) -> NamedFunction | None:
        """The innermost function that a recorded line is part of, its decorators included."""
        return self.function_around(self.now(line) or 0)

    def loop_at(self, line: int) -> StatementLoop | None:
        """The innermost for or while that a recorded line is part of, within the same function."""
        now = self.now(line) or 0
        loops = [loop for loop in self.loops_at(now) if now <= (loop.body[-1].end_lineno or 0)]
        return loops[-1] if loops else None

    # Editing

    @property
    def files(self) -> dict[str, str]:
        """The new texts by path: of this file, and of the others that were edited along."""
        unchanged = self._others and self.text == self.origin.text
        return self._others if unchanged else {**self._others, self.path: self.text}

    def with_value(self, expression: ast.expr, new: Callable[[Literal[Script]], str]) -> Script:
        """Another literal where the value of an expression is written, be it in another file."""
        try:
            literal = find_literal(self, expression)
        except Obstacle as problem:
            raise self.follow_refused(problem) from problem
        source = literal.source
        return self.along(source.edit([Splice(*source.span(literal.node), new(literal))]), source)

    def along(self, edited: Script, before: Script) -> Script:
        """This script, with an edit of a file of the program, be it another one."""
        if before is self:
            return edited
        found = Script(self.path, self.text, {**self.modules, edited.path: edited.text})
        found._others = {**self._others, edited.path: edited.text}
        return found._since(self.origin, self._places) if self._origin else found

    def follow_refused(self, problem: Obstacle) -> CannotEdit:
        if problem.source is self:
            return self.refuse(problem.reason, problem.node)
        place = f"{problem.source.path}:{problem.line}"
        return self.refuse(f"{problem.reason} ({place})")

    def edit(self, splices: Sequence[Splice]) -> Script:
        """The script after the splices; CannotEdit if it would not compile or change elsewhere."""
        ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
        text, spans = spliced(self.lines.text, ordered)
        if text == self.lines.text:
            return self
        bom = _BOM if self.text.startswith(_BOM) else ""
        where = self.lines.at(ordered[0].start)
        gone = [(splice.start, splice.end) for splice in ordered]
        try:
            edited = Script(self.path, bom + text, self.modules)
        except CannotEdit as problem:
            raise self.refuse(f"the edited line would not compile ({problem})", where) from problem
        before, after = (self.tree, self.lines, gone), (edited.tree, edited.lines, spans)
        if not same_outside(before, after):
            raise self.refuse("the edit would change the code around it", where)
        step = moved(self.lines, edited.lines, ordered, spans)
        places = [step[place] for place in self._places] if self._origin else step
        return edited._since(self.origin, places)
