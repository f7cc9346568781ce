"""Attaching to real trainings while they run: every style of loop, the same results, everything put back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import environment
from unslow.attach.inject import PACKAGE
from unslow.attach.session import Attached, attached
from unslow.attach.target import target_of
from unslow.cli.show import report_on
from unslow.facts.process import FoundLiving, OwnStep, Site
from unslow.model import Run

PROGRAM = Path(__file__).with_name("attached_program.py")
STYLES = ("session", "eager", "compiled", "retracing", "fit", "custom_step", "reinforcement")
KINDS = {
    "session": "session",
    "eager": "optimizer",
    "compiled": "function",
    "retracing": "function",
    "fit": "function",
    "custom_step": "function",
    "reinforcement": "function",
}
COUNTED = {"session", "eager", "fit", "custom_step", "reinforcement"}  # have a step counter
PAUSE = 0.1  # seconds that a training may be held up by our work
RECORDED = 2.5
# Interpreters of other environments with TensorFlow and without unslow, for `make attach-pythons`.
PYTHONS = os.environ.get("UNSLOW_ATTACH_PYTHONS", "").split() or [sys.executable]


@dataclass
class Seen:
    """What one attached recording saw, and what the program said of itself afterwards."""

    session: Attached
    run: Run
    faults: list[str]
    program: dict[str, Any]


@contextmanager
def program(
    python: str, place: Path, styles: tuple[str, ...], counts: dict[str, int] | None = None
) -> Iterator[subprocess.Popen[str]]:
    words = [python, str(PROGRAM), str(place), ",".join(styles)]
    if counts is not None:
        words.append(json.dumps(counts))
    with (place / "errors").open("a") as errors:
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=place,
            env={**environment(), "PYTHONPATH": "", "UNSLOW_ATTACH_PYTHONS": ""},
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def attach_to(process: subprocess.Popen[str], style: str, place: Path) -> Seen:
    """Attach in the middle of a loop, detach, and let the loop end."""
    assert line_of(process) == f"begun {style}"
    time.sleep(1.0)
    with attached(target_of(process.pid), place / f"run-{style}") as session:
        time.sleep(RECORDED)
    (place / style).touch()
    said = json.loads(line_of(process))
    diagnosis, report = report_on(str(place / f"run-{style}"))
    faults = [finding["cause"] for finding in report["findings"] if finding["fault"]]
    return Seen(session, diagnosis.run, faults, said)


@pytest.mark.slow  # until it was seen to pass: then it belongs to the default tests
@pytest.mark.parametrize("python", PYTHONS)
def test_every_style_of_loop_is_attached_to_in_its_middle(python: str, tmp_path: Path) -> None:
    with program(python, tmp_path, STYLES) as process:
        seen = {style: attach_to(process, style, tmp_path) for style in STYLES}
    for style, one in seen.items():
        arming, disarming = one.session.arming, one.session.disarming
        assert disarming is not None, style
        print(
            f"{style}: {one.run.steps} steps, held up {1e3 * arming.worked:.0f} ms"
            f" and {1e3 * disarming.worked:.0f} ms by {one.session.way}, faults {one.faults}"
        )
        assert max(arming.worked, disarming.worked) <= PAUSE, style
    for style, one in seen.items():
        assert one.run.steps > 0, style
        assert {site.style for site in one.run.facts(Site) if site.trains} == {KINDS[style]}, style
        assert _lost(one.run) == [], style
        assert one.run.facts(FoundLiving), style
    for style in COUNTED:
        assert _counted_by_program(seen[style].run) == seen[style].run.steps, style
    assert seen["retracing"].faults[:1] == ["retracing"]
    assert seen["eager"].faults[:1] == ["eager-step"]
    counts = {style: one.program["count"] for style, one in seen.items()}
    with program(python, tmp_path, STYLES, counts) as process:
        for style in STYLES:
            assert line_of(process) == f"begun {style}"
            undisturbed = json.loads(line_of(process))
            # TensorFlow changes some attributes by itself; nothing else may have changed.
            assert undisturbed == seen[style].program, style
    assert str(PACKAGE) not in (tmp_path / "errors").read_text()


def _lost(run: Run) -> list[str]:
    states = (process.probes for process in run.processes)
    return [f"{name}: {why}" for state in states for name, why in state.items() if "lost" in why]


def _counted_by_program(run: Run) -> int:
    """Steps between attaching and detaching by the program's own counter.

    The step that is under way at each end may or may not have been recorded, and so may those that
    are made while a thread of ours that reads the counter waits for its turn.
    """
    numbers: dict[tuple[str, int], list[int]] = {}
    for read in run.facts(OwnStep):
        numbers.setdefault((read.counter, read.id), []).append(read.number)
    rose = max(read[-1] - read[0] for read in numbers.values())
    between = 2 * sys.getswitchinterval() * run.steps / RECORDED
    return run.steps if abs(rose - run.steps) <= 2 + between else rose


@pytest.mark.slow
def test_two_workers_are_attached_to_while_they_train_together(tmp_path: Path) -> None:
    with workers(tmp_path) as both:
        for worker in both:
            assert line_of(worker) == "begun"
        targets = [target_of(worker.pid) for worker in both]
        with (
            attached(targets[0], tmp_path / "run-0") as first,
            attached(targets[1], tmp_path / "run-1") as second,
        ):
            time.sleep(4.0)
        last = _let_them_end(tmp_path)
        said = [json.loads(line_of(worker)) for worker in both]
    assert first.disarming is not None and second.disarming is not None
    for number in range(2):
        run = report_on(str(tmp_path / f"run-{number}"))[0].run
        print(f"worker {number}: {run.steps} steps, {_lost(run)}")
        assert run.steps > 0
        assert _lost(run) == []
    with workers(tmp_path, str(last)) as both:
        for worker, disturbed in zip(both, said, strict=True):
            assert line_of(worker) == "begun"
            assert json.loads(line_of(worker)) == disturbed


def _let_them_end(place: Path) -> int:
    """Tell both workers of an epoch that neither of them has reached."""
    reached = max(int((place / f"epoch-{index}").read_text() or 0) for index in range(2))
    last = reached + 40
    (place / "soon").write_text(str(last))
    (place / "soon").rename(place / "stop")
    return last


@contextmanager
def workers(place: Path, *last: str) -> Iterator[list[subprocess.Popen[str]]]:
    ports = [_free_port(), _free_port()]
    both = [_worker(index, ports, str(place), *last) for index in range(2)]
    try:
        yield both
    finally:
        for worker in both:
            worker.kill()
            worker.communicate()


def _worker(index: int, ports: list[int], *arguments: str) -> subprocess.Popen[str]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM.with_name("attached_worker.py")), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **environment(),
            "TF_CONFIG": json.dumps(config),
            "TF_USE_LEGACY_KERAS": "1",  # Keras 3.15 cannot fit() with two workers
        },
    )


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
