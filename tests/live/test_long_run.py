"""A very long training: the recorder's own memory stays level, and its folder small."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.live.conftest import bare, unslow
from unslow.analyse.run.assemble import load

STEPS = 200_000
MEGABYTE = 1 << 20

# The smallest step there is, so that what is kept per step would show; it reads its own size now and then.
SCRIPT = f"""
import os
import tensorflow as tf

weights = tf.Variable(tf.zeros([4]))


@tf.function
def train():
    weights.assign_sub(0.01 * (weights - 1.0))


PAGE = os.sysconf("SC_PAGE_SIZE")
for step in range({STEPS}):
    train()
    if step % ({STEPS} // 400) == 0:
        with open("/proc/self/statm") as file:
            print(int(file.read().split()[1]) * PAGE, flush=True)
"""


def growth(sizes: Iterable[float]) -> float:
    """Bytes from the first tenth to the last."""
    series = np.array(list(sizes))
    tenth = len(series) // 10
    return float(np.median(series[-tenth:]) - np.median(series[:tenth]))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_two_hundred_thousand_steps_leave_no_trace_in_memory_and_little_on_disk(
    tmp_path: Path,
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    alone = growth(map(float, bare(script).stdout.split()))
    folder = tmp_path / "recorded"
    done = unslow(["run", "-q", "--out", str(folder), script.name], tmp_path)
    watched = growth(float(word) for word in done.stdout.split() if word.isdigit())
    on_disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(
        f"bare {alone / MEGABYTE:.2f} MB, recorded {watched / MEGABYTE:.2f} MB, folder {on_disk / MEGABYTE:.2f} MB"
    )
    assert load(str(folder)).steps >= STEPS - 1
    assert watched - max(0.0, alone) < MEGABYTE
    assert on_disk < 64 * MEGABYTE
