"""A model that a function makes at each of its calls is kept, and given back as it began."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist_model import model_once

_HEAD = "import tensorflow as tf\n\n\ndef build(n):\n    return compiled(n)\n\n\n"
_LOOP = "for tr, va in folds:\n    scores.append(fold(tr, va{}))\n"


def _fixed(body: str, given: str = "", head: str = "def fold(tr, va):") -> str:
    rows = "".join(f"    {row}\n" for row in body.splitlines())
    text = f"{_HEAD}{head}\n{rows}\n\n{_LOOP.format(given)}"
    lines = [number for number, row in enumerate(text.splitlines(), 1) if "model =" in row]
    return model_once(Script("cv.py", text), [5, *lines, text.count("\n")]).text


_TRAINED = "model.fit(x[tr], y[tr])\nreturn model.evaluate(x[va], y[va])"


def test_the_function_gets_the_one_model_with_its_first_weights() -> None:
    text = _fixed(f"model = build(32)\n{_TRAINED}")
    assert "def fold(tr, va):\n    model = fresh_model()\n    model.fit(x[tr], y[tr])\n" in text
    assert "    if key not in first_models:\n        model = build(32)\n" in text
    assert text.index("def build") < text.index("first_models = {}") < text.index("def fold")


def test_one_model_is_kept_for_each_size() -> None:
    text = _fixed(f"model = build(units)\n{_TRAINED}", ", 32", "def fold(tr, va, units):")
    assert "def fresh_model(units):" in text and "    key = (units,)\n" in text
    text = _fixed(f"model = build(tr.shape[1])\n{_TRAINED}")
    assert "    tr_size = tr.shape[1]\n    model = fresh_model(tr_size)\n" in text


def test_what_the_model_is_made_of_goes_along() -> None:
    making = "h = tf.keras.Input((4,))\nout = head(h)\nmodel = tf.keras.Model(h, out)\n"
    compiling = "opt = tf.keras.optimizers.Adam(\n    1e-3)\nmodel.compile(opt, 'mse')\n"
    text = _fixed(f"{making}{compiling}{_TRAINED}")
    kept = text[text.index("def fresh_model") : text.index("def fold")]
    assert all(f"        {row}\n" in kept for row in making.splitlines())
    assert "        model.compile(opt, 'mse')\n" in kept
    assert "def fold(tr, va):\n    model = fresh_model()\n    model.fit" in text


def test_an_object_that_stays_as_it_was_made_tells_models_apart() -> None:
    text = (
        "class Folds:\n    def __init__(self, n):\n        self.n = n\n\n"
        "    def fold(self, tr):\n        model = build(self.n)\n        model.fit(tr)\n\n"
        "    def run(self):\n        for tr in folds:\n            self.fold(tr)\n"
    )
    fixed = model_once(Script("cv.py", text), [6, 11]).text
    assert "def fresh_model(self):" in fixed and "model = fresh_model(self)\n" in fixed
    changing = text.replace("        for tr", "        self.n = 3\n        for tr")
    with pytest.raises(CannotEdit, match="`self` may make another model"):
        model_once(Script("cv.py", changing), [6, 12])


def test_the_loop_may_be_in_another_file() -> None:
    text = f"{_HEAD}def fold(tr, va):\n    model = build(32)\n    return model.fit(tr)\n"
    assert "model = fresh_model()" in model_once(Script("cv.py", text), [5, 9]).text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("model = build(1)\nmodel.fit(tr)\nreturn model", "`model` may be kept or changed here"),
        ("model = build(1)\nkept.append(model)", "`model` may be kept or changed here"),
        ("model = build(1)\nmodel.trainable = False", "`model` may be kept or changed here"),
        ("model = build(tr)\nmodel.fit(tr)", "`tr` may make another model in each call"),
        ("if tr:\n    model = build(1)\nmodel.fit(tr)", "not always made in one function"),
        ("model = build(1)\nmodel = build(2)\nmodel.fit(tr)", "set in more than one place"),
        ("x = inp()\nmodel = build(x)\nprint(x)\nmodel.fit(tr)", "`x`, of which the model is made"),
    ],
)
def test_a_model_that_may_differ_or_be_kept_is_refused(body: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        _fixed(body)


def test_a_function_that_only_uses_the_model_may_have_it() -> None:
    rmse = "\n\ndef rmse(net, x):\n    return {}\n"
    text = f"{_HEAD}def fold(tr, va):\n    model = build(32)\n    return rmse(model, va)\n"
    fixed = model_once(Script("cv.py", text + rmse.format("net.predict(x)")), [5, 9]).text
    assert "model = fresh_model()" in fixed
    with pytest.raises(CannotEdit, match="may be kept or changed"):
        model_once(Script("cv.py", text + rmse.format("kept.append(net)")), [5, 9])


def test_what_changes_between_the_calls_is_refused() -> None:
    text = f"{_HEAD}def fold(tr, va):\n    model = build(size)\n    return model.fit(tr)\n\n\n"
    loop = "for size in sizes:\n    fold(1, 2)\n"
    with pytest.raises(CannotEdit, match="`size`, which changes from call to call"):
        model_once(Script("cv.py", text + loop), [5, 9, 14])
