"""What it costs to start recording a process is counted like any other inspection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from unslow.proof.launch import environment


def test_starting_the_recorder_is_counted(tmp_path: Path) -> None:
    (tmp_path / "tensorflow.py").write_text("")
    folder = tmp_path / "run"
    folder.mkdir()
    env = environment(str(folder), {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])})
    words = [sys.executable, "-c", "import tensorflow"]
    subprocess.run(words, env=env, cwd=tmp_path, check=True)
    (events,) = folder.glob("*.events")
    end = json.loads(events.read_text().splitlines()[-1])
    assert end["looks"]["start"] > 1_000_000  # nanoseconds: it imports about a hundred modules
