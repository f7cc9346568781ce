"""How the suite starts processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

TIMEOUT = 240.0  # seconds; the slowest program takes about 30 on a busy machine
INSTALLING = 900.0  # seconds for packages


def environment(extra: Mapping[str, str] | None = None, quiet: bool = True) -> dict[str, str]:
    """One hash seed, nothing of pytest or of another recording; TensorFlow logs as by default
    unless it is to be quiet."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("UNSLOW", "PYTEST", "PYTHON", "COVERAGE", "TF_"))
    }
    fixed = {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    silence = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"} if quiet else {}
    return {**kept, **fixed, **silence, **(extra or {})}


def environment_with(packages: Sequence[str], place: Path) -> str:
    """Make a fresh environment with some packages; the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = str(place / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command = [*pip, *packages]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALLING)
    return python
