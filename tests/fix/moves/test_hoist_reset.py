"""What is reset in every step is reset once."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_reset import once_before_loop


def test_a_seed_is_set_in_front_of_the_loop() -> None:
    source = (
        "import tensorflow as tf\nfor step in range(9):\n    tf.random.set_seed(step)\n    go()\n"
    )
    text = once_before_loop(Script("a.py", source), [3]).text
    assert "tf.random.set_seed(0)\nfor step in range(9):\n    go()\n" in text


def test_a_reset_in_a_helper_is_left_alone() -> None:
    source = (
        "import tensorflow as tf\ndef batch(step):\n    tf.random.set_seed(step)\n\n"
        "for step in range(9):\n    batch(step)\n"
    )
    with pytest.raises(CannotEdit, match="the loop around it is in another file"):
        once_before_loop(Script("a.py", source), [3])
