"""Python that makes the same elements in every pass: where a cache goes, and where none does."""

from __future__ import annotations

from typing import Any

import pytest

from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.diagnose import diagnose
from unslow.facts.data import BuiltStage, PythonElements, PythonFunction
from unslow.facts.keras import Fit
from unslow.facts.schema import Place
from unslow.model import Diagnosis, Fix, Phase, Refusal, Safety

SAME = PythonElements(
    token="made", generator=True, compared=600, same=True, elements=200, bytes=2e5
)
GENERATED = "ds = tf.data.Dataset.from_generator(examples, output_signature=spec)"
BATCH = Made("Batch", 1e-5, "BatchV2", line=7, asked=BuiltStage(kind="Batch", batch_size=8))


def _python(kind: str, line: int, tokens: tuple[str, ...] = ("id", "made", "end")) -> Made:
    asked = BuiltStage(kind=kind, function=Place("lib.py", 9, "f"), python=True, tokens=tokens)
    return Made(kind, 0.009, elements=8, line=line, asked=asked)


def _diagnosed(
    source: str, *stages: Made, elements: PythonElements = SAME, passes: int = 4, **more: Any
) -> Diagnosis:
    called = PythonFunction(
        token="made", count=800, took=0.9, ran=0.85, place=Place("train.py", 3, "load")
    )
    facts = [
        *pipeline_facts(*stages, wait=0.009, passes=passes),
        at(90, called),
        at(90, elements),
        *more.get("facts", ()),
    ]
    phases = {Phase.INPUT: 0.9, Phase.RUN: 0.08}
    return diagnose(Sketch("a test", phases=phases, facts=facts, source=source).run())


def _source(*lines: str) -> str:
    return "\n".join(("import tensorflow as tf", "", "", *lines, "")) + "\n"


def _fix(diagnosis: Diagnosis) -> Fix | Refusal | None:
    assert diagnosis.findings[0].cause == "python-input"
    return diagnosis.fixes.get(0)


def test_a_generator_that_repeats_itself_is_cached() -> None:
    source = _source(GENERATED, "ds = ds.batch(8)")
    found = _diagnosed(source, _python("FlatMap", 4), BATCH)
    fix = _fix(found)
    assert isinstance(fix, Fix) and fix.safety is Safety.CLOSE
    assert f"{GENERATED}.cache()\nds = ds.batch(8)\n" in fix.files["train.py"]
    assert "same data in every pass" in found.findings[0].title
    # The first of four passes makes them all the same.
    uncached = _diagnosed(source, _python("FlatMap", 4), BATCH, elements=SAME.replace(compared=9))
    assert found.findings[0].seconds == pytest.approx(0.75 * uncached.findings[0].seconds, rel=0.01)


def test_another_order_in_each_pass_needs_a_shuffle() -> None:
    source = _source(GENERATED, "ds = ds.batch(8)")
    fix = _fix(
        _diagnosed(source, _python("FlatMap", 4), BATCH, elements=SAME.replace(reordered=True))
    )
    assert isinstance(fix, Fix) and fix.safety is Safety.REVIEW and "order" in fix.note
    assert f"{GENERATED}.cache().shuffle(200)\n" in fix.files["train.py"]


def test_a_shuffle_that_is_there_is_enough() -> None:
    shuffle = Made("Shuffle", line=5, elements=8, asked=BuiltStage(kind="Shuffle", buffer_size=200))
    source = _source(GENERATED, "ds = ds.shuffle(200)", "ds = ds.batch(8)")
    elements = SAME.replace(reordered=True)
    fix = _fix(_diagnosed(source, _python("FlatMap", 4), shuffle, BATCH, elements=elements))
    assert isinstance(fix, Fix) and fix.safety is Safety.REVIEW
    assert f"{GENERATED}.cache()\nds = ds.shuffle(200)\n" in fix.files["train.py"]


def test_what_is_computed_from_it_is_kept_as_well() -> None:
    scale = Made(
        "Map",
        1e-4,
        elements=8,
        line=5,
        asked=BuiltStage(kind="Map", function=Place("train.py", 3, "scale")),
    )
    source = _source(GENERATED, "ds = ds.map(scale)", "ds = ds.batch(8)")
    fix = _fix(_diagnosed(source, _python("FlatMap", 4), scale, BATCH))
    assert isinstance(fix, Fix)
    assert "ds = ds.map(scale).cache()\n" in fix.files["train.py"]
    drawn = Made("Map", 1e-4, elements=8, line=5, asked=scale.asked.replace(random=True))
    fix = _fix(_diagnosed(source, _python("FlatMap", 4), drawn, BATCH))
    assert isinstance(fix, Fix)
    assert f"{GENERATED}.cache()\nds = ds.map(scale)\n" in fix.files["train.py"]


def test_batches_of_another_order_are_not_frozen() -> None:
    """A map above the batch could be cached, but then every pass would have the same batches."""
    scale = Made(
        "Map", 1e-4, line=8, asked=BuiltStage(kind="Map", function=Place("train.py", 3, "scale"))
    )
    source = _source(GENERATED, "", "", "ds = ds.batch(8)", "ds = ds.map(scale)")
    elements = SAME.replace(reordered=True)
    fix = _fix(_diagnosed(source, _python("FlatMap", 4), BATCH, scale, elements=elements))
    assert isinstance(fix, Fix)
    assert f"{GENERATED}.cache().shuffle(200)\n" in fix.files["train.py"]


@pytest.mark.parametrize(
    "elements",
    [SAME.replace(same=False), SAME.replace(compared=10), SAME.replace(token="another")],
    ids=["random augmentation", "too few to know", "nothing compared"],
)
def test_no_cache_without_knowledge(elements: PythonElements) -> None:
    source = _source(GENERATED, "ds = ds.batch(8)")
    found = _diagnosed(source, _python("FlatMap", 4), BATCH, elements=elements)
    assert _fix(found) is None
    assert "every pass" not in found.findings[0].title


def test_no_cache_for_a_single_pass() -> None:
    source = _source(GENERATED, "ds = ds.batch(8)")
    elements = SAME.replace(elements=800)
    found = _diagnosed(source, _python("FlatMap", 4), BATCH, elements=elements, passes=1)
    assert _fix(found) is None


def test_a_mapped_function_is_cached_where_equal_inputs_gave_equal_outputs() -> None:
    rows = Made(
        "TensorSlice", 1e-5, elements=8, line=4, asked=BuiltStage(kind="TensorSlice", length=200)
    )
    mapped = _python("Map", 5, tokens=("made",))
    source = _source("ds = tf.data.Dataset.from_tensor_slices(x)", "ds = ds.map(load)", "b")
    elements = SAME.replace(generator=False, elements=0)
    fix = _fix(_diagnosed(source, rows, mapped, BATCH, elements=elements))
    assert isinstance(fix, Fix) and "ds = ds.map(load).cache()\n" in fix.files["train.py"]
    two = _python("Map", 5, tokens=("made", "another"))
    assert _fix(_diagnosed(source, rows, two, BATCH, elements=elements)) is None


def test_a_pydataset_is_kept_by_index() -> None:
    source = _source("model.fit(Batches(), epochs=4)")
    made = _python("FlatMap", 4)
    call = at(0, Fit(stack=(Place("train.py", 4, "<module>"),), model=1, data="PyDataset"))
    found = _diagnosed(source, made, facts=[call], elements=SAME.replace(elements=25))
    assert "__getitem__" in found.findings[0].advice
    answer = found.fixes.get(0)
    assert isinstance(answer, Refusal) and "library" in answer.reason
