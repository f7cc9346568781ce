"""`unslow whatif` on made-up trials: what applies, what is a winner, what is said. The live tests run real ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.cli.test_cli import typed
from unslow.errors import UnslowError
from unslow.facts.schema import Place
from unslow.facts.whatif import (
    AccumulationSeen,
    DatasetBatched,
    DatasetRebatched,
    FitStarted,
    LayersMade,
    ModelCompiled,
    OptimizerMade,
    RuntimeStarted,
    Switched,
    WeightsUpdated,
)
from unslow.proof.trials import Side, Trial
from unslow.proof.whatif import measure as measuring
from unslow.proof.whatif import run as running
from unslow.proof.whatif.catalogue import catalogue
from unslow.proof.whatif.run import Outcome, chosen, everything, whatif
from unslow.proof.whatif.setting import Machine, Setting, combined
from unslow.proof.whatif.survey import Survey
from unslow.proof.whatif.view import view_of
from unslow.report.whatif import renderable

SIDE = Side(["python", "train.py"], "/")
LINE = (Place("train.py", 9, "<module>"),)
MACHINE = Machine(2, frozenset(), {}, 40)


def update(way: str = "function", **data: Any) -> WeightsUpdated:
    known = {"place": "train.py:5:step", "users": True, "jit": False, "fit": False, "rows": 32}
    return WeightsUpdated(stack=LINE, way=way, **{**known, **data})


FIT = (
    ModelCompiled(stack=LINE, eager=False),
    FitStarted(
        stack=LINE,
        arrays=True,
        size=32,
        was=32,
        dataset=False,
        epoch=10,
        jit=False,
        together=1,
        eager=False,
    ),
    OptimizerMade(stack=LINE, own="Adam", package="keras.src.optimizers"),
    AccumulationSeen(stack=LINE, own=0),
    LayersMade(stack=LINE, policy="float32"),
    update(users=False, fit=True, rows=0),
)
LOOP = (OptimizerMade(stack=LINE, own="Adam", package="keras.src.optimizers"), update())
EAGER = (update("optimizer"),)
SESSION = (
    OptimizerMade(stack=LINE, own="AdamOptimizer", package="tensorflow.python.training"),
    update("session", users=False),
)


def trial(
    pace: float = 0.01, weights: float = 1.0, switched: tuple[Switched, ...] = (), **data: Any
) -> Trial:
    seconds = np.full(data.pop("steps", 60), pace)
    if len(seconds):
        seconds[0] += data.pop("first", 0.5)
    known: dict[str, Any] = {"ended": "exit 0", "peak": 5e8, "errors": ""}
    return Trial(
        steps=len(seconds),
        seconds=seconds,
        ends=np.cumsum(seconds),
        rss=np.zeros(0),
        rss_steps=np.zeros(0),
        weights={"w": np.full(4, weights)},
        switched=switched,
        **{**known, **data},
    )


Make = Callable[[Mapping[str, Any], Mapping[str, str]], Trial]


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let `whatif` see a made-up first run, and made-up trials: a function of what is asked for."""

    def use(seen: tuple[Switched, ...], make: Make) -> None:
        rng = np.random.default_rng(0)

        def run(side: Side, steps: int, **options: object) -> Trial:
            asked = json.loads(side.env.get("UNSLOW_WHATIF", "null"))
            if asked == {}:
                return trial(switched=seen)
            made = make(asked or {}, side.env)
            size = round(asked.get("batch", 1) * 32) if asked else 32
            done = (DatasetBatched(done=tuple(asked or ()), size=size, was=32),)
            noisy = made.seconds * rng.lognormal(0, 0.01)
            from dataclasses import replace

            return replace(made, switched=made.switched or done, seconds=noisy)

        monkeypatch.setattr(running, "run_trial", run)
        monkeypatch.setattr(measuring, "run_trial", run)

    return use


def measured(*only: str, said: list[str] | None = None, steps: int | None = None) -> Outcome:
    lines = said if said is not None else []
    return whatif(SIDE, only, steps, 3, lines.append)


def row(outcome: Outcome, name: str) -> Any:
    return next(one for one in outcome.rows if one.setting is not None and one.setting.name == name)


def shown(outcome: Outcome, width: int = 100) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(renderable(view_of(outcome), width))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def why_not(switched: tuple[Switched, ...], name: str) -> str:
    return next(one.why_not for one in catalogue(Survey(switched, {}), MACHINE) if one.name == name)


@pytest.mark.parametrize(
    ("switched", "name", "why"),
    [
        (LOOP, "steps_per_execution", "fit() is not what trains"),
        (LOOP, "mixed_float16", ""),
        (LOOP, "batch-x2", "makes its batches itself"),
        (SESSION, "jit_compile", "a Session has no such switch"),
        (SESSION, "auto-cluster", ""),
        (SESSION, "adafactor", "tf.train has none"),
        (SESSION, "adam", "the script already uses AdamOptimizer"),
        (SESSION, "sgd", ""),
        (EAGER, "jit_compile", "op by op"),
        (EAGER, "grappler-off", "op by op"),
        (FIT, "jit_compile", ""),
        (FIT, "batch-x4", ""),
        (FIT, "determinism-off", "does not ask for determinism"),
        (FIT, "prefetch", "no tf.data pipeline"),
    ],
)
def test_a_setting_applies_only_where_its_switch_is_reached(
    switched: tuple[Switched, ...], name: str, why: str
) -> None:
    found = why_not(switched, name)
    assert why in found and bool(found) == bool(why)


def test_the_last_batch_of_a_pipeline_makes_the_training_batches() -> None:
    switched = (
        DatasetBatched(stack=LINE, size=100, was=100, place="train.py:3:0"),
        DatasetBatched(stack=LINE, size=64, was=64, place="train.py:4:0"),
        DatasetRebatched(stack=LINE, place="train.py:3:0"),
        update(rows=0),
    )
    found = next(one for one in catalogue(Survey(switched, {}), MACHINE) if one.name == "batch-x2")
    assert found.keep == ".batch(128)" and found.switches["inner"] == ["train.py:3:0"]


def test_twice_as_fast_with_the_same_weights_is_a_winner(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial(0.005 if "jit_compile" in asked else 0.01))
    found = row(measured("jit_compile", "mixed_bfloat16"), "jit_compile")
    assert (found.verdict, found.results.kind) == ("faster", "identical")


def test_the_best_comes_first(trials: Callable[..., None]) -> None:
    trials(
        FIT,
        lambda asked, env: trial(
            0.005 if "policy" in asked else 0.02 if "intra" in asked else 0.01
        ),
    )
    names = [
        one.setting.name
        for one in measured("jit_compile", "intra-op-1", "mixed_bfloat16").rows
        if one.setting
    ]
    assert names == ["mixed_bfloat16", "jit_compile", "intra-op-1"]


def test_a_larger_batch_is_judged_by_its_examples(trials: Callable[..., None]) -> None:
    trials(
        FIT,
        lambda asked, env: trial(
            0.0125 if "batch" in asked else 0.01, weights=2.0 if "batch" in asked else 1
        ),
    )
    found = row(measured("batch-x2"), "batch-x2")
    assert (
        found.speedup.value == pytest.approx(1.6, rel=0.05) and found.results.kind == "not compared"
    )


def test_weights_that_differ_beyond_rounding_are_said(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial(0.005 if asked else 0.01, weights=1.01 if asked else 1.0))
    found = measured("mixed_bfloat16")
    assert row(found, "mixed_bfloat16").results.kind == "differ" and "differ by 1e-02" in shown(
        found
    )


def test_no_setting_wins_by_noise(trials: Callable[..., None]) -> None:
    rng = np.random.default_rng(1)
    trials(FIT, lambda asked, env: trial(0.01 * asked.get("batch", 1) * rng.lognormal(0, 0.08)))
    wrong = sum(one.verdict == "faster" for _ in range(20) for one in measured().rows)
    assert wrong <= 1  # of 20 tables of some twenty settings


def test_a_setting_that_fails_is_a_row_with_its_reason(trials: Callable[..., None]) -> None:
    error = "Traceback\nValueError: no such shape"
    trials(
        FIT,
        lambda asked, env: trial(ended="exit 1", errors=error) if "policy" in asked else trial(),
    )
    found = measured("mixed_float16", "jit_compile")
    assert [one.setting.name for one in found.rows if one.setting] == ["jit_compile"]
    assert "fails: exit 1: ValueError: no such shape" in shown(found)


def test_a_switch_that_was_never_reached_gives_no_number(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial(switched=(RuntimeStarted(stack=LINE, environment={}),)))
    found = measured("jit_compile")
    assert not found.rows and "compile() was never reached" in shown(found)


def test_an_environment_that_the_script_overrules_is_said(trials: Callable[..., None]) -> None:
    own = RuntimeStarted(stack=LINE, environment={"TF_ENABLE_ONEDNN_OPTS": "1"})
    trials(FIT, lambda asked, env: trial(switched=(own,) if asked else ()))
    assert "the script itself sets TF_ENABLE_ONEDNN_OPTS=1" in shown(measured("onednn"))


def test_winners_are_combined_and_measured_together(trials: Callable[..., None]) -> None:
    def pace(asked: Mapping[str, Any], env: Mapping[str, str]) -> Trial:
        return trial(
            0.01
            / (2 if "jit_compile" in asked else 1)
            / (1.5 if "steps_per_execution" in asked else 1)
        )

    trials(FIT, pace)
    found = row(measured("jit_compile", "execution"), "together")
    assert found.speedup.value == pytest.approx(3, rel=0.1)
    assert set(found.setting.parts) == {"jit_compile", "steps_per_execution"}


def test_what_changes_the_results_is_combined_apart(trials: Callable[..., None]) -> None:
    def pace(asked: Mapping[str, Any], env: Mapping[str, str]) -> Trial:
        fast = 2.0 ** len({"jit_compile", "steps_per_execution", "optimizer"} & set(asked))
        return trial(0.01 / fast)

    trials(FIT, pace)
    names = [
        one.setting.name for one in measured("jit_compile", "execution", "sgd").rows if one.setting
    ]
    assert names[:2] == ["all together", "together"]


def test_single_graph_passes_are_tried_when_the_whole_optimiser_matters(
    trials: Callable[..., None],
) -> None:
    trials(
        FIT,
        lambda asked, env: trial(
            0.02 if "disable_meta_optimizer" in asked.get("graph", {}) else 0.01
        ),
    )
    assert row(measured("grappler-off", "jit_compile", "no-remapping"), "no-remapping")
    everywhere = [one.setting.name for one in measured().rows if one.setting]
    assert "no-remapping" in everywhere


def test_single_graph_passes_are_left_alone_when_it_does_not(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial())
    assert "no-remapping" not in [one.setting.name for one in measured().rows if one.setting]


def test_an_interrupt_keeps_what_was_measured(trials: Callable[..., None]) -> None:
    count = [0]

    def until(asked: Mapping[str, Any], env: Mapping[str, str]) -> Trial:
        count[0] += 1
        return trial(interrupted=count[0] == 3)

    trials(FIT, until)
    found = measured("jit_compile", "mixed_bfloat16")
    assert found.interrupted and [one.setting.name for one in found.rows if one.setting] == [
        "jit_compile"
    ]
    assert "Not tried: mixed_bfloat16" in shown(found)


def test_less_memory_is_worth_a_line(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial(peak=4e8 if "optimizer" in asked else 5e8))
    assert "sgd: less memory" in shown(measured("sgd"))


def test_the_line_to_keep_it_names_the_users_line(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial(0.005 if "jit_compile" in asked else 0.01))
    text = shown(measured("jit_compile"))
    assert "train.py:9" in text and "model.compile(…, jit_compile=True)" in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits(width: int, trials: Callable[..., None]) -> None:
    trials(
        FIT,
        lambda asked, env: trial(
            123.4 if "policy" in asked else 0.01, weights=2.0 if asked else 1.0
        ),
    )
    text = shown(measured(), width)
    assert (
        max(len(line.rstrip()) for line in text.splitlines()) <= width
        and text.count("optimizer") > 1
    )


def test_a_combination_holds_the_parts_of_each() -> None:
    parts = [
        Setting("a", "g", {"graph": {"x": True}}, {"A": "1"}),
        Setting("b", "h", {"graph": {"y": False}}),
    ]
    found = combined("both", parts)
    assert found.switches == {"graph": {"x": True, "y": False}} and found.environment == {"A": "1"}


def test_only_takes_names_and_groups() -> None:
    assert {one.name for one in chosen(everything(), ["xla", "sgd"])} == {
        "jit_compile",
        "auto-cluster",
        "sgd",
    }


def test_an_unknown_name_is_refused_before_anything_runs() -> None:
    with pytest.raises(UnslowError, match=r"jit-compil.*Did you mean jit_compile"):
        measured("jit-compil")


def test_a_script_that_never_trains_is_said(
    trials: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "run_trial", lambda *words, **options: trial(steps=0))
    with pytest.raises(UnslowError, match="no training step seen"):
        measured()


def test_fewer_steps_than_asked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "run_trial", lambda *words, **options: trial(steps=30))
    with pytest.raises(UnslowError, match=r"100 are needed, and it ends after 30.*--steps 30"):
        measured(steps=100)


def test_a_script_that_fails_by_itself_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = trial(ended="exit 1", errors="NameError: name 'x' is not defined", steps=0)
    monkeypatch.setattr(running, "run_trial", lambda *words, **options: broken)
    with pytest.raises(UnslowError, match="fails as it is: exit 1: NameError"):
        measured()


def test_a_script_that_does_not_exist_is_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = typed(capsys, "whatif", str(tmp_path / "nowhere.py"))
    assert code == 2 and "no-script" in err


def test_the_list_names_every_group(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys, "whatif", "--list")
    assert code == 0 and "jit_compile, auto-cluster" in out and "determinism-off" in out


def test_the_json_is_plain(trials: Callable[..., None]) -> None:
    trials(FIT, lambda asked, env: trial(weights=float("nan") if asked else 1.0))
    text = json.dumps(view_of(measured("jit_compile")), allow_nan=False)
    assert json.loads(text)["settings"][0]["name"] == "jit_compile"


@pytest.mark.parametrize(
    ("steps", "epoch", "together"),
    [(40, 10, 10), (40, 0, 10), (40, 13, 13), (90, 9, 9), (40, 100, 10), (42, 7, 7)],
)
def test_steps_are_executed_together_in_groups_that_cut_an_epoch_evenly(
    steps: int, epoch: int, together: int
) -> None:
    switched = (*FIT[:1], FIT[1].replace(epoch=epoch), *FIT[2:])
    machine = Machine(2, frozenset(), {}, steps)
    found = next(
        one for one in catalogue(Survey(switched, {}), machine) if one.name == "steps_per_execution"
    )
    assert found.switches == {"steps_per_execution": together}


def test_a_combination_that_is_no_better_than_its_best_part_is_not_advised(
    trials: Callable[..., None],
) -> None:
    def pace(asked: Mapping[str, Any], env: Mapping[str, str]) -> Trial:
        both = {"jit_compile", "steps_per_execution"} <= set(asked)
        return trial(
            0.006 if both else 0.005 if "jit_compile" in asked else 0.008 if asked else 0.01
        )

    trials(FIT, pace)
    text = shown(measured("jit_compile", "execution"))
    assert "\njit_compile: " in text.partition("To keep it")[2] and "\ntogether: " not in text
