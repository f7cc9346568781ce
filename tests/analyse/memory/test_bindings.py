"""Where names are bound and read."""

from __future__ import annotations

from unslow.analyse.memory.bindings import names_of

SOURCE = """\
images = load()
x, y = np.array(images), labels
x = x / 255

def train(data):
    scaled = data * 2
    return scaled

for part in parts:
    z = part
"""


def test_the_last_line_that_binds_a_name() -> None:
    assert names_of(SOURCE, "<module>").line_of("x") == 3


def test_a_functions_own_names_are_apart() -> None:
    assert names_of(SOURCE, "train").line_of("scaled") == 6
    assert names_of(SOURCE, "<module>").line_of("scaled") is None


def test_each_name_of_a_pair_has_its_own_value() -> None:
    names = names_of(SOURCE, "<module>")
    assert names.bindings["x"][0].reads("images")
    assert not names.bindings["y"][0].reads("images")


def test_what_a_function_reads_is_captured() -> None:
    names = names_of("x = load()\ndef step():\n    return x[0]\n", "<module>")
    assert "x" in names.captured


def test_a_binding_knows_that_it_is_in_a_loop() -> None:
    assert names_of(SOURCE, "<module>").bindings["z"][0].in_loop


def test_a_source_that_cannot_be_parsed_has_no_names() -> None:
    assert names_of("x = (", "<module>").line_of("x") is None
