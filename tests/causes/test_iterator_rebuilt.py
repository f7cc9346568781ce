"""A dataset that each turn filters anew is kept in memory."""

from __future__ import annotations

import pytest

from unslow.analyse.sketches.sketch import Sketch, at, stack_at
from unslow.causes.iterator_rebuilt import IteratorRebuilt, _Dataset
from unslow.facts.data import ENDLESS, BuiltStage, Dataset, IteratorMade, Next
from unslow.facts.schema import Place
from unslow.fix.edit.script import CannotEdit, Script
from unslow.model import Finding, Fix, Location, Phase, Refusal, Safety

_LOOP = (
    "from data import pictures\nfor s in range(9):\n    mine = pictures.filter(of(s))\n"
    "    for x in mine.batch(3):\n        add(x)\n"
)
_DATA = "files = tf.data.Dataset.list_files(g)\npictures = files.map(read)\n"


def stage(kind: str, file: str, line: int, **known: object) -> BuiltStage:
    made = BuiltStage(kind=kind, stack=(Place(file, line, ""),), length=300, bytes=4000)
    return made.replace(**known)


def fixed(*stages: BuiltStage) -> Fix | Refusal | None:
    detail = _Dataset(endless=False, shuffled=False, stages=stages)
    where = Location("train.py", 4)
    finding = Finding(
        cause="iterator-rebuilt", title="", location=where, seconds=1.0, evidence=(), detail=detail
    )
    script = Script("train.py", _LOOP, {"train.py": _LOOP, "data.py": _DATA})
    return IteratorRebuilt().fix(finding, script)


_TURN = (stage("Batch", "train.py", 4), stage("Filter", "train.py", 3))
_FILES = stage("TensorSlice", "data.py", 1)


def test_lines_that_share_a_step_share_what_it_waits_for_data() -> None:
    facts = []
    for line, took in ((11, 0.6), (12, 0.2)):
        made = IteratorMade(key=str(line), iterator=line, dataset=line, took=0.002)
        for step in range(1, 101):
            counted = made.replace(n=step, sum=0.002 * step, stack=stack_at(line))
            facts.append(at(step, counted))
        facts.append(at(100, Next(stack=stack_at(line), count=100, took=took)))
    run = Sketch("two a step", [0.02] * 101, {Phase.INPUT: 0.5}, facts=facts, style="eager").run()
    found = sorted(IteratorRebuilt().detect(run), key=lambda one: -one.seconds)
    seconds = [{e.label: e.value for e in one.evidence}["for data, per step"] for one in found]
    assert seconds == pytest.approx([0.01 * 2 / 3, 0.01 / 3], rel=0.05)
    assert sum(seconds) <= 0.0101  # of 10 ms


def test_the_map_in_another_file_gets_a_cache() -> None:
    fix = fixed(*_TURN, stage("ParallelMap", "data.py", 2), _FILES)
    assert isinstance(fix, Fix)
    assert fix.files == {"data.py": _DATA.replace("map(read)", "map(read).cache()")}
    assert fix.safety is Safety.EXACT and "1.20 MB" in fix.note


def test_a_cache_that_may_not_fit_is_left_to_the_user() -> None:
    assert isinstance(fixed(*_TURN, stage("Map", "data.py", 2, bytes=10**9), _FILES), Refusal)


@pytest.mark.parametrize(
    "stages",
    [
        (*_TURN, stage("Map", "data.py", 2, random=True), _FILES),
        (*_TURN, stage("Map", "data.py", 2), stage("Shuffle", "data.py", 1)),
        (stage("Take", "train.py", 4), *_TURN, stage("Map", "data.py", 2), _FILES),
        (*_TURN, stage("Map", "data.py", 2, length=-2), _FILES),
    ],
    ids=["random", "another order each time", "ends early", "of unknown size"],
)
def test_what_differs_between_passes_is_not_kept(stages: tuple[BuiltStage, ...]) -> None:
    with pytest.raises(CannotEdit, match="plain `iter"):
        fixed(*stages)


@pytest.mark.parametrize("endless", [True, False])
def test_a_pipeline_that_was_never_read_at_work_is_known_as_it_was_built(endless: bool) -> None:
    repeated = stage("Repeat", "train.py", 3, length=ENDLESS if endless else 300)
    made = IteratorMade(key="11", iterator=1, dataset=1, took=0.004, stack=stack_at(11))
    facts = [
        at(0, Dataset(dataset=1, stages=(repeated, stage("Shuffle", "train.py", 2)))),
        *(at(step, made.replace(n=step, sum=0.004 * step)) for step in range(1, 101)),
    ]
    run = Sketch("one a step", [0.02] * 101, {Phase.INPUT: 0.5}, facts=facts, style="eager").run()
    (finding,) = IteratorRebuilt().detect(run)
    detail = finding.detail_of(_Dataset)
    assert (detail.endless, detail.shuffled) == (endless, True)
