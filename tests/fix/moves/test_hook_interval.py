"""The interval of a session's hooks is changed where its number is written."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hook_interval import SAVING, WRITING, rarer_hook, runs_hooks

_HEAD = "import tensorflow.compat.v1 as tf\n"
_LOOP = "    while not s.should_stop():\n        _, n = s.run([train_op, step])\n        print(n)\n"


def session(given: str, before: str = "") -> Script:
    made = f"with tf.train.MonitoredTrainingSession({given}) as s:\n"
    return Script("a.py", _HEAD + before + made + _LOOP)


def test_a_number_in_the_call_is_multiplied() -> None:
    text = rarer_hook(session("save_checkpoint_steps=4"), SAVING, 100).text
    assert "save_checkpoint_steps=400)" in text


def test_a_dictionary_that_is_unpacked_is_followed() -> None:
    before = "P = {'s': {'save_checkpoint_secs': None, 'save_summaries_steps': 2}}\n"
    text = rarer_hook(session("hooks=h, **P['s']", before), WRITING, 50).text
    assert "{'save_checkpoint_secs': None, 'save_summaries_steps': 100}" in text


def test_an_interval_of_none_is_no_interval() -> None:
    before = "P = {'save_checkpoint_secs': None, 'save_checkpoint_steps': 5}\n"
    assert "'save_checkpoint_steps': 50}" in rarer_hook(session("**P", before), SAVING, 10).text


def test_a_hook_in_another_file_is_found() -> None:
    hooks = _HEAD + "EVERY = 3\nHOOK = tf.train.SummarySaverHook(EVERY, summary_op=m)\n"
    main = session("hooks=[HOOK]", "from hooks import HOOK\n")
    script = Script("a.py", main.text, {"a.py": main.text, "hooks.py": hooks})
    assert rarer_hook(script, WRITING, 10).files == {"hooks.py": hooks.replace("= 3", "= 30")}


def test_two_intervals_are_left_to_the_user() -> None:
    text = "tf.train.SummarySaverHook(save_steps=3)\ntf.train.SummarySaverHook(save_steps=9)\n"
    with pytest.raises(CannotEdit, match="more than one interval"):
        rarer_hook(Script("a.py", _HEAD + text), WRITING, 10)


def test_a_session_without_an_interval_says_so() -> None:
    with pytest.raises(CannotEdit, match="is given an interval"):
        rarer_hook(session("hooks=h"), SAVING, 10)


def test_only_the_run_of_a_session_runs_hooks() -> None:
    script = session("save_checkpoint_steps=4")
    assert runs_hooks(script, 4, SAVING)
    assert not runs_hooks(script, 5, SAVING)
    assert not runs_hooks(Script("a.py", "s.run(step)\n"), 1, SAVING)
