"""Recording inside a process that is already running: a block of code, and a notebook's cell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.live.conftest import bare, environment

TRAIN = """
import tensorflow as tf
w = tf.Variable(1.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    w.assign_sub(0.01 * tape.gradient(loss, w))


"""


def test_a_block_is_recorded_and_reported(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import unslow\n"
        + TRAIN
        + "with unslow.record():\n    for n in range(30):\n        step(tf.constant(2.0))\n"
    )
    done = bare(script)
    assert done.returncode == 0 and "30 steps" in done.stderr


def test_a_cell_of_a_notebook_is_recorded_and_reported(tmp_path: Path) -> None:
    (tmp_path / "cells.ipy").write_text(
        "%load_ext unslow\n" + TRAIN + "get_ipython().run_cell_magic('unslow', '', "
        "'for n in range(25):\\n    step(tf.constant(2.0))\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--quick", "cells.ipy"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
        env={**environment(), "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    assert "25 steps" in done.stderr, done.stdout + done.stderr
