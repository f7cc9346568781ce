"""A loop over slices takes fewer rows in each turn, wherever their number is written."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.smaller_slices import keeps_rows, smaller_slices


def edited(source: str, line: int = 1, modules: dict[str, str] | None = None) -> dict[str, str]:
    return smaller_slices(Script("train.py", source, modules), line, 16).files


def test_a_number_that_is_written_out_changes_in_both_places() -> None:
    source = "out = [f(x[i : i + 1024]) for i in range(0, len(x), 1024)]\n"
    assert edited(source)["train.py"] == source.replace("1024", "16")


def test_a_name_changes_where_its_number_is_written() -> None:
    source = (
        "n = 1024\nfor i in range(0, len(x), n):\n    rows = x[i:n + i]\n    out.append(f(rows))\n"
    )
    assert edited(source, 4)["train.py"] == source.replace("1024", "16")


def test_a_setting_changes_in_the_file_that_holds_it() -> None:
    settings = (
        "from dataclasses import dataclass\n\n@dataclass\nclass Settings:\n    rows: int = 1024\n"
    )
    source = (
        "from settings import Settings\ncfg = Settings()\n"
        "out = [f(x[i:i + cfg.rows]) for i in range(0, len(x), cfg.rows)]\n"
    )
    files = edited(source, 3, {"settings.py": settings})
    assert files == {"settings.py": settings.replace("1024", "16")}


@pytest.mark.parametrize(
    "source",
    [
        "out = f(x)\n",
        "out = [f(rows) for rows in batches]\n",
        "out = [f(x[i]) for i in range(0, len(x), 1024)]\n",
        "out = [f(x[i : i + 512]) for i in range(0, len(x), 1024)]\n",
        "out = [f(x[i : i + n]) for i in range(0, len(x), n)]\n",
        "n = 8\nout = [f(x[i : i + n]) for i in range(0, len(x), n)]\n",
    ],
    ids=["one call", "other batches", "no slices", "gaps", "no number", "smaller already"],
)
def test_anything_else_is_left_alone(source: str) -> None:
    with pytest.raises(CannotEdit):
        edited(source, source.count("\n"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("for i in range(0, len(x), 64):\n    out[i // 64] = f(x[i:i + 64])\n", "more than"),
        ("n = 64\nfor i in range(0, len(x), n):\n    f(x[i:i + n])\nbuild(n)\n", "more than"),
        ("for i in range(0, len(x), 64):\n    m.train_on_batch(x[i:i + 64])\n", "a training"),
    ],
)
def test_a_size_that_means_more_is_left_alone(source: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        edited(source, 3 if source.startswith("n") else 2)


@pytest.mark.parametrize(
    ("source", "keeps"),
    [
        ("out = np.concatenate([f(x[i:i + 64]) for i in range(0, len(x), 64)])\n", True),
        ("out = sum(f(x[i:i + 64]) for i in range(0, len(x), 64))\n", False),
        ("for i in range(0, n, 64):\n    a.append(f(x[i:i + 64]))\nb = np.vstack(a)\n", True),
        ("for i in range(0, n, 64):\n    a.append(f(x[i:i + 64]))\nb = np.mean(a)\n", False),
        ("for i in range(0, n, 64):\n    m += f(x[i:i + 64])\n", False),
        ("for i in range(0, n, 64):\n    y[i:i + 64] = f(x[i:i + 64])\n", True),
    ],
)
def test_rows_that_are_put_together_again_stay_the_same(source: str, keeps: bool) -> None:
    assert keeps_rows(Script("train.py", source), min(2, source.count("\n"))) is keeps
