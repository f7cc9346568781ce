"""How a report is shown in a notebook; a real notebook is executed in tests/live."""

from __future__ import annotations

import html
import re

import pytest

from unslow.notebook import framed, named_cells

CELLS = {"/tmp/ipykernel_12/345.py": 7, "/tmp/ipykernel_12/6.py": 8}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /tmp/ipykernel_12/345.py:3.", "at cell 7, line 3."),
        ("`ipykernel_12/6.py:10`", "`cell 8, line 10`"),
        ('"file":"/tmp/ipykernel_12/345.py","line":3', '"file":"cell 7","line":3'),
        ("<b>/tmp/ipykernel_12/345.py:3</b>", "<b>cell 7, line 3</b>"),
        ("at train.py:3 and 1345.py:3", "at train.py:3 and 1345.py:3"),
    ],
)
def test_lines_of_cells_are_named_by_their_cell(text: str, shown: str) -> None:
    assert named_cells(text, CELLS) == shown


def test_the_page_arrives_whole_in_its_frame() -> None:
    page = '<p title="a & b">it\'s</p>'
    found = re.search(r'srcdoc="([^"]*)"', framed(page))
    assert found is not None
    assert html.unescape(found[1]) == page
