"""Supply chain: no network of our own, bounds of dependencies, licences, and both distributions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.chaos.damage import RECORDED
from bench.chaos.kept import KEPT, ROOT, Attack, Result
from bench.chaos.processes import environment, environment_with

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
        Attack("commands that read, without a network", lambda: _offline(_COMMANDS)),
        Attack("commands that run a training, without a network", lambda: _offline(_RUNNING)),
        Attack("commands beside a training, without a network", lambda: _offline(_BESIDE)),
        Attack("licences of what is vendored", licences),
        Attack("sdist and wheel", distributions),
        Attack("a fresh installation records a training", fresh_installation),
        Attack("dependencies at their lowest versions", lambda: _with(_lowest(), "lowest")),
        Attack("dependencies at their highest versions", lambda: _with([], "highest")),
    ]


def _offline(commands: Sequence[str]) -> Result:
    """In a network namespace that has no interface that is up, not even loopback.

    An audit hook in every process also notes who tries to connect, to listen or to find a host.
    """
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], check=False).returncode:
        return Result(skipped="this user may make no network namespace")
    with _project() as name, tempfile.TemporaryDirectory(prefix="unslow-chaos-") as audit:
        place, tried = Path(name), Path(audit) / "tried"
        (Path(audit) / "sitecustomize.py").write_text(_AUDIT.format(tried=str(tried)))
        (place / "train.py").write_text(_TRAINING)
        (place / "asked").write_text("".join(json.dumps(line) + "\n" for line in _ASKED))
        shutil.copy(Path(__file__).parent / "faulty.py", place / "long.py")
        broke = _commands(place, [unshare, "-rn"], sys.executable, commands, audit)
        if tried.exists():
            broke += [f"network: {line}" for line in sorted(set(tried.read_text().splitlines()))]
    return Result(len(commands), "", tuple(broke), ", ".join(f"`{line}`" for line in commands))


# A retraced function, so that there is something to fix and to prove.
_TRAINING = """import tensorflow as tf
w = tf.Variable(1.0)

@tf.function
def step(scale):
    with tf.GradientTape() as tape:
        loss = scale * w * w
    w.assign_sub(1e-4 * tape.gradient(loss, w))

for number in range(120):
    step(float(number))
"""
# Commands that run the training, in this order.
_RUNNING = (
    "unslow run train.py",
    "unslow fix --prove --steps 20",
    "unslow prove train.py train.py --steps 20",
    "unslow whatif --only xla --steps 10 --trials 2 train.py",
    "unslow why",
)
# On a busy machine TensorFlow's import takes longer than `attach` waits for an answer.
_TRAINS = "until grep -q training said; do sleep 0.1; done;"
# Trainings that run already, and one that an agent asks for.
_BESIDE = (
    f"python long.py 100000 > said & {_TRAINS} unslow attach $! --steps 50 || exit 3; kill $!",
    f"python long.py 3000 > said & {_TRAINS} unslow watch $! || exit 3; wait",
    "unslow run -q --out .unslow/two long.py 1500 & "
    "until test -e .unslow/two/run.json; do sleep 0.1; done; unslow watch .unslow/two || exit 3",
    "touch answers; { cat asked; until test $(grep -c '\"id\"' answers) = 4; do sleep 0.2; done; } "
    "| unslow mcp > answers; test $(grep -c retracing answers) = 3 || exit 3",
)
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "chaos", "version": "1"},
}
_CALLS: tuple[dict[str, object], ...] = (
    {"name": "why", "arguments": {"run": "one"}},
    {"name": "check", "arguments": {"paths": ["retracing.py"]}},
    {"name": "explain", "arguments": {"name": "retracing"}},
)
_ASKED: tuple[dict[str, object], ...] = (
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    *(
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
        for number, call in enumerate(_CALLS, 1)
    ),
)
_AUDIT = """import sys

def hook(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
        # A socket of this machine has a path. TensorFlow's import asks whether there is IPv6.
        if not isinstance(arguments[-1], (str, bytes)) and arguments[-1] != ("::1", 0):
            with open({tried!r}, "a") as file:
                file.write(f"{{event}} {{arguments[-1]}} {{sys.argv[:2]}}\\n")

sys.addaudithook(hook)
"""
_COMMANDS = (
    "unslow --help",
    "unslow --version",
    "unslow runs",
    "unslow why",
    *(f"unslow why --format {form}" for form in ("json", "html", "sarif", "markdown")),
    "unslow fix",
    "unslow check retracing.py",
    "unslow explain retracing",
    "unslow compare one one",
    "unslow live one",
    "unslow watch one",
    "unslow env job",
    "unslow config",
    "unslow export perfetto one",
)


def _commands(
    place: Path, prefix: Sequence[str], python: str, commands: Sequence[str], path: str = ""
) -> list[str]:
    """Lines of a shell in which `unslow` and `python` are those of an environment."""
    named = f'unslow() {{ "{python}" -m unslow "$@"; }}; python() {{ exec "{python}" "$@"; }}; '
    variables = {"PYTHONPATH": path} if path else {}
    broke: list[str] = []
    for line in commands:
        broke += _failed([*prefix, "sh", "-c", named + line], place, variables)
    return broke


def _failed(
    command: Sequence[str], place: Path, variables: Mapping[str, str] | None = None
) -> list[str]:
    done = subprocess.run(
        command,
        cwd=place,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode in (0, 1) and "Traceback" not in done.stderr:
        return []
    return [f"{' '.join(command[-3:])[-200:]}: exit {done.returncode}: {done.stderr[-300:]}"]


def _project() -> tempfile.TemporaryDirectory[str]:
    """A directory with one run, as if it had been recorded there, and its source."""
    place = tempfile.TemporaryDirectory(prefix="unslow-chaos-")
    folder = Path(place.name) / ".unslow" / "one"
    with zipfile.ZipFile(RECORDED / "retracing.zip") as archive:
        archive.extractall(folder)
        recorded_in = json.loads(archive.read("run.json"))["cwd"]
    for path in (folder / "run.json", *folder.glob("*.events")):
        path.write_text(path.read_text().replace(recorded_in, place.name))
    shutil.copy(ROOT / "examples" / "retracing.py", Path(place.name))
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
        python = environment_with(["build", "twine", "uv"], place / "tools")
        built = _run([python, "-m", "build", "--outdir", str(place / "dist"), str(ROOT)])
        if built:
            return Result(broke=(built,))
        files = sorted((place / "dist").iterdir())
        broke = [_run([python, "-m", "twine", "check", "--strict", *map(str, files)])]
        broke += _unlicensed(files)
        for number, file in enumerate(files):
            fresh = environment_with([str(file)], place / f"pip{number}")
            broke += _commands_of(fresh)
            by_uv = place / f"uv{number}"
            uv = [python, "-m", "uv"]
            broke.append(_run([*uv, "venv", "-q", "--python", sys.executable, str(by_uv)]))
            target = str(by_uv / "bin" / "python")
            broke.append(_run([*uv, "pip", "install", "-q", "--python", target, str(file)]))
            broke += _commands_of(target)
        names = ", ".join(file.name for file in files)
        return Result(len(files) * 2, "", tuple(filter(None, broke)), names)


def _unlicensed(files: Sequence[Path]) -> list[str]:
    """The licence of what is vendored must be in both distributions."""
    broke = []
    for file in files:
        if file.suffix == ".whl":
            with zipfile.ZipFile(file) as wheel:
                names = wheel.namelist()
        else:
            with tarfile.open(file) as source:
                names = source.getnames()
        for wanted in ("LICENSE", "uPlot.LICENSE"):
            if not any(name.endswith(f"/{wanted}") for name in names):
                broke.append(f"{file.name} has no {wanted}")
    return broke


def fresh_installation() -> Result:
    """Installed by pip alone, it records a training that runs in the environment of this suite."""
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        return Result(broke=tuple(_records(environment_with([str(ROOT)], Path(name)))))


def _records(python: str) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        (Path(name) / "train.py").write_text(_TRAINING)
        words = ["run", "--json", "report.json", sys.executable, "train.py"]
        broke = _failed([python, "-m", "unslow", *words], Path(name))
        if broke:
            return broke
        report = json.loads((Path(name) / "report.json").read_text(encoding="utf-8"))
        steps = [loop["steps"] for loop in report["loops"]]
        return [] if steps == [120] else [f"a fresh installation counted {steps} steps"]


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
        python = environment_with([str(ROOT), "pytest", "pytest-timeout", *pinned], place)
    except subprocess.CalledProcessError as problem:
        return Result(broke=(f"cannot be installed: {problem.stderr[-300:]}",))
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    ).stdout.split()
    known = ("click", "rich", "numpy", "libcst", "jinja2", "protobuf")
    shown = sorted(line for line in listed if line.lower().partition("==")[0] in known)
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_READER_TESTS]
    broke = [*_commands_of(python), *_failed(tests, ROOT)]
    shutil.rmtree(place, ignore_errors=True)
    return Result(len(_COMMANDS) + 1, "", tuple(broke), ", ".join(shown))


# Tests of what reads recordings and writes reports; they need no TensorFlow.
_READER_TESTS = ("tests/runfolder", "tests/test_diagnose.py")


def _commands_of(python: str) -> list[str]:
    with _project() as place:
        return _commands(Path(place), [], python, _COMMANDS)


def _run(command: Sequence[str]) -> str:
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_TIMEOUT, check=False, env=env
    )
    said = (done.stdout + done.stderr)[-300:]
    return f"{' '.join(command[1:4])}: exit {done.returncode}: {said}" if done.returncode else ""
