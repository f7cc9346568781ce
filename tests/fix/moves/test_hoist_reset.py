"""What is reset in every step is reset once, be it in a helper that does more."""

from __future__ import annotations

import pytest

from unslow.facts.schema import Place, Stack
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_reset import once_before_loop


def at(*lines: int, path: str = "a.py") -> Stack:
    return tuple(Place(path, line) for line in lines)


_HELPER = (
    "import numpy as np\nimport tensorflow as tf\ndef seed_all(seed):\n    np.random.seed(seed)\n"
    "    tf.random.set_seed(seed)\n\ndef batch(step):\n    seed_all(7 + step)\n    return draw()\n\n"
)
_LOOP = "for step in range(9):\n    batch(step)\n"


def test_a_helper_that_does_more_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="does more than reset"):
        once_before_loop(Script("a.py", _HELPER + _LOOP), at(5))


_SEEDS = "import os, random\nimport tensorflow as tf\n\ndef seed_all(n):\n    os.environ['SEED'] = str(n)\n    random.seed(n)\n    tf.random.set_seed(n)\n"
_TRAINING = (
    "from seeds import seed_all\n\nfor step in range(9):\n    seed_all(3)\n    train(step)\n"
)


def test_a_loop_in_another_file_calls_the_helper_once() -> None:
    modules = {"seeds.py": _SEEDS, "a.py": _TRAINING}
    stack = (*at(7, path="seeds.py"), *at(4))
    fixed = once_before_loop(Script("seeds.py", _SEEDS, modules), stack)
    assert list(fixed.files) == ["a.py"]
    assert "\nseed_all(3)\nfor step in range(9):\n    train(step)\n" in fixed.files["a.py"]


def test_what_trains_beside_the_reset_stays_in_its_loop() -> None:
    work = (
        "def work(i):\n    tf.random.set_seed(i)\n    train(i)\nfor i in range(9):\n    work(i)\n"
    )
    with pytest.raises(CannotEdit, match="does more than reset"):
        once_before_loop(Script("a.py", "import tensorflow as tf\n" + work), at(3, 6))


def test_a_helper_that_several_loops_call_is_left_alone() -> None:
    modules = {"seeds.py": _SEEDS, "a.py": _TRAINING + "for i in range(2):\n    seed_all(i)\n"}
    with pytest.raises(CannotEdit, match="several loops"):
        once_before_loop(Script("seeds.py", _SEEDS, modules), at(7, path="seeds.py"))
