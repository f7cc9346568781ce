"""The page of the claims says what was measured, and every claim has its answer."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.claims import kept, page
from bench.claims.catalogue import EXPERIMENTS, claims
from bench.claims.documents import DOCUMENTS
from bench.claims.experiment import Claim, Ratio, Result, Runs, Untested
from bench.claims.interval import ratio_of
from bench.claims.verdict import Verdict, combined, judge, open_sides
from unslow.proof.whatif.catalogue import GROUPS

ROOT = Path(__file__).parents[1]
CLAIMS = dict(claims())


def test_the_page_is_not_stale() -> None:
    if page.PAGE.read_text(encoding="utf-8") != page.text(kept.read()):
        pytest.fail(
            "docs/claims.md is not what its numbers say: run python -m bench.claims --page",
            pytrace=False,
        )


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
    assert {experiment.id for experiment in EXPERIMENTS} == {
        claim.experiment for claim in CLAIMS.values()
    }


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


def test_a_narrow_interval_that_holds_the_limit_is_a_slight_difference_at_most() -> None:
    assert _ratio([1.09, 1.10, 1.11, 1.12, 1.10], [1.0, 1.0, 1.01, 1.0, 0.99]) is Verdict.SLIGHT


def test_a_case_that_is_true_beside_a_slight_one_makes_a_claim_depend() -> None:
    assert combined([Verdict.TRUE, Verdict.SLIGHT, Verdict.OPEN]) is Verdict.DEPENDS


def test_a_false_case_beside_a_slight_one_leaves_a_slight_difference() -> None:
    assert combined([Verdict.FALSE, Verdict.SLIGHT]) is Verdict.SLIGHT


def test_a_machine_whose_pace_wanders_cancels_round_by_round() -> None:
    pace = [1.0, 1.6, 0.7, 1.3, 2.0, 0.8]
    assert _ratio([1.5 * each for each in pace], pace) is Verdict.TRUE


def test_more_rounds_are_asked_of_the_open_case_only() -> None:
    claim = Claim("", "", Ratio({"settled": ("a.s", "b.s"), "open": ("a.s", "c.s")}))
    samples = {"a.s": [2.0, 2.1, 1.9], "b.s": [1.0, 1.0, 1.0], "c.s": [1.0, 2.5, 1.9]}
    assert open_sides(claim, Result("", samples)) == {"a", "c"}


def test_an_interval_of_99_per_cent_holds_the_truth_as_often() -> None:
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(400):
        _, low, high = ratio_of(
            rng.lognormal(0.2, 0.1, 6), rng.lognormal(0.0, 0.1, 6), one_process=False
        )
        missed += not low < np.exp(0.2) < high
    assert missed <= 12


def test_a_case_that_is_open_keeps_an_agreeing_claim_open() -> None:
    assert combined([Verdict.TRUE, Verdict.OPEN]) is Verdict.OPEN


def test_code_that_raised_does_not_run() -> None:
    claim = Claim("", "", Runs({"as printed": "a"}))
    assert judge(claim, Result("", raised={"a": "TypeError: no"}))[0] is Verdict.FALSE
