"""How parts of a terminal report are laid out: indented, wrapped, in columns."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from unslow.report import words

_JOINT = "\ue000"  # a private character: rich breaks lines at every kind of space


class Unbroken:
    """Keeps a number and its unit on one line, and leaves no blanks at the ends of lines."""

    def __init__(self, part: RenderableType) -> None:
        self.part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.part, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            for segment in line[:-1]:
                yield Segment(segment.text.replace(_JOINT, " "), segment.style)
            for last in line[-1:]:
                yield Segment(last.text.rstrip().replace(_JOINT, " "), last.style)
            yield Segment.line()


class _Indented:
    """A part moved to the right; unlike rich's Padding it leaves no blanks at the ends of lines."""

    def __init__(self, part: RenderableType, left: int) -> None:
        self.part, self.left = part, left

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update_width(max(1, options.max_width - self.left))
        for line in console.render_lines(self.part, inner, pad=False):
            yield Segment(" " * self.left)
            yield from line
            yield Segment.line()


def inside(part: RenderableType, left: int = 2) -> _Indented:
    return _Indented(part, left)


def prose(text: str, style: str = "") -> Text:
    return Text(words.unbroken(text, _JOINT), style)


def cut_line(*parts: tuple[str, str]) -> Text:
    """Text that is cut rather than wrapped."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def title(text: str) -> Text:
    return Text(f"\n{text}", style="bold underline")


def item(text: str) -> RenderableType:
    table = Table.grid()
    table.add_column(width=2)
    table.add_column(overflow="fold")
    table.add_row("· ", prose(text))
    return inside(table)


def pairs(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", max_width=38)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label), prose(value))
    return table


def shares(rows: Iterable[tuple[str, str, str, str]]) -> Table:
    """Rows of a name, an amount, its share, and what it consists of."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for name, amount, share, parts in rows:
        table.add_row(name, amount, share, prose(parts))
    return table
