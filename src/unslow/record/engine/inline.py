"""Records a block of code in this process: `with unslow.record():` and `%%unslow`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from unslow.record.engine.start import Recording
from unslow.runfolder import layout as runfile


@contextmanager
def recording(out: str | None, report: bool) -> Iterator[str]:
    """Record until the block ends; yields the run folder, and prints the report if asked to."""
    folder = os.path.abspath(out or os.path.join(".unslow", time.strftime("%Y%m%d-%H%M%S-inline")))
    os.makedirs(folder, exist_ok=True)
    header = {"command": [], "cwd": os.getcwd(), "started": time.time(), "launcher": os.getpid()}
    runfile.write_header(folder, header)
    recorder = Recording(folder)
    recorder.start()
    began = time.perf_counter()
    how = "exit 0"
    try:
        yield folder
    except BaseException as problem:
        how = type(problem).__name__
        raise
    finally:
        recorder.end()
        runfile.write_header(
            folder, {**header, "ended": how, "seconds": time.perf_counter() - began}
        )
        if report:
            show(folder)


def show(folder: str) -> None:
    """The report, made by a process of its own so that none of our imports meet the user's."""
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    made = subprocess.run(
        [sys.executable, "-m", "unslow", "why", folder],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stderr.write(made.stdout or made.stderr)
