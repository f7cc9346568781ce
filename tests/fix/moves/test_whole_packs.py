"""Gradients are packed as TensorFlow sees fit."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.whole_packs import unlimited_packs

_TEXT = "options = tf.distribute.experimental.CommunicationOptions({})\n"


def test_the_size_of_packs_is_taken_out() -> None:
    script = Script("a.py", _TEXT.format("bytes_per_pack=1024, timeout_seconds=9"))
    assert unlimited_packs(script).text == _TEXT.format("timeout_seconds=9")


@pytest.mark.parametrize("given", ["timeout_seconds=9", ""])
def test_options_that_do_not_set_it_are_left_alone(given: str) -> None:
    with pytest.raises(CannotEdit, match="bytes_per_pack"):
        unlimited_packs(Script("a.py", _TEXT.format(given)))
