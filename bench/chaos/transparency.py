"""Awkward programs, run bare and recorded: the same output, ending, files and weights.

A program is a file or a folder of `programs/`. Comments at its top say how it is run:

    # run: sh -c '{python} -O main.py'     the command, where it is not `python <file>`
    # env: NAME=VALUE …                    added to the environment
    # input: text                          what it reads, with \\n for a new line
    # needs: joblib …                      packages, installed into an environment of the suite
    # ignore: path …                       files that hold a time or a random name
    # mask: regular expression             what differs between two bare runs in its output
    # unordered: stderr …                  streams that several processes write to at once
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.chaos.kept import KEPT, ROOT, Attack, Result, only_one
from bench.chaos.processes import TIMEOUT, environment, environment_with

PROGRAMS = Path(__file__).parent / "programs"
HELPER = PROGRAMS / "training.py"
# What differs in every process: addresses, generated names, times and numbers of threads in logs.
_NOISE = re.compile(
    rb"0x[0-9a-f]{6,}|__autograph_generated_file\w+|(?<=[IWEF])\d{4} [\d:.]+ +\d+(?= )"
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+(?=: [IWEF] )"
)


@dataclass(frozen=True)
class Program:
    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def main(self) -> Path:
        return self.path / "main.py" if self.path.is_dir() else self.path

    def header(self, word: str) -> str:
        found = re.search(rf"^# {word}: (.*)$", self.main.read_text(encoding="utf-8"), re.MULTILINE)
        return found.group(1).strip() if found else ""

    @property
    def needs(self) -> list[str]:
        return self.header("needs").split()


@dataclass(frozen=True)
class Outcome:
    """All that can be seen of a run from outside."""

    stdout: bytes
    stderr: bytes
    code: int
    files: dict[str, str]

    def differences(self, other: Outcome) -> Iterator[str]:
        if self.code != other.code:
            yield f"exit code {self.code}, recorded {other.code}"
        for name in ("stdout", "stderr"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                yield f"{name}: {_first_difference(mine, theirs)}"
        for file in sorted(self.files.keys() | other.files.keys()):
            if self.files.get(file) != other.files.get(file):
                yield f"the file {file} differs"


def _first_difference(mine: bytes, theirs: bytes) -> str:
    for number, (one, two) in enumerate(
        zip(mine.split(b"\n"), theirs.split(b"\n"), strict=False), 1
    ):
        if one != two:
            return f"line {number} is {two[:160]!r}, not {one[:160]!r}"
    return f"{len(theirs)} bytes, not {len(mine)}: ends in {theirs[-160:]!r}, not {mine[-160:]!r}"


def programs() -> list[Program]:
    """Every program, in the order of their names."""
    found = [
        path
        for path in sorted(PROGRAMS.iterdir())
        if path != HELPER and (path.suffix == ".py" or (path / "main.py").exists())
    ]
    return [Program(path) for path in found]


def attacks() -> list[Attack]:
    return [Attack(program.name, partial(compare, program)) for program in programs()]


def compare(program: Program) -> Result:
    """A program bare and recorded; bare once more where they differ."""
    python = _python_with_packages() if program.needs else sys.executable
    bare = _run(program, python, recorded=False)
    recorded = _run(program, python, recorded=True)
    found = tuple(bare.differences(recorded))
    if found:
        own = tuple(bare.differences(_run(program, python, recorded=False)))
        if own:
            return Result(
                broke=(f"the program differs from itself: {own[0]}",), note="; ".join(found)
            )
    if not program.header("run") and not bare.stdout and not bare.files:
        return Result(broke=("the program shows nothing that could be compared",))
    return Result(tries=2, broke=found)


def _run(program: Program, python: str, recorded: bool) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as scratch:
        folder = Path(scratch) / "work"
        _copy(program, folder)
        out = Path(scratch) / "recorded"
        command = _command(program, python)
        if recorded:
            # Isolated: a program's own sitecustomize is to run in the program, not in the launcher.
            unslow = [sys.executable, "-I", "-m", "unslow"]
            command = [*unslow, "run", "-q", "--out", str(out), *command]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(_variables(program), quiet=False),
            input=program.header("input").encode().decode("unicode_escape").encode(),
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        return Outcome(
            _comparable(program, "stdout", done.stdout, scratch),
            _comparable(program, "stderr", done.stderr, scratch),
            done.returncode,
            _digests(folder, program.header("ignore").split(), scratch),
        )


def _copy(program: Program, folder: Path) -> None:
    if program.path.is_dir():
        shutil.copytree(program.path, folder)
    else:
        folder.mkdir()
        shutil.copy(program.path, folder)
    shutil.copy(HELPER, folder)


def _command(program: Program, python: str) -> list[str]:
    words = program.header("run") or f"{{python}} {program.main.name}"
    return ["--", *shlex.split(words.replace("{python}", python))][1:]


def _variables(program: Program) -> dict[str, str]:
    pairs = (word.partition("=") for word in program.header("env").split())
    return {name: value for name, _, value in pairs}


def _comparable(program: Program, stream: str, text: bytes, scratch: str) -> bytes:
    """A stream without what differs between two bare runs."""
    text = _NOISE.sub(b"*", text.replace(scratch.encode(), b"HERE"))
    mask = program.header("mask")
    if mask:
        text = re.sub(mask.encode(), b"*", text)
    if stream in program.header("unordered").split():
        text = b"\n".join(sorted(text.split(b"\n")))
    return text


def _digests(folder: Path, ignored: list[str], scratch: str) -> dict[str, str]:
    """Every file with its content and permissions."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or "__pycache__" in name or name.startswith(tuple(ignored) or "\0"):
            continue
        content = path.read_bytes().replace(scratch.encode(), b"HERE")
        digest = hashlib.sha256(content).hexdigest()
        found[name] = f"{path.stat().st_mode:o} {digest}"
    return found


def _python_with_packages() -> str:
    """An environment that has what some programs need, and all that this one has."""
    packages = sorted({word for program in programs() for word in program.needs})
    place = KEPT / "environment"
    python, ready = place / "bin" / "python", place / "ready"
    with only_one(place):
        if not ready.exists() or ready.read_text(encoding="utf-8").split() != packages:
            print(f"==> an environment with {', '.join(packages)} in {place.relative_to(ROOT)}")
            environment_with([p for p in packages if p not in _HERE], place)
            site = next((place / "lib").glob("python3.*")) / "site-packages"
            (site / "parent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
            ready.write_text("\n".join(packages), encoding="utf-8")
    return str(python)


_HERE = ("absl-py", "tf_keras")  # installed with TensorFlow or by `make` already
