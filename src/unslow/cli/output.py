"""Where commands write: paths that are checked before any work, JSON, and terminals."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from unslow.errors import UnslowError, cannot_write
from unslow.facts.json_object import JsonObject

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 100  # columns at most, and where there is no terminal
Command = Callable[..., Any]


def format_option(*formats: str) -> Callable[[Command], Command]:
    """`--format`: the first one is the default."""
    choice = click.Choice(list(formats))
    return click.option(
        "--format", "form", type=choice, default=formats[0], show_default=True, help="How to print."
    )


def must_be_writable(path: str | None) -> None:
    """Raise now rather than after hours of training."""
    if path is None:
        return
    target = Path(path)
    folder = target.parent
    why = ""
    if target.is_dir():
        why = "it is a folder"
    elif not folder.is_dir():
        why = f"there is no folder {folder}"
    elif not os.access(target if target.exists() else folder, os.W_OK):
        why = "no permission"
    if why:
        raise UnslowError(f"cannot write {path}", why, "Name another path.", "cannot-write")


def write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise cannot_write(path, problem, "Name another path.") from None


def write_json(data: JsonObject) -> None:
    """One JSON document on stdout, as the command's schema says."""
    from unslow.report.json_report import written
    from unslow.report.view import clean

    click.echo(written(clean({"schema": 1, **data})), nl=False)


def print_rich(part: RenderableType, stream: TextIO | None = None, width: int = WIDTH) -> None:
    """Something for rich; in colour on a terminal only."""
    from rich.console import Console

    console = Console(file=stream or sys.stdout, highlight=False, soft_wrap=False)
    console.print(part, width=min(console.width, width) if console.is_terminal else width)


def say(text: str, err: bool = True) -> None:
    """Text that may hold names from a recording or a source file: nothing in it acts."""
    from unslow.report.words import plain

    click.echo(plain(text), err=err)


def progress(text: str) -> None:
    say(f"unslow: {text}")
