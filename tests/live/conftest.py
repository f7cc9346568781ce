"""Real TensorFlow in real processes: how the live tests run things."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

# A shell lets what it starts in the background ignore Ctrl-C, and all its children with it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Recorded:
    """A finished `unslow run`: what the command printed, how it ended, and the report as JSON."""

    done: subprocess.CompletedProcess[str]
    folder: Path
    report: dict[str, Any]


def environment() -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}


def bare(script: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script.name, *arguments],
        cwd=script.parent,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


# Imports TensorFlow once; each script then runs in a child that was forked before TensorFlow ran.
FORKED = """
import json, os, runpy, sys
import tensorflow
for line in sys.stdin:
    script, out = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(os.path.dirname(script))
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        sys.argv, sys.path[0] = [os.path.basename(script)], os.path.dirname(script)
        code = 1
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], tuple[str, int]]]:
    """What a script prints and how it ends without unslow; several of them share one import."""
    out = tmp_path_factory.mktemp("alone") / "printed"
    with subprocess.Popen(
        [sys.executable, "-c", FORKED],
        env=environment(),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        given, answers = process.stdin, process.stdout
        assert given is not None and answers is not None

        def run(script: Path) -> tuple[str, int]:
            print(json.dumps([str(script), str(out)]), file=given, flush=True)
            code = int(answers.readline())
            return out.read_text(), code

        yield run
        given.close()


def unslow(words: Sequence[str], cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unslow", *words],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        **options,
    )


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Recorded]:
    """Copy a script into an empty directory and record it there."""

    def run(script: Path | str, *arguments: str, name: str = "train.py") -> Recorded:
        place = tmp_path / name
        if isinstance(script, Path):
            place = tmp_path / script.name
            shutil.copy(script, place)
            for helper in script.parent.glob(f"{script.stem}_helpers"):
                shutil.copytree(helper, tmp_path / helper.name, dirs_exist_ok=True)
        else:
            place.write_text(script)
        folder = tmp_path / "recorded"
        shutil.rmtree(folder, ignore_errors=True)
        report = tmp_path / "report.json"
        done = unslow(
            ["run", "--out", str(folder), "--json", str(report), place.name, *arguments], tmp_path
        )
        assert report.exists(), done.stderr
        return Recorded(done, folder, json.loads(report.read_text()))

    return run


def header(script: Path, name: str) -> list[str]:
    """The words after `# name:` at the top of an example."""
    found = re.search(rf"^# {name}: (.*)$", script.read_text(), re.MULTILINE)
    return [word.strip() for word in found.group(1).split(",")] if found else []


def marked(script: Path, mark: str) -> list[int]:
    """The lines that end in `# <-- mark`."""
    return [
        n
        for n, line in enumerate(script.read_text().splitlines(), 1)
        if line.rstrip().endswith(f"# <-- {mark}")
    ]
