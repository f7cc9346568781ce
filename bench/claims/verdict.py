"""From numbers to a verdict, by stated rules only."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bench.claims.experiment import Above, Below, Claim, Ratio, Result, Runs
from unslow.analyse.growth import bootstrap_ratio


class Verdict(enum.Enum):
    """What the numbers say of a claim."""

    TRUE = "true"
    FALSE = "false"
    DEPENDS = "depends"
    OPEN = "not settled"


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a claim: its name, what was measured, and what that says."""

    name: str
    verdict: Verdict
    ratio: tuple[float, float, float] | None = None
    values: tuple[float, ...] = ()
    number: str = ""  # the name of what `values` are
    raised: str = ""
    reverse: bool = False  # not only false: the opposite holds


def judge(claim: Claim, result: Result) -> tuple[Verdict, list[Case]]:
    cases = _cases(claim, result)
    return combined([case.verdict for case in cases]), cases


def combined(verdicts: list[Verdict]) -> Verdict:
    """True and false together are `depends`; otherwise a case that is not settled leaves the claim so."""
    kinds = set(verdicts)
    if Verdict.TRUE in kinds and Verdict.FALSE in kinds:
        return Verdict.DEPENDS
    return Verdict.OPEN if Verdict.OPEN in kinds or not kinds else kinds.pop()


def _cases(claim: Claim, result: Result) -> list[Case]:
    rule = claim.rule
    if isinstance(rule, Runs):
        return [_ran(name, side, result) for name, side in rule.cases.items()]
    if isinstance(rule, Ratio):
        return [_ratio(name, pair, rule.at_least, result) for name, pair in rule.cases.items()]
    return [_against(name, number, rule, result) for name, number in rule.cases.items()]


def _ran(name: str, side: str, result: Result) -> Case:
    raised = result.raised.get(side, "")
    return Case(name, Verdict.FALSE if raised else Verdict.TRUE, raised=raised)


def _ratio(name: str, pair: tuple[str, str], at_least: float, result: Result) -> Case:
    larger, smaller = (result.samples.get(number, []) for number in pair)
    # Two numbers of one process share its luck; two processes of one round do not.
    paired = pair[0].split(".")[0] == pair[1].split(".")[0] and len(larger) == len(smaller)
    ratio, low, high = bootstrap_ratio(larger, smaller, paired=paired)
    if low > at_least:
        return Case(name, Verdict.TRUE, (ratio, low, high))
    if high < at_least:
        return Case(name, Verdict.FALSE, (ratio, low, high), reverse=at_least > 1 and high < 1 / at_least)
    return Case(name, Verdict.OPEN, (ratio, low, high))


def _against(name: str, number: str, rule: Above | Below, result: Result) -> Case:
    values = tuple(result.samples.get(number, ()))
    kind = number.split(".", 1)[1]
    above = [value > rule.limit for value in values]
    if not values or any(above) != all(above):
        return Case(name, Verdict.OPEN, values=values, number=kind)
    held = all(above) == isinstance(rule, Above)
    return Case(name, Verdict.TRUE if held else Verdict.FALSE, values=values, number=kind)
