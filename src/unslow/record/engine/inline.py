"""Records a block of code in this process: `with unslow.record():` and `%%unslow`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from unslow.record.engine import notebook_page
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
    """The report: a page below the cell of a notebook, text elsewhere."""
    ipython = notebook_page.kernel()
    if ipython and notebook_page.display(ipython, folder, notebook_page.cells_of(ipython)):
        return
    sys.stderr.write(notebook_page.made_by_unslow("why", folder))
