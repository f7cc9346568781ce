"""Twenty minutes of real training, once with troubles put in and once healthy, watched side by side."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

SECONDS = 1200
_TROUBLES = {"slower": "slower", "leak": "memory", "stall": "stalled"}
_UNSLOW = [sys.executable, "-m", "unslow"]


def measure(seconds: int = SECONDS) -> dict[str, Any]:
    script = str(Path(__file__).with_name("training.py"))
    before = _processor_time()
    with tempfile.TemporaryDirectory() as place:
        trainings = {
            name: subprocess.Popen(
                [*_UNSLOW, "run", "-q", "--out", f"{place}/{name}", script, str(seconds), name],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for name in ("sick", "healthy")
        }
        while len(list(Path(place).glob("*/run.json"))) < len(trainings):
            time.sleep(0.2)
        watch = subprocess.Popen(
            [*_UNSLOW, "watch", place, "--format", "json"], stdout=subprocess.PIPE, text=True
        )
        outputs = {name: training.communicate()[0] for name, training in trainings.items()}
        time.sleep(20)  # the last look
        watch.terminate()  # a process that a shell started in its background ignores Ctrl-C
        said = watch.communicate()[0]
    busy, whole = (after - then for after, then in zip(_processor_time(), before, strict=True))
    return {**judged(outputs["sick"], said), "in_use": busy / whole}


def _processor_time() -> tuple[int, int]:
    """Of all cores since the system began: in use, and in all; see proc(5)."""
    found = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    idle = found[3] + found[4]
    return sum(found) - idle, sum(found)


def judged(troubles: str, said: str) -> dict[str, Any]:
    """For each trouble when it began and when it was reported; everything else that was reported."""
    alerts = [json.loads(line) for line in said.splitlines()]
    began = [json.loads(line) for line in troubles.splitlines() if line.startswith("{")]
    sick = [each for each in alerts if each["run"] == "sick"]
    rows = []
    for trouble in began:
        kind = _TROUBLES[trouble["trouble"]]
        told = [each for each in sick if each["kind"] == kind]
        at = [datetime.fromisoformat(each["time"].replace("Z", "+00:00")) for each in told]
        delays = [moment.timestamp() - trouble["time"] for moment in at]
        texts = [each["text"] for each in told]
        rows.append({"kind": kind, "times": len(told), "delays": delays, "texts": texts})
    return {
        "troubles": rows,
        "others": [each for each in sick if each["kind"] not in (*_TROUBLES.values(), "done")],
        "healthy": [each for each in alerts if each["run"] == "healthy" and each["kind"] != "done"],
    }
