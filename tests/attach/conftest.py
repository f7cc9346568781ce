"""Real processes that look like trainings from outside: Python with a `tensorflow` that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Maps a file of TensorFlow's name, as loading the real one does, and works without a pause.
LOOP = """
import mmap, sys, time, types
sys.modules["tensorflow"] = types.ModuleType("tensorflow")
library = open(sys.argv[1], "rb")
held = mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ)
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
{body}
"""
RUNS = """
began = last = time.perf_counter()
longest = turns = 0
while True:
    sum(range(1000))
    now = time.perf_counter()
    longest, last, turns = max(longest, now - last), now, turns + 1
"""
STUCK = """
import re
re.match("(a?){30}a{30}", "a" * 29)  # keeps Python's lock for ever
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts such processes, and ends them after the test."""
    library = tmp_path / "libtensorflow_cc.so.2"
    library.write_bytes(bytes(4096))
    started: list[subprocess.Popen[str]] = []

    def begin(body: str = RUNS, python: str = sys.executable, *flags: str) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = subprocess.Popen(
            [python, *flags, "-c", LOOP.format(body=body), str(library)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": ""},
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()
