"""Supply chain: no network of our own, bounds of dependencies, licences, and both distributions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench.chaos.damage import RECORDED
from bench.chaos.kept import KEPT, ROOT, Attack, Result
from bench.chaos.processes import environment

_TIMEOUT = 900.0
# The oldest versions that pyproject.toml allows; the newest are what pip finds.
LOWEST = {
    "click": "8.1.0",
    "rich": "13.0.0",
    "libcst": "1.1.0",
    "jinja2": "3.1.0",
    "protobuf": "3.20.0",
}
# The lowest NumPy and LibCST that have wheels for the Python that runs this.
_NUMPY = {(3, 10): "1.24.0", (3, 11): "1.24.0", (3, 12): "1.26.0", (3, 13): "2.1.0"}
_LIBCST = {(3, 12): "1.2.0", (3, 13): "1.6.0"}


def attacks() -> list[Attack]:
    return [
        Attack("every command without a network", without_network),
        Attack("licences of what is vendored", licences),
        Attack("sdist and wheel", distributions),
        Attack("dependencies at their lowest versions", lambda: _with(_lowest(), "lowest")),
        Attack("dependencies at their highest versions", lambda: _with([], "highest")),
    ]


def without_network() -> Result:
    """In a network namespace that has no interface, not even loopback."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], check=False).returncode:
        return Result(skipped="this user may make no network namespace")
    inside = [unshare, "-rn"]
    with _project() as place:
        broke = _commands(Path(place), [*inside, sys.executable, "-m", "unslow"])
        script = (
            "import tensorflow as tf\nw = tf.Variable(1.0)\n"
            "for _ in range(30):\n    w.assign_sub(0.1)\n"
        )
        (Path(place) / "train.py").write_text(script)
        command = [*inside, sys.executable, "-m", "unslow", "run", "train.py"]
        broke += _failed(command, Path(place))
    return Result(len(_COMMANDS) + 1, "", tuple(broke))


_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("--help",),
    ("runs",),
    ("why",),
    *(("why", "--format", form) for form in ("json", "html", "sarif", "markdown")),
    ("fix",),
    ("check", "source.py"),
    ("explain", "retracing"),
    ("compare", "one", "one"),
    ("live", "one"),
    ("config",),
    *(("export", form) for form in ("perfetto",)),
)


def _commands(place: Path, unslow: Sequence[str]) -> list[str]:
    return [text for words in _COMMANDS for text in _failed([*unslow, *words], place)]


def _failed(command: Sequence[str], place: Path) -> list[str]:
    done = subprocess.run(
        command,
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode in (0, 1) and "Traceback" not in done.stderr:
        return []
    return [f"{' '.join(command[-3:])}: exit {done.returncode}: {done.stderr[-300:]}"]


def _project() -> tempfile.TemporaryDirectory[str]:
    """A directory with one recorded run and one source file."""
    place = tempfile.TemporaryDirectory(prefix="unslow-chaos-")
    folder = Path(place.name) / ".unslow" / "one"
    with zipfile.ZipFile(RECORDED / "retracing.zip") as archive:
        archive.extractall(folder)
    shutil.copy(ROOT / "examples" / "retracing.py", Path(place.name) / "source.py")
    return place


def licences() -> Result:
    """Every file of others that is shipped names its licence, or has it beside it."""
    vendored = ROOT / "src" / "unslow" / "report" / "vendor"
    broke = []
    files = [path for path in vendored.iterdir() if path.suffix in (".js", ".css")]
    texts = [path.read_text(encoding="utf-8") for path in vendored.iterdir() if path.is_file()]
    for path in files:
        head = path.read_text(encoding="utf-8")[:2000].lower()
        beside = any("permission is hereby granted" in text.lower() for text in texts)
        if "licen" not in head and not beside:
            broke.append(f"{path.name} names no licence")
    return Result(len(files), "", tuple(broke), "uPlot, MIT; all else is ours, MIT")


def distributions() -> Result:
    """Both are built, checked by twine, and installed by pip and, where it is there, by uv."""
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        place = Path(name)
        python = _environment(place / "tools", ["build", "twine", "uv"])
        built = _run([python, "-m", "build", "--outdir", str(place / "dist"), str(ROOT)])
        if built:
            return Result(broke=(built,))
        files = sorted((place / "dist").iterdir())
        broke = [_run([python, "-m", "twine", "check", "--strict", *map(str, files)])]
        for number, file in enumerate(files):
            fresh = _environment(place / f"pip{number}", [str(file)])
            broke += _commands_of(fresh)
            by_uv = place / f"uv{number}"
            uv = [python, "-m", "uv"]
            broke.append(_run([*uv, "venv", "-q", "--python", sys.executable, str(by_uv)]))
            target = str(by_uv / "bin" / "python")
            broke.append(_run([*uv, "pip", "install", "-q", "--python", target, str(file)]))
            broke += _commands_of(target)
        return Result(len(files) * 2, "", tuple(filter(None, broke)))


def _lowest() -> list[str]:
    here = sys.version_info[:2]
    wanted = {**LOWEST, "numpy": _NUMPY[here]}
    if here in _LIBCST:
        wanted["libcst"] = _LIBCST[here]
    return [f"{name}=={version}" for name, version in wanted.items()]


def _with(pinned: list[str], label: str) -> Result:
    """unslow with dependencies at one end of their bounds, in an environment of its own."""
    place = KEPT / f"bounds-{label}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        python = _environment(place, [str(ROOT), *pinned])
    except subprocess.CalledProcessError as problem:
        return Result(broke=(f"cannot be installed: {problem.stderr[-300:]}",))
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    ).stdout.split()
    known = ("click", "rich", "numpy", "libcst", "jinja2", "protobuf")
    shown = sorted(line for line in listed if line.lower().partition("==")[0] in known)
    broke = _commands_of(python)
    shutil.rmtree(place, ignore_errors=True)
    return Result(len(_COMMANDS), "", tuple(broke), ", ".join(shown))


def _commands_of(python: str) -> list[str]:
    with _project() as place:
        return _commands(Path(place), [python, "-m", "unslow"])


def _environment(place: Path, packages: list[str]) -> str:
    """A fresh environment with some packages; the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages]
    subprocess.run(pip, check=True, capture_output=True, text=True, timeout=_TIMEOUT)
    return python


def _run(command: Sequence[str]) -> str:
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_TIMEOUT, check=False, env=env
    )
    said = (done.stdout + done.stderr)[-300:]
    return f"{' '.join(command[1:4])}: exit {done.returncode}: {said}" if done.returncode else ""
