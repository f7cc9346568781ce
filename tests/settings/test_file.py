"""The settings file: where it is found, what is refused, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.errors import UnslowError
from unslow.settings import Known, Settings, load

KNOWN = Known(("run", "whatif"), lambda name: ["steps", "no_sources"], lambda: ["gc-pauses"])


def read(folder: Path, text: str, name: str = "pyproject.toml") -> Settings:
    (folder / name).write_text(text)
    return load(folder, KNOWN)


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    found = load(tmp_path, KNOWN)
    assert found == Settings() and found.origin("ignore") == "default"


def test_each_value_knows_its_file_and_line(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '[project]\nname = "x"\n\n[tool.unslow]\nignore = ["gc-pauses"]\nmin-share = 0.1\n'
        "[tool.unslow.whatif]\nsteps = 7\n",
    )
    assert found.ignore == ("gc-pauses",) and found.origin("ignore") == "pyproject.toml:5"
    assert found.min_share == 0.1 and found.origin("min_share") == "pyproject.toml:6"
    assert found.commands == {"whatif": {"steps": 7}}
    assert found.origin("whatif.steps") == "pyproject.toml:8"


def test_unslow_toml_needs_no_prefix_and_comes_first(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.unslow]\nmin_share = 0.5\n")
    found = read(tmp_path, "min_share = 0.25\n", "unslow.toml")
    assert found.min_share == 0.25 and found.origin("min_share") == "unslow.toml:1"


def test_the_nearest_file_above_counts(tmp_path: Path) -> None:
    (tmp_path / "unslow.toml").write_text('runs = "recordings"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert load(below, KNOWN).runs == str(tmp_path / "recordings")


def test_a_project_file_without_our_table_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "unslow.toml").write_text("min_share = 0.25\n")
    below = tmp_path / "below"
    below.mkdir()
    assert read(below, '[project]\nname = "x"\n').min_share == 0.25


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[tool.unslow]\nignor = ["x"]\n',
            r"toml:2: there is no setting ignor. Did you mean ignore",
        ),
        ('[tool.unslow]\nignore = ["gc-pause"]\n', r"toml:2.*Did you mean gc-pauses"),
        ("[tool.unslow]\nignore = 3\n", "ignore must be a list"),
        ("[tool.unslow]\nmin_share = 0.001\n", "min_share must be between 0.05 and 1"),
        ("[tool.unslow.whatif]\nstep = 3\n", r"toml:2.*Did you mean steps"),
        ("[tool.unslow]\nrun = 3\n", "run must be a table"),
        ("[tool.unslow\n", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_its_line(
    text: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnslowError, match=says):
        read(tmp_path, text)
