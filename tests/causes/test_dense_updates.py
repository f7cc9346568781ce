"""What to give a table instead of the optimizer that rewrites it."""

from __future__ import annotations

import pytest

from unslow.causes.dense_updates import _advice
from unslow.facts.memory import Table


@pytest.mark.parametrize(("optimizer", "named"), [("AdamOptimizer", True), ("Adam", False)])
def test_sessions_have_an_optimizer_that_leaves_unused_rows_alone(
    optimizer: str, named: bool
) -> None:
    advice = _advice(Table(name="factors", rows=90_000, bytes=17.3e6), optimizer)
    assert ("tf.train.AdagradOptimizer" in advice) is named
