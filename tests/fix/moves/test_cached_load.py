"""A model that is loaded again and again is kept."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.cached_load import load_once

_HEAD = "from keras.models import load_model\n\ndef vote(paths, rows):\n    for path in paths:\n"


def test_it_is_loaded_once_for_each_path() -> None:
    body = "        net = load_model(path, compile=False)\n        use(net.predict(rows))\n"
    text = load_once(Script("a.py", _HEAD + body), 5).text
    assert "import functools\n" in text
    assert (
        "@functools.cache\ndef loaded_model(path):\n    return load_model(path, compile=False)"
        in text
    )
    assert "        net = loaded_model(path)\n" in text


@pytest.mark.parametrize(
    "use",
    ["net.fit(rows)", "net.trainable = False", "kept.append(net)", "net.compile()"],
)
def test_a_model_that_may_be_changed_is_loaded_anew(use: str) -> None:
    body = f"        net = load_model(path)\n        {use}\n"
    with pytest.raises(CannotEdit, match="changed or kept"):
        load_once(Script("a.py", _HEAD + body), 5)


def test_a_method_that_only_loads_is_followed_to_its_callers() -> None:
    source = (
        "import tensorflow as tf\nclass H:\n    def load(self):\n        return tf.saved_model.load(self.path)\n\n"
        "    def handle(self, x):\n        return self.load().signatures['rank'](x)\n"
    )
    text = load_once(Script("a.py", source), 4).text
    assert "        return loaded_model(self.path)\n" in text
    with pytest.raises(CannotEdit, match="handed on"):
        load_once(Script("a.py", source.replace(".signatures['rank'](x)", "")), 4)


def test_a_generator_of_models_is_followed_to_its_loops() -> None:
    source = (
        "from keras.models import load_model\ndef members(paths):\n    for path in paths:\n"
        "        yield load_model(path)\n\ndef vote(paths, x):\n"
        "    return [m.predict(x) for m in members(paths)]\n"
    )
    assert "        yield loaded_model(path)\n" in load_once(Script("a.py", source), 4).text
    with pytest.raises(CannotEdit, match="changed or kept"):
        load_once(Script("a.py", source.replace("m.predict(x)", "m.fit(x)")), 4)
