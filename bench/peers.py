"""The profilers beside which unslow is measured: how each is installed, and the command that runs a script under it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENV = Path(sys.prefix) / "bench"
PYTHON = VENV / "bin" / "python"


@dataclass(frozen=True)
class Peer:
    """One way to run a script; as its own documentation says, with its own defaults."""

    name: str
    title: str
    command: Callable[
        [Sequence[str]], list[str]
    ]  # the script and its arguments → the whole command
    package: str = ""  # of PyPI; none for what is there already
    program: str = (
        ""  # an executable that must answer `--version`; none: the package's module is run
    )
    env: dict[str, str] = field(default_factory=dict)


def _module(*words: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda script: [str(PYTHON), *words, *script]


def _program(name: str, *words: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda script: [str(VENV / "bin" / name), *words, str(PYTHON), *script]


BARE = Peer("bare", "bare", _module())
UNSLOW = Peer("unslow", "unslow", _module("-m", "unslow", "run", "-q", "--out", "run"))
PEERS = (
    UNSLOW,
    Peer(
        "tf-profiler",
        "TensorFlow profiler, whole run",
        _module(),
        env={"BENCH_PROFILER": "profile"},
    ),
    Peer("cprofile", "cProfile", _module("-m", "cProfile", "-o", "out.prof")),
    Peer(
        "pyinstrument",
        "pyinstrument",
        _module("-m", "pyinstrument", "-r", "pyisession", "-o", "out.pyisession"),
        "pyinstrument",
    ),
    Peer("scalene", "Scalene", _module("-m", "scalene", "run", "-o", "out.json"), "scalene"),
    Peer(
        "py-spy", "py-spy", _program("py-spy", "record", "-o", "out.svg", "--"), "py-spy", "py-spy"
    ),
    Peer("memray", "memray", _module("-m", "memray", "run", "-q", "-o", "out.bin"), "memray"),
    Peer(
        "viztracer",
        "viztracer",
        _module("-m", "viztracer", "--quiet", "-o", "out.json"),
        "viztracer",
    ),
    # The wheels of austin 4 need glibc 2.38.
    Peer("austin", "austin", _program("austin", "-o", "out.austin"), "austin-dist<4", "austin"),
)


def prepare() -> None:
    """An environment of their own that sees the packages of this one: the peers never enter it."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    theirs = subprocess.run(
        [str(PYTHON), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    Path(theirs, "beside.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def install(peer: Peer) -> str:
    """Install a peer; returns why it cannot be used here, or nothing."""
    if not peer.package:
        return ""
    pip = [str(PYTHON), "-m", "pip", "install", "-qq", "--disable-pip-version-check", peer.package]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        return "does not install here: " + _last(done.stderr)
    if peer.program:
        try:
            said = subprocess.run(
                [str(VENV / "bin" / peer.program), "--version"], capture_output=True, text=True
            )
        except OSError as problem:
            return f"does not start here: {problem.strerror}"
        if said.returncode:
            return "does not start here: " + _last(said.stderr or said.stdout)
    return ""


def version(peer: Peer) -> str:
    """The version that was measured."""
    if not peer.package:
        return ""
    name = peer.package.partition("<")[0]
    ask = f"import importlib.metadata as m; print(m.version({name!r}))"
    return subprocess.run([str(PYTHON), "-c", ask], capture_output=True, text=True).stdout.strip()


def _last(text: str) -> str:
    """The last line that says something, without this machine's paths."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "no message").replace(str(ROOT) + "/", "")[:200]
