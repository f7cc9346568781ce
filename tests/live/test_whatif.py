"""Settings applied from outside to real trainings: each style gets the ones that it can have, and no number else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import EXAMPLES, environment, unslow


def measured(name: str, only: str, place: Path, *words: str) -> dict[str, Any]:
    shutil.copy(EXAMPLES / "styles" / name, place / name)
    done = unslow(
        ["whatif", "--only", only, "--trials", "2", "--format", "json", *words, name], place
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in place.iterdir()) == [name]
    return dict(json.loads(done.stdout))


def names(view: dict[str, Any], key: str) -> set[str]:
    return {each["name"] for each in view[key]}


def result(view: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in view["settings"] if each["name"] == name)


@pytest.mark.slow
def test_fit_gets_what_compile_and_fit_can_be_told(tmp_path: Path) -> None:
    view = measured("fit_arrays.py", "steps_per_execution,batch-x2,determinism-off", tmp_path)
    assert names(view, "settings") == {"steps_per_execution", "batch-x2"} and not view["failed"]
    assert names(view, "does_not_apply") == {"determinism-off"}
    assert result(view, "steps_per_execution")["results"] in ("identical", "same", "rounding")
    assert result(view, "batch-x2")["results"] == "not compared"


def test_a_custom_loop_gets_its_own_functions_compiled(tmp_path: Path) -> None:
    view = measured("function_decorated.py", "jit_compile,steps_per_execution", tmp_path)
    assert result(view, "jit_compile")["results"] in ("identical", "same", "rounding")
    assert view["does_not_apply"][0]["reason"] == "fit() is not what trains here"


@pytest.mark.slow
def test_a_session_gets_threads_and_no_fit_settings(tmp_path: Path) -> None:
    view = measured("session_plain.py", "intra-op-1,execution,sgd", tmp_path)
    assert {"intra-op-1", "sgd"} <= names(view, "settings") and names(view, "does_not_apply") == {
        "steps_per_execution"
    }


@pytest.mark.slow
def test_a_script_that_asks_for_determinism_is_run_without_it(tmp_path: Path) -> None:
    script = (EXAMPLES / "styles" / "fit_arrays.py").read_text()
    script = script.replace(
        "import tensorflow as tf\n", "import tensorflow as tf\n\n" + _DETERMINISTIC
    )
    (tmp_path / "train.py").write_text(script)
    words = ["whatif", "--only", "determinism", "--trials", "2", "--format", "json", "train.py"]
    view = json.loads(unslow(words, tmp_path).stdout)
    found = result(view, "determinism-off")
    line = script.splitlines().index(_DETERMINISTIC.splitlines()[-1]) + 1
    assert (
        found["where"] == f"train.py:{line}"
        and found["keep"] == "leave enable_op_determinism() away"
    )
    assert found["results"] in ("identical", "same", "rounding")


_DETERMINISTIC = (
    "tf.keras.utils.set_random_seed(3)\ntf.config.experimental.enable_op_determinism()\n"
)


@pytest.mark.slow
def test_keras_2_gets_another_optimizer_of_its_own(tmp_path: Path) -> None:
    view = measured("keras2_fit.py", "sgd,accumulate-4", tmp_path)
    assert (
        names(view, "settings") == {"sgd"} and result(view, "sgd")["changes"] == "other optimizer"
    )
    assert view["does_not_apply"][0]["reason"] == "no optimizer of Keras 3"


@pytest.mark.slow
def test_keras_2_has_the_switches_of_compile_and_fit_too(tmp_path: Path) -> None:
    view = measured(
        "keras2_fit.py", "jit_compile,steps_per_execution,batch-x2,mixed_bfloat16", tmp_path
    )
    assert names(view, "settings") == {
        "jit_compile",
        "steps_per_execution",
        "batch-x2",
        "mixed_bfloat16",
    }
    assert result(view, "steps_per_execution")["results"] in ("identical", "same", "rounding")
    assert result(view, "mixed_bfloat16")["results"] == "differ" and not view["failed"]


@pytest.mark.slow
def test_a_setting_that_breaks_the_script_is_a_row_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        (EXAMPLES / "styles" / "fit_arrays.py")
        .read_text()
        .replace(
            'model.compile(optimizer="adam", loss="mse")',
            'model.compile(optimizer="adam", loss="mse")\nassert model.steps_per_execution == 1, "one at a time"',
        )
    )
    done = unslow(["whatif", "--only", "execution", "--trials", "2", "train.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "fails: exit 1: AssertionError: one at a time" in done.stdout


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        ("import tensorflow as tf\nprint(tf.constant(1))\n", (), "no-steps"),
        ((EXAMPLES / "styles" / "fit_arrays.py").read_text(), ("--steps", "500"), "too-few-steps"),
        ("import tensorflow as tf\n1 / 0\n", (), "ZeroDivisionError"),
    ],
    ids=["never trains", "fewer steps than asked", "fails by itself"],
)
def test_a_script_that_cannot_be_measured_is_a_clear_error(
    text: str, words: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text)
    done = unslow(["whatif", *words, "train.py"], tmp_path)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


def test_ctrl_c_prints_what_was_measured(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "styles" / "fit_arrays.py", tmp_path / "train.py")
    words = [
        sys.executable,
        "-m",
        "unslow",
        "whatif",
        "--only",
        "intra-op-1,inter-op-1",
        "train.py",
    ]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stderr is not None and child.stdout is not None
        next(line for line in child.stderr if "intra-op-1:" in line)
        os.killpg(child.pid, signal.SIGINT)
        said = child.stdout.read()
        child.stderr.read()
    assert child.returncode == 130 and "intra-op-1" in said and "Not tried: inter-op-1" in said
