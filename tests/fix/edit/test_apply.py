"""Which files may be changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unslow.analyse.sketches.sketch import Sketch
from unslow.errors import UnslowError
from unslow.fix.edit.apply import check_unchanged, is_cell, write

CELL = "/tmp/ipykernel_12/345.py"


@pytest.mark.parametrize(
    ("file", "expected"),
    [(CELL, True), ("<ipython-input-3-abc>", True), ("train.py", False), ("ipykernel/1.py", False)],
)
def test_cells_of_notebooks_are_recognised(file: str, expected: bool) -> None:
    assert is_cell(file) is expected


def test_a_cell_has_no_file_that_could_have_changed_and_is_never_written(tmp_path: Path) -> None:
    run = replace(Sketch("", [0.1] * 10).run(), cwd=str(tmp_path), sources={CELL: "step(1)\n"})
    check_unchanged(run, {CELL: "step(2)\n"})
    with pytest.raises(UnslowError, match="%unslow_fix"):
        write(run, {CELL: "step(2)\n"})


def test_a_file_that_is_gone_cannot_be_changed(tmp_path: Path) -> None:
    run = replace(Sketch("", [0.1] * 10).run(), cwd=str(tmp_path), sources={"train.py": ""})
    with pytest.raises(UnslowError, match="no longer there"):
        check_unchanged(run, {"train.py": "pass\n"})
