"""The fences, the merging and the ranking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from unslow.analyse.sketches.sketch import Sketch
from unslow.analyse.stretches import AFTER
from unslow.cause import CannotJudge, Cause
from unslow.diagnose import Memory, diagnose, fold, merge, rank
from unslow.model import Evidence, Finding, Forecast, Location, Run

RUN = Sketch("a run of a second", [0.01] * 100, before=0.0).run()
ONE = Finding("one", "one", None, 0.5, (Evidence("a", 1),))


class Deep(Cause):
    title = "deep"
    deeper_than = ("two",)

    @property
    def id(self) -> str:
        return "one"


class Raises(Cause):
    def detect(self, run: Run) -> Iterable[Finding]:
        raise ZeroDivisionError("oops")


class Declines(Cause):
    def detect(self, run: Run) -> Iterable[Finding]:
        raise CannotJudge("no samples were taken")


class Finds(Cause):
    def __init__(self, *findings: Finding) -> None:
        self.findings = findings

    def detect(self, run: Run) -> Iterable[Finding]:
        return self.findings


class Needs(Cause):
    needs = ("memory",)


def test_a_cause_that_fails_is_named_and_the_others_speak() -> None:
    found = diagnose(RUN, [Raises(), Finds(ONE)], with_fixes=False)
    assert [one.cause for one in found.findings] == ["one"]
    assert any("ZeroDivisionError: oops" in one.reason for one in found.not_judged)


def test_a_cause_that_cannot_judge_says_why() -> None:
    found = diagnose(RUN, [Declines()], with_fixes=False)
    assert [one.reason for one in found.not_judged] == ["no samples were taken"]


def test_a_cause_whose_probe_was_lost_is_not_judged() -> None:
    run = Sketch("lost", lost={"memory": "no such door"}).run()
    (unjudged,) = diagnose(run, [Needs()], with_fixes=False).not_judged
    assert "no such door" in unjudged.reason


def test_a_run_without_any_process_is_not_called_healthy() -> None:
    found = diagnose(replace(RUN, processes=(), loops=()), [Finds()], with_fixes=False)
    assert not found.healthy and found.not_judged


def test_a_cost_below_five_per_cent_is_no_finding_unless_it_grows() -> None:
    small = replace(ONE, seconds=0.04)
    assert not diagnose(RUN, [Finds(small)], with_fixes=False).findings
    assert diagnose(RUN, [Finds(replace(small, grows=True))], with_fixes=False).findings


def test_a_large_part_of_a_training_that_is_short_beside_its_import_is_no_finding() -> None:
    run = Sketch("ten seconds of import", [0.001] * 100, before=10.0).run()
    half_of_it = replace(ONE, seconds=0.05)
    assert half_of_it.share_of(run) > 0.4
    assert not diagnose(run, [Finds(half_of_it)], with_fixes=False).findings


def test_what_every_process_does_at_one_line_is_told_once() -> None:
    here = replace(ONE, location=Location("train.py", 7, code="step()"))
    there = replace(here, seconds=0.75, title="the most expensive")
    other = replace(here, location=Location("train.py", 9))
    told = fold([here, other, there])
    assert [(one.title, one.seconds) for one in told] == [
        ("the most expensive", 1.25),
        ("one", 0.5),
    ]
    assert told[0].evidence[-1].value == 2


def test_half_of_the_peak_is_worth_more_than_a_tenth_of_the_training() -> None:
    peak = replace(ONE, cause="peak", seconds=0.0, frees=6e8)
    slow, slower = replace(ONE, seconds=0.2), replace(ONE, seconds=0.4)
    for time, first in ((slow, "peak"), (slower, "one")):
        assert rank([time, peak], 1.0, Memory(peak=1e9))[0].cause == first


class DeepAtLine(Deep):
    deeper_than = ()
    deeper_at_line = ("two",)


def test_a_symptom_at_the_line_of_its_cause_is_merged_and_one_elsewhere_is_not() -> None:
    here = replace(ONE, location=Location("train.py", 7))
    same = replace(here, cause="two", seconds=0.4)
    elsewhere = replace(same, location=Location("train.py", 9))
    assert [one.cause for one in merge([here, same], [DeepAtLine()])] == ["one"]
    assert len(merge([here, elsewhere], [DeepAtLine()])) == 2


def test_what_costs_each_of_many_processes_a_little_is_a_finding() -> None:
    many = replace(
        RUN, processes=RUN.processes * 4, loops=RUN.loops * 4
    )  # four seconds of training in all
    small = replace(ONE, seconds=0.06)
    assert not diagnose(many, [Finds(small)], with_fixes=False).findings
    assert diagnose(many, [Finds(*[small] * 4)], with_fixes=False).findings


def test_a_symptom_is_merged_into_its_cause() -> None:
    (left,) = merge([ONE, replace(ONE, cause="two")], [Deep()])
    assert left.cause == "one" and left.merged == ("two",)


def test_what_costs_many_times_as_much_is_not_a_symptom_alone() -> None:
    much = replace(ONE, cause="two", seconds=10 * ONE.seconds)
    assert [one.merged for one in merge([ONE, much], [Deep()])] == [(), ()]


def test_two_lines_with_one_fault_explain_its_symptom_together() -> None:
    here, there = (replace(ONE, location=Location("train.py", line)) for line in (7, 9))
    much = replace(ONE, cause="two", seconds=2 * ONE.seconds)
    assert [one.merged for one in merge([here, much], [Deep()])] == [(), ()]
    assert [one.merged for one in merge([here, there, much], [Deep()])] == [("two",), ()]


def test_an_honest_answer_takes_in_only_what_it_can_well_explain() -> None:
    honest = replace(ONE, fault=False, seconds=0.5)
    small, large = replace(ONE, cause="two", seconds=0.2), replace(ONE, cause="two", seconds=0.4)
    assert [one.seconds for one in merge([honest, small, large], [Deep()])] == [0.5, 0.4]


def test_faults_come_before_honest_answers_and_the_most_expensive_first() -> None:
    honest, cheap = replace(ONE, fault=False, seconds=9.0), replace(ONE, seconds=0.1)
    assert rank([honest, cheap, ONE], 1.0, Memory()) == [ONE, cheap, honest]


class Yields(Cause):
    yields = True

    @property
    def id(self) -> str:
        return "slow-line"


def test_a_slow_line_is_left_to_the_cause_that_says_why_it_is_slow() -> None:
    here = replace(ONE, location=Location("train.py", 7))
    slow = replace(here, cause="slow-line", seconds=0.1)
    (left,) = merge([here, slow], [Deep(), Yields()])
    assert left.cause == "one" and left.merged == ("slow-line",)


def test_a_slow_line_elsewhere_is_a_finding_of_its_own() -> None:
    here = replace(ONE, location=Location("train.py", 7))
    slow = replace(here, cause="slow-line", seconds=0.1, location=Location("train.py", 9))
    assert len(merge([here, slow], [Deep(), Yields()])) == 2


def test_memory_that_only_grows_stands_above_small_costs_and_below_large_ones() -> None:
    leak = replace(
        ONE, cause="leak", seconds=0.0, grows=True, forecast=Forecast(step=1000, bytes=1e10)
    )
    small = replace(ONE, cause="small", seconds=0.05)
    assert [finding.cause for finding in rank([small, leak, ONE], 1.0, Memory())] == [
        "one",
        "leak",
        "small",
    ]


def test_a_leak_that_will_end_the_run_stands_above_what_is_lost_now() -> None:
    forecast = Forecast(step=10_000, bytes=30e9, text="out of memory in about 8,800 steps")
    leak = replace(ONE, cause="leak", seconds=0.0, grows=True, forecast=forecast)
    ranked = rank([ONE, leak], trained=2.0, memory=Memory(limit=16e9))
    assert [finding.cause for finding in ranked] == ["leak", "one"]


def test_a_folder_that_grows_is_not_weighed_against_the_memory() -> None:
    forecast = Forecast(step=10_000, bytes=30e9, on_disk=True)
    files = replace(ONE, cause="files", seconds=0.0, grows=True, forecast=forecast)
    ranked = rank([files, ONE], trained=2.0, memory=Memory(limit=16e9))
    assert [finding.cause for finding in ranked] == ["one", "files"]


def test_findings_of_one_cause_in_one_function_count_together() -> None:
    largest = replace(ONE, seconds=0.5, location=Location("train.py", 3, "other"))
    lines = [
        replace(ONE, cause="two", seconds=0.3, location=Location("train.py", line, "learn"))
        for line in (7, 8)
    ]
    assert [finding.cause for finding in rank([largest, *lines], 1.0, Memory())] == [
        "two",
        "two",
        "one",
    ]


def test_lines_at_the_top_level_of_a_file_count_by_themselves() -> None:
    largest = replace(ONE, seconds=0.5, location=Location("train.py", 3, "<module>"))
    lines = [
        replace(ONE, cause="two", seconds=0.3, location=Location("train.py", line, "<module>"))
        for line in (7, 8)
    ]
    assert [finding.cause for finding in rank([largest, *lines], 1.0, Memory())] == [
        "one",
        "two",
        "two",
    ]


def test_what_costs_time_does_not_explain_a_peak_of_memory() -> None:
    peak = replace(ONE, cause="two", seconds=0.0, frees=4e8)
    assert len(merge([ONE, peak], [Deep()])) == 2


def test_one_line_in_several_parts_of_the_run_is_one_finding() -> None:
    inside = Finding("retracing", "in the steps", Location("train.py", 5), 3.0, ())
    after = replace(inside, title="after them", seconds=2.0, stretch=AFTER)
    (found,) = fold([inside, after])
    assert (found.title, found.seconds) == ("in the steps", 5.0)
    assert (found.seconds_in(""), found.seconds_in(AFTER)) == (3.0, 2.0)
