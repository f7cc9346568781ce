"""Every broken recipe is found at its line in the unsound snippets, and nothing in their sound look-alikes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unslow.cause import load
from unslow.check import check_file

HERE = Path(__file__).parent
RECIPES = [cause for cause in load()[0] if not cause.ran]
UNSOUND = sorted((HERE / "unsound").rglob("*.py"))
SOUND = sorted((HERE / "sound").rglob("*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(HERE).with_suffix(""))


def _expected(path: Path) -> list[tuple[str, int]]:
    found = re.findall(r"^# expect: ([\w-]+) (\d+)$", path.read_text(), re.MULTILINE)
    return sorted((cause, int(line)) for cause, line in found)


def _seen(path: Path) -> list[tuple[str, int]]:
    report = check_file(path, RECIPES)
    assert not report.problem and not report.not_judged
    return sorted((found.cause, found.spot.line) for found in report.found)


@pytest.mark.parametrize("path", UNSOUND, ids=_name)
def test_the_recipe_is_found_at_its_line_and_nothing_else_is(path: Path) -> None:
    assert _seen(path) == _expected(path)


@pytest.mark.parametrize("path", SOUND, ids=_name)
def test_nothing_is_found_in_a_sound_look_alike(path: Path) -> None:
    assert _seen(path) == []


def test_there_are_enough_snippets_of_both_sorts() -> None:
    assert len([path for path in UNSOUND if _expected(path)]) >= 40
    assert len(SOUND) >= 40


@pytest.mark.parametrize("cause", RECIPES, ids=lambda cause: cause.id)
def test_every_recipe_has_several_snippets(cause: object) -> None:
    lines = [
        expected for path in UNSOUND for expected in _expected(path) if expected[0] == cause.id
    ]  # type: ignore[attr-defined]
    assert len(lines) >= 6
