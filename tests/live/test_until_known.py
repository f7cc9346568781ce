"""Recording at the lowest rate: the training goes on untouched, its steps are counted, the report says since when."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.live.conftest import bare, unslow

# A slow input: each step waits for data. After 60 steps the script asks by itself for the lowest rate.
TRAIN = """
import os, time
from pathlib import Path
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss


for number in range(%d):
    loss = step(tf.constant(2.0))
    time.sleep(0.02)
    if number == %d and "UNSLOW_RUN" in os.environ:
        (Path(os.environ["UNSLOW_RUN"]) / "lowest-rate").touch()
print(f"{float(loss):.9f}")
"""


def test_the_training_goes_on_and_the_report_says_since_when(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN % (250, 60))
    done = unslow(["run", "--out", "run", "--json", "report.json", "train.py"], tmp_path)
    assert done.returncode == 0 and done.stdout == bare(script).stdout
    report = json.loads((tmp_path / "report.json").read_text())
    said = re.search(
        r"in detail for the first .* \((\d+) steps\), until .* since then (\d+) steps",
        report["at_lowest_rate"],
    )
    assert said is not None and report["at_lowest_rate"] in " ".join(done.stderr.split())
    assert int(said[1]) + int(said[2]) == 250 and 60 <= int(said[1]) < 250
    assert report["loops"][0]["steps"] == int(said[1])
    lines = (next((tmp_path / "run").glob("*.events"))).read_text().splitlines()
    kinds = [json.loads(line)["k"] for line in lines]
    after = set(kinds[kinds.index("lowest_rate") + 1 :])
    assert not after & {"samples", "stack"}, after


@pytest.mark.slow
def test_until_known_asks_once_the_verdict_is_stable(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN % (2500, -1))
    command = ["run", "--until", "known:5s", "--out", "run", "--json", "report.json", "train.py"]
    assert unslow(command, tmp_path).returncode == 0
    assert (tmp_path / "run" / "lowest-rate").exists()
    assert "since then" in json.loads((tmp_path / "report.json").read_text())["at_lowest_rate"]
