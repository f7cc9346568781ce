"""From numbers to a verdict, by stated rules only."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bench.claims.experiment import Above, Below, Claim, Ratio, Result, Runs
from bench.claims.interval import ratio_of

SLIGHT = 1.25  # a difference below this is none that decides what to do; two medicines count as equal within it


class Verdict(enum.Enum):
    """What the numbers say of a claim."""

    TRUE = "true"
    FALSE = "false"
    SLIGHT = "slight at most"
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
    """A case that is true beside one that is not makes `depends`; otherwise one that is not settled stays so."""
    kinds = set(verdicts)
    if Verdict.TRUE in kinds and kinds & {Verdict.FALSE, Verdict.SLIGHT}:
        return Verdict.DEPENDS
    if Verdict.OPEN in kinds or not kinds:
        return Verdict.OPEN
    return Verdict.SLIGHT if Verdict.SLIGHT in kinds else kinds.pop()


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
    ratio, low, high = ratio_of(larger, smaller, side_of(pair[0]) == side_of(pair[1]))
    if low > at_least:
        return Case(name, Verdict.TRUE, (ratio, low, high))
    if high < at_least:
        return Case(
            name, Verdict.FALSE, (ratio, low, high), reverse=at_least > 1 and high < 1 / at_least
        )
    slight = low > 1 / SLIGHT and high < SLIGHT
    return Case(name, Verdict.SLIGHT if slight else Verdict.OPEN, (ratio, low, high))


def side_of(number: str) -> str:
    """The side that `side.number` names."""
    return number.split(".", 1)[0]


def open_sides(claim: Claim, result: Result) -> set[str]:
    """The sides of which more rounds could settle a claim: those of its ratios that are not settled."""
    verdict, cases = judge(claim, result)
    if verdict is not Verdict.OPEN or not isinstance(claim.rule, Ratio):
        return set()
    names = [case.name for case in cases if case.verdict is Verdict.OPEN]
    return {side_of(number) for name in names for number in claim.rule.cases[name]}


def _against(name: str, number: str, rule: Above | Below, result: Result) -> Case:
    values = tuple(result.samples.get(number, ()))
    kind = number.split(".", 1)[1]
    above = [value > rule.limit for value in values]
    if not values or any(above) != all(above):
        return Case(name, Verdict.OPEN, values=values, number=kind)
    held = all(above) == isinstance(rule, Above)
    return Case(name, Verdict.TRUE if held else Verdict.FALSE, values=values, number=kind)
