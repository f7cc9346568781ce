"""SARIF against the official schema where it can be had, and against what code scanning needs always."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from unslow import cause
from unslow.report import sarif
from unslow.report.view import view_of

from .gallery import GALLERY, LINE, retracing

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"  # ships the OASIS schema, sarif-2.1.0-rtm.5


@pytest.fixture(scope="module")
def official(npm: Callable[[str], Path]) -> dict[str, Any]:
    """The OASIS schema."""
    text = (npm(PACKAGE) / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def run_of(name: str) -> dict[str, Any]:
    log = json.loads(sarif.dumps(view_of(GALLERY[name]())))
    found: dict[str, Any] = log["runs"][0]
    return found


@pytest.mark.parametrize("name", GALLERY)
def test_every_report_follows_the_official_schema(name: str, official: dict[str, Any]) -> None:
    jsonschema.validate(json.loads(sarif.dumps(view_of(GALLERY[name]()))), official)


def test_every_cause_is_a_rule_whether_it_fired_or_not() -> None:
    rules = [rule["id"] for rule in run_of("healthy")["tool"]["driver"]["rules"]]
    assert rules == [each.id for each in cause.load()[0]]


@pytest.mark.parametrize("name", GALLERY)
def test_every_result_points_at_its_rule(name: str) -> None:
    run = run_of(name)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


@pytest.mark.parametrize("name", GALLERY)
def test_every_result_has_a_place_below_the_root_and_a_fingerprint(name: str) -> None:
    for result in run_of(name)["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] in run_of(name)["originalUriBaseIds"]
        assert not place["artifactLocation"]["uri"].startswith(("/", "file:"))
        assert place["region"]["startLine"] >= 1
        assert result["partialFingerprints"]


def test_a_fingerprint_survives_lines_that_move() -> None:
    def fingerprint(line: int) -> dict[str, str]:
        diagnosis = retracing()
        where = replace(LINE, line=line, code="loss = step(x, y, scale)")
        moved = replace(diagnosis, findings=(replace(diagnosis.findings[0], location=where),))
        found: dict[str, str] = sarif.log_of(view_of(moved))["runs"][0]["results"][0][
            "partialFingerprints"
        ]
        return found

    assert fingerprint(12) == fingerprint(40)


def test_two_findings_at_one_line_have_two_fingerprints() -> None:
    diagnosis = retracing()
    twice = replace(diagnosis, findings=(diagnosis.findings[0], diagnosis.findings[0]))
    results = sarif.log_of(view_of(twice))["runs"][0]["results"]
    assert results[0]["partialFingerprints"] != results[1]["partialFingerprints"]


def test_a_path_with_odd_characters_becomes_a_uri() -> None:
    uri = run_of("unicode")["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ]
    assert uri == "caf%C3%A9/%E8%A8%93%E7%B7%B4.py"


def test_what_is_no_fault_is_informational() -> None:
    results = {result["ruleId"]: result for result in run_of("several")["results"]}
    assert (results["compute-bound"]["kind"], results["compute-bound"]["level"]) == (
        "informational",
        "none",
    )
