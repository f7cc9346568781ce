"""The diffs that the causes of the input family write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unslow.analyse.input.cache_plans import CachePlan
from unslow.analyse.input.pipeline import Stage
from unslow.analyse.input.remedies import PythonWork, Remedy
from unslow.causes import big_shuffle, input_bound, iterator_rebuilt
from unslow.causes.big_shuffle import BigShuffle
from unslow.causes.input_bound import InputBound
from unslow.causes.iterator_rebuilt import IteratorRebuilt
from unslow.causes.rereading import Rereading
from unslow.diagnose import diagnose
from unslow.facts.data import BuiltStage
from unslow.facts.schema import Place
from unslow.fix.edit.script import CannotEdit, Script
from unslow.model import Finding, Fix, Location, Refusal, Safety

PLAIN = """import tensorflow as tf
data = tf.data.Dataset.range(100)
data = data.shuffle(50)
data = data.map(prepare)
data = data.batch(8)
"""
CHAIN = """import tensorflow as tf
data = (
    tf.data.Dataset.range(100)
    .shuffle(50)
    .map(prepare)
    .batch(8)
)
"""


def finding(line: int, detail: object) -> Finding:
    return Finding("cause", "title", Location("train.py", line), 1.0, (), detail=detail)


def remedy(kind: str, asked: BuiltStage | None = None, **more: Any) -> Remedy:
    """A remedy for a map."""
    return Remedy(kind, Stage("Map", asked=asked or BuiltStage(kind="Map")), 0.0, **more)


def fixed(answer: Any) -> str:
    assert isinstance(answer, Fix)
    return answer.files["train.py"]


def test_a_map_that_may_use_one_thread_gets_autotune() -> None:
    fix = InputBound().fix(finding(4, remedy("parallel")), Script("train.py", PLAIN))
    assert "data.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)\n" in fixed(fix)
    assert fix.safety is Safety.EXACT  # type: ignore[union-attr]


def test_a_parallel_map_with_random_numbers_must_be_reviewed() -> None:
    found = finding(4, remedy("parallel", BuiltStage(kind="Map", random=True)))
    fix = InputBound().fix(found, Script("train.py", PLAIN))
    assert isinstance(fix, Fix) and fix.safety is Safety.REVIEW and fix.note


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (
            "tf.train.shuffle_batch([x], 8, 100, 10)",
            "tf.train.shuffle_batch([x], 8, 100, 10, num_threads=4)",
        ),
        ("tf.train.batch([x], 8, 1)", "tf.train.batch([x], 8, 4)"),
        (
            "tf.train.batch(\n    [x],\n    batch_size=8,\n)",
            "tf.train.batch(\n    [x],\n    batch_size=8,\n    num_threads=4,\n)",
        ),
    ],
)
def test_a_queue_gets_more_threads(call: str, wanted: str) -> None:
    fix = InputBound().fix(
        finding(2, input_bound._MoreThreads(4)),
        Script("train.py", f"import tensorflow as tf\ny = {call}\n"),
    )
    assert wanted in fixed(fix)
    assert fix.safety is Safety.REVIEW  # type: ignore[union-attr]


SLEEPY = """import time
import tensorflow as tf

def fetch(key):
    time.sleep(1)
    return key

def fetch_and_count(key):
    calls.append(key)
    return key

data = tf.data.Dataset.range(100).map(load).batch(8)
"""


def test_a_map_that_sleeps_gets_threads_of_its_own() -> None:
    work = PythonWork(Place("train.py", 4, "fetch"), calls=8, took=8, ran=0, slept=8)
    found = finding(12, remedy("threads", python=work))
    fix = InputBound().fix(found, Script("train.py", SLEEPY))
    text = fixed(fix)
    assert (
        "input_options = tf.data.Options()\ninput_options.threading.private_threadpool_size = 16\ndata = "
        in text
    )
    assert ".map(load, num_parallel_calls=16).with_options(input_options).batch(8)" in text
    assert fix.safety is Safety.EXACT  # type: ignore[union-attr]


def test_threads_for_a_function_that_changes_a_shared_list_must_be_reviewed() -> None:
    work = PythonWork(Place("train.py", 8, "fetch_and_count"), calls=8, took=8, ran=0, slept=8)
    found = finding(12, remedy("threads", python=work))
    fix = InputBound().fix(found, Script("train.py", SLEEPY))
    assert isinstance(fix, Fix) and fix.safety is Safety.REVIEW and "calls" in fix.note


def test_a_function_that_treats_all_numbers_alike_goes_behind_the_batch() -> None:
    types = ("Placeholder", "Const", "Sub", "Mul", "Identity")
    asked = BuiltStage(kind="Map", types=types, scalars=True)
    fix = InputBound().fix(finding(5, remedy("vectorise", asked)), Script("train.py", CHAIN))
    assert "    .batch(8)\n    .map(prepare)\n" in fixed(fix)


def test_a_function_that_looks_at_shapes_stays_in_front_of_the_batch() -> None:
    asked = BuiltStage(kind="Map", types=("Placeholder", "Reshape"), scalars=True)
    with pytest.raises(CannotEdit, match="Reshape"):
        InputBound().fix(finding(5, remedy("vectorise", asked)), Script("train.py", CHAIN))


def test_a_prefetch_goes_to_the_end_of_the_pipeline() -> None:
    fix = InputBound().fix(finding(3, remedy("prefetch")), Script("train.py", PLAIN))
    assert fixed(fix).endswith("data = data.batch(8).prefetch(tf.data.AUTOTUNE)\n")


CACHE = CachePlan(
    kept=(Stage("Map", asked=BuiltStage(kind="Map")),),
    bytes=1e6,
    spare=1e9,
    passes=4,
    length=100,
    moved=False,
    files=True,
    built=1,
)


def test_a_cache_goes_behind_the_last_step_that_is_always_the_same() -> None:
    fix = Rereading().fix(finding(5, remedy("cache", cache=CACHE)), Script("train.py", CHAIN))
    assert "    .map(prepare)\n    .cache()\n    .batch(8)\n" in fixed(fix)


@pytest.mark.parametrize(("text", "line"), [(PLAIN, 4), (CHAIN, 5)])
def test_what_is_cached_moves_in_front_of_the_shuffle(text: str, line: int) -> None:
    found = finding(line, remedy("cache", cache=replace(CACHE, moved=True)))
    after = fixed(Rereading().fix(found, Script("train.py", text)))
    assert after.index(".map(prepare)") < after.index(".cache()") < after.index(".shuffle(50)")


def test_data_that_does_not_fit_into_memory_is_not_cached() -> None:
    found = finding(5, remedy("cache", cache=replace(CACHE, spare=1e5)))
    answer = Rereading().fix(found, Script("train.py", CHAIN))
    assert isinstance(answer, Refusal) and "memory" in answer.reason


def test_a_pipeline_that_is_built_anew_for_each_pass_is_not_cached() -> None:
    found = finding(5, remedy("cache", cache=replace(CACHE, built=4)))
    answer = Rereading().fix(found, Script("train.py", CHAIN))
    assert isinstance(answer, Refusal) and "built again" in answer.reason


def test_a_cache_behind_a_repetition_goes_in_front_of_it() -> None:
    sketch = next(one for one in Rereading.FIRES if "repetitions" in one.says)
    diagnosis = diagnose(sketch.run())
    found = diagnosis.findings[0]
    assert found.cause == "rereading" and "`repeat` behind `cache`" in found.advice
    assert [each.value for each in found.evidence if each.label == "passes over the data"] == [4]
    assert "data = data.cache().repeat(4)\n" in fixed(diagnosis.fixes[0])


LOOP = """for step in range(100):
    x, y = next(iter(data))
    train(x, y)
"""


def test_an_iterator_is_made_once_in_front_of_the_loop() -> None:
    found = finding(2, iterator_rebuilt._Dataset(False, True))
    text = fixed(IteratorRebuilt().fix(found, Script("train.py", LOOP)))
    assert text == (
        "batches = iter(data.repeat())\nfor step in range(100):\n    x, y = next(batches)\n    train(x, y)\n"
    )


def test_an_endless_dataset_is_not_repeated_once_more() -> None:
    found = finding(2, iterator_rebuilt._Dataset(True, True))
    assert "batches = iter(data)\n" in fixed(IteratorRebuilt().fix(found, Script("train.py", LOOP)))


def test_an_iterator_over_something_that_changes_in_the_loop_stays_there() -> None:
    text = "for step in range(9):\n    data = make(step)\n    train(next(iter(data)))\n"
    with pytest.raises(CannotEdit, match="data"):
        IteratorRebuilt().fix(
            finding(3, iterator_rebuilt._Dataset(False, False)), Script("train.py", text)
        )


def test_a_shuffle_buffer_is_made_smaller_in_place() -> None:
    assert "data.shuffle(2048)\n" in fixed(
        BigShuffle().fix(finding(3, big_shuffle._Detail(2048, False)), Script("train.py", PLAIN))
    )
