"""A fit() of one batch is a train_on_batch(), its history the batch's logs."""

from __future__ import annotations

import pytest

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.fit_to_train_on_batch import fit_as_batch


def batch(body: str) -> str:
    return fit_as_batch(Script("a.py", "for x, y in data:\n" + body), 2).text


def test_a_result_that_nobody_reads_is_not_asked_for() -> None:
    assert "    model.train_on_batch(x, y)\n" in batch("    model.fit(x, y, epochs=1, verbose=0)\n")


def test_values_of_the_history_are_read_from_the_logs() -> None:
    text = batch("    r = model.fit(x, y, verbose=0)\n    losses.append(r.history['loss'][0])\n")
    assert "    model.reset_metrics()\n    r = model.train_on_batch(x, y, return_dict=True)" in text
    assert "losses.append(float(r['loss']))" in text


def test_a_value_may_be_read_at_once() -> None:
    text = batch("    losses.append(self.net.fit(x, y).history['loss'][-1])\n")
    assert "    self.net.reset_metrics()\n" in text
    assert "float(self.net.train_on_batch(x, y, return_dict=True)['loss'])" in text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    r = model.fit(x, y)\n    plot(r.history)\n", "more than its values"),
        ("    r = model.fit(x, y)\n    keep(r)\n", "more than its values"),
        ("    a.b = model.fit(x, y)\n", "what fit.. returns is used"),
        ("    r = model.fit(x, y, epochs=2)\n", "several epochs"),
        ("    r = model.fit(x, y, validation_data=v)\n", "validation_data"),
    ],
)
def test_what_only_fit_gives_is_left_alone(body: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        batch(body)


def test_another_history_under_the_same_name_is_left_alone() -> None:
    body = "    if x:\n        r = other()\n    else:\n        r = model.fit(x, y)\n"
    with pytest.raises(CannotEdit, match="may be another history"):
        fit_as_batch(
            Script("a.py", f"for x, y in data:\n{body}    print(r.history['loss'][0])\n"), 5
        )


def test_the_history_that_the_model_keeps_is_fits() -> None:
    text = "for x, y in data:\n    model.fit(x, y)\n    print(model.history.history['loss'])\n"
    with pytest.raises(CannotEdit, match=r"`model\.history` is what fit\(\) keeps"):
        fit_as_batch(Script("a.py", text), 2)
