"""The live view on a real terminal: frames are drawn, and the training's own output stays what it is."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.live.conftest import bare, environment
from tests.test_live_view import Terminal, cut

ROWS, COLUMNS = 30, 90
PACE = re.compile(
    r"^train.py:\d+  tf.function loop  (\d+) steps  .* a step", re.MULTILINE
)  # only in the view

TRAIN = """
import sys, time
import tensorflow as tf
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss


for number in range(300):
    loss = step(tf.constant(2.0))
    time.sleep(0.01)
    if number % 50 == 0:
        print(f"step {number} {float(loss):.6f}", flush=True)
        print(f"note {number}", file=sys.stderr, flush=True)
"""


class OnTerminal:
    """A command on a terminal of its own, and what the terminal shows."""

    def __init__(self, words: list[str], cwd: Path, **options: Any) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.child = subprocess.Popen(
            [sys.executable, *words],
            cwd=cwd,
            env={**environment(), "TERM": "xterm-256color"},
            stdin=theirs,
            start_new_session=True,
            **{"stdout": theirs, "stderr": theirs, **options},
        )
        os.close(theirs)
        self.shown = Terminal(COLUMNS, ROWS)
        self.frames: list[str] = []

    def read(
        self, until: Callable[[str], bool] = lambda text: False, seconds: float = 120.0
    ) -> int:
        """Follow the terminal until something is shown or the command ends; gives its exit code, or 0 before."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([self._ours], [], [], 1.0)
            try:
                data = os.read(self._ours, 65536) if ready else b""
            except OSError:  # Linux says so when the last one on the other side has gone
                break
            self.shown.feed(data.decode("utf-8", "replace"))
            self.frames.append("\n".join(self.shown.text()))
            if until(self.frames[-1]):
                return 0
        return self.child.wait(timeout=60)


def test_a_forced_view_is_drawn_and_the_output_is_byte_identical(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    alone = bare(script)
    with (tmp_path / "out").open("wb") as out:
        run = OnTerminal(["-m", "unslow", "run", "--live", "train.py"], tmp_path, stdout=out)
        code = run.read()
    assert (tmp_path / "out").read_bytes() == alone.stdout.encode()
    assert code == alone.returncode == 0
    steps = {found for frame in run.frames for found in PACE.findall(frame)}
    assert len(steps) >= 3, run.frames[-1]
    whole = "\n".join([*run.shown.above, *run.shown.text()])
    assert all(f"note {number}\n" in whole for number in range(0, 300, 50)), whole
    assert "unslow itself cost" in whole and not PACE.search(whole)


def test_ctrl_c_ends_a_view_from_outside_and_not_the_run(tmp_path: Path) -> None:
    folder = cut("graph_growth", tmp_path / "recorded", 0.7)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    watching = OnTerminal(["-c", "from unslow.cli.live import live; live()", str(folder)], tmp_path)
    watching.read(until=lambda text: "175 steps" in text)
    watching.child.send_signal(signal.SIGINT)
    assert watching.read() == 0
    assert "still running" in watching.frames[-1] and "Traceback" not in watching.frames[-1]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
