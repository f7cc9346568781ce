"""Lines of stages, as Python 3.10 and later versions say them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from unslow.analyse.input.stage_lines import stage_location
from unslow.analyse.sketches.sketch import Sketch
from unslow.facts.data import BuiltStage
from unslow.facts.schema import Place

_CHAIN = """\
data = (
    tf.data.Dataset.from_tensor_slices(paths)
    .map(decode, num_parallel_calls=4)
    .shuffle(80)
    .batch(8, drop_remainder=True)
)
"""
_TWO_MAPS = _CHAIN.replace(".shuffle(80)", ".map(scale, num_parallel_calls=4)")


def _line(kind: str, said: int, source: str = _CHAIN) -> int:
    run = replace(Sketch("a pipeline").run(), sources={"train.py": source})
    found = stage_location(run, BuiltStage(kind=kind, stack=(Place("train.py", said, ""),)))
    assert found is not None
    assert found.code == source.splitlines()[found.line - 1].strip()
    return found.line


@pytest.mark.parametrize(("kind", "line"), [("ParallelMap", 3), ("Shuffle", 4), ("BatchV2", 5)])
def test_a_stage_is_at_its_own_call_on_every_python(kind: str, line: int) -> None:
    assert _line(kind, line) == line
    assert _line(kind, 2) == line  # where Python 3.10 says that the expression is


def test_two_calls_of_one_name_in_an_expression_are_not_told_apart() -> None:
    assert _line("ParallelMap", 2, _TWO_MAPS) == 2
    assert _line("ParallelMap", 4, _TWO_MAPS) == 4


def test_a_source_that_is_no_python_says_nothing() -> None:
    assert _line("ParallelMap", 2, "data = (\n    lambda") == 2
