"""Arrays of NumPy become float32 where a script makes them."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.float32 import keras_default, narrow

HEAD = "import numpy as np\nrng = np.random.default_rng(0)\n"


def narrowed(line: str) -> str:
    return narrow(Script("train.py", f"{HEAD}{line}\n")).text.removeprefix(HEAD).rstrip("\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = rng.normal(size=(3, 4))", 'x = rng.normal(size=(3, 4)).astype("float32")'),
        ("x = np.random.rand(3, 4) * 2", 'x = np.random.rand(3, 4).astype("float32") * 2'),
        (
            "w = tf.Variable(np.zeros((3, 4)))",
            'w = tf.Variable(np.zeros((3, 4)).astype("float32"))',
        ),
        (
            "x, y = rng.normal(0, 1, (3, 4)), np.ones(3)",
            'x, y = rng.normal(0, 1, (3, 4)).astype("float32"), np.ones(3).astype("float32")',
        ),
        ("KIND = np.float64", "KIND = np.float32"),
        ('x = load().astype("float64")', 'x = load().astype("float32")'),
        ("x = np.zeros(3, dtype=np.double)", "x = np.zeros(3, dtype=np.float32)"),
    ],
)
def test_an_array_is_cast_where_it_is_made(before: str, after: str) -> None:
    assert narrowed(before) == after


@pytest.mark.parametrize(
    "line",
    [
        "x = rng.normal()",
        "x = np.random.rand()",
        'x = rng.normal(size=3).astype("float16")',
        "x = (rng.normal(size=3) > 0)",
        "x = np.zeros(3, dtype=np.int64)",
        "x = other.normal(size=3)",
        "x = other.float64",
        "x = rng.integers(0, 3, size=4)",
    ],
)
def test_numbers_casts_and_other_kinds_are_left_alone(line: str) -> None:
    with pytest.raises(CannotEdit):
        narrowed(line)


def test_a_generator_kept_in_an_object_is_known() -> None:
    text = "import numpy as np\nclass A:\n    def __init__(self):\n        self.rng = np.random.default_rng()\n"
    fixed = narrow(
        Script("train.py", text + "    def draw(self):\n        return self.rng.uniform(size=3)\n")
    )
    assert 'self.rng.uniform(size=3).astype("float32")' in fixed.text


_SETTING = "import keras\nkeras.config.set_floatx({})\n"


def test_a_precision_from_the_command_line_is_changed_in_its_default() -> None:
    parser = (
        "import argparse\np = argparse.ArgumentParser()\n"
        'p.add_argument("--floatx", default="float64")\nargs = p.parse_args()\n'
    )
    fixed = keras_default(Script("a.py", parser + _SETTING.format("args.floatx")), 6)
    changed = parser.replace("float64", "float32")
    assert fixed.files == {"a.py": changed + _SETTING.format("args.floatx")}
    assert fixed.note.startswith("The default of `args.floatx` is changed.")


def test_a_precision_that_is_computed_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="computed by"):
        keras_default(Script("a.py", _SETTING.format("pick()")), 2)


def test_a_precision_other_than_float64_is_left_alone() -> None:
    with pytest.raises(CannotEdit, match="not float64"):
        keras_default(Script("a.py", _SETTING.format('"float16"')), 2)
