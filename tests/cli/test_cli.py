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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rnu", "train.py"), "Did you mean run"),
        (("train.py",), "unslow run train.py"),
        (("run", "--hmtl", "x", "train.py"), "Did you mean --html"),
        (("run", "trian.py"), "Did you mean train.py"),
        (("run", "folder"), "it is a folder without __main__.py"),
        (("run", "data.csv"), "it is not Python"),
        (("run", "book.ipynb"), "jupyter nbconvert"),
        (("run", "--json", "no/such/report.json", "train.py"), "there is no folder no/such"),
        (("run", "--html", "folder", "train.py"), "it is a folder"),
        (("check", "--only", "graph-grwth", "train.py"), "Did you mean graph-growth"),
        (("fix", "--only", "graph-grwth"), "Did you mean graph-growth"),
        (("whatif", "--only", "xlaa", "train.py"), "Did you mean xla"),
        (("export", "tensorbord"), "Did you mean tensorboard"),
        (("why", "--fromat", "json"), "Did you mean '--format'"),
        (("why", "--format", "jsn"), "Did you mean json"),
    ],
)
def test_a_wrong_command_line_is_refused_with_what_to_type(
    words: tuple[str, ...], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("pass")
    (tmp_path / "data.csv").write_text("a,b\n1 2,3\n")
    (tmp_path / "book.ipynb").write_text("{}")
    (tmp_path / "folder").mkdir()
    code, _, err = typed(capsys, *words)
    assert code == 2 and says in err
    assert not list(tmp_path.glob(".unslow/*/run.json"))


def test_a_start_that_failed_leaves_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(capsys, "run", "--", "no-such-program")
    assert not list(tmp_path.glob(".unslow/2*"))


def test_a_run_folder_is_ignored_by_git(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text("pass")
    typed(capsys, "run", "-q", "train.py")
    assert (tmp_path / ".unslow" / ".gitignore").read_text() == "*\n"


def test_a_name_that_several_runs_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("1-train", "2-train"):
        (tmp_path / ".unslow" / name).mkdir(parents=True)
        (tmp_path / ".unslow" / name / "run.json").write_text("{}")
    code, _, err = typed(capsys, "why", "train")
    assert code == 2 and "1-train, 2-train" in err


def test_a_syntax_error_shows_its_own_traceback_and_one_line_of_ours(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text("def f(:\n")
    with pytest.raises(SystemExit) as leaving:
        main(["run", "train.py"])
    err = capfd.readouterr().err
    assert leaving.value.code == 1 and "SyntaxError" in err
    assert err.count("unslow: ") == 1 and "not judged" not in err


def test_settings_are_defaults_of_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "unslow.toml").write_text('[explain]\nform = "json"\n')
    code, out, _ = typed(capsys, "explain", "no-steps")
    assert code == 0 and out.startswith("{")


def test_runs_are_recorded_where_the_settings_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "unslow.toml").write_text('runs = "recordings"\n')
    (tmp_path / "train.py").write_text("pass")
    typed(capsys, "run", "-q", "train.py")
    assert len(list(tmp_path.glob("recordings/*-train/run.json"))) == 1


def test_a_wrong_setting_stops_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "unslow.toml").write_text("stpes = 3\n")
    code, _, err = typed(capsys, "runs")
    assert code == 2 and "unslow.toml:1" in err


def test_a_misspelt_name_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = typed(capsys, "explain", "graph-grwth")
    assert code == 2 and "graph-growth" in err


def test_every_slug_in_the_source_is_explained() -> None:
    import re

    source = Path(__file__).parents[2] / "src" / "unslow"
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
    assert leaving.value.code == 0 and out.out == "ran\n" and "imported TensorFlow" in out.err


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
