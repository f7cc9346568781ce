"""Records scripts in forks of one process that has TensorFlow, inside of a cell of the matrix.

python -m bench.matrix_forks JOBS SCRIPT …     prints a line of JSON for each: how it ended, and
its report

Importing TensorFlow takes longer than most of these trainings, and so do the collections of what
it imported while a program ends; what is wrong in a fork is tried again by `unslow run`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

# Says nothing of the script, and is true of a busy machine: there it would take in small findings.
OF_THE_MACHINE = "noisy-machine"
TIMEOUT = 900  # seconds for one script, on a machine that others may use, too


@dataclass(frozen=True)
class Fork:
    """A script that is being recorded."""

    script: Path
    place: Path
    began: float

    @property
    def folder(self) -> str:
        return str(self.place / "recorded")


def main(scripts: Sequence[Path], jobs: int) -> None:
    """Record up to `jobs` scripts at a time."""
    left, running = list(scripts), dict[int, Fork]()
    while left or running:
        while left and len(running) < jobs:
            running.update(_fork(left.pop(0)))
        pid, status = os.wait()
        print(json.dumps(_ended(running.pop(pid), os.waitstatus_to_exitcode(status))), flush=True)


def _fork(script: Path) -> dict[int, Fork]:
    from unslow.proof.run_folder import write_header

    # No `with`: a fork that leaves as a program does would remove the directory on its way.
    fork = Fork(script, Path(tempfile.mkdtemp(prefix="unslow-matrix-")), time.time())
    Path(fork.folder).mkdir()
    about = {"command": ["python", script.name], "cwd": str(fork.place), "started": fork.began}
    write_header(fork.folder, {**about, "launcher": os.getpid()})
    child = os.fork()
    if child == 0:
        _train(fork)
    return {child: fork}


def _ended(fork: Fork, code: int) -> dict[str, Any]:
    from unslow.proof.launch import ended_with, ending
    from unslow.proof.run_folder import write_header
    from unslow.runfolder.layout import read_header

    seconds = time.time() - fork.began
    write_header(fork.folder, {**read_header(fork.folder), **ending(ended_with(code, seconds))})
    report = report_of(fork.folder, fork.script)
    shutil.rmtree(fork.place, ignore_errors=True)
    return {"script": fork.script.stem, "code": code, "report": report}


def _train(fork: Fork) -> NoReturn:
    """Leaves as a program does."""
    from unslow.record.engine.start import Recording

    signal.alarm(TIMEOUT)
    os.chdir(fork.place)
    output = os.open("output", os.O_CREAT | os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    copied(fork.script, fork.place)
    sys.argv, sys.path[0] = [fork.script.name], str(fork.place)
    recording = Recording(fork.folder)
    recording.start()
    # TensorFlow's interface was made before: it would hold functions that are not wrapped.
    recording.arming.follow_aliases(lambda: None)
    runpy.run_path(fork.script.name, run_name="__main__")
    sys.exit(0)


def copied(script: Path, place: Path) -> None:
    """A script and its helpers, in a directory of their own."""
    shutil.copy(script, place)
    for helper in script.parent.glob(f"{script.stem}_helpers"):
        shutil.copytree(helper, place / helper.name)


def report_of(folder: str, script: Path) -> dict[str, Any]:
    """What is found in a recording, by every cause that says something of the script."""
    from tests.examples import Example
    from unslow.analyse.run.assemble import load
    from unslow.cause import load as load_causes
    from unslow.diagnose import diagnose
    from unslow.report.json_report import written
    from unslow.report.view import view_of

    words = Example(script).words("expect")
    causes = [one for one in load_causes()[0] if one.ran]
    causes = [one for one in causes if one.id != OF_THE_MACHINE or one.id in words]
    report = json.loads(written(view_of(diagnose(load(folder), causes, with_fixes=False))))
    wanted = ("loops", "findings", "not_judged", "lost_probes")
    return {name: report[name] for name in wanted}


def _prepare() -> None:
    """Load what every fork needs, and keep the garbage collector of a fork from visiting it.

    Of the processor time of a short style, 1.0 s, two thirds were collections of TensorFlow's
    modules at exit, each of which copies the pages that the forks share.
    """
    import tensorflow as tf  # noqa: F401 - for the forks

    from unslow.record import probes

    for info in pkgutil.walk_packages(probes.__path__, f"{probes.__name__}."):
        importlib.import_module(info.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _prepare()
    main([Path(word) for word in sys.argv[2:]], int(sys.argv[1]))
