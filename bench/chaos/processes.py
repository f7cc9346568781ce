"""How the suite starts processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

TIMEOUT = 240.0  # seconds; the slowest program takes about 30 on a busy machine


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Quiet TensorFlow, one hash seed, nothing of pytest or of another recording."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("UNSLOW", "PYTEST", "PYTHON", "COVERAGE"))
    }
    fixed = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    return {**kept, **fixed, **(extra or {})}
