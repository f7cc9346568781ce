"""What is reset in every step is reset once, be it in a helper that does more."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_reset import once_before_loop

_HELPER = (
    "import numpy as np\nimport tensorflow as tf\ndef seed_all(seed):\n    np.random.seed(seed)\n"
    "    tf.random.set_seed(seed)\n\ndef batch(step):\n    seed_all(7 + step)\n    return draw()\n\n"
)
_LOOP = "for step in range(9):\n    batch(step)\n"


def test_the_caller_in_the_loop_keeps_the_rest_of_a_helper() -> None:
    text = once_before_loop(Script("a.py", _HELPER + "seed_all(7)\n" + _LOOP), [5, 11]).text
    assert "def batch(step):\n    np.random.seed(7 + step)\n    return draw()" in text
    assert "\nseed_all(7)\n" in text


def test_a_helper_that_nobody_else_calls_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="in another file"):
        once_before_loop(Script("a.py", _HELPER + _LOOP), [5])


def test_what_may_not_be_computed_twice_is_left_alone() -> None:
    source = _HELPER.replace("7 + step", "next(seeds)") + "seed_all(7)\n" + _LOOP
    with pytest.raises(CannotEdit, match="computed twice"):
        once_before_loop(Script("a.py", source), [5])
