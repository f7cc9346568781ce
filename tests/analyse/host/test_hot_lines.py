"""Hot lines of the user's own Python: which samples are theirs, and which line stands for them."""

from __future__ import annotations

from unslow.analyse.host.hot_lines import (
    Grown,
    grows_with,
    hot_lines,
    hottest_below,
    seconds_around,
    together,
)
from unslow.analyse.scopes import Sources
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.facts.memory import Sizes
from unslow.facts.schema import Place
from unslow.model import Location, Phase, Sample

SOURCE = """def rank(items):
    total = 0
    for item in items:
        a = item * 2
        b = a + item
        total += b
    return total

def batches():
    while True:
        yield prepare()

for epoch in range(3):
    shuffle(data)
    for batch in batches():
        rank(history)
        train(batch)
"""


def sample(
    *lines: tuple[int, str], leaf: str = "python", count: int = 20, phase: Phase = Phase.OTHER
) -> Sample:
    stack = tuple(Location("train.py", line, function) for line, function in lines)
    return Sample(stack, leaf, 0, True, count // 2, count - count // 2, count, phase)


def run(*samples: Sample, **more: object):  # type: ignore[no-untyped-def]
    sketch = Sketch(
        "", phases={Phase.RUN: 0.5}, source=SOURCE, line=15, update=17, samples=samples, **more
    )  # type: ignore[arg-type]
    return sketch.run()


RUN = sample((17, "<module>"), leaf="tensorflow", phase=Phase.RUN)


def test_the_innermost_line_that_holds_most_of_the_time_is_named() -> None:
    deep = sample((5, "rank"), (16, "<module>"), count=40)
    (hot,) = hot_lines(run(deep, RUN), 0)
    assert (hot.location.line, hot.within.line) == (5, 16)


def test_a_loop_over_several_lines_is_named_by_its_most_expensive() -> None:
    spread = [
        sample((line, "rank"), (16, "<module>"), count=count)
        for line, count in ((4, 10), (5, 14), (6, 12))
    ]
    (hot,) = hot_lines(run(*spread, RUN), 0)
    assert hot.location.line == 5 and hot.samples == 36


def test_work_between_epochs_belongs_to_the_training() -> None:
    (hot,) = hot_lines(run(sample((14, "<module>")), RUN), 0)
    assert hot.location.line == 14


def test_a_generator_is_a_wait_for_data() -> None:
    assert not hot_lines(run(sample((11, "batches"), (15, "<module>")), RUN), 0)


def test_tensorflow_below_a_line_is_not_the_lines_own_time() -> None:
    assert not hot_lines(run(sample((16, "<module>"), leaf="tensorflow"), RUN), 0)


def test_the_rest_of_the_step_is_shared_out_by_samples() -> None:
    hot, other = hot_lines(
        run(sample((16, "<module>"), count=30), sample((14, "<module>"), count=10), RUN), 0
    )
    assert round(hot.seconds / other.seconds) == 3
    assert abs(hot.seconds + other.seconds - 0.5) < 0.01


def test_the_hottest_line_of_a_hook_is_found_below_it() -> None:
    below = sample((5, "rank"), (12, "on_epoch_end"), phase=Phase.HOOKS)
    found = hottest_below(run(below), 0, Location("train.py", 11, "on_epoch_end"), Phase.HOOKS)
    assert found is not None and found.line == 5


def test_time_around_a_line_is_that_of_its_loop() -> None:
    spread = [sample((line, "rank"), (16, "<module>"), leaf="tensorflow") for line in (4, 5)]
    assert seconds_around(run(*spread, RUN), 0, Location("train.py", 4)) > 0.6


def test_a_line_grows_with_the_container_it_names() -> None:
    place = Place("train.py", 16, "<module>")
    seen = [
        at(step, Sizes(place=place, step=step, sizes=(("data", 900), ("history", 10 * step))))
        for step in (10, 40, 80)
    ]
    found = grows_with(run(RUN, facts=seen), 0, Location("train.py", 16, "<module>"))
    assert found == Grown("history", 100, 800)


def test_loops_are_those_of_the_function_that_a_line_stands_in() -> None:
    sources = Sources({"train.py": SOURCE})
    assert [loop.lineno for loop in sources.loops(Location("train.py", 17))] == [13, 15]
    assert [loop.lineno for loop in sources.loops(Location("train.py", 5))] == [3]
    assert sources.yields(Location("train.py", 11)) and not sources.yields(Location("train.py", 5))


def test_lines_of_one_function_count_together_by_the_hottest() -> None:
    samples = [
        sample((2, "rank"), (16, "<module>"), count=60),
        sample((7, "rank"), (16, "<module>"), count=40),
    ]
    seen = run(*samples, RUN)
    (joined,) = together(hot_lines(seen, 0), Sources(seen.sources))
    assert (joined.location.line, joined.function) == (2, "rank")
    assert joined.in_line < joined.seconds and joined.samples == 100
