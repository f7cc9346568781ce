"""An argument is changed where it is written, also in a dictionary that the call unpacks."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_arguments import call, keyword_value, rename_call, set_keyword


def test_the_item_of_an_unpacked_dictionary_is_changed() -> None:
    source = "OPTIONS = {'path': p, 'save_freq': 1}\ncb = ModelCheckpoint(**OPTIONS)\n"
    edited = set_keyword(Script("a.py", source), 2, "ModelCheckpoint", "save_freq", "500")
    assert edited.text == source.replace("1}", "500}")


def test_a_dictionary_that_is_not_written_out_stays() -> None:
    source = "def make(**options):\n    return ModelCheckpoint(**options)\n"
    with pytest.raises(CannotEdit, match="may hold `save_freq`"):
        set_keyword(Script("a.py", source), 2, "ModelCheckpoint", "save_freq", "500")


def test_a_value_in_another_file_is_named_with_its_place() -> None:
    source = "from options import OPTIONS\ncb = ModelCheckpoint(**OPTIONS)\n"
    texts = {"a.py": source, "options.py": "OPTIONS = {'save_freq': 1}\n"}
    with pytest.raises(CannotEdit, match=r"options\.py:1"):
        set_keyword(Script("a.py", source, texts), 2, "ModelCheckpoint", "save_freq", "500")


@pytest.mark.parametrize("given", ["3", "every=3", "**{'every': 3}", "**D", "**{'other': 1}"])
def test_the_value_is_found_however_it_is_given(given: str) -> None:
    script = Script("a.py", f"D = {{'every': 3}}\nhook({given})\n")
    value = keyword_value(script, call(script, 2, "hook"), "every", 0)
    assert (value is None) == ("other" in given)


@pytest.mark.parametrize(
    "line", ["a, b = m.predict(x), n.predict(y)", "a = m.predict(n.predict(x))"]
)
def test_either_of_two_calls_on_a_line_may_be_meant(line: str) -> None:
    with pytest.raises(CannotEdit, match="more than once on this line"):
        set_keyword(Script("a.py", f"{line}\n"), 1, "predict", "batch_size", "32")
    with pytest.raises(CannotEdit, match="more than once on this line"):
        rename_call(Script("a.py", f"{line}\n"), 1, "predict", "predict_on_batch")
