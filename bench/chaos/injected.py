"""Trains under a recorder in which one part raises; every injection in a fork of one process.

python -m bench.chaos.injected FOLDER SHARE SHARES     prints a line of JSON for each injection

TensorFlow is imported once, before anything is run; each fork then starts a recorder of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

TIMEOUT = 60  # seconds for one training


class Injected(Exception):
    """What no part of unslow expects."""


@dataclass(frozen=True)
class Injection:
    part: str  # what the report must name; "" where nothing can be named
    how: str
    install: Callable[[], None]

    @property
    def name(self) -> str:
        return f"{self.part} {self.how}".strip()


_RAISED = "raised"  # a file of the parts that raised: one that is never called need not be named


def raising(part: str) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        with Path(_RAISED).open("a") as file:
            file.write(f"{part}\n")
        raise Injected("injected")

    return fail


def after(calls: int, original: Callable[..., Any], part: str) -> Callable[..., Any]:
    """Works so many times, then raises for ever."""
    left, fail = [calls], raising(part)

    def call(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        return fail() if left[0] < 0 else original(*args, **kwargs)

    return call


def set_to(owner: Any, name: str, part: str, calls: int = 0) -> Callable[[], None]:
    original = getattr(owner, name)
    return lambda: setattr(owner, name, after(calls, original, part))


def injections() -> Iterator[Injection]:
    yield from _probes()
    yield from _engine()


def _probes() -> Iterator[Injection]:
    from unslow.record.engine.signals import Signal

    for kind in probe_kinds():
        yield Injection(kind.name, "cannot be made", set_to(kind, "__init__", kind.name))
        yield Injection(kind.name, "cannot be armed", partial(_closed_doors, kind))
        failing = partial(_failing_handlers, Signal, kind.name)
        yield Injection(kind.name, "fails when asked", failing)


def probe_kinds() -> list[Any]:
    import importlib
    import pkgutil

    from unslow.record import probes
    from unslow.record.engine.probe import Probe

    found = []
    for info in pkgutil.walk_packages(probes.__path__, f"{probes.__name__}."):
        module = importlib.import_module(info.name)
        for kind in vars(module).values():
            own = isinstance(kind, type) and kind.__module__ == module.__name__
            if own and issubclass(kind, Probe):
                found.append(kind)
    return found


def _closed_doors(kind: Any) -> None:
    doors = kind.doors
    kind.doors = lambda self: dict.fromkeys(doors(self), raising(kind.name))


def _failing_handlers(signals: Any, name: str) -> None:
    subscribe = signals.subscribe

    def fails(self: Any, probe: str, handler: Any) -> None:
        subscribe(self, probe, raising(name) if probe == name else handler)

    signals.subscribe = fails


def _engine() -> Iterator[Injection]:
    from unslow.record.engine import (
        fact_log,
        frames,
        kept_sources,
        rows,
        steps,
        update_sites,
        watcher,
    )
    from unslow.record.probes.functions import unusual_calls
    from unslow.record.probes.profiler import step_windows
    from unslow.runfolder.layout import Writer

    parts: list[tuple[str, Any, str]] = [
        ("watcher", watcher.Watcher, "_calibrate"),
        ("watcher", watcher.Watcher, "_sample"),
        ("watcher", watcher.Watcher, "tick"),
        ("watcher", watcher.Watcher, "_write_samples"),
        ("steps", steps.Steps, "_close_row"),
        ("steps", steps.Steps, "_count"),
        ("steps", update_sites.Sites, "of"),
        ("steps", rows.Rows, "append"),
        ("frames", frames.UserCode, "stack"),
        (unusual_calls.Calls.name, unusual_calls, "open_window"),
        (unusual_calls.Calls.name, unusual_calls, "close_window"),
        (step_windows.StepWindows.name, step_windows, "open_window"),
        ("", fact_log, "encode"),
        ("", Writer, "_append"),
        ("", Writer, "close"),
        ("sources", kept_sources.KeptSources, "_read"),
        ("sources", kept_sources.KeptSources, "_copy"),
    ]
    for part, owner, name in parts:
        label = f"{getattr(owner, '__name__', owner).rpartition('.')[2]}.{name}"
        for calls in (0, 5):
            how = f"{label} raises {'at once' if not calls else f'after {calls} calls'}"
            yield Injection(part, how, set_to(owner, name, part, calls))


def train() -> str:
    """Every style in small; returns a digest of all weights."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(3)
    w = tf.Variable(tf.ones([4, 1]))
    x = tf.random.stateless_normal([16, 4], [1, 2])
    y = tf.reduce_sum(x, axis=1, keepdims=True)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.05 * tape.gradient(loss, w))
        return loss

    data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a, b)).batch(4)
    for _ in range(20):
        for batch in data:
            step(*batch)
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.05 * tape.gradient(loss, w))
        float(loss)
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(data, epochs=3, verbose=0)
    model.predict(x, verbose=0)
    weights = [w.numpy(), *model.get_weights()]
    return hashlib.sha256(b"".join(value.tobytes() for value in weights)).hexdigest()


def recorded(folder: Path, installs: list[Callable[[], None]]) -> str:
    """The same training under a recorder with some of its parts broken."""
    for install in installs:
        install()
    from unslow.record.engine.start import Recording

    recording = Recording(str(folder))
    recording.start()
    return train()


def in_fork(work: Callable[[], str], out: Path) -> dict[str, Any]:
    """What a fork returned, printed and exited with; it leaves as a program does."""
    (out / _RAISED).touch()
    child = os.fork()
    if child == 0:
        _in_child(work, out)
    signal.alarm(0)
    _, status = os.waitpid(child, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "result": (out / "result").read_text() if (out / "result").exists() else "",
        "output": (out / "output").read_text(errors="replace")[:2000],
    }


def _in_child(work: Callable[[], str], out: Path) -> None:
    signal.alarm(TIMEOUT)
    os.chdir(out)
    file = os.open(out / "output", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        (out / "result").write_text(work())
    except BaseException:  # noqa: BLE001 - whatever reached the training
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)
    sys.exit(0)  # runs what was registered with atexit


def main(place: Path, share: int, shares: int) -> None:
    import tensorflow  # noqa: F401 - for the forks

    header = {"command": ["python", "train.py"], "cwd": str(place), "started": 1.0}
    every = list(injections())
    chance = random.Random(7)
    pairs = [chance.sample(every, 2) for _ in range(len(every) // 4)]
    groups = [*([one] for one in every), *pairs]
    chance.shuffle(groups)
    plain = _outcome(place / "plain", header, None)
    print(json.dumps({"name": "plain", "parts": [], **plain}), flush=True)
    for number, group in enumerate(groups[share::shares]):
        found = _outcome(place / str(number), header, group)
        names_of = " and ".join(one.name for one in group)
        raised = set((place / str(number) / _RAISED).read_text().split())
        parts = [one.part for one in group if one.part in raised]
        row = {"name": names_of, "parts": parts, "folder": str(place / str(number)), **found}
        print(json.dumps(row), flush=True)


def _outcome(folder: Path, header: dict[str, Any], group: list[Injection] | None) -> dict[str, Any]:
    from unslow.runfolder.layout import write_header

    folder.mkdir(parents=True)
    if group is None:
        return in_fork(train, folder)
    write_header(str(folder), header)
    installs = [one.install for one in group]
    return in_fork(lambda: recorded(folder, installs), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
