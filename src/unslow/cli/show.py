"""From a run folder to a report, in every format."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TextIO

from unslow.cli.output import print_rich
from unslow.cli.recorded import settings

if TYPE_CHECKING:
    from unslow.model import Diagnosis
    from unslow.report.words import Row

# Name → the module that writes it.
FORMATS = {"json": "json_report", "html": "html", "sarif": "sarif", "markdown": "markdown"}
_REPORT_WIDTH = 80  # where there is no terminal


def diagnosis_of(folder: str, with_fixes: bool = True) -> Diagnosis:
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose

    return diagnose(load(folder), with_fixes=with_fixes)


def report_on(folder: str) -> tuple[Diagnosis, Row]:
    """The diagnosis of a run and its view, without the findings that the settings ignore."""
    from unslow.report.view import view_of
    from unslow.settings.ignores import without_ignored

    diagnosis, ignored = without_ignored(diagnosis_of(folder), settings())
    return diagnosis, view_of(diagnosis, ignored=ignored)


def text_of(view: Row, form: str) -> str:
    text: str = importlib.import_module(f"unslow.report.{FORMATS[form]}").dumps(view)
    return text


def print_report(view: Row, stream: TextIO) -> None:
    from unslow.report.terminal import renderable

    print_rich(renderable(view), stream, 100 if stream.isatty() else _REPORT_WIDTH)
