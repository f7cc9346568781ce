"""The terminal report against gold files, 80 columns wide."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from unslow.analyse.memory.account import MemoryAccount
from unslow.analyse.memory.parts import MemoryPart, Part
from unslow.model import Location
from unslow.report import terminal
from unslow.report.view import view_of

from .gallery import GALLERY, proof, retracing


def printed(view: dict[str, object], width: int = 80, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    console.print(terminal.renderable(view))
    return out.getvalue()


@pytest.mark.parametrize("name", GALLERY)
def test_the_terminal_report_reads_as_its_gold_file(
    name: str, matches_gold: Callable[[str, str], None]
) -> None:
    text = "".join(f"{line.rstrip()}\n" for line in printed(view_of(GALLERY[name]())).splitlines())
    matches_gold(f"{name}.txt", text)


@pytest.mark.parametrize("name", GALLERY)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(cell_len, printed(view_of(GALLERY[name]()), width).splitlines())) <= width


def test_the_verdict_comes_before_everything_but_the_command() -> None:
    lines = [line for line in printed(view_of(retracing())).splitlines() if line.strip()]
    assert lines[2].startswith("Training could be ≈3.4× faster: step is traced again on")


def test_without_a_terminal_there_is_no_escape_sequence() -> None:
    assert "\x1b" not in printed(view_of(GALLERY["unicode"]()))


def test_an_escape_sequence_in_a_name_of_the_user_is_made_visible() -> None:
    assert "\\x1b[31m" in printed(view_of(GALLERY["unicode"]()), colour=True)


def test_square_brackets_of_the_user_are_no_markup() -> None:
    diagnosis = retracing()
    finding = replace(diagnosis.findings[0], title="x[bold]y[/bold] [red]")
    assert "x[bold]y[/bold] [red]" in printed(view_of(replace(diagnosis, findings=(finding,))))


def test_a_proof_is_said() -> None:
    assert "3.4 times as fast" in printed(view_of(retracing(), {0: proof()}))


def _peak(*parts: MemoryPart) -> MemoryAccount:
    at = Location("train.py", 12)
    start = MemoryPart(Part.START, "after its import", 6e8)
    return MemoryAccount(0, 1.7e9, at, 3.0, 16e9, (start, *parts))


def test_a_large_peak_of_memory_is_split_by_who_holds_it() -> None:
    held = MemoryPart(Part.HELD, "`x`: array of float64, 100", 9e8, Location("train.py", 3))
    account = _peak(held, MemoryPart(Part.REST, "what no other part explains", 2e8))
    text = printed(view_of(replace(retracing(), memory=account)))
    assert "The peak of 1.70 GB, reached at train.py:12, consists of" in text
    rows = [line.split() for line in text.splitlines() if " 900 MB " in line]
    assert rows[0][:6] == ["your", "arrays", "and", "containers", "900", "MB"]


def test_a_peak_that_is_nearly_all_tensorflow_is_not_split() -> None:
    account = replace(_peak(), peak=7e8)
    assert "consists of" not in printed(view_of(replace(retracing(), memory=account)))
