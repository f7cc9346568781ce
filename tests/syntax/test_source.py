"""What a source knows of itself: names, values, loops and traced functions."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from unslow.syntax import Kind, Source


def source(text: str, path: str = "<text>") -> Source:
    return Source(path, dedent(text))


def last(found: Source) -> ast.expr:
    """The expression on the last line."""
    statement = found.tree.body[-1]
    assert isinstance(statement, ast.Expr)
    return statement.value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorflow as tf\ntf.Session", "tf.Session"),
        ("import tensorflow\ntensorflow.compat.v1.Session", "tf.Session"),
        ("import tensorflow.compat.v1 as t\nt.Session", "tf.Session"),
        ("from tensorflow.compat import v1\nv1.Session", "tf.Session"),
        ("from tensorflow import keras as K\nK.layers.Dense", "keras.layers.Dense"),
        ("import tensorflow as tf\nL = tf.keras.layers\nD = L.Dense\nD", "keras.layers.Dense"),
        (
            "from keras.callbacks import ModelCheckpoint as Keep\nKeep",
            "keras.callbacks.ModelCheckpoint",
        ),
        ("import tf_keras\ntf_keras.Model", "keras.Model"),
        ("from tensorflow.keras.models import Model\nModel", "keras.Model"),
        ("import tensorflow as tf\ntf.losses.MeanSquaredError", "keras.losses.MeanSquaredError"),
        ("import tensorflow as tf\ntf.optimizers.Adam", "keras.optimizers.Adam"),
        ("from tensorflow.keras.layers import *\nDense", "keras.layers.Dense"),
        (
            "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf\ntf.Session",
            "tf.Session",
        ),
        ("import tensorflow as tf\ntf = 3\ntf.Session", ""),
        ("if x:\n    import keras as k\nelse:\n    import json as k\nk.layers", ""),
        ("print", "print"),
        ("def print(): pass\nprint", ""),
        ("a = b\nb = a\na", ""),
    ],
)
def test_a_name_is_what_it_was_imported_as(text: str, name: str) -> None:
    found = source(text)
    assert found.name(last(found)) == name


def test_a_parameter_hides_the_module_of_the_same_name() -> None:
    found = source("import keras\ndef f(keras):\n    return keras.Model\n")
    returned = found.every(ast.Return)[0]
    assert found.name(returned.value) == ""


def test_a_name_of_a_class_is_not_seen_by_its_methods() -> None:
    found = source(
        "import json as tf\nclass A:\n    import tensorflow as tf\n    def f(self):\n        return tf.Session\n"
    )
    assert found.name(found.every(ast.Return)[0].value) == "json.Session"


def test_a_comprehension_keeps_its_variable_to_itself() -> None:
    found = source("import tensorflow as tf\n[tf for tf in range(3)]\ntf.ones")
    assert found.name(last(found)) == "tf.ones"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tf.constant(1)", Kind.TENSOR),
        ("1.5", Kind.NUMBER),
        ("np.zeros(3)", Kind.ARRAY),
        ("tf.constant(1) * 2", Kind.TENSOR),
        ("tf.constant(1).numpy()", Kind.ARRAY),
        ("x = tf.ones(3)\nx = x.numpy()\nx", Kind.ARRAY),
        ("x = 1\nif y:\n    x = tf.ones(3)\nx", Kind.UNKNOWN),
        ("if y:\n    x = tf.zeros(3)\nelse:\n    x = tf.ones(3)\nx", Kind.TENSOR),
        ("x = 0\nx = x + tf.ones(3)\nx", Kind.TENSOR),
        ("x = 0\nfor i in range(3):\n    x += 1\nx", Kind.NUMBER),
        ("d = tf.data.Dataset.range(3).map(f).batch(2)\nd", Kind.DATASET),
        ("i = iter(tf.data.Dataset.range(3))\na, (b, c) = next(i)\nc", Kind.TENSOR),
        ("for n, (a, b) in enumerate(tf.data.Dataset.range(3)):\n    pass\nb", Kind.TENSOR),
        ("for n, (a, b) in enumerate(tf.data.Dataset.range(3)):\n    pass\nn", Kind.NUMBER),
        ("with tf.GradientTape() as t:\n    pass\nt.gradient(a, b)", Kind.TENSOR),
        ("s = tf.compat.v1.Session()\na, b = s.run([c, d])\na", Kind.ARRAY),
        ("m = tf.keras.Sequential()\nm(3)", Kind.TENSOR),
        ("i = tf.keras.Input((3,))\ntf.keras.layers.Dense(1)(i)", Kind.SYMBOL),
        ("class M(tf.keras.Model): pass\nM()", Kind.MODEL),
        ("class B(tf.keras.Model): pass\nclass M(B): pass\nm = M()\nm", Kind.MODEL),
        ("def make():\n    return tf.keras.Sequential()\nmake()", Kind.MODEL),
        ("def pair():\n    return 1, tf.ones(2)\na, b = pair()\nb", Kind.TENSOR),
        ("@tf.function\ndef f(x):\n    return 1\nf(2)", Kind.TENSOR),
        ("f = tf.function(lambda x: x)\nf", Kind.FUNCTION),
        ("m = tf.keras.Sequential()\nm.optimizer", Kind.OPTIMIZER),
        ("del x\nx", Kind.UNKNOWN),
        ("unknown()", Kind.UNKNOWN),
    ],
)
def test_a_value_is_of_the_kind_that_the_file_tells(text: str, kind: Kind) -> None:
    found = Source("<text>", f"import tensorflow as tf\nimport numpy as np\n{text}")
    assert found.kind(last(found)) is kind


def test_a_parameter_is_what_all_calls_of_the_file_give() -> None:
    found = source(
        """
        import tensorflow as tf
        def go(session, x):
            session, x
        go(tf.compat.v1.Session(), 1)
        go(x=tf.ones(3), session=tf.compat.v1.Session())
        """
    )
    pair = found.every(ast.Tuple)[0]
    assert [found.kind(item) for item in pair.elts] == [Kind.SESSION, Kind.UNKNOWN]


def test_an_attribute_is_what_the_methods_assign_to_it() -> None:
    found = source(
        """
        import tensorflow.compat.v1 as tf
        class Base:
            def __init__(self):
                self.session = None
                self.x = tf.placeholder(tf.float32)
        class Child(Base):
            def start(self):
                self.session = tf.Session()
            def go(self):
                return self.session, self.x
        child = Child()
        child.session
        """
    )
    pair = found.every(ast.Tuple)[0]
    assert [found.kind(item) for item in pair.elts] == [Kind.SESSION, Kind.PLACEHOLDER]
    assert found.kind(last(found)) is Kind.SESSION


def test_loops_are_those_that_run_a_node_again() -> None:
    found = source(
        """
        for a in first():
            while second():
                third()
            else:
                fourth()
            def inner():
                fifth()
            [sixth() for _ in seventh()]
        """
    )
    depth = {
        found.name(call.func) or ast.unparse(call.func): len(found.loops(call))
        for call in found.every(ast.Call)
    }
    assert depth == {
        "first": 0,
        "second": 2,
        "third": 2,
        "fourth": 1,
        "fifth": 0,
        "sixth": 2,
        "seventh": 1,
    }


@pytest.mark.parametrize(
    "text",
    [
        "@tf.function\ndef f():\n    here()",
        "@tf.function(jit_compile=True)\ndef f():\n    here()",
        "def f():\n    here()\ng = tf.function(f)",
        "def f():\n    here()\ng = tf.function(jit_compile=True)(f)",
        "class A:\n    def __init__(self):\n        self.g = tf.function(self.f)\n    def f(self):\n        here()",
        "class A:\n    @tf.function\n    def g(self):\n        self.f()\n    def f(self):\n        here()",
        "def f(x):\n    here()\nds = tf.data.Dataset.range(3)\nds.map(f)",
        "@tf.function\ndef f():\n    def body(i):\n        here()\n    tf.while_loop(cond, body, [0])",
        "s = tf.distribute.MirroredStrategy()\ndef f():\n    here()\n@tf.function\ndef g():\n    s.run(f)",
    ],
)
def test_python_in_a_traced_function_is_known_as_such(text: str) -> None:
    found = Source("<text>", f"import tensorflow as tf\n{text}\n")
    here = next(call for call in found.every(ast.Call) if ast.unparse(call.func) == "here")
    assert found.trace_of(here) is not None


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    here()",
        "def f():\n    here()\n@tf.function\ndef g():\n    tf.py_function(f, [], tf.int32)",
        "@tf.function\ndef f():\n    with tf.init_scope():\n        here()",
        "@tf.function\ndef f():\n    if tf.executing_eagerly():\n        here()",
        "tf.config.run_functions_eagerly(True)\n@tf.function\ndef f():\n    here()",
        "@tf.function\ndef f():\n    def g():\n        here()\n    return 1",
    ],
)
def test_python_that_runs_as_python_is_not_taken_for_traced(text: str) -> None:
    found = Source("<text>", f"import tensorflow as tf\n{text}\n")
    here = next(call for call in found.every(ast.Call) if ast.unparse(call.func) == "here")
    assert found.trace_of(here) is None


def test_names_are_followed_into_the_files_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text(
        "import tensorflow as tf\nkeras = tf.keras\nmodel = keras.Sequential()\n"
    )
    found = source(
        "import common\nfrom common import keras, model\n(keras.Model, common.tf.ones, model)",
        str(tmp_path / "a.py"),
    )
    values = found.every(ast.Tuple)[0].elts
    assert [found.name(value) for value in values[:2]] == ["keras.Model", "tf.ones"]
    assert found.kind(values[2]) is Kind.MODEL


def test_files_that_import_each_other_are_no_trap(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import x\n")
    (tmp_path / "b.py").write_text("from a import x\n")
    found = source("from b import x\nx.y", str(tmp_path / "a.py"))
    assert found.name(last(found)) == "b.x.y" or found.name(last(found)) == "a.x.y"
    assert found.kind(last(found)) is Kind.UNKNOWN


def test_a_column_counts_characters_not_bytes() -> None:
    found = source("x = 'äöü'; here()")
    call = found.every(ast.Call)[0]
    assert found.spot(call, "", "").column == 12


def test_a_spot_at_a_method_points_at_its_name() -> None:
    found = source("(a.b\n   .c())")
    spot = found.spot(found.every(ast.Call)[0], "", "")
    assert (spot.line, spot.column) == (2, 5)


def test_a_very_long_sum_does_not_exhaust_the_stack() -> None:
    found = source("x = " + " + ".join(["1"] * 900) + "\nx")
    assert found.kind(last(found)) in (Kind.NUMBER, Kind.UNKNOWN)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a' + 'b'", "ab"),
        ("x = 'a'\nf'{x}/b'", "a/b"),
        ("import os\nos.path.join('a', 'b')", "a/b"),
        ("import pathlib\npathlib.Path('a') / 'b' / 'c'", "a/b/c"),
        ("import tempfile\ntempfile.gettempdir() + '/x'", "/tmp/x"),
        ("x = input()\nx + 'b'", None),
        ("x = 'a'\nif y:\n    x = 'b'\nx", None),
    ],
)
def test_a_text_is_told_only_where_it_is_certain(text: str, value: str | None) -> None:
    found = source(text)
    assert found.text_of(last(found)) == value


def test_sums_that_feed_each_other_are_no_trap() -> None:
    found = source(
        "import tensorflow as tf\nx = 0\nfor i in range(3):\n    x += y\n    x += tf.ones(3)\nx"
    )
    assert found.kind(last(found)) is Kind.UNKNOWN


TRAINING = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

def epoch(data):
    for x in data:
        step(x)

for number in range(3):
    epoch(tf.data.Dataset.range(3))
"""


def test_a_training_loop_is_the_innermost_that_comes_by_an_update() -> None:
    found = source(TRAINING)
    assert [loop.lineno for loop in found.step_loops] == [14]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "import keras\nm = keras.Sequential()\nfor x in y:\n    m.train_on_batch(x)",
        "import tensorflow.compat.v1 as tf\ns = tf.Session()\nwhile True:\n    s.run(op)",
        "import tensorflow as tf\nfor x in y:\n    optimizer.apply_gradients(x)",
        "import tensorflow as tf\ns = tf.distribute.MirroredStrategy()\no = tf.keras.optimizers.SGD()\n"
        "def f(x):\n    o.apply_gradients(x)\n@tf.function\ndef g(x):\n    s.run(f, (x,))\nfor x in y:\n    g(x)",
        "import tensorflow as tf\ndef f(x):\n    for w, g in zip(ws, tape.gradient(l, ws)):\n        w.assign_sub(g)\n"
        "for x in y:\n    f(x)",
    ],
)
def test_every_way_of_updating_weights_makes_a_training_loop(text: str) -> None:
    assert len(source(text).step_loops) == 1


def test_a_loop_that_only_evaluates_is_no_training_loop() -> None:
    assert not source(
        "import keras\nm = keras.Sequential()\nfor x in y:\n    m.predict(x)\n    print(m(x))"
    ).step_loops


def test_what_a_function_does_is_repeated_by_the_loops_that_call_it() -> None:
    found = source("def f():\n    here()\ndef g():\n    f()\nwhile x:\n    g()\nf()")
    here = next(call for call in found.every(ast.Call) if ast.unparse(call.func) == "here")
    assert [loop.lineno for loop in found.repeated_by(here)] == [5]


@pytest.mark.parametrize(
    ("text", "adds"),
    [
        ("tf.reduce_mean(x)", True),
        ("x + 1", True),
        ("v.assign(1)", True),
        ("o.minimize(x)", True),
        ("tf.train.Saver()", True),
        ("s.run(x)", False),
        ("s.run(x) + 1", False),
        ("tf.get_default_graph()", False),
        ("tf.Session()", False),
    ],
)
def test_what_adds_ops_to_a_graph_is_told_from_what_runs_it(text: str, adds: bool) -> None:
    head = "import tensorflow.compat.v1 as tf\nx = tf.constant(1)\nv = tf.Variable(1)\ns = tf.Session()\n"
    found = source(f"{head}o = tf.train.AdamOptimizer()\n{text}")
    assert found.adds_ops(last(found)) is adds


def test_a_name_varies_in_the_loop_that_binds_it_and_not_in_another() -> None:
    found = source("a = 1\nfor i in x:\n    b = i\n    a + b")
    (loop,) = found.every(ast.For)
    total = found.every(ast.BinOp)[0]
    assert (found.varies(total.left, loop), found.varies(total.right, loop)) == (False, True)
    assert (found.bound_outside(total.left, loop), found.bound_outside(total.right, loop)) == (
        True,
        False,
    )


@pytest.mark.parametrize(
    "text",
    [
        "if tf.__version__ < '2':\n    here()",
        "try:\n    here()\nexcept TypeError:\n    pass",
        "with pytest.raises(TypeError):\n    here()",
        "if hasattr(tf, 'x'):\n    here()",
    ],
)
def test_code_that_minds_versions_itself_is_guarded(text: str) -> None:
    found = source(text)
    here = next(call for call in found.every(ast.Call) if ast.unparse(call.func) == "here")
    assert found.guarded(here)


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("name + '.h5'", ".h5"),
        ("f'{name}.ckpt'", ".ckpt"),
        ("import os\nos.path.join(name, 'x.tf')", "x.tf"),
        ("'w-{:02d}.h5'.format(3)", ".h5"),
        ("p = f'{name}/x'\np", "/x"),
        ("name", None),
    ],
)
def test_the_end_of_a_text_may_be_known_though_its_start_is_not(
    text: str, ending: str | None
) -> None:
    found = source(text)
    assert found.ending_of(last(found)) == ending


def test_the_maker_of_a_value_is_found_through_names_and_chains() -> None:
    found = source(
        "import tensorflow as tf\nd = tf.data.Dataset.range(3)\ne = d.map(f)\ne.batch(2)"
    )
    made = found.maker(last(found))
    assert made is not None and found.name(made.func) == "tf.data.Dataset.range"
