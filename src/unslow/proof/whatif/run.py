"""The whole of `unslow whatif`: a first look, every setting in turn, then the winners together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unslow.errors import UnslowError
from unslow.proof.trials import Side, Trial, run_trial
from unslow.proof.whatif.judge import Row, row_of
from unslow.proof.whatif.measure import LEAST_STEPS, Bench, Interrupted, reason
from unslow.proof.whatif.settings import GROUPS, OPTIMISERS, Machine, Setting, catalogue, combined
from unslow.proof.whatif.survey import Survey, place_of, survey_of

ROUNDS = 3
_LOOK_SECONDS = 4.0  # so much training is enough for a trial
_MOST_STEPS = 1000
_TENS = 10  # a number of steps that most group sizes divide
_KEEPS = ("identical", "same", "rounding", "not seen")

Progress = Callable[[str], None]


@dataclass
class Outcome:
    """Everything that was learnt; complete unless `interrupted`."""

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
    first = run_trial(
        _looking(side), steps or _MOST_STEPS, seconds=None if steps else _LOOK_SECONDS
    )
    if first.interrupted:
        raise KeyboardInterrupt
    _must_train(first, side, steps)
    seen = survey_of(first)
    count = steps or _steps_for(first)
    settings = chosen(catalogue(seen, _machine(count)), only)
    tried = [one for one in settings if not one.why_not]
    progress(
        f"{place_of(seen.updates) or 'the script'} trains: {count} steps a trial, "
        f"{len(_without_details(tried, only))} settings to try, {rounds} trials of each"
    )
    outcome = Outcome(side.command, count, seen.examples, trained_at=place_of(seen.updates))
    bench = Bench(side, count, progress)
    extra: list[Setting] = []
    try:
        bench.rounds(_without_details(tried, only), rounds)
        details = _details(bench, tried, only, seen)
        bench.rounds(details, rounds)
        promising = _promising(bench, [*_without_details(tried, only), *details], seen)
        if promising:
            progress("what looks faster once more")
        bench.rounds(promising, rounds)
        extra = _together(_winners(bench, promising, seen))
        if extra:
            progress("the winners together")
        bench.rounds(extra, rounds)
    except (Interrupted, KeyboardInterrupt):
        outcome.interrupted = True
    return _gather(outcome, bench, settings, extra)


def check_names(only: Sequence[str]) -> None:
    """Before anything is run: do all names exist?"""
    known = [setting.name for setting in everything()]
    for name in only:
        if name not in known and name not in GROUPS:
            import difflib

            close = difflib.get_close_matches(name, [*GROUPS, *known], 1)
            hint = (
                f"Did you mean {close[0]}?" if close else "`unslow whatif --list` names them all."
            )
            raise UnslowError(
                f"cannot try {name}", "there is no such setting or group", hint, "unknown-setting"
            )


def everything() -> list[Setting]:
    """All settings there are on this machine, for any script."""
    return catalogue(Survey((), {}), _machine(_TENS))


def chosen(settings: Sequence[Setting], only: Sequence[str]) -> list[Setting]:
    return [one for one in settings if not only or one.name in only or one.group in only]


def _looking(side: Side) -> Side:
    from dataclasses import replace

    return replace(side, env={**side.env, "UNSLOW_WHATIF": "{}"})


def _machine(steps: int) -> Machine:
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    flags = next(
        (
            line.partition(":")[2].split()
            for line in lines
            if line.startswith(("flags", "Features"))
        ),
        [],
    )
    return Machine(cores, frozenset(flags), dict(os.environ), steps)


def _must_train(first: Trial, side: Side, steps: int | None) -> None:
    name = next((word for word in side.command[1:] if word.endswith(".py")), " ".join(side.command))
    if not first.ended.startswith("exit 0"):
        raise UnslowError(
            f"{name} fails as it is",
            reason(first),
            "Run it by itself to see all of it.",
            "cannot-measure",
        )
    if not first.steps:
        raise UnslowError(
            f"no training step seen in {name}",
            "neither fit() nor an optimizer update ran",
            "Is another file the training script?",
            "no-steps",
        )
    if first.steps < (steps or LEAST_STEPS):
        wanted = steps or LEAST_STEPS
        raise UnslowError(
            f"{name} makes too few steps",
            f"{wanted} are needed, and it ends after {first.steps}",
            f"Let it train longer, or ask for fewer: --steps {first.steps}."
            if first.steps >= LEAST_STEPS
            else "Let it train longer.",
            "too-few-steps",
        )


def _steps_for(first: Trial) -> int:
    """A round number below where the script ends by itself: weights are read while it still trains."""
    most = first.steps - 1 if first.steps < _MOST_STEPS else first.steps
    return most // _TENS * _TENS if most >= 2 * _TENS else max(LEAST_STEPS, most)


def _is_detail(setting: Setting) -> bool:
    return setting.group == "graph" and setting.name.removeprefix("no-") in (
        *OPTIMISERS,
        "pruning-off",
    )


def _without_details(settings: Sequence[Setting], only: Sequence[str]) -> list[Setting]:
    """Single passes of the graph optimiser are looked at when they were asked for, or when all of them matter."""
    return [one for one in settings if not _is_detail(one) or one.name in only or "graph" in only]


def _details(
    bench: Bench, tried: Sequence[Setting], only: Sequence[str], seen: Survey
) -> list[Setting]:
    whole = next((one for one in tried if one.name == "grappler-off"), None)
    row = row_of(bench, whole, seen.examples) if whole else None
    if row is None or row.verdict not in ("faster", "slower"):
        return []
    return [one for one in tried if one not in _without_details(tried, only)]


def _promising(bench: Bench, tried: Sequence[Setting], seen: Survey) -> list[Setting]:
    """The best of each group that may be faster, best first."""
    every = (row_of(bench, one, seen.examples) for one in tried)
    rows = [row for row in every if row and row.promising and row.difference != float("inf")]
    best: dict[str, Setting] = {}
    for row in sorted(rows, key=lambda row: -row.speedup.value):
        if row.setting:
            best.setdefault(row.setting.group, row.setting)
    return list(best.values())


def _winners(bench: Bench, tried: Sequence[Setting], seen: Survey) -> list[Row]:
    rows = [row_of(bench, one, seen.examples) for one in tried]
    return [row for row in rows if row and row.verdict == "faster"]


def _together(winners: Sequence[Row]) -> list[Setting]:
    """What keeps the results, at once; and everything at once, where that is more."""
    kept = [row.setting for row in winners if row.setting and row.results in _KEEPS]
    every = [row.setting for row in winners if row.setting]
    found = [combined("together", kept)] if len(kept) > 1 else []
    return found + ([combined("all together", every)] if len(every) > max(1, len(kept)) else [])


def _did_nothing(setting: Setting, trials: Sequence[Trial]) -> str:
    """What TensorFlow was asked for and left undone, where the weights are identical too."""
    if setting.group == "precision" and "graph" in setting.asked:
        return "TensorFlow's rewrite changes nothing here: the weights are identical"
    if setting.name == "auto-cluster" and not any(trial.compiled for trial in trials):
        return "XLA found nothing to compile: the weights are identical"
    return ""


def _gather(
    outcome: Outcome, bench: Bench, settings: Sequence[Setting], extra: Sequence[Setting]
) -> Outcome:
    outcome.base = row_of(bench, None, outcome.examples)
    for setting in (*settings, *extra):
        row = row_of(bench, setting, outcome.examples)
        why = setting.why_not or bench.absent.get(setting.name, "")
        if setting.name in bench.failed:
            outcome.failed.append((setting, bench.failed[setting.name]))
        elif why:
            outcome.absent.append((setting, why))
        elif row is None:
            outcome.untried.append(setting)
        elif row.results == "identical" and _did_nothing(setting, bench.trials[setting.name]):
            outcome.absent.append((setting, _did_nothing(setting, bench.trials[setting.name])))
        else:
            outcome.rows.append(row)
    outcome.rows.sort(key=lambda row: -row.speedup.value)
    return outcome
