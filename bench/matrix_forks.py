"""Records scripts in forks of one process that has TensorFlow, inside of a cell of the matrix.

python -m bench.matrix_forks SCRIPT …     prints a line of JSON for each: how it ended, and its report

Importing TensorFlow takes longer than most of these trainings; what is wrong in a fork is tried
again by `unslow run`.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TIMEOUT = 300  # seconds for one script


def main(scripts: list[Path]) -> None:
    for script in scripts:
        # No `with`: a fork that leaves as a program does would remove the directory on its way.
        place = Path(tempfile.mkdtemp(prefix="unslow-matrix-"))
        print(json.dumps({"script": script.stem, **recorded(script, place)}), flush=True)
        shutil.rmtree(place, ignore_errors=True)


def recorded(script: Path, place: Path) -> dict[str, Any]:
    from unslow.proof.launch import ended_with, ending
    from unslow.proof.run_folder import write_header
    from unslow.runfolder.layout import read_header

    folder, began = str(place / "recorded"), time.time()
    Path(folder).mkdir()
    about = {"command": ["python", script.name], "cwd": str(place), "started": began}
    write_header(folder, {**about, "launcher": os.getpid()})
    child = os.fork()
    if child == 0:
        _train(script, place, folder)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    write_header(folder, {**read_header(folder), **ending(ended_with(code, time.time() - began))})
    return {"code": code, "report": _report(folder)}


def _train(script: Path, place: Path, folder: str) -> None:
    """Leaves as a program does."""
    from unslow.record.engine.start import Recording

    signal.alarm(TIMEOUT)
    os.chdir(place)
    output = os.open("output", os.O_CREAT | os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    copied(script, place)
    sys.argv, sys.path[0] = [script.name], str(place)
    Recording(folder).start()
    runpy.run_path(script.name, run_name="__main__")
    sys.exit(0)


def copied(script: Path, place: Path) -> None:
    """A script and its helpers, in a directory of their own."""
    shutil.copy(script, place)
    for helper in script.parent.glob(f"{script.stem}_helpers"):
        shutil.copytree(helper, place / helper.name)


def _report(folder: str) -> dict[str, Any]:
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose
    from unslow.report.json_report import written
    from unslow.report.view import view_of

    report = json.loads(written(view_of(diagnose(load(folder), with_fixes=False))))
    wanted = ("loops", "findings", "not_judged", "lost_probes")
    return {name: report[name] for name in wanted}


if __name__ == "__main__":
    import tensorflow as tf  # noqa: F401 - for the forks

    main([Path(word) for word in sys.argv[1:]])
