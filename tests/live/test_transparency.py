"""A training under unslow ends, prints and fails as it does alone."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.conftest import Recorded, bare, environment, unslow

STEPS = """
import os, signal, sys, time
import tensorflow as tf
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    return loss


def train(steps, after=lambda: None):
    for number in range(steps):
        step(tf.constant(2.0))
    after()

"""


def alike(tmp_path: Path, script: str, **options: str) -> tuple[str, str]:
    """The tracebacks of a script alone and under unslow; what it printed and its exit code must agree."""
    place = tmp_path / "train.py"
    place.write_text(script)
    alone = bare(place, **options)
    under = unslow(["run", "train.py"], tmp_path, **options)
    assert under.stdout == alone.stdout
    assert under.returncode == alone.returncode
    return traceback_of(alone.stderr), traceback_of(under.stderr)


def traceback_of(text: str) -> str:
    """From the traceback on, without the report that follows it."""
    found = re.search(
        r"^(Traceback|KeyboardInterrupt).*?(?=^unslow  )",
        text + "\nunslow  ",
        re.DOTALL | re.MULTILINE,
    )
    generated = r"__autograph_generated_file\w+"  # a random name each time
    return re.sub(generated, "generated", found.group(0).strip()) if found else ""


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        (
            "an error of its own",
            "def fail():\n    raise ValueError('no more')\n\n\ntrain(20, fail)\n",
        ),
        (
            "an error inside a compiled step",
            "train(5)\nstep(tf.constant([1.0, 2.0]) + tf.ones([3]))\n",
        ),
        (
            "an error while tracing",
            "train(5)\n\n\n@tf.function\ndef bad(x):\n    return x + undefined\n\n\nbad(w)\n",
        ),
        ("an exit code", "train(20)\nsys.exit(3)\n"),
        pytest.param("an exit message", "train(20)\nsys.exit('stopped')\n", marks=pytest.mark.slow),
        ("no training at all", "print('nothing to do')\n"),
        ("its own kill", "train(20)\nsys.stdout.flush()\nos.kill(os.getpid(), signal.SIGKILL)\n"),
        pytest.param("its own abort", "train(20)\nos.abort()\n", marks=pytest.mark.slow),
        ("an immediate exit", "train(20)\nos._exit(7)\n"),
    ],
)
def test_it_ends_as_it_does_alone_with(name: str, ending: str, tmp_path: Path) -> None:
    alone, under = alike(tmp_path, STEPS + ending)
    assert under == alone


FAILS_LATE = """
import sys, traceback
import tensorflow as tf
{before}
w = tf.Variable(1.0)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
    w.assign_sub(0.0001 * tape.gradient(loss, w))
    tf.debugging.assert_less(tf.reduce_sum(x), 100.0)
    return loss


for number in range(600):
    try:
        step(tf.fill([2], 1000.0 if number == 590 else 1.0))
    except tf.errors.InvalidArgumentError as problem:
        kept = problem
        print(traceback.format_exc(), problem.__cause__, problem.__context__)
print(round(float(w), 6))
raise kept
"""


UNFILTERED = "tf.debugging.disable_traceback_filtering()"


@pytest.mark.parametrize("before", ["", pytest.param(UNFILTERED, marks=pytest.mark.slow)])
def test_an_error_after_many_calls_fails_with_its_own_traceback(
    before: str, tmp_path: Path
) -> None:
    alone, under = alike(tmp_path, FAILS_LATE.format(before=before))
    assert under == alone and "InvalidArgumentError" in under


def test_a_traceback_that_the_script_prints_itself_has_no_frame_of_ours(tmp_path: Path) -> None:
    failing = "try:\n    step(tf.zeros([2]) + tf.ones([3]))\nexcept Exception:\n    print(traceback.format_exc())\n"
    script = STEPS + "import traceback\n" + failing
    alike(tmp_path, script)


def test_a_keras_callback_that_raises_fails_with_its_own_traceback(tmp_path: Path) -> None:
    script = """
import numpy as np, tensorflow as tf
class Stop(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            raise RuntimeError("enough")
model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros([64, 4]), np.zeros([64, 1]), batch_size=8, verbose=0, callbacks=[Stop()])
"""
    alone, under = alike(tmp_path, script)
    assert under == alone and "RuntimeError: enough" in under


def test_a_session_error_fails_with_its_own_traceback(tmp_path: Path) -> None:
    script = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [2])
with tf.Session() as session:
    session.run(x * 2, {x: [1.0, 2.0, 3.0]})
"""
    alone, under = alike(tmp_path, script)
    assert under == alone and "ValueError" in under


FULL_TRACE = """
import time
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
w = tf.get_variable("w", [], initializer=tf.ones_initializer())
train = tf.train.GradientDescentOptimizer(0.01).minimize(w * w)
options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(400):
        metadata = tf.RunMetadata()
        traced = options if {when} else None
        session.run(train, options=traced, run_metadata=metadata if traced else None)
        time.sleep(0.003)
    print(round(float(session.run(w)), 4))
"""


@pytest.mark.parametrize(
    "when",
    [
        "step % 7 == 0",
        pytest.param("True", marks=pytest.mark.slow),
        pytest.param("step > 200", marks=pytest.mark.slow),
    ],
)
def test_a_session_that_traces_its_runs_keeps_the_profiler_to_itself(
    tmp_path: Path, when: str
) -> None:
    """There can be one profiler in a process: TensorFlow raises where a second one starts."""
    assert alike(tmp_path, FULL_TRACE.format(when=when)) == ("", "")


def test_a_training_that_profiles_some_steps_keeps_the_profiler_to_itself(tmp_path: Path) -> None:
    profile = """
for number in range(400):
    if number % 50 == 20:
        tf.profiler.experimental.start("profile")
    step(tf.constant(2.0))
    time.sleep(0.003)
    if number % 50 == 25:
        tf.profiler.experimental.stop()
print(round(float(w), 4))
"""
    assert alike(tmp_path, STEPS + profile) == ("", "")


def test_arguments_input_main_and_paths_are_the_same(tmp_path: Path) -> None:
    script = STEPS + (
        "print(sys.argv, __name__, __file__, sys.stdin.read(), sys.path)\n"
        "train(3)\nimport sitecustomize; print(sitecustomize.__name__)\n"
    )
    place = tmp_path / "train.py"
    place.write_text(script)
    words = ["--epochs", "3", "--help", "-m", "x y", "--"]
    alone = bare(place, *words, input="hello")
    under = unslow(["run", "train.py", *words], tmp_path, input="hello")
    assert under.stdout.splitlines()[0] == alone.stdout.splitlines()[0]


def test_a_module_is_run_as_python_does(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(
        STEPS + "print(__name__, __package__, sys.argv[1:])\ntrain(12)\n"
    )
    done = unslow(["run", "-m", "package.train", "--fast"], tmp_path)
    assert done.stdout == "__main__ package ['--fast']\n" and "12 steps" in done.stderr


def test_a_command_that_starts_python_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STEPS + "train(12)\n")
    done = unslow(["run", "--", "sh", "-c", f"{sys.executable} train.py; exit 5"], tmp_path)
    assert done.returncode == 5 and "12 steps" in done.stderr


def test_another_environments_sitecustomize_is_chained(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import os\nos.environ['CHAINED'] = __file__\n"
    )
    (tmp_path / "train.py").write_text(
        STEPS + "print(os.path.basename(os.environ['CHAINED']))\ntrain(3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "unslow", "run", "train.py"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        env={**environment(), "PYTHONPATH": str(tmp_path / "site")},
        check=False,
    )
    assert done.stdout == "sitecustomize.py\n" and "3 steps" in done.stderr


def test_a_run_that_is_interrupted_ends_like_python_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STEPS + "train(50)\nprint('go', flush=True)\ntrain(10**9)\n")
    child = subprocess.Popen(
        [sys.executable, "-m", "unslow", "run", "train.py"],
        cwd=tmp_path,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "go\n"
    time.sleep(1.0)
    import os

    os.killpg(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors and "SIGINT" in errors.rpartition("KeyboardInterrupt")[2]


def test_a_killed_run_keeps_its_steps_and_says_that_it_was_killed(
    record: Callable[..., Recorded],
) -> None:
    script = STEPS + "train(200)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    recorded = record(script)
    assert recorded.done.returncode == -signal.SIGKILL
    assert recorded.report["ended"] == "killed by SIGKILL"
    assert recorded.report["loops"][0]["steps"] >= 198


def test_every_wrapped_attribute_is_put_back(tmp_path: Path) -> None:
    script = """
import sys
sys.path.insert(0, {source!r})
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function as p, tracing_compilation as t
from tensorflow.python.client import session as s
from tensorflow.python.framework import ops
def look():
    return (p.Function.__call__, t._create_concrete_function, s.BaseSession.run, ops._EagerTensorBase.numpy,
            tf.keras.Model.fit, tf.keras.optimizers.Adam.apply, tf.GradientTape.gradient, sys.excepthook)
before = look()
import unslow
with unslow.record():
    assert look() != before
    w = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = w * w
    w.assign_sub(tape.gradient(loss, w))
assert look() == before, [(a, b) for a, b in zip(look(), before) if a is not b]
print("restored")
"""
    place = tmp_path / "train.py"
    place.write_text(script.format(source=str(Path(__file__).parents[2] / "src")))
    done = bare(place)
    assert "restored" in done.stdout, done.stderr


def test_a_probe_that_breaks_is_named_and_the_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STEPS + "train(12)\nprint('done')\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        # The finder is there already: a probe whose door was taken away must fail in its fence.
        "import sys\n"
        "for finder in sys.meta_path:\n"
        "    for name, doors in getattr(finder, '_doors', {}).items():\n"
        "        if name == 'tensorflow.python.client.session':\n"
        "            def broken(module):\n                raise RuntimeError('this door is gone')\n"
        "            finder._doors[name] = [(probe, broken) for probe, _ in doors]\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "unslow", "run", "train.py"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=300,
        env={**environment(), "PYTHONPATH": str(tmp_path / "site")},
        check=False,
    )
    assert done.stdout == "done\n" and "12 steps" in done.stderr
    assert "this door is gone" in done.stderr
