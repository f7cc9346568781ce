"""Runs the live tests of attaching on other interpreters, and keeps what they printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = "tests/live/test_attach.py"
_LOOP = re.compile(r"^(\w+): (\d+) steps, held up (\d+) ms and (\d+) ms by ([\w.]+)", re.MULTILINE)
_VERSIONS = """
import sys, importlib.metadata
found = {one.name.replace("_", "-"): one.version for one in importlib.metadata.distributions() if one.name}
print("%d.%d" % sys.version_info[:2], found.get("tensorflow-cpu") or found["tensorflow"])
"""


def tried(pythons: Sequence[str], before: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each interpreter, also for those of earlier runs; an error where tests do not pass."""
    rows = {row["python"]: row for row in [*before, *map(_tried, pythons)]}
    return [rows[version] for version in sorted(rows, key=lambda name: int(name.partition(".")[2]))]


def _tried(python: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "pytest", "-q", "-s", TESTS, "-k", "every_style"]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, "UNSLOW_ATTACH_PYTHONS": python},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout[-3000:], flush=True)
    if done.returncode:
        raise SystemExit(f"the tests do not pass with {python}")
    version, tensorflow = subprocess.run(
        [python, "-c", _VERSIONS], capture_output=True, text=True, check=True
    ).stdout.split()
    return {"python": version, "tensorflow": tensorflow, "loops": list(_loops(done.stdout))}


def _loops(said: str) -> Iterator[dict[str, Any]]:
    for style, steps, arming, disarming, way in _LOOP.findall(said):
        held = max(int(arming), int(disarming))
        yield {"style": style, "steps": int(steps), "held": held, "way": way}
