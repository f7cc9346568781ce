"""The verdict: what interleaved trials can and cannot buy. Trials are made up here; the live tests run real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.errors import UnslowError
from unslow.facts.memory import MemoryHigh
from unslow.model import Finding, Peak, Verdict
from unslow.proof import prove as proving
from unslow.proof.measures import PeakMemory, SteadySteps, WholeProgram
from unslow.proof.quality import STEPS, Comparison, Plan
from unslow.proof.question import PAIRS, TO_THE_END, Question, question_for
from unslow.proof.speed import speed_verdict
from unslow.proof.trials import Side, Trial, difference

BEFORE, AFTER = Side(["before"], "/"), Side(["after"], "/")


def trial(
    seconds: np.ndarray, weights: float = 1.0, ended: str = "exit 0", rss: np.ndarray | None = None
) -> Trial:
    memory = np.zeros(0) if rss is None else rss
    return Trial(
        ended=ended,
        steps=len(seconds),
        seconds=seconds,
        ends=np.cumsum(seconds),
        rss=memory,
        rss_steps=np.arange(len(memory), dtype=float),
        weights={"w": np.full(4, weights)},
        peak=0.0,
        errors="Traceback\nValueError: no such shape",
    )


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let `prove` see made-up trials: a function of the side."""

    def use(make: Callable[[bool], Trial]) -> None:
        def run(side: Side, steps: int, **options: object) -> Trial:
            return make(side is AFTER)

        monkeypatch.setattr(proving, "run_trial", run)

    return use


def noisy(rng: np.random.Generator, level: float, steps: int = 200) -> np.ndarray:
    """Step times with noise within a process, and a level that differs between processes."""
    return level * rng.lognormal(0, 0.08) * rng.lognormal(0, 0.2, steps)


def verdict(question: Question | None = None) -> Verdict:
    return proving.prove(BEFORE, AFTER, question or Question(200)).verdict


def test_twice_as_fast_with_the_same_weights_is_proved(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    trials(lambda after: trial(noisy(rng, 0.005 if after else 0.01)))
    assert verdict() is Verdict.PROVED


def test_twice_as_slow_is_slower(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    trials(lambda after: trial(noisy(rng, 0.02 if after else 0.01)))
    assert verdict() is Verdict.SLOWER


def test_faster_with_other_weights_is_not_proved(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    trials(lambda after: trial(noisy(rng, 0.005 if after else 0.01), weights=1.5 if after else 1.0))
    assert verdict() is Verdict.RESULTS_DIFFER


def test_a_script_that_never_repeats_itself_is_measured_by_its_own_differences(
    trials: Callable[..., None],
) -> None:
    rng = np.random.default_rng(0)
    trials(
        lambda after: trial(noisy(rng, 0.005 if after else 0.01), weights=float(rng.normal(1, 0.1)))
    )
    assert verdict() is Verdict.PROVED


def test_a_side_that_fails_is_named_with_its_error(trials: Callable[..., None]) -> None:
    trials(lambda after: trial(np.full(200, 0.01), ended="exit 1" if after else "exit 0"))
    with pytest.raises(UnslowError, match=r"after the change fails.*ValueError: no such shape"):
        verdict()


def test_a_side_that_does_not_train_is_named(trials: Callable[..., None]) -> None:
    trials(lambda after: trial(np.full(2 if after else 200, 0.01)))
    with pytest.raises(UnslowError, match="does not train"):
        verdict()


def test_a_side_that_counted_updates_of_its_first_step_goes_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)

    def run(side: Side, steps: int, **options: object) -> Trial:
        after = side.command == AFTER.command
        seen = steps + side.split - (0 if after else 4)
        found = trial(noisy(rng, 0.005 if after else 0.01, seen))
        return replace(found, counted=steps + side.split)

    monkeypatch.setattr(proving, "run_trial", run)
    found = proving.prove(BEFORE, AFTER, Question(200))
    assert found.verdict is Verdict.PROVED and found.steps == 200


def test_a_growth_that_is_gone_is_proved_by_its_slope(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    growing = np.linspace(1.0, 1.6, 300)
    trials(lambda after: trial(noisy(rng, 0.01, 300) * (1.0 if after else growing)))
    found = proving.prove(BEFORE, AFTER, Question(300, grows=True))
    assert found.verdict is Verdict.PROVED and "step time grew" in found.text


def test_memory_that_no_longer_grows_is_proved_at_equal_speed(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    climbing = np.linspace(5e8, 9e8, 60)
    level = np.full(60, 5e8)
    trials(
        lambda after: trial(
            noisy(rng, 0.01), rss=(level if after else climbing) + rng.normal(0, 1e6, 60)
        )
    )
    found = proving.prove(BEFORE, AFTER, Question(200, grows=True))
    assert found.verdict is Verdict.PROVED and "memory grew" in found.text


def test_a_growth_is_seen_although_the_machine_was_slow_at_the_start_of_one_trial(
    trials: Callable[..., None],
) -> None:
    rng = np.random.default_rng(0)
    growing, elsewhere = np.linspace(1.0, 1.5, 300), np.linspace(2.5, 1.0, 300)
    made: list[bool] = []

    def make(after: bool) -> Trial:
        made.append(after)
        disturbed = elsewhere if made.count(False) == 2 and not after else 1.0
        return trial(noisy(rng, 0.01, 300) * (1.0 if after else growing) * disturbed)

    trials(make)
    assert proving.prove(BEFORE, AFTER, Question(300, grows=True)).growth is not None


def test_files_that_no_longer_pile_up_are_proved_once_as_many_are_there_as_are_kept(
    trials: Callable[..., None],
) -> None:
    rng = np.random.default_rng(0)
    steps = np.arange(10.0, 200.0, 10.0)

    def make(after: bool) -> Trial:
        held = np.minimum(steps, 50.0) if after else steps
        return replace(trial(noisy(rng, 0.01)), files=held * 1e6, files_steps=steps)

    trials(make)
    found = proving.prove(BEFORE, AFTER, Question(200, grows=True))
    assert found.growth is not None and found.growth.what == "disk use"


def test_a_script_against_itself_has_no_growth_that_is_gone(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(2)
    wander = np.exp(np.cumsum(rng.normal(0, 0.02, 5000)))
    begin = rng.integers(0, 4900, 5000).tolist()
    trials(lambda after: trial(noisy(rng, 0.01, 100) * wander[(at := begin.pop()) : at + 100]))
    wrong = sum(
        proving.prove(BEFORE, AFTER, Question(100, grows=True)).growth is not None
        for _ in range(100)
    )
    assert wrong <= 2


def test_a_script_against_itself_is_proved_or_slower_in_at_most_two_per_cent(
    trials: Callable[..., None],
) -> None:
    rng = np.random.default_rng(1)
    trials(lambda after: trial(noisy(rng, 0.01, 50)))
    wrong = sum(verdict(Question(50)) in (Verdict.PROVED, Verdict.SLOWER) for _ in range(250))
    assert wrong <= 5


def test_trials_that_are_apart_but_too_few_to_be_sure_are_followed_by_more(
    trials: Callable[..., None],
) -> None:
    levels = {False: [0.008, 0.030, 0.009, 0.012, 0.010], True: [0.003, 0.007, 0.003, 0.004, 0.003]}
    trials(lambda after: trial(np.full(200, levels[after].pop(0))))
    found = proving.prove(BEFORE, AFTER, Question(200))
    assert found.verdict is Verdict.PROVED and len(found.before) == 5


def test_one_burst_of_other_work_does_not_hide_what_is_twice_as_fast(
    trials: Callable[..., None],
) -> None:
    levels = {False: [0.007, 0.026, 0.022, 0.012, 0.014], True: [0.003, 0.003, 0.008, 0.006, 0.005]}
    trials(lambda after: trial(np.full(200, levels[after].pop(0))))
    assert verdict() is Verdict.PROVED


def test_a_machine_that_wanders_proves_nothing_of_a_script_against_itself(
    trials: Callable[..., None],
) -> None:
    rng = np.random.default_rng(6)
    level = [1.0]

    def make(after: bool) -> Trial:
        level[0] *= rng.lognormal(0, 0.1)
        return trial(noisy(rng, 0.01 * level[0] * rng.lognormal(0, 0.2), 50))

    trials(make)
    wrong = sum(verdict(Question(50)) in (Verdict.PROVED, Verdict.SLOWER) for _ in range(400))
    assert wrong <= 8


def test_two_sides_that_end_at_different_steps_are_compared_at_the_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def run(side: Side, steps: int, **options: object) -> Trial:
        asked.append(steps)
        return trial(np.full(min(steps, 200 if side is AFTER else 80), 0.01))

    monkeypatch.setattr(proving, "run_trial", run)
    proving.prove(BEFORE, AFTER, Question(200))
    assert set(asked[2:]) == {80}


def test_weights_are_compared_by_name_where_the_names_agree() -> None:
    one = {"a": np.ones(3), "b": np.zeros(2)}
    assert difference(one, {"b": np.zeros(2), "a": np.ones(3)}) == 0


def test_weights_are_compared_in_order_where_only_the_names_changed() -> None:
    assert difference({"a": np.ones(3)}, {"c": np.full(3, 1.1)}) == pytest.approx(
        0.1 / 1.1, rel=1e-6
    )


def test_weights_of_other_shapes_cannot_be_the_same() -> None:
    assert difference({"a": np.ones(3)}, {"a": np.ones(4)}) == float("inf")


def test_weights_that_are_not_numbers_on_one_side_differ() -> None:
    assert difference({"a": np.ones(3)}, {"a": np.full(3, np.nan)}) == float("inf")


def test_no_weights_means_no_comparison() -> None:
    assert difference({}, {"a": np.ones(3)}) is None


def heavy(peak: float, took: float = 12.0, steps: int = 200) -> Trial:
    return replace(trial(np.full(steps, 0.01)), peak=peak, took=took)


def test_a_lower_peak_with_the_same_weights_and_speed_is_proved(
    trials: Callable[..., None],
) -> None:
    trials(lambda after: heavy(0.7e9 if after else 1.6e9))
    found = proving.prove(BEFORE, AFTER, Question(200, PeakMemory()))
    assert found.verdict is Verdict.PROVED
    assert found.peak == Peak(1.6e9, 0.7e9) and len(found.before) == 3
    assert "12.0 s a run" in found.text and "peak memory 1.60 GB → 700 MB" in found.text


def test_a_program_without_steps_is_proved_by_its_peak(trials: Callable[..., None]) -> None:
    trials(lambda after: heavy(0.7e9 if after else 1.6e9, steps=0))
    assert verdict(Question(TO_THE_END, PeakMemory())) is Verdict.PROVED


def test_a_lower_peak_is_not_asked_for_where_the_finding_is_about_time(
    trials: Callable[..., None],
) -> None:
    trials(lambda after: heavy(0.7e9 if after else 1.6e9))
    found = proving.prove(BEFORE, AFTER, Question(200))
    assert found.verdict is not Verdict.PROVED and found.peak is None


def test_a_lower_peak_that_makes_the_run_slower_is_not_proved(
    trials: Callable[..., None],
) -> None:
    trials(lambda after: heavy(0.7e9, 15.0) if after else heavy(1.6e9, 12.0))
    assert verdict(Question(200, PeakMemory())) is Verdict.SLOWER


def test_a_peak_that_falls_by_a_twentieth_is_not_proved(trials: Callable[..., None]) -> None:
    trials(lambda after: heavy(1.52e9 if after else 1.6e9))
    assert verdict(Question(200, PeakMemory())) is Verdict.NO_EFFECT


def test_a_lower_peak_with_other_weights_is_not_proved(trials: Callable[..., None]) -> None:
    lower = replace(heavy(0.7e9), weights={"w": np.full(4, 3.0)})
    trials(lambda after: lower if after else heavy(1.6e9))
    assert verdict(Question(200, PeakMemory())) is Verdict.RESULTS_DIFFER


def high(gigabytes: float, step: int) -> Placed:
    return at(step, MemoryHigh(bytes=gigabytes * 1e9, step=step))


@pytest.mark.parametrize(
    ("highs", "steps"),
    [
        ([high(1.0, 0), high(2.0, 40), high(2.05, 90)], 41),
        ([high(1.0, 0), high(2.0, 100)], TO_THE_END),
        ([], TO_THE_END),
    ],
    ids=["early", "after the last step", "unknown"],
)
def test_a_trial_goes_on_until_the_peak(highs: list[Placed], steps: int) -> None:
    run = Sketch("", [0.5] * 100, facts=highs).run()
    finding = Finding("memory-peak", "", None, 0.0, (), frees=1e9)
    assert question_for(run, finding) == Question(steps, PeakMemory())


def wandering(gain: float, proofs: int = 300) -> list[Verdict]:
    """Verdicts on a machine whose speed changes from pair to pair far more than within one."""
    rng = np.random.default_rng(11)
    found = []
    for _ in range(proofs):
        level = rng.lognormal(0, 0.7, PAIRS)
        before = level * rng.lognormal(0, 0.15, PAIRS) * gain
        after = level * rng.lognormal(0, 0.15, PAIRS)
        found.append(speed_verdict(list(before), list(after)))
    return found


def test_a_gain_is_proved_on_a_busy_machine() -> None:
    assert wandering(2.0).count(Verdict.PROVED) >= 270


def test_a_busy_machine_proves_nothing_of_a_script_against_itself() -> None:
    found = wandering(1.0)
    assert found.count(Verdict.PROVED) + found.count(Verdict.SLOWER) <= 6


@pytest.mark.parametrize(
    ("steps", "off", "expected"),
    [
        (8, 1.5e-5, Verdict.PROVED),
        (8, 3e-5, Verdict.RESULTS_DIFFER),
        (1000, 9e-5, Verdict.PROVED),
        (1000, 2e-4, Verdict.RESULTS_DIFFER),
    ],
)
def test_each_step_may_round_once_more(
    trials: Callable[..., None], steps: int, off: float, expected: Verdict
) -> None:
    rng = np.random.default_rng(0)
    trials(
        lambda after: trial(
            noisy(rng, 0.005 if after else 0.01, steps), weights=1.0 + off if after else 1.0
        )
    )
    assert verdict(Question(steps)) is expected


def test_a_program_of_few_steps_is_timed_as_a_whole() -> None:
    finding = Finding("unrolled-loop", "", None, 1.0, ())
    assert question_for(Sketch("", [0.5] * 2).run(), finding).measure == WholeProgram()
    assert question_for(Sketch("", [0.5] * 20).run(), finding).measure == SteadySteps()


def test_pairs_that_took_turns_show_a_small_slowdown_on_a_wandering_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)

    def run(sides: object, steps: int, **options: object) -> tuple[Trial, Trial]:
        machine = rng.uniform(1.0, 3.0)
        return tuple(trial(np.full(50, machine * level)) for level in (0.01, 0.0105))  # type: ignore[return-value]

    monkeypatch.setattr(proving, "run_in_turns", run)
    question = Question(50, pairs=10, in_turns=True, is_decided=lambda before, after: False)
    proof = proving.prove(BEFORE, AFTER, question)
    assert proof.verdict is Verdict.SLOWER
    assert "≈1.05× slower (1.05–1.05× slower)" in proof.text


def test_other_weights_without_a_loss_to_compare_say_what_is_missing(
    trials: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fix that may lead to other weights: faster, but how well it trains is not known."""
    trials(lambda is_after: trial(np.full(200, 0.001 if is_after else 0.01), 1.0 + is_after))
    for unsure, expected in ((True, Verdict.UNSURE), (False, Verdict.RESULTS_DIFFER)):
        found = Comparison(None, "no loss was seen", unsure)
        monkeypatch.setattr(proving, "compare_quality", lambda *_, found=found: found)
        proof = proving.prove(BEFORE, AFTER, Question(200, quality=True))
        assert proof.verdict is expected
        assert proof.text.endswith("; no loss was seen")


def test_the_loss_is_compared_over_the_whole_training_or_enough_of_it(
    trials: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    trials(lambda is_after: trial(np.full(200, 0.001 if is_after else 0.01), 1.0 + is_after))
    steps = []

    def compare(sides: object, plan: Plan, progress: object) -> Comparison:
        steps.append(plan.steps)
        return Comparison(None)

    monkeypatch.setattr(proving, "compare_quality", compare)
    for training in (None, 28, 100_000):
        proving.prove(BEFORE, AFTER, Question(5, quality=True, training=training))
    assert steps == [STEPS, 28, STEPS]


@pytest.mark.parametrize(
    ("gain", "pairs"), [(10.0, 2), (2.6, 2), (2.0, 3)], ids=["huge", "large", "clear"]
)
def test_the_larger_the_gain_the_fewer_trials(
    gain: float, pairs: int, trials: Callable[..., None]
) -> None:
    trials(lambda is_after: trial(np.full(200, 0.01 / gain if is_after else 0.01)))
    proof = proving.prove(BEFORE, AFTER, Question(200))
    assert proof.verdict is Verdict.PROVED
    assert len(proof.before) == len(proof.after) == pairs


def test_weights_that_are_far_apart_need_no_trial_of_rounding_before_the_loss_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nudges = []

    def run(side: Side, steps: int, nudge: float = 0.0, **options: object) -> Trial:
        nudges.append(nudge)
        is_after = side is AFTER
        return trial(np.full(200, 0.001 if is_after else 0.01), 1.0 + is_after)

    monkeypatch.setattr(proving, "run_trial", run)
    monkeypatch.setattr(proving, "compare_quality", lambda *_: Comparison(None))
    proving.prove(BEFORE, AFTER, Question(200, quality=True))
    assert not any(nudges)
    proving.prove(BEFORE, AFTER, Question(200))
    assert any(nudges)
