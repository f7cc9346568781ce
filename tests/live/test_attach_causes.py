"""Attaching to the examples in their middle: each finds its cause, the healthy ones stay quiet."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.attached_examples import TRIED, Tried
from tests.live.conftest import EXAMPLES, environment
from tests.live.longer import longer
from unslow.attach.session import Attached, attached
from unslow.attach.target import target_of
from unslow.cli.show import report_on
from unslow.errors import UnslowError
from unslow.live.watch import Watch
from unslow.report.words import Row

# Made long, an example whose steps take a third of a millisecond is no longer healthy: its batches are tiny.
HEALTHY = (
    "small_batches_of_heavy_rows",
    "eager_large_ops",
    "tf1_one_run",
)
# The interpreter of the examples: one with TensorFlow, unslow need not be there.
PYTHON = os.environ.get("UNSLOW_ATTACH_PYTHON", sys.executable)
TIMES = 400  # as long as an example is: it ends with the test
ARRIVES = 90.0  # seconds until TensorFlow is there, and until a step was seen
RECORDED = 6.0


@contextmanager
def running(
    script: Path, place: Path, changes: tuple[tuple[str, str], ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """An example, made long, in a folder of its own."""
    for helpers in EXAMPLES.glob(f"{script.stem}_helpers"):
        shutil.copytree(helpers, place / helpers.name)
    copy = place / script.name
    copy.write_text(made_long(script.read_text(), changes))
    process = subprocess.Popen(
        [PYTHON, copy.name],
        cwd=place,
        env={**environment(), "TMPDIR": str(place)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it has started
        process.wait()


def made_long(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    if not changes:
        return longer(text, TIMES)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def report_in_the_middle(
    process: subprocess.Popen[bytes], place: Path, seconds: float = RECORDED
) -> Row:
    """Attach once it trains, record for a while, detach."""
    end = time.monotonic() + ARRIVES
    while True:
        try:
            target = target_of(process.pid)
            break
        except UnslowError:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.2)
    _let_it_train(process)
    with attached(target, place / "run") as session:
        _wait_for_steps(session)
        time.sleep(seconds)
    assert process.poll() is None
    assert session.disarming is not None
    return report_on(str(place / "run"))[1]


def _let_it_train(process: subprocess.Popen[bytes]) -> None:
    """Until it has used so much of a processor that its set-up must be over."""
    end = time.monotonic() + ARRIVES
    while _worked(process.pid) < 6.0 and time.monotonic() < end:
        time.sleep(0.2)


def _worked(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_for_steps(session: Attached) -> None:
    watch, end = Watch(str(session.folder)), time.monotonic() + ARRIVES
    while watch.poll()["steps"] < 1 and time.monotonic() < end:
        time.sleep(0.3)


@pytest.mark.slow
@pytest.mark.parametrize(("cause", "tried"), TRIED.items())
def test_the_cause_is_found_in_the_middle(cause: str, tried: Tried, tmp_path: Path) -> None:
    with running(EXAMPLES / tried.example, tmp_path, tried.longer) as process:
        report = report_in_the_middle(process, tmp_path, tried.seconds)
    faults = [finding["cause"] for finding in report["findings"] if finding["fault"]]
    answers = [finding["cause"] for finding in report["findings"]]
    assert report["steps"] > 0
    named = faults[:1] if tried.first else faults
    assert cause in (named or answers), report["verdict"]["text"]
    finding = next(each for each in report["findings"] if each["cause"] == cause)
    line = finding["location"] and finding["location"]["line"]
    assert line in true_lines((tmp_path / tried.example).read_text(), cause, tried)


def true_lines(text: str, cause: str, tried: Tried) -> set[int | None]:
    """The lines that the example marks, and those that use what was made before."""
    rows = list(enumerate(text.splitlines(), start=1))
    marked = {number for number, row in rows if f"# <-- {cause}" in row}
    using = {number for number, row in rows if tried.used_at and tried.used_at in row}
    return {*marked, *using} if marked and tried.has_line else {None}


@pytest.mark.slow
@pytest.mark.parametrize("example", HEALTHY)
def test_a_healthy_training_is_quiet_in_the_middle(example: str, tmp_path: Path) -> None:
    with running(EXAMPLES / "healthy" / f"{example}.py", tmp_path) as process:
        report = report_in_the_middle(process, tmp_path)
    assert report["steps"] > 0
    assert [finding["cause"] for finding in report["findings"] if finding["fault"]] == []
