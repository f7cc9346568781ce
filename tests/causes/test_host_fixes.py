"""The diffs that the causes of host work write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unslow.analyse.host.recording_cost import Recording
from unslow.analyse.host.thread_limits import Limit
from unslow.causes import (
    host_sync,
    predict_in_loop,
    slow_callbacks,
    tiny_batches,
)
from unslow.causes.host_sync import HostSync
from unslow.causes.predict_in_loop import PredictInLoop
from unslow.causes.profiler_left_on import ProfilerLeftOn
from unslow.causes.slow_callbacks import SlowCallbacks
from unslow.causes.thread_settings import ThreadSettings
from unslow.causes.tiny_batches import TinyBatches
from unslow.causes.wide_dtypes import Origin, WideDtypes
from unslow.facts.keras import Hook
from unslow.facts.schema import Place
from unslow.fix.edit.script import CannotEdit, Script
from unslow.model import Finding, Fix, Location, Refusal, Safety


def finding(line: int, detail: object = None) -> Finding:
    return Finding("cause", "title", Location("train.py", line), 1.0, (), detail=detail)


def script(text: str) -> Script:
    return Script("train.py", text)


def fixed(answer: Any) -> str:
    assert isinstance(answer, Fix)
    return answer.files["train.py"]


def called(**facts: Any) -> Finding:
    """A finding of the first line, which calls predict on one row."""
    usual = {"call": "predict", "data": "ndarray", "rows": 1.0, "batch_size": None}
    return replace(finding(1), detail=predict_in_loop._Detail(**{**usual, **facts}))


def test_predict_on_one_batch_becomes_predict_on_batch() -> None:
    answer = PredictInLoop().fix(called(), script("y = self.net.predict(x[None], verbose=0)[0]\n"))
    assert fixed(answer) == "y = self.net.predict_on_batch(x[None])[0]\n"
    assert isinstance(answer, Fix) and answer.safety is Safety.EXACT


def test_predict_over_several_lines_keeps_its_layout() -> None:
    text = "y = model.predict(\n    x,\n    batch_size=4,\n    verbose=0,\n)\n"
    assert "predict_on_batch(\n    x,\n)" in fixed(PredictInLoop().fix(called(), script(text)))


def test_predict_on_several_batches_is_the_same_up_to_rounding() -> None:
    answer = PredictInLoop().fix(called(rows=100.0), script("y = model.predict(x)\n"))
    assert isinstance(answer, Fix) and answer.safety is Safety.CLOSE


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"data": "_BatchDataset"}, "y = model.predict(x)\n"),
        ({"rows": 1e6}, "y = model.predict(x)\n"),
        ({}, "y = model.predict(x, steps=3)\n"),
    ],
)
def test_predict_stays_where_a_batch_would_not_do(facts: dict[str, Any], text: str) -> None:
    assert isinstance(PredictInLoop().fix(called(**facts), script(text)), Refusal)


def test_evaluate_becomes_a_test_of_one_batch() -> None:
    fix = PredictInLoop().fix(called(call="evaluate"), script("model.evaluate(x, y, verbose=0)\n"))
    assert isinstance(fix, Fix)
    assert fix.files["train.py"] == "model.reset_metrics()\nmodel.test_on_batch(x, y)\n"


def test_a_fetch_is_made_every_so_many_steps() -> None:
    text = "for step in range(9):\n    kept.append(w.numpy())\n"
    answer = HostSync().fix(finding(2, host_sync._Interval(100)), script(text))
    assert (
        fixed(answer)
        == "for step in range(9):\n    if step % 100 == 0:\n        kept.append(w.numpy())\n"
    )
    assert isinstance(answer, Fix) and answer.safety is Safety.REVIEW and answer.note


CALLBACK = """class Plot(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        \"\"\"Draw.\"\"\"
        self.draw(logs)
"""


def hook(line: int, name: str = "on_train_batch_end", **fields: Any) -> Finding:
    place = Place("train.py", 2, name)
    called = Hook(callback="Plot", hook=name, users=True, place=place).replace(**fields)
    return replace(finding(line), detail=slow_callbacks._Rarer(called, every=100))


def test_a_hook_for_batches_leaves_most_of_them_out() -> None:
    answer = SlowCallbacks().fix(hook(4), script(CALLBACK))
    assert '"""Draw."""\n        if batch % 100:\n            return\n        self.draw' in fixed(
        answer
    )
    assert isinstance(answer, Fix) and answer.safety is Safety.REVIEW and answer.note


def test_a_hook_that_has_an_interval_gets_a_longer_one() -> None:
    text = CALLBACK.replace(
        "self.draw(logs)", "if (batch + 1) % 8 == 0:\n            self.draw(logs)"
    )
    answer = SlowCallbacks().fix(hook(4), script(text))
    assert fixed(answer) == script(text).text.replace("% 8 == 0", "% 96 == 0")


def test_a_function_given_to_a_lambda_callback_counts_by_its_first_argument() -> None:
    text = "def remember(number, logs):\n    history.append(logs)\n"
    answer = SlowCallbacks().fix(hook(2, place=Place("train.py", 1, "remember")), script(text))
    assert "if number % 100:" in fixed(answer)


def test_a_lambda_and_a_hook_for_epochs_get_words_only() -> None:
    assert SlowCallbacks().fix(hook(4, "on_epoch_end"), script(CALLBACK)) is None
    assert (
        SlowCallbacks().fix(hook(4, place=Place("train.py", 2, "<lambda>")), script(CALLBACK))
        is None
    )


@pytest.mark.parametrize("given", ["verbose={}", "32, 9, {}"])
def test_the_progress_bar_gives_way_to_a_line_per_epoch(given: str) -> None:
    text = f"model.fit(x, y, {given})\n"
    answer = SlowCallbacks().fix(hook(1, callback="ProgbarLogger"), script(text.format(1)))
    assert fixed(answer) == text.format(2)


def test_a_limit_in_a_larger_statement_stays() -> None:
    text = "before = tf.config.threading.set_intra_op_parallelism_threads(1)\n"
    assert isinstance(ThreadSettings().fix(limited(1), script(text)), Refusal)


def test_the_type_of_the_results_of_a_test_is_told() -> None:
    text = "losses.append(model.evaluate(x, y))\n"
    fix = PredictInLoop().fix(called(call="evaluate"), script(text))
    assert isinstance(fix, Fix) and "NumPy's numbers" in fix.note


def together(line: int, steps: int, users_hooks: bool) -> Finding:
    detail = tiny_batches._Together(steps, users_hooks, Location("train.py", 1))
    return replace(finding(line), detail=detail)


def test_keras_runs_several_steps_in_one_call() -> None:
    text = 'model.compile("adam", "mse")\nmodel.fit(x)\n'
    answer = TinyBatches().fix(together(2, 25, users_hooks=False), script(text))
    assert fixed(answer) == 'model.compile("adam", "mse", steps_per_execution=25)\nmodel.fit(x)\n'
    assert isinstance(answer, Fix) and answer.safety is Safety.EXACT


def test_steps_in_one_call_must_be_reviewed_where_hooks_hear_of_batches() -> None:
    answer = TinyBatches().fix(
        together(2, 25, users_hooks=True), script('model.compile("adam")\nmodel.fit(x)\n')
    )
    assert isinstance(answer, Fix) and answer.safety is Safety.REVIEW and answer.note


def test_a_loop_of_the_users_own_gets_words_only() -> None:
    answer = TinyBatches().fix(together(1, 1, users_hooks=False), script("train(x)\n"))
    assert answer is None


def test_keras_computes_in_float32_again() -> None:
    answer = WideDtypes().fix(
        replace(finding(1), detail=Origin.SETTING), script("keras.backend.set_floatx('float64')\n")
    )
    assert fixed(answer) == 'keras.backend.set_floatx("float32")\n'


def test_a_precision_that_comes_from_elsewhere_is_left_alone() -> None:
    found = replace(finding(1), detail=Origin.SETTING)
    with pytest.raises(CannotEdit, match="gives `config` a value"):
        WideDtypes().fix(found, script("keras.backend.set_floatx(config.precision)\n"))


def limited(line: int) -> Finding:
    where = (Place("train.py", line),)
    name = "tf.config.threading.set_intra_op_parallelism_threads(1)"
    return replace(finding(line), detail=Limit(1, name, where))


def test_a_thread_limit_is_taken_out() -> None:
    text = (
        "import tensorflow as tf\ntf.config.threading.set_intra_op_parallelism_threads(1)\nx = 1\n"
    )
    answer = ThreadSettings().fix(limited(2), script(text))
    assert fixed(answer) == "import tensorflow as tf\nx = 1\n"


def test_a_thread_limit_set_through_another_name_is_refused() -> None:
    answer = ThreadSettings().fix(limited(1), script("limit(1)\n"))
    assert isinstance(answer, Refusal)


def test_a_debugger_that_is_left_on_is_taken_out() -> None:
    text = "import tensorflow as tf\ntf.debugging.enable_check_numerics()\ntrain()\n"
    what = "tf.debugging.enable_check_numerics"
    detail = Recording(what, on=100, off=0, each=0.01, writing=0.0, place=None)
    answer = ProfilerLeftOn().fix(replace(finding(2), detail=detail), script(text))
    assert fixed(answer) == "import tensorflow as tf\ntrain()\n"
    assert isinstance(answer, Fix) and "NaN" in answer.note


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("predict", "x, batch_size=1", "x, batch_size=256"),
        ("predict", "x, 1", "x, 256"),
        ("evaluate", "x, y, 1", "x, y, 256"),
    ],
)
def test_predict_is_given_a_larger_batch(call: str, before: str, after: str) -> None:
    found = replace(finding(1), detail=tiny_batches._LargerBatch(call))
    answer = TinyBatches().fix(found, script(f"z = model.{call}({before})\n"))
    assert fixed(answer) == f"z = model.{call}({after})\n"
