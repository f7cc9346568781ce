"""`unslow check` as a command: which files, what it prints, how it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from unslow.cause import Cause, Spot, load
from unslow.check import check_paths, check_text
from unslow.check.formats import sarif
from unslow.cli.check import check
from unslow.errors import UnslowError
from unslow.syntax import Source

CAUSES = [cause for cause in load()[0] if not cause.ran]
UNSOUND = "import tensorflow as tf\nopt = tf.keras.optimizers.Adam(lr=0.1)\n"
SOUND = "import tensorflow as tf\nopt = tf.keras.optimizers.Adam(0.1)\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(check, [*map(str, arguments)])


@pytest.fixture
def unsound(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(UNSOUND)
    return file


def test_a_spot_is_shown_with_file_line_column_cause_and_the_working_form(unsound: Path) -> None:
    lines = run(unsound).stdout.splitlines()
    assert lines[0].startswith(
        f"{unsound}:2:32: removed-argument: `Adam` has no argument `lr` any more"
    )
    assert lines[1] == "    instead: learning_rate=..."


def test_the_exit_code_is_one_when_something_is_found(unsound: Path) -> None:
    assert run(unsound).exit_code == 1


def test_the_exit_code_is_zero_when_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SOUND)
    result = run(tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")


def test_the_exit_code_is_two_for_a_path_that_does_not_exist(tmp_path: Path) -> None:
    assert run(tmp_path / "nothing.py").exit_code == 2


def test_an_unknown_cause_is_refused(unsound: Path) -> None:
    assert isinstance(run("--only", "no-such-cause", unsound).exception, UnslowError)


@pytest.mark.parametrize("text", ["print 'tensorflow'\n", "import tensorflow\n\0", "def tf(:\n"])
def test_a_file_that_is_no_python_is_named_and_not_taken_for_sound(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "old.py").write_text(text)
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "old.py" in result.stderr


def test_a_file_in_an_unknown_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_bytes(b"# coding: no-such-code\nimport tensorflow\n")
    assert "cannot be read" in run(tmp_path).stderr


def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(b"# coding: latin-1\n# \xe4\n" + UNSOUND.encode())
    assert f"{file}:4:32" in run(file).stdout


def test_only_the_python_files_of_the_project_are_walked(tmp_path: Path) -> None:
    for name in (
        "a.py",
        "b/c.py",
        ".hidden/d.py",
        "venv/e.py",
        "x/site-packages/f.py",
        "own/g.py",
        "notes.txt",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(UNSOUND)
    (tmp_path / "own" / "pyvenv.cfg").touch()
    names = [os.path.relpath(report.file, tmp_path) for report in check_paths([tmp_path], CAUSES)]
    assert names == ["a.py", os.path.join("b", "c.py")]


def test_a_folder_that_is_named_is_walked_whatever_it_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "a.py").write_text(UNSOUND)
    assert len(check_paths([folder], CAUSES)) == 1


def test_excluded_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a_test.py").write_text(UNSOUND)
    assert check_paths([tmp_path], CAUSES, ["*_test.py"]) == []


def test_a_file_given_twice_is_reported_once(unsound: Path) -> None:
    assert len(check_paths([unsound, unsound.parent], CAUSES)) == 1


def test_many_files_are_shared_among_processes_and_stay_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unslow.check._WORTH_SHARING", 0)
    for number in range(40):
        (tmp_path / f"{number:02d}.py").write_text(UNSOUND if number % 2 else SOUND)
    reports = check_paths([tmp_path], CAUSES)
    assert [len(report.found) for report in reports] == [0, 1] * 20


@pytest.mark.parametrize(
    "comment",
    [
        "# unslow: ignore",
        "# unslow: ignore[removed-argument]",
        "#unslow:ignore[x, removed-argument]",
    ],
)
def test_a_comment_silences_its_line(comment: str) -> None:
    assert not check_text("a.py", UNSOUND.rstrip() + f"  {comment}\n", CAUSES).found


@pytest.mark.parametrize(
    "comment", ["# unslow: ignore[graph-growth]", "# unslow: ignored", "# ignore"]
)
def test_another_comment_silences_nothing(comment: str) -> None:
    assert check_text("a.py", UNSOUND.rstrip() + f"  {comment}\n", CAUSES).found


def test_a_comment_in_a_text_silences_nothing() -> None:
    text = "import tensorflow as tf\nx = '# unslow: ignore', tf.keras.optimizers.Adam(lr=1)\n"
    assert check_text("a.py", text, CAUSES).found


def test_a_comment_on_a_loop_does_not_silence_its_body() -> None:
    text = "import keras\nfor i in range(3):  # unslow: ignore\n    keras.optimizers.Adam(lr=1)\n"
    assert check_text("a.py", text, CAUSES).found


class Failing(Cause):
    title = "fails"

    def spot(self, source: Source) -> Iterable[Spot]:
        raise RuntimeError("on purpose")


def test_a_cause_that_fails_is_named_and_the_others_go_on() -> None:
    report = check_text("a.py", UNSOUND, [Failing(), *CAUSES])
    assert [item.reason for item in report.not_judged] == ["RuntimeError: on purpose"]
    assert [found.cause for found in report.found] == ["removed-argument"]


def test_json_holds_every_spot(unsound: Path) -> None:
    whole = json.loads(run("--format", "json", unsound).stdout)
    assert whole["files"] == 1
    assert [(spot["cause"], spot["line"], spot["column"]) for spot in whole["spots"]] == [
        ("removed-argument", 2, 32)
    ]


def test_github_annotations_point_at_the_line(unsound: Path) -> None:
    line = run("--format", "github", unsound).stdout
    assert line.startswith(
        f"::warning file={unsound},line=2,col=32,title=unslow removed-argument::"
    )


def test_sarif_is_valid_and_every_cause_is_a_rule() -> None:
    report = check_text("sub dir/a.py", UNSOUND, CAUSES)
    log = json.loads(sarif([report], CAUSES))
    jsonschema.validate(log, _SARIF_PART)
    (run_,) = log["runs"]
    assert [rule["id"] for rule in run_["tool"]["driver"]["rules"]] == [
        cause.id for cause in CAUSES
    ]
    (result,) = run_["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "sub%20dir/a.py"
    assert run_["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "removed-argument"


def test_spots_never_speak_of_seconds_or_speed() -> None:
    folder = Path(__file__).parent / "unsound"
    texts = [found.spot.text for report in check_paths([folder], CAUSES) for found in report.found]
    assert texts and not [
        text for text in texts if " seconds" in text or "faster" in text or "slower" in text
    ]


# The parts of the SARIF 2.1.0 schema that code scanning reads.
_SARIF_PART = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"type": "object", "required": ["driver"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "locations", "partialFingerprints"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                            },
                        },
                    },
                },
            },
        },
    },
}
