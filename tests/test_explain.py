"""Texts of causes and errors in a terminal."""

from __future__ import annotations

import pytest

from tests.cli.test_cli import typed
from unslow.explain import flowing


def test_a_paragraph_is_one_line_and_headings_and_lists_stay_apart() -> None:
    text = "The fix\nMake them\n`once`, before.\n\n- one\n- two\nAnd then."
    assert flowing(text, ["The fix"]) == (
        "The fix\nMake them `once`, before.\n\n- one\n- two\nAnd then."
    )


def test_explain_wraps_at_the_width_of_the_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    _, out, _ = typed(capsys, "explain", "graph-growth")
    assert (
        len(out.splitlines()) == 2 + 4 * 3 - 1
    )  # title, and a heading, a paragraph and a gap each
