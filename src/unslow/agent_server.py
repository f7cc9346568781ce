"""A Model Context Protocol server: agents record, read, fix and prove as people do.

Every tool calls our own command line in a process of its own and returns its JSON, so that an agent
sees what a person sees. The protocol owns stdin and stdout: no process that is started here gets
them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from unslow.facts.json_object import JsonObject as Json

_INSTRUCTIONS = """\
unslow finds out why a TensorFlow training is slow, gets slower or eats memory. Call `run` with the
training's command, read the verdict and the findings, call `fix` for the diff and `prove` to
measure it. `check` reads source without running it. `explain` says what a cause means. Keep the
training short: a few hundred steps are enough."""

# Long lists for charts and code scanning, which an agent has no use for.
_LEFT_OUT = ("charts", "rules", "kernels")
_TAIL = 2000  # characters of a training's own output that are returned


async def run(command: list[str], directory: str = ".", python: str | None = None) -> Json:
    """Run a training as it is, record it, and say why it is slow.

    `command` is what follows `python`: ["train.py", "--steps", "200"]. `python` names the
    interpreter that has the training's TensorFlow, if it is another one. Returns the report and the
    end of the output.
    """
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        options = ["--python", python] if python else []
        words = ["run", "--quiet", "--json", str(report), *options, *command]
        done = await _unslow(words, directory)
        if not report.exists():
            raise ToolError(_sentence(done))
        found = _shortened(json.loads(report.read_text(encoding="utf-8")))
    output = done.stdout[-_TAIL:] + done.stderr[-_TAIL:]
    return {**found, "exit_code": done.returncode, "output": output}


async def why(run: str | None = None, directory: str = ".") -> Json:
    """The report of a recorded run: a folder, part of its name, or the newest one."""
    return _shortened(await _json(["why", *_given(run)], directory))


async def fix(run: str | None = None, only: str | None = None, directory: str = ".") -> Json:
    """The fixes for a recorded run as one diff that `git apply` takes. Writes nothing."""
    options = ["--only", only] if only else []
    return await _json(["fix", *options, *_given(run)], directory)


async def prove(run: str | None = None, steps: int | None = None, directory: str = ".") -> Json:
    """Measure every fix of a recorded run by running before and after in turn. Takes minutes."""
    options = ["--steps", str(steps)] if steps else []
    return await _json(["prove", *options, *_given(run)], directory)


async def check(paths: list[str], directory: str = ".") -> Json:
    """Causes seen in source files or folders, without running anything."""
    return await _json(["check", *paths], directory)


async def explain(name: str | None = None) -> Json:
    """What a cause or an error means; a list of all of them without a name."""
    found = await _json(["explain", *_given(name)], ".")
    if name is not None:
        return found
    return {"entries": [{**entry, "text": ""} for entry in found["entries"]]}


def _given(word: str | None) -> list[str]:
    return [] if word is None else [word]


def _shortened(report: Json) -> Json:
    return {key: value for key, value in report.items() if key not in _LEFT_OUT}


async def _json(words: Sequence[str], directory: str) -> Json:
    done = await _unslow([*words, "--format", "json"], directory)
    if done.returncode not in (0, 1):  # 1: a check found something
        raise ToolError(_sentence(done))
    found: Json = json.loads(done.stdout)
    return found


async def _unslow(words: Sequence[str], directory: str) -> subprocess.CompletedProcess[str]:
    if not Path(directory).is_dir():
        raise ToolError(f"there is no directory {directory}")
    done = await anyio.run_process(
        [sys.executable, "-m", "unslow", *words],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    out, errors = (part.decode("utf-8", "replace") for part in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, errors)


def _sentence(done: subprocess.CompletedProcess[str]) -> str:
    """What unslow says on stderr: what happened, why, and what to do next."""
    return done.stderr.strip()[-_TAIL:] or f"unslow ended with {done.returncode}"


def server(version: str) -> MCPServer:
    """The server with all tools; `run()` serves it."""
    made = MCPServer("unslow", instructions=_INSTRUCTIONS, version=version)
    for tool in (run, why, fix, prove, check, explain):
        made.add_tool(tool)
    return made
