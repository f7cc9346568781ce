"""What the view computes: the verdict, growth, traces with their reasons, the way to the first step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unslow.analyse.account import account_of
from unslow.analyse.host.step_profile import Op, SketchedWindow, StepProfile
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.data import BuiltStage
from unslow.facts.functions import Trace
from unslow.facts.memory import MemoryHigh
from unslow.facts.process import ITERATOR_END, Imported
from unslow.facts.profiler import ProfilerWindow
from unslow.facts.schema import Place
from unslow.facts.sessions import GraphGrew
from unslow.model import Diagnosis, Finding, Forecast, Location, Phase, Run, Sample, Shape, Trend
from unslow.report.view import clean, view_of
from unslow.report.view.charts import bucket_starts
from unslow.report.view.loops import trend_text

from .gallery import GALLERY, growth, retracing


def of_run(run: Run) -> dict[str, object]:
    return view_of(Diagnosis(run, (), {}, (), 0.0, 0.0, 0.0))


def test_a_verdict_names_cost_share_and_line() -> None:
    verdict = view_of(retracing())["verdict"]
    assert verdict["kind"] == "fault"
    assert verdict["text"].startswith("Training could be ≈3.4× faster: step is traced again")
    assert verdict["text"].endswith("at train.py:12.")
    assert verdict["more"] == "It takes 21.4 s of 30.3 s of training (71%)."


def test_what_a_first_step_costs_is_a_later_start_and_no_slower_pace() -> None:
    diagnosis = retracing()
    first = replace(diagnosis.findings[0], in_first_step=True)
    text = view_of(replace(diagnosis, findings=(first,)))["verdict"]["text"]
    assert text.startswith("Training could start 21.4 s sooner: step is traced again")


def test_a_healthy_verdict_names_the_step_time_that_its_loop_names() -> None:
    diagnosis = GALLERY["healthy"]()
    loop = diagnosis.run.loops[0]
    slower = replace(loop, trend=replace(loop.trend, after=2 * loop.typical()))
    view = view_of(replace(diagnosis, run=replace(diagnosis.run, loops=(slower,))))
    trend = view["loops"][0]["trend"]["text"]
    assert trend.removeprefix("steady at ") in view["verdict"]["text"]


def test_the_headline_names_time_memory_and_what_becomes_of_the_run() -> None:
    diagnosis = retracing()
    lead = diagnosis.findings[0]
    peak = replace(lead, cause="memory-peak", seconds=0.0, frees=4e8)
    ending = Forecast(step=10_000, bytes=3e10, text="out of memory in about 8,800 steps")
    leak = replace(lead, cause="hoarded-tensors", seconds=0.0, grows=True, forecast=ending)
    more = view_of(replace(diagnosis, findings=(lead, peak, leak)))["verdict"]["more"]
    below = "2 more findings below (400 MB of memory): out of memory in about 8,800 steps."
    assert more.endswith(below)
    first = view_of(replace(diagnosis, findings=(peak,), fixes={}))["verdict"]["more"]
    assert first == "It costs 400 MB of memory."


def test_the_gain_of_all_findings_is_stated_where_it_is_far_more_than_the_first() -> None:
    slow = retracing()
    lead = replace(slow.findings[0], seconds=0.5 * slow.run.trained)
    second = replace(lead, cause="predict-in-loop", seconds=0.4 * slow.run.trained)
    for findings, said in (((lead, second), True), ((lead,), False)):
        account = account_of(slow.run, findings)
        view = view_of(replace(slow, findings=findings, fixes={}, account=account))
        stated = view["verdict"]["more"].endswith("≈10× faster with all of them fixed.")
        assert stated is said


def test_two_steps_show_no_habit_and_the_sentence_says_so() -> None:
    run = Sketch("", [0.5, 0.1], {Phase.RUN: 1.0}, before=0.0).run()
    verdict = of_run(run)["verdict"]
    assert verdict["text"].endswith("(600 ms): too few to show a habit.")  # type: ignore[index]


def test_a_run_without_steps_names_what_it_did_in_plain_words() -> None:
    traced = at(0, Trace(name="f", key="f", n=1))
    seen = of_run(Sketch("", (), facts=[traced]).run())["seen_instead"]
    assert "1 traced function" in seen  # type: ignore[operator]
    assert not any("event" in line for line in seen)  # type: ignore[attr-defined]


def test_a_run_that_got_slower_without_a_cause_is_not_called_healthy() -> None:
    verdict = view_of(GALLERY["slower"]())["verdict"]
    assert verdict["kind"] == "unexplained"
    assert "35% of the training is unexplained" in verdict["more"]


def test_steps_that_got_slower_are_not_said_to_get_faster_beside_an_honest_answer() -> None:
    seconds = [0.01 + 0.0001 * step for step in range(200)]
    busy = Finding("noisy-machine", "the cores were taken", None, 1.0, (), fault=False)
    run = Sketch("slower", seconds, phases={Phase.RUN: 1.0}).run()
    diagnosis = Diagnosis(run, (busy,), {}, (), 0.0, 0.0, 0.0)
    assert "a step, up from 10" in view_of(diagnosis)["verdict"]["text"]


def test_the_peak_of_memory_is_the_one_that_is_split_into_its_parts() -> None:
    high = at(50, MemoryHigh(bytes=9e8, rss=8e8))
    run = Sketch("a peak between two ticks", facts=[high], ticks={"rss": [5e8, 7e8, 6e8]}).run()
    assert of_run(run)["memory"][0]["peak_bytes"] == 9e8  # type: ignore[index]


def test_what_could_not_be_judged_stands_beside_a_healthy_verdict() -> None:
    assert view_of(GALLERY["lost"]())["verdict"]["more"] == "4 causes could not be judged."


def test_memory_that_rises_all_along_is_growth() -> None:
    rss = np.linspace(5e8, 9e8, 200)
    run = Sketch("grows", (0.01,) * 1000, ticks={"rss": rss}, before=0.0).run()
    assert of_run(run)["memory"][0]["growth_per_1000_steps"] == pytest.approx(4e8, rel=0.05)  # type: ignore[index]


def test_one_late_allocation_is_no_growth() -> None:
    rss = [5e8] * 150 + [7e8] * 50
    run = Sketch("one", (0.01,) * 1000, ticks={"rss": rss}, before=0.0).run()
    assert of_run(run)["memory"][0]["growth_per_1000_steps"] == 0.0  # type: ignore[index]


def test_a_short_loop_has_no_growth_per_1000_steps() -> None:
    run = Sketch("short", (0.1,) * 40, ticks={"rss": np.linspace(1e8, 2e8, 50)}, before=0.0).run()
    assert of_run(run)["memory"][0]["growth_per_1000_steps"] is None  # type: ignore[index]


def test_ticks_that_could_not_be_read_are_left_out() -> None:
    run = Sketch("holes", ticks={"rss": [float("nan"), 1e8, float("nan"), 3e8, 2e8]}).run()
    memory = of_run(run)["memory"][0]  # type: ignore[index]
    assert (memory["start_bytes"], memory["peak_bytes"], memory["end_bytes"]) == (1e8, 3e8, 2e8)


def test_a_trace_says_which_argument_changed_from_what_to_what() -> None:
    traced = view_of(retracing())["charts"]["traces"][0]
    assert traced["name"] == "step" and traced["count"] == 297
    assert traced["points"][1][2] == "scale: float 1.000000 → float 0.500000"


def test_another_function_object_is_told_from_another_argument() -> None:
    facts = [
        at(step, Trace(name="f", place=Place("a.py", 1, "f"), function=step, took=0.1, n=step))
        for step in (1, 2)
    ]
    run = Sketch("new objects", facts=facts).run()
    assert of_run(run)["charts"]["traces"][0]["reason"] == "a new function object"  # type: ignore[index]


def test_traces_that_were_too_many_to_keep_are_still_counted() -> None:
    facts = [
        at(step, Trace(name="f", place=Place("a.py", 1, "f"), n=step * 100, sum=step * 7.0))
        for step in (1, 2)
    ]
    traced = of_run(Sketch("many", facts=facts).run())["charts"]["traces"][0]  # type: ignore[index]
    assert (traced["count"], traced["seconds"]) == (200, 14.0)


def test_a_graph_that_did_not_grow_is_not_drawn() -> None:
    facts = [at(step, GraphGrew(graph=1, nodes=50)) for step in (1, 2, 3)]
    assert of_run(Sketch("fixed", facts=facts).run())["charts"]["graphs"] == []  # type: ignore[index]


def test_the_first_step_is_cut_into_import_set_up_and_its_parts() -> None:
    phases = {Phase.TRACE: [0.5] + [0.0] * 99, Phase.RUN: [0.4] + [0.9] * 99}
    imported = at(0, Imported(since=0.0))
    run = Sketch("start", [2.0, *(0.01,) * 99], phases, facts=[imported], before=3.0).run()
    rows = {row["label"]: row["seconds"] for row in of_run(run)["start"]["rows"]}  # type: ignore[index]
    assert rows["import of TensorFlow"] == pytest.approx(1.5)
    assert rows["set-up before the first step"] == pytest.approx(1.5)
    assert rows["first step: tracing functions"] == pytest.approx(1.0)
    assert rows["first step: optimizing, compiling, first-time costs"] == pytest.approx(0.8 - 0.009)
    assert sum(rows.values()) == pytest.approx(5.0, rel=0.01)


def test_the_hottest_lines_are_those_of_the_training_thread() -> None:
    line = (Location("train.py", 3),)
    samples = (
        Sample(line, "python", 0, True, 60, 0, 60),
        Sample((Location("other.py", 9),), "python", 0, False, 500, 0, 0),
    )
    hot = of_run(Sketch("hot", samples=samples).run())["hot_lines"]
    assert [(each["file"], each["share"]) for each in hot] == [("train.py", 1.0)]  # type: ignore[attr-defined]


def test_samples_outside_the_steps_do_not_make_a_line_hot() -> None:
    samples = (
        Sample((Location("train.py", 1),), "keras", 0, True, 500, 0, 0),
        Sample((Location("train.py", 9),), "tensorflow", 0, True, 20, 20, 40),
    )
    hot = of_run(Sketch("import", samples=samples).run())["hot_lines"]
    assert [each["line"] for each in hot] == [9]  # type: ignore[attr-defined]


def test_too_few_samples_name_no_line() -> None:
    samples = (Sample((Location("train.py", 3),), "python", 0, True, 5, 0, 5),)
    assert of_run(Sketch("few", samples=samples).run())["hot_lines"] == []


def test_a_forecast_is_drawn_from_the_end_of_the_run_towards_the_foretold_point() -> None:
    forecast = view_of(growth())["charts"]["steps"][0]["forecast"]
    assert forecast["points"][0] == [1500, 0.433]
    assert forecast["points"][1][0] == 1800
    assert forecast["points"][1][1] == pytest.approx(0.433 + 300 / 98_500 * (27.6 - 0.433))


def test_a_jump_is_drawn_as_two_levels() -> None:
    run = Sketch("jump", [0.01] * 50 + [0.02] * 50).run()
    loop = replace(run.loops[0], trend=Trend(Shape.JUMPED, 0.01, 0.02, at_step=51))
    lines = of_run(replace(run, loops=(loop,)))["charts"]["steps"][0]["trend"]["lines"]  # type: ignore[index]
    assert lines == [[[1, 0.01], [51, 0.01]], [[51, 0.02], [100, 0.02]]]


@pytest.mark.parametrize(("after", "verb"), [(0.02, "jumped"), (0.005, "dropped")])
def test_a_step_that_becomes_shorter_dropped(after: float, verb: str) -> None:
    run = Sketch("jump", [0.01] * 50 + [after] * 50).run()
    loop = replace(run.loops[0], trend=Trend(Shape.JUMPED, 0.01, after, at_step=51))
    assert trend_text(loop).startswith(f"{verb} at step 51 from 10.0 ms")


def test_merged_rows_keep_their_least_and_greatest_step() -> None:
    run = Sketch("merged", (0.01,) * 50).run()
    count = np.full(50, 1000, dtype=np.int64)
    low, high = np.full(50, 0.005), np.full(50, 0.01)
    high[20] = 3.0
    loop = replace(run.loops[0], count=count, low=low, high=high)
    chart = of_run(replace(run, loops=(loop,)))["charts"]["steps"][0]  # type: ignore[index]
    assert (
        chart["merged"]
        and max(chart["high"]) == 3.0
        and min(chart["low"]) == 0.005
        and chart["x"][-1] == 50_000
    )


def test_workers_are_shown_side_by_side_only_where_there_are_several() -> None:
    run = retracing().run
    assert of_run(run)["workers"] == []
    second = replace(run.processes[0], index=1, worker="worker 1")
    both = replace(
        run,
        processes=(*run.processes, second),
        loops=(*run.loops, replace(run.loops[0], process=1)),
    )
    assert [each["name"] for each in of_run(both)["workers"]] == ["process 0", "worker 1"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("rows", "points"), [(1, 10), (10, 10), (11, 10), (100_001, 6000)])
def test_every_row_falls_into_one_group(rows: int, points: int) -> None:
    starts = bucket_starts(rows, points)
    assert (
        starts[0] == 0
        and (np.diff(starts) > 0).all()
        and len(starts) == min(rows, points)
        and starts[-1] < rows
    )


def test_everything_in_the_view_is_plain_data() -> None:
    cleaned = clean(
        {"a": (np.float64(1.5), np.int64(2)), "b": float("inf"), "c": "\udcff\x00", 4: {Phase.RUN}}
    )
    assert cleaned["a"] == [1.5, 2] and cleaned["b"] is None and cleaned["c"] == "\\xff\\x00"


def test_a_pipeline_is_drawn_from_its_source_with_the_slowest_stage_marked() -> None:
    prefetch = Made("Prefetch", asynchronous=True, buffered=1.0, line=6)
    stages = [
        Made("TensorSlice", 0.0001, line=4),
        Made("ParallelMap", 0.08, asynchronous=True, parallelism=2.0, line=5),
        replace(prefetch, asked=BuiltStage(kind="Prefetch", buffer_size=4)),
    ]
    run = Sketch("fed", facts=pipeline_facts(*stages, wait=0.01)).run()
    drawn = of_run(run)["pipelines"][0]  # type: ignore[index]
    names = [(stage["name"], stage["slowest"]) for stage in drawn["stages"]]
    assert names == [("TensorSlice", False), ("ParallelMap", True), ("Prefetch", False)]
    assert drawn["stages"][1]["seconds"] == pytest.approx(0.04)
    assert drawn["stages"][2]["full"] == 0.25


def test_the_most_expensive_ops_of_a_step_come_from_the_last_window() -> None:
    facts = []
    for step in (20, 50):
        ops = (Op("dense/MatMul", "MatMul", 4, 0.01 * step / 50),)
        profile = StepProfile(kernels=0.018, ops=ops)
        facts.append(at(step, SketchedWindow(steps=2, step=step, wall=0.02, profile=profile)))
    shown = of_run(Sketch("profiled", facts=facts).run())["kernels"][0]  # type: ignore[index]
    assert (shown["after"], shown["kernels_share"]) == (50, pytest.approx(0.9))
    assert shown["ops"] == [
        {
            "name": "dense/MatMul",
            "kind": "MatMul",
            "count": 2,
            "seconds": 0.005,
            "share": pytest.approx(0.5),
        }
    ]


def test_a_window_that_cannot_be_read_makes_no_table() -> None:
    facts = [at(20, ProfilerWindow(steps=2, file="gone.pb"))]
    assert of_run(Sketch("damaged", facts=facts).run())["kernels"] == []


def test_memory_is_drawn_by_who_holds_it() -> None:
    chart = view_of(GALLERY["hoarding"]())["charts"]["memory"][0]
    assert [(each["path"], each["bytes"][-1], each["elements"]) for each in chart["holders"]] == [
        ("history", 8e8, 400)
    ]
    assert chart["heap"][0] == pytest.approx(4.8e8)


def test_a_cost_in_memory_alone_is_reported_by_its_forecast() -> None:
    verdict = view_of(GALLERY["hoarding"]())["verdict"]
    assert verdict["text"].endswith("800 MB after 400 steps, at train.py:13.")
    assert verdict["more"] == "The memory is full 7,300 steps later."


def test_further_findings_about_memory_are_not_said_to_cost_no_time() -> None:
    slow, full = retracing(), GALLERY["hoarding"]()
    both = (slow.findings[0], full.findings[0])
    more = view_of(replace(slow, findings=both, fixes={}))["verdict"]["more"]
    assert more.endswith("1 more finding below: the memory is full 7,300 steps later.")


def test_what_lies_outside_of_the_steps_is_measured_against_the_run() -> None:
    diagnosis = retracing()
    outside = replace(diagnosis.findings[0], stretch="set-up")
    view = view_of(replace(diagnosis, findings=(outside,)))
    assert view["findings"][0]["share"] == pytest.approx(outside.seconds / view["seconds"])
    assert view["verdict"]["text"].startswith("The run could be")
    assert "of the run (" in view["verdict"]["more"]


def test_a_finding_that_was_ignored_is_counted() -> None:
    diagnosis = retracing()
    view = view_of(replace(diagnosis, findings=()), ignored=[(diagnosis.findings[0], "a comment")])
    assert view["ignored"] == [
        {"cause": "retracing", "line": "train.py:12", "seconds": 21.4, "reason": "a comment"}
    ]


def test_what_to_type_next_names_the_run_and_its_fix() -> None:
    commands = [command for command, _ in view_of(retracing())["next"]]
    assert commands[:2] == [
        "unslow fix 20260101-120000-train",
        "unslow fix 20260101-120000-train --prove --apply",
    ]


def test_the_hottest_lines_are_those_of_the_whole_program_after_the_import() -> None:
    samples = (
        Sample((Location("train.py", 1),), "keras", 0, True, 300, 0, 0, bins=((0.0, 0.4, 300),)),
        Sample(
            (Location("train.py", 30),), "tensorflow", 0, True, 0, 60, 0, bins=((3.0, 9.0, 60),)
        ),
    )
    imported = at(0, Imported(since=0.0))
    run = Sketch("late", samples=samples, facts=[imported], after=9.0).run()
    assert [each["line"] for each in of_run(run)["hot_lines"]] == [30]  # type: ignore[attr-defined, index]


def test_a_wait_for_the_end_of_an_iterator_is_no_python_of_the_users() -> None:
    samples = (Sample((Location("train.py", 35),), ITERATOR_END, 0, True, 40, 0, 40),)
    (hot,) = of_run(Sketch("end", samples=samples).run())["hot_lines"]  # type: ignore[misc]
    assert (hot["below"][0]["name"], hot["own_share"]) == ("iterator's end", 0.0)


def test_a_few_long_steps_put_the_mean_beside_the_usual_step() -> None:
    pauses = [0.4 if step in (13, 29, 47, 71, 96) else 0.01 for step in range(100)]
    assert "(29.7 ms on average)" in trend_text(Sketch("pauses", pauses).run().loops[0])
    assert "average" not in trend_text(Sketch("even", [0.01] * 100).run().loops[0])
