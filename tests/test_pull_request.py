"""Comments on a pull request, written to a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.ci.servers import TOKEN, Comments, comment_server
from tests.cli.test_cli import typed
from unslow.report.json_report import schema

Typed = tuple[int, str, str]


@pytest.fixture
def comments() -> Iterator[Comments]:
    with comment_server() as server:
        yield server


@pytest.fixture(params=["github", "gitlab"])
def comment(
    request: pytest.FixtureRequest,
    comments: Comments,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Typed]:
    """Types `unslow comment` in a job of either server, with the text of a comment."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    variables = {
        "github": {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": comments.address,
            "GITHUB_REPOSITORY": "me/model",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_TOKEN": TOKEN,
        },
        "gitlab": {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": comments.address,
            "CI_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_IID": "7",
            "UNSLOW_TOKEN": TOKEN,
        },
    }
    for name in (*variables["github"], *variables["gitlab"]):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables[request.param].items():
        monkeypatch.setenv(name, value)

    def write(text: str, *words: str) -> Typed:
        file = tmp_path / "comment.md"
        file.write_text(text)
        return typed(capsys, "comment", str(file), *words)

    return write


def test_a_second_push_updates_the_comment_of_the_first(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    for number in range(5):  # more than one page of others' comments
        comments.add(f"a colleague's remark {number}")
    assert comment("slower")[0] == 0
    code, out, err = comment("even slower")
    assert code == 0, err
    assert len(comments.bodies) == 6 and "updated" in out
    assert comments.bodies[6].endswith("\neven slower")


def test_each_key_has_a_comment_of_its_own(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    comment("one", "--key", "train.py")
    comment("two", "--key", "evaluate.py")
    comment("three", "--key", "train.py")
    assert [body.partition("\n")[2] for body in comments.bodies.values()] == ["three", "two"]


def test_a_quotation_of_the_comment_is_not_taken_for_it(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    comment("slower")
    comments.bodies[1] = f"> {comments.bodies[1]}\n\nIs that so?"
    comment("slower")
    assert len(comments.bodies) == 2


def test_no_comment_is_added_where_only_an_update_was_asked_for(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    code, out, _ = comment("as fast", "--only-update", "--format", "json")
    printed = json.loads(out)
    jsonschema.Draft202012Validator(schema("comment")).validate(printed)
    assert (code, printed["action"], comments.bodies) == (0, "none", {})


def test_a_comment_that_is_no_longer_true_is_updated(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    comment("slower")
    comment("as fast", "--only-update")
    assert comments.bodies[1].endswith("\nas fast")


@pytest.mark.parametrize("comment", ["github"], indirect=True)
def test_a_comment_that_is_too_long_is_cut(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    code, _, err = comment("word " * 20_000)
    assert code == 0, err
    assert comments.bodies[1].rstrip().endswith("see the files of the job.*")


def test_a_token_that_may_not_write_is_named(
    comment: Callable[..., Typed], comments: Comments
) -> None:
    comments.readonly = True
    code, _, err = comment("slower")
    assert code == 2 and "403" in err and "token" in err and "Traceback" not in err


def test_a_job_without_a_pull_request_is_told_so(
    comment: Callable[..., Typed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "event.json").write_text("{}")
    monkeypatch.delenv("CI_MERGE_REQUEST_IID", raising=False)
    code, _, err = comment("slower")
    assert code == 2 and "request" in err and "Traceback" not in err


def test_outside_of_ci_nothing_is_sent(
    comment: Callable[..., Typed], comments: Comments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITLAB_CI", raising=False)
    code, _, err = comment("slower")
    assert code == 2 and "not a job" in err and not comments.requests
