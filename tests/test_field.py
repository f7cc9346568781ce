"""The field suite is well formed: every expert names causes that exist, lines that exist, and a fix that applies."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.field.programs import KINDS, TWIN, Program, all_programs
from unslow.cause import load

PROGRAMS = all_programs()
CAUSES = {cause.id for cause in load()[0]} | {"straggler", "communication", "memory-peak"}


def named(program: Program) -> str:
    return program.name


def test_the_suite_is_as_large_and_as_mixed_as_it_should_be() -> None:
    assert len(PROGRAMS) >= 120
    assert 3 * sum(program.healthy for program in PROGRAMS) >= len(PROGRAMS)
    assert sum(len(program.faults) > 1 for program in PROGRAMS) >= 20
    assert sum(program.about_memory for program in PROGRAMS) >= 15
    assert sum(program.expert["steps"] is None for program in PROGRAMS) >= 12


@pytest.mark.parametrize("program", PROGRAMS, ids=named)
def test_an_expert_names_causes_and_lines_that_exist(program: Program) -> None:
    for fault in program.faults:
        assert set(fault.causes) <= CAUSES
        assert fault.kind in KINDS
        assert fault.lines
        for where in fault.lines:
            file, _, line = where.rpartition(":")
            assert 0 < int(line) <= len((program.folder / file).read_text().splitlines()), where
    assert program.wrong | program.tolerated <= CAUSES | {"*"}


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.faults], ids=named)
def test_the_experts_change_applies(program: Program, tmp_path: Path) -> None:
    copy = shutil.copytree(program.folder, tmp_path / "program")
    words = ["patch", "-p1", "-s", "-i", str(program.folder / TWIN)]
    done = subprocess.run(words, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_lines_of_one_statement_are_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = f(\n    1,\n)\nfor y in (\n    x,\n):\n    z = y\n")
    program = Program(tmp_path)
    assert program.same_statement("a.py:1", "a.py:3")
    assert program.same_statement("a.py:4", "a.py:5")
    assert not program.same_statement("a.py:4", "a.py:7")
    assert not program.same_statement("a.py:1", "b.py:1")
