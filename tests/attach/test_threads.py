"""Which thread of a process code may be injected into."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.attach.conftest import Start
from unslow.attach.threads import idle_thread


def test_a_thread_that_waits_is_chosen_and_never_the_one_that_works(start: Start) -> None:
    process = start()
    threads = {int(name.name) for name in Path(f"/proc/{process.pid}/task").iterdir()}
    end, found = time.monotonic() + 10, None
    while found is None and time.monotonic() < end:  # the other thread has to begin to wait first
        found = idle_thread(process.pid)
    assert found in threads - {process.pid}


def test_a_process_without_another_thread_has_none() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert idle_thread(process.pid) is None


def test_a_process_that_is_gone_has_none() -> None:
    assert idle_thread(2**22 + 1) is None
