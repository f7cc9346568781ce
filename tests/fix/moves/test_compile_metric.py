"""A metric that a loop updates op by op is made once, reset, and compiled."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.compile_call import compile_call
from unslow.fix.moves.compile_metric import compile_metric, metric_at

TEXT = """\
import tensorflow as tf


def score(rows, rounds=4):
    draws = []
    for truth, scores in rows:
        for _ in range(rounds):
            auc = tf.keras.metrics.AUC(num_thresholds={thresholds})
            auc.update_state({value}, scores[1:])
            draws.append({used})
    return draws


{use}
"""


def _edited(
    thresholds: str = "500",
    value: str = "truth[1:]",
    used: str = "float(auc.result())",
    use: str = "score(rows)",
) -> str:
    text = TEXT.format(thresholds=thresholds, value=value, used=used, use=use)
    return compile_call(Script("a.py", text), 9).script.text


def test_a_metric_of_each_turn_is_made_once_and_reset() -> None:
    body = """\
    draws = []
    auc = tf.keras.metrics.AUC(num_thresholds=500)
    update_auc = tf.function(auc.update_state, reduce_retracing=True)
    result_of_auc = tf.function(auc.result, reduce_retracing=True)
    for truth, scores in rows:
        for _ in range(rounds):
            auc.reset_state()
            update_auc(truth[1:], scores[1:])
            draws.append(float(result_of_auc()))
"""
    assert body in _edited()


def test_it_stays_in_the_loop_that_decides_how_it_is_made() -> None:
    made = """\
    for truth, scores in rows:
        auc = tf.keras.metrics.AUC(num_thresholds=len(truth))
        update_auc ="""
    assert made in _edited(thresholds="len(truth)")


def test_a_metric_that_is_made_before_the_loop_is_compiled_there() -> None:
    text = """\
import tensorflow as tf
mean = tf.keras.metrics.Mean()
for batch in data:
    mean.update_state(batch)
print(mean.result())
"""
    edited = compile_call(Script("a.py", text), 4).script.text
    assert "update_mean = tf.function(mean.update_state, reduce_retracing=True)\n" in edited
    assert "\nfor batch in data:\n    update_mean(batch)\nprint(result_of_mean())\n" in edited


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"used": "auc"}, "more than being updated"),
        ({"value": "len(truth)"}, "would be traced"),
        ({"use": "for _ in range(9): score(rows)"}, "is called repeatedly"),
    ],
)
def test_a_metric_that_must_stay_is_refused(change: dict[str, str], reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        _edited(**change)


def test_a_model_that_the_same_line_calls_comes_first() -> None:
    text = """\
import tensorflow as tf
model = tf.keras.Sequential([])
mean = tf.keras.metrics.Mean()
for batch in data:
    mean.update_state(model(batch))
"""
    assert compile_call(Script("a.py", text), 5).name == "model"


def test_a_metric_of_the_programs_own_may_count_in_python() -> None:
    text = (
        "import tensorflow as tf\nclass Hits(tf.keras.metrics.Metric):\n    pass\nhits = Hits()\n"
        "for x in data:\n    hits.update_state(f(x))\n"
    )
    script = Script("a.py", text)
    receiver = metric_at(script, 6)
    assert receiver is not None
    with pytest.raises(CannotEdit, match="the program's own"):
        compile_metric(script, receiver)
