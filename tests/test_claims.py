"""The page of the claims says what was measured, and every claim has its answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.claims import kept, page
from bench.claims.catalogue import EXPERIMENTS, claims
from bench.claims.documents import DOCUMENTS
from bench.claims.experiment import Claim, Ratio, Result, Runs, Untested
from bench.claims.verdict import Verdict, combined, judge
from unslow.whatif.settings import GROUPS

ROOT = Path(__file__).parents[1]
CLAIMS = dict(claims())


def test_the_page_is_not_stale() -> None:
    if page.PAGE.read_text(encoding="utf-8") != page.text(kept.read()):
        pytest.fail("docs/claims.md is not what its numbers say: run python -m bench.claims --page", pytrace=False)


@pytest.mark.parametrize("number", CLAIMS)
def test_every_claim_has_a_result(number: str) -> None:
    result = kept.read().results[CLAIMS[number].experiment]
    for case in judge(CLAIMS[number], result)[1]:
        assert case.ratio or case.values or isinstance(CLAIMS[number].rule, Runs), case.name


@pytest.mark.parametrize("number", CLAIMS)
def test_every_claim_names_sides_and_numbers_that_exist(number: str) -> None:
    claim = CLAIMS[number]
    experiment = next(one for one in EXPERIMENTS if one.id == claim.experiment)
    measured = {f"{side}.{number}" for side in experiment.sides for number in experiment.units}
    known = set(experiment.sides) if isinstance(claim.rule, Runs) else measured
    assert set(_named(claim)) <= known


def _named(claim: Claim) -> list[str]:
    named: list[str] = []
    for case in claim.rule.cases.values():
        named += [case] if isinstance(case, str) else list(case)
    return named


def test_every_claim_links_to_a_cause_or_a_setting_that_exists() -> None:
    tested: list[Claim | Untested] = [claim for document in DOCUMENTS for claim in document.claims]
    for claim in tested + [claim for document in DOCUMENTS for claim in document.untested]:
        assert claim.causes or claim.whatif, claim.words
        for cause in claim.causes:
            assert (ROOT / "docs" / "causes" / f"{cause}.md").exists(), cause
        assert set(claim.whatif) <= set(GROUPS), claim.whatif
    assert (ROOT / "docs" / "whatif.md").exists()


def test_every_experiment_answers_a_claim() -> None:
    assert {experiment.id for experiment in EXPERIMENTS} == {claim.experiment for claim in CLAIMS.values()}


def test_every_link_inside_the_page_has_its_heading() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    headings = set(re.findall(r"^### (\S+)$", text, flags=re.MULTILINE))
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def _ratio(larger: list[float], smaller: list[float]) -> Verdict:
    claim = Claim("", "", Ratio({"case": ("a.s", "b.s")}))
    return judge(claim, Result("", {"a.s": larger, "b.s": smaller}))[0]


def test_a_ratio_whose_interval_is_above_the_limit_is_true() -> None:
    assert _ratio([2.0, 2.1, 1.9, 2.0], [1.0, 1.0, 1.1, 0.9]) is Verdict.TRUE


def test_a_ratio_whose_interval_is_below_the_limit_is_false() -> None:
    assert _ratio([1.0, 1.01, 0.99, 1.0], [1.0, 1.0, 1.01, 0.99]) is Verdict.FALSE


def test_a_ratio_whose_interval_holds_the_limit_is_not_settled() -> None:
    assert _ratio([1.0, 1.5, 0.8, 1.3], [1.0, 0.9, 1.2, 1.0]) is Verdict.OPEN


def test_cases_that_disagree_make_a_claim_depend() -> None:
    assert combined([Verdict.TRUE, Verdict.FALSE, Verdict.OPEN]) is Verdict.DEPENDS


def test_a_case_that_is_open_keeps_an_agreeing_claim_open() -> None:
    assert combined([Verdict.TRUE, Verdict.OPEN]) is Verdict.OPEN


def test_code_that_raised_does_not_run() -> None:
    claim = Claim("", "", Runs({"as printed": "a"}))
    assert judge(claim, Result("", raised={"a": "TypeError: no"}))[0] is Verdict.FALSE
