"""The command line in process: what it says, and how it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unslow.cli import main
from unslow.explain import ERRORS


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    try:
        main(list(words))
        code = 0
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys, "--help")
    assert code == 0
    for name in (
        "run",
        "live",
        "why",
        "fix",
        "prove",
        "whatif",
        "check",
        "explain",
        "compare",
        "export",
        "runs",
    ):
        assert f"\n  {name}" in out


@pytest.mark.parametrize(
    "name",
    [
        "run",
        "live",
        "why",
        "fix",
        "prove",
        "whatif",
        "check",
        "explain",
        "compare",
        "export",
        "runs",
    ],
)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys, name, "--help")
    assert code == 0 and "Usage:" in out


def test_a_script_that_does_not_exist_is_a_clear_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = typed(capsys, "run", "nowhere.py")
    assert code == 2 and "there is no such file" in err and "unslow explain no-script" in err


def test_a_command_that_does_not_exist_is_a_clear_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = typed(capsys, "run", "--", "no-such-program")
    assert code == 2 and "no-command" in err


@pytest.mark.parametrize("words", [("why",), ("fix",), ("prove",), ("why", "nowhere")])
def test_without_a_run_it_says_how_to_make_one(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = typed(capsys, *words)
    assert code == 2 and "no-runs" in err


def test_a_folder_that_is_no_run_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "foreign").mkdir()
    code, _, err = typed(capsys, "why", "foreign")
    assert code == 2 and "it has no run.json" in err


def test_a_folder_in_use_is_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine")
    (tmp_path / "train.py").write_text("")
    code, _, err = typed(capsys, "run", "--out", "used", "train.py")
    assert (
        code == 2
        and "it is not empty" in err
        and (tmp_path / "used" / "file").read_text() == "mine"
    )


@pytest.mark.parametrize("slug", sorted(ERRORS))
def test_every_error_is_explained(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys, "explain", slug)
    assert code == 0 and ERRORS[slug][0] in out


def test_a_misspelt_name_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = typed(capsys, "explain", "graph-grwth")
    assert code == 2 and "graph-growth" in err


def test_every_slug_in_the_source_is_explained() -> None:
    import re

    source = Path(__file__).parents[1] / "src" / "unslow"
    used = {
        slug
        for path in source.rglob("*.py")
        for slug in re.findall(
            r'UnslowError\((?:[^()]|\([^()]*\))*?"([a-z]+(?:-[a-z]+)+)",?\s*\)', path.read_text()
        )
    }
    assert used <= set(ERRORS)


def test_a_python_without_tensorflow_runs_and_the_report_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("print('ran')")
    with pytest.raises(SystemExit) as leaving:
        main(["run", "--python", sys.executable, "train.py"])
    out = capfd.readouterr()
    assert leaving.value.code == 0 and out.out == "ran\n" and "No training step was seen" in out.err


def test_the_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit) as leaving:
        main(["run", "-q", "train.py"])
    assert leaving.value.code == 3


def test_runs_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text("pass")
    typed(capsys, "run", "-q", "train.py")
    code, out, _ = typed(capsys, "runs")
    assert code == 0 and "train.py" in out and "exit 0" in out
