"""The JSON report and its schema, which other tools rely on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from unslow.model import Evidence, Finding
from unslow.report import json_report
from unslow.report.view import view_of

from .gallery import GALLERY, proof, retracing

DESIGNED = {
    "schema",
    "command",
    "ended",
    "loops",
    "findings",
    "not_judged",
    "unexplained_seconds",
    "own_cost",
    "healthy",
}


def dumped(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json_report.dumps(view_of(GALLERY[name](), {0: proof()})))
    return loaded


@pytest.mark.parametrize("name", GALLERY)
def test_every_report_follows_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator(json_report.schema()).validate(dumped(name))


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(json_report.schema())


def test_the_promised_keys_are_required_by_the_schema() -> None:
    assert set(json_report.schema()["required"]) >= DESIGNED


def test_the_schema_has_a_place_for_each_key_that_is_written() -> None:
    assert set(json_report.schema()["properties"]) == set(dumped("healthy"))


def test_an_unknown_key_is_refused_by_the_schema() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(json_report.schema()).validate(
            {**dumped("healthy"), "surprise": 1}
        )


def test_a_finding_has_its_cause_line_cost_and_fix() -> None:
    finding = dumped("retracing")["findings"][0]
    assert finding["cause"] == "retracing"
    assert finding["location"] == {
        "file": "train.py",
        "line": 12,
        "function": "<module>",
        "code": "loss = step(x, y, scale)",
    }
    assert finding["seconds"] == 21.4
    assert finding["share"] == pytest.approx(21.4 / dumped("retracing")["training_seconds"])
    assert "+    loss = step(x, y, tf.constant(scale))\n" in finding["fix"]["diff"]


def test_the_phases_of_a_loop_sum_to_its_seconds() -> None:
    for loop in dumped("several")["loops"]:
        assert sum(loop["phases"].values()) == pytest.approx(loop["seconds"])


def test_a_number_that_json_cannot_carry_becomes_null() -> None:
    diagnosis = retracing()
    finding = Finding(
        "x", "x", None, 1.0, (Evidence("ratio", float("inf")), Evidence("none", float("nan")))
    )
    loaded = json.loads(json_report.dumps(view_of(replace(diagnosis, findings=(finding,)))))
    assert [each["value"] for each in loaded["findings"][0]["evidence"]] == [None, None]


def test_bytes_that_were_no_utf8_are_written_as_escapes() -> None:
    assert "b\\xe9ta\\x1b[31m" in dumped("unicode")["command"]
    json_report.dumps(view_of(GALLERY["unicode"]())).encode("utf-8")
