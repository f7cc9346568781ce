"""The whole of `unslow whatif`: a survey, every setting in turn, then the fastest together."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unslow.analyse.grouping import grouped
from unslow.errors import UnslowError, suggestion
from unslow.proof.trials import Side, Trial, run_trial
from unslow.proof.whatif.catalogue import GROUPS, catalogue
from unslow.proof.whatif.graph_settings import OPTIMISERS
from unslow.proof.whatif.judge import Row, row_of
from unslow.proof.whatif.measure import LEAST_STEPS, Bench, Interrupted, reason
from unslow.proof.whatif.setting import Machine, Setting, combined
from unslow.proof.whatif.survey import Survey, place_of, survey_of

_LOOK_SECONDS = 4.0  # of training are enough for a trial (judgement)
_MOST_STEPS = 1000
_TENS = 10  # a number of steps that most group sizes divide
_KEEPS = ("identical", "same", "rounding", "not seen")

Progress = Callable[[str], None]


@dataclass
class Outcome:
    """Everything that was measured; complete unless `interrupted`."""

    command: Sequence[str]
    steps: int
    examples: int
    base: Row | None = None
    rows: list[Row] = field(default_factory=list)  # best first
    failed: list[tuple[Setting, str]] = field(default_factory=list)
    absent: list[tuple[Setting, str]] = field(default_factory=list)
    untried: list[Setting] = field(default_factory=list)
    interrupted: bool = False
    trained_at: str = ""


def whatif(
    side: Side, only: Sequence[str], steps: int | None, rounds: int, progress: Progress
) -> Outcome:
    """Measure the settings that `only` names (all of them when it is empty)."""
    check_names(only)
    seconds = None if steps else _LOOK_SECONDS
    first = run_trial(_surveyed(side), steps or _MOST_STEPS, seconds=seconds)
    if first.interrupted:
        raise KeyboardInterrupt
    _must_train(first, side, steps)
    seen = survey_of(first)
    count = steps or _steps_for(first)
    settings = chosen(catalogue(seen, _machine(count)), only)
    tried = [one for one in settings if not one.why_not]
    place = place_of(seen.updates)
    plan = f"{count} steps a trial, {len(_without_details(tried, only))} settings to try"
    progress(f"{place or 'the script'} trains: {plan}, {rounds} trials of each")
    outcome = Outcome(side.command, count, seen.examples, trained_at=place)
    bench = Bench(side, count, progress)
    combinations: list[Setting] = []
    try:
        combinations = _measured(bench, tried, only, rounds)
        if combinations:
            progress("the fastest settings together")
        bench.rounds(combinations, rounds)
    except (Interrupted, KeyboardInterrupt):
        outcome.interrupted = True
    return _gather(outcome, bench, (*settings, *combinations))


def _measured(
    bench: Bench, tried: Sequence[Setting], only: Sequence[str], rounds: int
) -> list[Setting]:
    """Every setting in turn, the promising ones once more; returns what to try together."""
    first = _without_details(tried, only)
    bench.rounds(first, rounds)
    details = _details(bench, tried, only)
    bench.rounds(details, rounds)
    promising = _promising(bench, [*first, *details])
    if promising:
        bench.progress("what looks faster once more")
    bench.rounds(promising, rounds)
    return _combinations(bench, promising)


def check_names(only: Sequence[str]) -> None:
    """Before anything is run: do all names exist?"""
    known = [*GROUPS, *(setting.name for setting in everything())]
    for name in only:
        if name not in known:
            hint = suggestion(name, known) or "`unslow whatif --list` lists them."
            why = "there is no such setting or group"
            raise UnslowError(f"cannot try {name}", why, hint, "unknown-setting")


def everything() -> list[Setting]:
    """All settings there are on this machine, for any script."""
    return catalogue(Survey((), {}), _machine(_TENS))


def chosen(settings: Sequence[Setting], only: Sequence[str]) -> list[Setting]:
    return [one for one in settings if not only or one.name in only or one.group in only]


def _surveyed(side: Side) -> Side:
    """The script with all switches in place and none used."""
    return replace(side, env={**side.env, "UNSLOW_WHATIF": "{}"})


def _machine(steps: int) -> Machine:
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return Machine(cores, _processor_flags(), dict(os.environ), steps)


def _processor_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def _must_train(first: Trial, side: Side, steps: int | None) -> None:
    script = next((word for word in side.command[1:] if word.endswith(".py")), "")
    name = script or " ".join(side.command)
    if not first.ended.startswith("exit 0"):
        hint = "Run it by itself to see all of it."
        raise UnslowError(f"{name} fails as it is", reason(first), hint, "cannot-measure")
    if not first.steps:
        why = "neither fit() nor an optimizer update ran"
        hint = "Is another file the training script?"
        raise UnslowError(f"no training step seen in {name}", why, hint, "no-steps")
    wanted = steps or LEAST_STEPS
    if first.steps < wanted:
        why = f"{wanted} are needed, and it ends after {first.steps}"
        fewer = f"Let it train longer, or use fewer: --steps {first.steps}."
        hint = fewer if first.steps >= LEAST_STEPS else "Let it train longer."
        raise UnslowError(f"{name} makes too few steps", why, hint, "too-few-steps")


def _steps_for(first: Trial) -> int:
    """A round number before the script's own end: weights are read while it still trains."""
    most = first.steps - 1 if first.steps < _MOST_STEPS else first.steps
    return most // _TENS * _TENS if most >= 2 * _TENS else max(LEAST_STEPS, most)


def _is_detail(setting: Setting) -> bool:
    """A single pass of the graph optimizer."""
    return setting.name.removeprefix("no-") in (*OPTIMISERS, "pruning-off")


def _without_details(settings: Sequence[Setting], only: Sequence[str]) -> list[Setting]:
    """Single passes are tried when they were requested, or when all of them together matter."""
    if "graph" in only:
        return list(settings)
    return [one for one in settings if not _is_detail(one) or one.name in only]


def _details(bench: Bench, tried: Sequence[Setting], only: Sequence[str]) -> list[Setting]:
    whole = _rows(bench, [one for one in tried if one.name == "grappler-off"])
    if not any(row.verdict in ("faster", "slower") for _, row in whole):
        return []
    done = _without_details(tried, only)
    return [one for one in tried if one not in done]


def _promising(bench: Bench, tried: Sequence[Setting]) -> list[Setting]:
    """The best of each group that may be faster, best first."""
    rows = [(setting, row) for setting, row in _rows(bench, tried) if row.promising]
    finite = [(setting, row) for setting, row in rows if row.results.difference != math.inf]
    finite.sort(key=lambda found: -found[1].speedup.value)
    by_group = grouped(finite, lambda found: found[0].group)
    return [found[0][0] for found in by_group.values()]


def _rows(bench: Bench, settings: Sequence[Setting]) -> list[tuple[Setting, Row]]:
    """The settings that were measured."""
    rows = ((setting, row_of(bench, setting, 0)) for setting in settings)
    return [(setting, row) for setting, row in rows if row is not None]


def _combinations(bench: Bench, tried: Sequence[Setting]) -> list[Setting]:
    """What keeps the results, combined; and everything combined, where that is more."""
    winners = [(one, row) for one, row in _rows(bench, tried) if row.verdict == "faster"]
    every = [one for one, _ in winners]
    kept = [one for one, row in winners if row.results.kind in _KEEPS]
    found = [combined("together", kept)] if len(kept) > 1 else []
    if len(every) > max(1, len(kept)):
        found.append(combined("all together", every))
    return found


def _did_nothing(setting: Setting, trials: Sequence[Trial]) -> str:
    """What TensorFlow was told to do and did not, where the weights are identical too."""
    if setting.group == "precision" and "graph" in setting.switches:
        return "TensorFlow's rewrite changes nothing here: the weights are identical"
    if setting.name == "auto-cluster" and not any(trial.compiled for trial in trials):
        return "XLA found nothing to compile: the weights are identical"
    return ""


def _gather(outcome: Outcome, bench: Bench, settings: Sequence[Setting]) -> Outcome:
    outcome.base = row_of(bench, None, outcome.examples)
    for setting in settings:
        row = row_of(bench, setting, outcome.examples)
        why_not = setting.why_not or bench.absent.get(setting.name, "")
        if row and row.results.kind == "identical":
            why_not = why_not or _did_nothing(setting, bench.trials[setting.name])
        if setting.name in bench.failed:
            outcome.failed.append((setting, bench.failed[setting.name]))
        elif why_not:
            outcome.absent.append((setting, why_not))
        elif row is None:
            outcome.untried.append(setting)
        else:
            outcome.rows.append(row)
    outcome.rows.sort(key=lambda row: -row.speedup.value)
    return outcome
