"""What workers exchange too often is exchanged less often, by an edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.causes.communication import Communication
from unslow.diagnose import diagnose
from unslow.facts.schema import Fact, Place
from unslow.facts.workers import Collective, EagerReduce
from unslow.model import Fix, Refusal

_STACK = (Place("train.py", 12, ""),)
_PACK = Collective(what="all_reduce", bytes=4096, key="pack", stack=_STACK)
_HEAD = "import tensorflow as tf\n" + "\n" * 6
_FINITE = (
    "data = read().batch(32)\n"
    "shared = strategy.experimental_distribute_dataset(data)\n"
    "for epoch in range(9):\n"
    "    print(epoch)\n"
    "    for batch in shared:\n"
    "        train(batch)\n"
)
_REDUCED = (
    "shared = iter(strategy.experimental_distribute_dataset(data))\n"
    "for step in range(200):\n"
    "    batch = next(shared)\n"
    "    losses = train(batch)\n"
    "    log.append(strategy.reduce('SUM', losses, axis=None))\n"
)
_PACKS = (
    "options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=1024)\n"
    "for step in range(200):\n"
    "    batch = next(shared)\n"
    "    number = step\n"
    "    train(batch)\n"
)


def fixed(source: str, *facts: Fact, per_step: int = 2) -> Fix | Refusal | None:
    job = JobSketch(
        "a job",
        workers=[Hand({"input": 0.002}, inside=0.03)] * 2,
        collectives=[fact for fact in facts if isinstance(fact, Collective)],
        more=[fact for fact in facts if isinstance(fact, EagerReduce)],
        transfer=0.03,
        per_step=per_step,
    ).run()
    diagnosis = diagnose(replace(job, sources={"train.py": _HEAD + source}), [Communication()])
    assert [finding.cause for finding in diagnosis.findings] == ["communication"]
    return diagnosis.fixes.get(0)


def text_of(fix: Fix | Refusal | None) -> str:
    assert isinstance(fix, Fix)
    return fix.files["train.py"]


def asked(within: str) -> list[EagerReduce]:
    """By both workers."""
    one = EagerReduce(stack=_STACK, count=200, took=2.0, steps=200, within=within)
    return [one, one.replace(process=1)]


def test_a_finite_dataset_is_repeated_and_counted() -> None:
    text = text_of(fixed(_FINITE, _PACK, *asked("input")))
    assert "experimental_distribute_dataset(data.repeat())" in text
    assert "for batch in itertools.islice(shared, int(data.cardinality())):" in text


def test_a_value_for_the_log_is_reduced_every_hundred_steps() -> None:
    text = text_of(fixed(_REDUCED, _PACK, *asked("reduce")))
    assert "    if step % 100 == 0:\n        log.append(strategy.reduce(" in text


def test_packs_are_left_to_tensorflow() -> None:
    text = text_of(fixed(_PACKS, _PACK.replace(n=16), per_step=16))
    assert "CommunicationOptions()" in text


@pytest.mark.parametrize("within", ["input", "reduce"])
def test_a_collective_inside_a_graph_has_no_plain_edit(within: str) -> None:
    inside = Collective(what="all_reduce", within=within, key=within, stack=_STACK)
    assert fixed(_REDUCED, inside) is None
