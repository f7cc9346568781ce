"""Pull requests from the push to the comment: real repositories, trainings, scripts and requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ci.runners import ActionRun, GitHubRunner, gitlab_job
from tests.ci.servers import TOKEN, Comments, comment_server
from tests.live.conftest import ROOT, environment

pytestmark = pytest.mark.slow

TRAIN = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
features = tf.constant(rng.normal(size=(512, 256)).astype("float32"))
targets = tf.reduce_sum(features[:, :3], axis=1, keepdims=True)
hidden = tf.Variable(tf.random.normal([256, 256], stddev=0.05))
output = tf.Variable(tf.random.normal([256, 1], stddev=0.05))


@tf.function
def train_step(rate):
    with tf.GradientTape() as tape:
        predicted = tf.nn.relu(features @ hidden) @ output
        loss = tf.reduce_mean((predicted - targets) ** 2)
    for weight, gradient in zip((hidden, output), tape.gradient(loss, (hidden, output))):
        weight.assign_sub(rate * gradient)
    return loss


for step in range(100):
    rate = 0.01 / (1 + step)
    loss = train_step(tf.constant(rate))
print(f"loss {float(loss):.3f}")
"""
GOOD_LINE, BAD_LINE = "train_step(tf.constant(rate))", "train_step(rate)"
# Three pairs are enough: every step is traced anew, which is many times slower.
REPEAT = "3"


@dataclass(frozen=True)
class Repository:
    folder: Path

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=no")
        done = subprocess.run(
            ["git", *who, *words], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, branch: str, text: str) -> str:
        """A commit on a branch that starts at the current one; it is checked out afterwards."""
        self.git("checkout", "--quiet", "-B", branch)
        (self.folder / "train.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", branch)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with an environment of its own first on the path, where unslow can be installed."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    library = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    beside = sysconfig.get_paths()["purelib"]  # TensorFlow is there
    (library / "site-packages" / "beside.pth").write_text(f"{beside}\n")
    variables = environment()
    variables.pop("PYTHONPATH", None)
    variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{variables['PATH']}"
    return variables


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("repository"))
    made.git("init", "--quiet")
    made.commit("main", TRAIN)
    return made


@pytest.fixture(scope="module")
def base(repository: Repository) -> str:
    return repository.git("rev-parse", "main")


Push = Callable[[str, Comments], ActionRun]


@pytest.fixture(scope="module")
def push(
    repository: Repository,
    base: str,
    python: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Push:
    """Pushes a text of train.py to a pull request: what the action does then."""
    temp = tmp_path_factory.mktemp("runner")

    def run(text: str, comments: Comments) -> ActionRun:
        repository.git("checkout", "--quiet", "main")
        repository.commit("change", text)
        event = {"pull_request": {"number": 7, "base": {"sha": base}}}
        (temp / "event.json").write_text(json.dumps(event))
        variables = {
            **python,
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": comments.address,
            "GITHUB_REPOSITORY": "me/model",
            "GITHUB_EVENT_PATH": str(temp / "event.json"),
        }
        runner = GitHubRunner(ROOT / "action.yml", repository.folder, temp, variables, event)
        return runner.run({"command": "train.py", "repeat": REPEAT})

    return run


@dataclass(frozen=True)
class Pushed:
    """A pull request that was pushed to twice: the comments and what the action did, each time."""

    first: ActionRun
    first_comments: Mapping[int, str]
    second: ActionRun
    second_comments: Mapping[int, str]


@pytest.fixture(scope="module")
def comments() -> Iterator[Comments]:
    with comment_server() as server:
        server.add("Looks good to me.")
        yield server


@pytest.fixture(scope="module")
def slower(push: Push, comments: Comments) -> Pushed:
    first = push(TRAIN.replace(GOOD_LINE, BAD_LINE), comments)
    after_first = dict(comments.bodies)
    second = push(f"# Trains.\n{TRAIN.replace(GOOD_LINE, BAD_LINE)}", comments)
    return Pushed(first, after_first, second, dict(comments.bodies))


def must_have_the_answer(comment: str, line: int) -> None:
    """Cause, line, interval and the diff that cures it."""
    assert f"`retracing` at `train.py:{line}`" in comment, comment
    assert "× slower (" in comment, comment
    assert "```diff" in comment, comment
    assert f"-    loss = {BAD_LINE}\n+    loss = {GOOD_LINE}\n" in comment, comment


def test_a_regression_is_commented_with_cause_line_interval_and_cure(slower: Pushed) -> None:
    assert len(slower.first_comments) == 2, slower.first.printed
    must_have_the_answer(slower.first_comments[2], 24)


def test_a_regression_fails_the_check(slower: Pushed) -> None:
    assert slower.first.outputs["compare"]["slower"] == "true"
    assert slower.first.codes.pop("Fail on a regression") == 1
    assert not slower.first.has_failed


def test_the_summary_of_the_job_has_what_the_comment_has(slower: Pushed) -> None:
    must_have_the_answer(slower.first.summary, 24)


def test_a_second_push_updates_the_one_comment(slower: Pushed) -> None:
    assert list(slower.second_comments) == [1, 2], slower.second.printed
    must_have_the_answer(slower.second_comments[2], 25)
    assert slower.second_comments[1] == "Looks good to me."


def test_the_findings_are_there_to_be_uploaded(slower: Pushed) -> None:
    (path,) = slower.second.uploaded
    log = json.loads(path.read_text(encoding="utf-8"))
    (found,) = [each for each in log["runs"][0]["results"] if each["ruleId"] == "retracing"]
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == 25


def test_a_pull_request_that_is_as_fast_is_not_commented(push: Push) -> None:
    with comment_server() as nothing_yet:
        done = push(f"# A remark that moves every line.\n{TRAIN}", nothing_yet)
        assert done.outputs["compare"]["slower"] == "false", done.printed
        assert not done.has_failed and "Fail on a regression" in done.skipped
        assert not nothing_yet.bodies, done.printed


def test_a_push_that_cures_it_updates_the_comment(
    push: Push, comments: Comments, slower: Pushed
) -> None:
    done = push(f"# Cured.\n{TRAIN}", comments)
    assert not done.has_failed, done.printed
    assert list(comments.bodies) == [1, 2]
    assert "retracing" not in comments.bodies[2] and "≈" not in comments.bodies[2]


def test_a_merge_request_is_commented_once_and_only_if_it_is_slower(
    repository: Repository, base: str, python: dict[str, str]
) -> None:
    repository.git("checkout", "--quiet", "main")
    with comment_server() as comments:
        variables = {
            **python,
            "GITLAB_CI": "true",
            "CI_PROJECT_DIR": str(repository.folder),
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
            "CI_API_V4_URL": comments.address,
            "CI_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_IID": "7",
            "UNSLOW_COMMAND": "train.py",
            "UNSLOW_REPEAT": REPEAT,
            "UNSLOW_PACKAGE": str(ROOT),
            "UNSLOW_TOKEN": TOKEN,
        }
        codes = []
        for text in (f"# Same.\n{TRAIN}", *[TRAIN.replace(GOOD_LINE, BAD_LINE)] * 2):
            (repository.folder / "train.py").write_text(text)
            done = gitlab_job(ROOT / "ci" / "gitlab.yml", repository.folder, variables)
            codes.append((done.returncode, len(comments.bodies)))
        assert codes == [(0, 0), (1, 1), (1, 1)], done.stdout
        must_have_the_answer(comments.bodies[1], 24)
        assert (repository.folder / "unslow-results" / "unslow.sarif").exists()
