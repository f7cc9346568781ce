"""Looking at a script: what stands on a line, what a name stands for, and which edits are turned down."""

from __future__ import annotations

import ast

import pytest

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import delete, insert_before, spelled

TEXT = """\
import tensorflow as tf
from tensorflow import keras


@tf.function  # compiled
def step(
    x,
):
    return x


for epoch in range(3):
    # what happens
    total = 0
    for x, y in data:
        loss = model.fit(
            x, y
        ).history(
            step(x))
    print(f"{epoch} é {step(epoch)}")
else:
    done = True
"""


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("train.py", TEXT)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (1, ast.Import),
        (3, None),
        (5, ast.FunctionDef),
        (7, ast.FunctionDef),
        (9, ast.Return),
        (12, ast.For),
        (14, ast.Assign),
        (15, ast.For),
        (17, ast.Assign),
        (22, ast.Assign),
        (99, None),
    ],
)
def test_the_statement_on_a_line_is_found(
    script: Script, line: int, kind: type[ast.stmt] | None
) -> None:
    found = script.statement_at(line)
    assert (type(found) if found is not None else None) is kind


@pytest.mark.parametrize(
    ("line", "name", "code"),
    [
        (16, "fit", "model.fit"),
        (18, "history", "model.fit(\n            x, y\n        ).history"),
        (18, None, "model.fit(\n            x, y\n        ).history"),
        (19, "step", "step"),
        (20, "step", "step"),
        (20, None, "print"),
        (16, "evaluate", None),
        (14, None, None),
    ],
)
def test_the_call_on_a_line_is_found(
    script: Script, line: int, name: str | None, code: str | None
) -> None:
    found = script.call_at(line, name)
    assert (script.source(found.func) if found is not None else None) == code


@pytest.mark.parametrize(
    ("line", "loop"), [(12, 12), (14, 12), (15, 15), (17, 15), (20, 12), (22, None), (9, None)]
)
def test_the_innermost_loop_is_found(script: Script, line: int, loop: int | None) -> None:
    found = script.loop_at(line)
    assert (found.lineno if found is not None else None) == loop


@pytest.mark.parametrize(("line", "name"), [(5, "step"), (6, "step"), (9, "step"), (12, None)])
def test_the_function_around_a_line_is_found(script: Script, line: int, name: str | None) -> None:
    found = script.function_at(line)
    assert (found.name if found is not None else None) == name


def test_a_loop_does_not_reach_into_a_function_defined_in_it() -> None:
    assert Script("train.py", "for x in y:\n    def f():\n        return 1\n").loop_at(3) is None


@pytest.mark.parametrize(
    ("head", "code", "name"),
    [
        ("import tensorflow as tf", "tf.function", "tf.function"),
        ("import tensorflow", "tensorflow.data.AUTOTUNE", "tf.data.AUTOTUNE"),
        ("import tensorflow.compat.v1 as tf", "tf.Session", "tf.Session"),
        ("from tensorflow import keras", "keras.layers.Dense", "keras.layers.Dense"),
        ("from tensorflow.keras import layers as L", "L.Dense", "keras.layers.Dense"),
        ("import tensorflow as tf\nAUTO = tf.data.AUTOTUNE", "AUTO", "tf.data.AUTOTUNE"),
        (
            "try:\n    import tensorflow as tf\nexcept ImportError:\n    import tensorflow as tf",
            "tf",
            "tf",
        ),
        ("import tensorflow as tf\ntf = wrapped(tf)", "tf.function", ""),
        ("from .steps import step", "step", ".steps.step"),
        ("import os.path", "os.path", "os.path"),
        ("x = 1", "print", "print"),
        ("def print(*a): pass", "print", ""),
        ("x = y\ny = x", "x", ""),
        ("x = 1", "unknown.name", ""),
    ],
)
def test_a_name_is_followed_to_what_it_stands_for(head: str, code: str, name: str) -> None:
    script = Script("train.py", f"{head}\nuse({code})\n")
    call = script.call_at(script.lines.count - 1, "use")
    assert call is not None
    assert script.name(call.args[0]) == name


def test_a_parameter_hides_the_import_of_the_same_name() -> None:
    script = Script("train.py", "import tensorflow as tf\ndef f(tf):\n    return tf.constant(1)\n")
    call = script.call_at(3)
    assert call is not None and script.name(call.func) == ""


@pytest.mark.parametrize(
    ("head", "name", "spelled"),
    [
        ("import tensorflow as tf", "tf.constant", "tf.constant"),
        ("import tensorflow.compat.v1 as tf", "tf.function", "tf.function"),
        (
            "import tensorflow as t\nfrom tensorflow import keras",
            "keras.layers",
            "keras.layers",
        ),
        ("from tensorflow import function as compiled", "tf.function", "compiled"),
        ("import numpy as np", "tf", None),
    ],
)
def test_a_dotted_name_is_spelled_as_the_user_would(
    head: str, name: str, spelled: str | None
) -> None:
    assert Script("train.py", f"{head}\n").alias(name) == spelled


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "'''Doc.'''\nimport os\nx = 1\n",
            "'''Doc.'''\nimport os\nimport tensorflow as tf\nx = 1\n",
        ),
        (
            "#!/bin/sh\n# -*- coding: utf-8 -*-\nx = 1\n",
            "#!/bin/sh\n# -*- coding: utf-8 -*-\nimport tensorflow as tf\nx = 1\n",
        ),
        (
            "from __future__ import annotations\n",
            "from __future__ import annotations\nimport tensorflow as tf\n",
        ),
        ("import os", "import os\nimport tensorflow as tf"),
        ("tf = 1\n", "import tensorflow\ntf = 1\n"),
        ("import os; import sys\n", "import os; import sys\nimport tensorflow as tf\n"),
        ("", "import tensorflow as tf\n"),
    ],
)
def test_a_missing_import_goes_to_the_right_place(before: str, after: str) -> None:
    assert spelled(Script("train.py", before), "tf")[0].text == after


def test_a_text_that_does_not_parse_is_said_so_with_its_line() -> None:
    with pytest.raises(CannotEdit, match=r"train.py cannot be parsed") as found:
        Script("train.py", "x = 1\ny = = 2\n")
    assert found.value.line == 2


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        ("x = f(1)\n", "1)", "1", "would not compile"),
        ("if a:\n    b()\nc()\n", "    b()\nc", "    b()\n    c", "would not compile|around"),
        ("x = 1 # a\ny = 2\n", "# a\n", "+ ", "would not compile|around"),
        ("s = '''\na\n'''\n", "'''\na", "''' '''\na", "around|compile"),
        ("x = a * b\n", "a", "c + a", "around"),
    ],
)
def test_an_edit_that_changes_the_code_around_it_is_turned_down(
    text: str, old: str, new: str, reason: str
) -> None:
    start = text.index(old)
    with pytest.raises(CannotEdit, match=reason):
        Script("train.py", text).edit([Splice(start, start + len(old), new)])


def test_lines_are_those_of_the_recorded_text_however_often_it_is_edited(script: Script) -> None:
    edited = insert_before(insert_before(script, 12, "a = 1"), 14, "b = 2")
    edited = delete(edited, 20)
    assert [edited.now(line) for line in (11, 12, 14, 15, 20, 22)] == [11, 13, 16, 17, None, 23]
    loop = edited.loop_at(16)
    assert loop is not None and edited.recorded(loop) == 15


def test_a_script_edited_elsewhere_is_taken_up_by_its_texts(script: Script) -> None:
    edited = insert_before(script, 12, "a = 1")
    again = Script.continued("train.py", TEXT, edited.text)
    assert [again.now(line) for line in (11, 12, 20)] == [11, 13, 21]


def test_libcst_is_not_loaded_to_look_at_a_script() -> None:
    import subprocess
    import sys

    code = "import sys; from unslow.fix.edit.script import Script; Script('a', 'x = 1'); print('libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
