"""Which lines are the user's, and which loop they stand in."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from unslow.record.engine.frames import UserCode, column_of


def loop_of(tmp_path: Path, text: str, function: str = "<module>") -> tuple[int, int] | None:
    """The loop around the line that is marked with `# here`."""
    file = tmp_path / "script.py"
    source = textwrap.dedent(text)
    file.write_text(source)
    line = next(number for number, row in enumerate(source.splitlines(), 1) if "# here" in row)
    return UserCode().loop_around((str(file), line, function))


def test_the_innermost_loop_around_a_line_is_found(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "for e in r:\n    for b in d:\n        f()  # here\n") == (2, 3)


def test_a_loop_around_a_function_definition_is_not_around_its_body(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "for e in r:\n    def f():\n        g()  # here\n    f()\n") is None


def test_the_header_of_a_for_loop_is_not_its_body(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "for e in r:\n    for b in make():  # here\n        pass\n") == (1, 3)


def test_the_condition_of_a_while_loop_belongs_to_it(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "while step():  # here\n    pass\n") == (1, 2)


def test_the_else_of_a_loop_is_not_its_body(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "for e in r:\n    pass\nelse:\n    f()  # here\n") is None


def test_a_comprehension_beside_the_call_is_not_a_loop_around_it(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "for e in r:\n    apply((g, v) for g, v in z)  # here\n") == (1, 2)


def test_a_call_inside_a_comprehension_is_in_a_loop(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "x = [step(b) for b in d]  # here\n", "<listcomp>") == (1, 1)


def test_a_file_that_cannot_be_parsed_has_no_loops(tmp_path: Path) -> None:
    assert loop_of(tmp_path, "for e in r:\n    f( # here\n") is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="columns are known from Python 3.11 on")
def test_the_column_of_a_running_frame_is_known() -> None:
    assert (column := column_of(sys._getframe())) is not None and column > 0


def test_library_files_are_not_the_users() -> None:
    import json

    assert not UserCode().owns(json.dumps.__code__)


def test_this_file_is_the_users() -> None:
    assert UserCode().owns(sys._getframe().f_code)
