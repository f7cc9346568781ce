"""How a report is shown in a notebook; a real notebook is executed in tests/live."""

from __future__ import annotations

import html
import re

import pytest

from unslow.notebook import as_typed, summary_of
from unslow.record.engine.notebook_page import framed, named_cells

CELLS = {"/tmp/ipykernel_12/345.py": 7, "/tmp/ipykernel_12/6.py": 8}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at /tmp/ipykernel_12/345.py:3.", "at cell 7, line 3."),
        ("`ipykernel_12/6.py:10`", "`cell 8, line 10`"),
        ('"file":"/tmp/ipykernel_12/345.py","line":3', '"file":"cell 7","line":3'),
        ("<b>/tmp/ipykernel_12/345.py:3</b>", "<b>cell 7, line 3</b>"),
        ("at train.py:3 and 1345.py:3", "at train.py:3 and 1345.py:3"),
        ("Apply it: unslow fix --apply", "Apply it: %unslow_fix"),
    ],
)
def test_lines_of_cells_are_named_by_their_cell(text: str, shown: str) -> None:
    assert named_cells(text, CELLS) == shown


def test_the_page_arrives_whole_in_its_frame() -> None:
    page = '<p title="a & b">it\'s</p>'
    found = re.search(r'srcdoc="([^"]*)"', framed(page))
    assert found is not None
    assert html.unescape(found[1]) == page


def test_a_corrected_cell_has_its_magics_as_they_were_typed() -> None:
    raw = "%%unslow\n%matplotlib inline\nstep(n)\n"
    corrected = "# %%unslow\nget_ipython().run_line_magic('matplotlib', 'inline')\nstep(t)\n"
    assert as_typed(corrected, raw) == "%%unslow\n%matplotlib inline\nstep(t)"


def test_without_a_fix_the_summary_says_why() -> None:
    row = {"cause": "retracing", "line": "a.py:3", "title": "traced", "refusal": "it is read"}
    assert "no fix: it is read" in summary_of({"fixes": [row], "files": {}, "diff": ""})
