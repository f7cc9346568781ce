"""Run a composite action as a runner of GitHub does, and the job of a template as one of GitLab."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_TERM = re.compile(r"'[^']*'|&&|==|[a-z][\w.-]*")
# What a runner passes to `shell: bash`, see docs.github.com, "Workflow syntax".
_BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


def evaluated(text: str, contexts: Mapping[str, Any]) -> str:
    """A text with every `${{ … }}` replaced. Names, texts, `==` and `&&` are understood."""
    return _EXPRESSION.sub(lambda found: str(_value(found[1], contexts)), text)


def _value(expression: str, contexts: Mapping[str, Any]) -> Any:
    terms = _TERM.findall(expression)
    assert "".join(terms) == re.sub(r"\s+", "", expression), f"not understood: {expression}"
    if "&&" in terms:
        return all(_value(part, contexts) is True for part in expression.split("&&"))
    if "==" in terms:
        left, right = expression.split("==")
        return _value(left, contexts) == _value(right, contexts)
    term = terms[0]
    if term.startswith("'"):
        return term[1:-1]
    found: Any = contexts
    for name in term.split("."):
        found = found.get(name, "") if isinstance(found, Mapping) else ""
    return found


@dataclass
class ActionRun:
    """How each step of an action ended, and what it left behind."""

    codes: dict[str, int] = field(default_factory=dict)  # exit code by name of the step
    skipped: list[str] = field(default_factory=list)
    uploaded: list[Path] = field(default_factory=list)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)  # by id of the step
    printed: str = ""
    summary: str = ""

    @property
    def has_failed(self) -> bool:
        return any(self.codes.values())


@dataclass
class GitHubRunner:
    """Runs the steps of `action` in a checkout; `event` is what GitHub says about the push."""

    action: Path
    checkout: Path
    temp: Path
    environment: Mapping[str, str]
    event: Mapping[str, Any]

    def run(self, inputs: Mapping[str, str]) -> ActionRun:
        """All steps in their order, until one fails; other people's actions are noted only."""
        written = yaml.safe_load(self.action.read_text(encoding="utf-8"))
        github = {"event_name": "pull_request", "event": self.event, "token": "secret"}
        given = {
            name: evaluated(str(each.get("default", "")), {"github": github})
            for name, each in written["inputs"].items()
        }
        contexts = {"inputs": {**given, **inputs}, "github": github, "steps": {}}
        done = ActionRun()
        for step in written["runs"]["steps"]:
            condition = step.get("if", "${{ 'True' }}")
            if done.has_failed or evaluated(condition, contexts) != "True":
                done.skipped.append(step["name"])
            elif "uses" in step:
                done.uploaded.append(Path(evaluated(step["with"]["sarif_file"], contexts)))
            else:
                self._run(step, contexts, done)
        return done

    def _run(self, step: Mapping[str, Any], contexts: dict[str, Any], done: ActionRun) -> None:
        outputs, summary, script = (self.temp / name for name in ("output", "summary", "script.sh"))
        for file in (outputs, summary):
            file.write_text("")
        script.write_text(step["run"])
        environment = {
            **self.environment,
            **{name: evaluated(text, contexts) for name, text in step.get("env", {}).items()},
            "RUNNER_TEMP": str(self.temp / "runner"),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_ACTION_PATH": str(self.action.parent),
        }
        ran = subprocess.run(
            [*_BASH, str(script)],
            cwd=self.checkout,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        done.codes[step["name"]] = ran.returncode
        done.printed += ran.stdout
        done.summary += summary.read_text()
        said = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        if "id" in step:
            contexts["steps"][step["id"]] = {"outputs": said}
            done.outputs[step["id"]] = said


def gitlab_job(
    template: Path, checkout: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """The script of the job `.unslow`; both lists of lines run in one shell."""
    job = yaml.safe_load(template.read_text(encoding="utf-8"))[".unslow"]
    lines = [*job["before_script"], *job["script"]]
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(lines)],
        cwd=checkout,
        env={**os.environ, **job["variables"], **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
