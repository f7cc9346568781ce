"""Trials of every setting in turn, in fresh processes, with the unchanged script in between."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unslow.facts.whatif import DatasetBatched, FitStarted, RuntimeStarted, SwitchFailed
from unslow.proof.prove import ROUNDING
from unslow.proof.trials import Side, Trial, run_trial
from unslow.proof.whatif.setting import Setting
from unslow.report import words

LEAST_STEPS = 5
_EVERY = 6  # settings between two trials of the unchanged script: a machine's speed drifts
_SLOWER = 1.3  # clearly slower twice: a third trial would not change the verdict
_TIMES_AS_LONG = 10  # as the unchanged script: a trial is then stopped (judgement)
_COMMON = 0.95  # quantile above which a step time is cut
_OPENING = 3  # the first third of the steps is where tracing, compiling and warming up happen
_LEAST_TIMEOUT = 120.0  # seconds

Progress = Callable[[str], None]


class Interrupted(Exception):
    """Ctrl-C was typed: what was measured so far is kept."""


@dataclass
class Bench:
    """Runs trials and keeps them by the name of the setting; the unchanged script is named ''."""

    side: Side
    steps: int
    progress: Progress
    timeout: float = 3600.0
    trials: dict[str, list[Trial]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # setting → why
    absent: dict[str, str] = field(default_factory=dict)  # setting → why it did not apply
    nudged: Trial | None = None
    _planned: int = 0
    _done: int = 0
    _spent: float = 0.0

    @property
    def base(self) -> list[Trial]:
        return self.trials.setdefault("", [])

    def rounds(self, settings: Sequence[Setting], rounds: int) -> None:
        """Each setting once a round, in alternating order; one that fails is left out at once."""
        if not settings:
            return
        self._planned = self._done + rounds * (len(settings) + 2 + (len(settings) - 1) // _EVERY)
        for number in range(rounds):
            order = [one for one in settings if not self._is_out(one)]
            for index, setting in enumerate(order if number % 2 == 0 else reversed(order)):
                if index % _EVERY == 0:
                    self.run(None)
                self.run(setting)
            if order:
                self.run(None)

    def _is_out(self, setting: Setting) -> bool:
        if setting.name in self.failed or setting.name in self.absent:
            return True
        own = [steady(trial) / factor(trial) for trial in self.trials.get(setting.name, ())]
        base = [steady(trial) for trial in self.base]
        return len(own) >= 2 and min(own) > _SLOWER * max(base)

    def run(self, setting: Setting | None) -> None:
        name = setting.name if setting else ""
        began = time.monotonic()
        trial = run_trial(side_with(self.side, setting), self.steps, timeout=self.timeout)
        if trial.interrupted or trial.ended == "killed by SIGINT":
            raise Interrupted
        took = time.monotonic() - began
        self._done += 1
        self._spent += took
        if setting is None:
            self.timeout = max(_LEAST_TIMEOUT, _TIMES_AS_LONG * took)
            said = self._judge_base(trial)
        else:
            said = self._judge(setting, trial)
        self._say(name or "as it is", said)

    def _judge_base(self, trial: Trial) -> str:
        if trial.ended.startswith("exit 0") and trial.steps >= LEAST_STEPS:
            self.base.append(trial)
            return _each(trial)
        return f"{reason(trial)}; left out"

    def _judge(self, setting: Setting, trial: Trial) -> str:
        if not trial.ended.startswith("exit 0"):
            self.failed[setting.name] = reason(trial, self.timeout)
            return f"fails: {self.failed[setting.name]}"
        missing = unreached(setting, trial)
        if missing:
            self.absent[setting.name] = missing
            return f"does not apply: {missing}"
        if trial.steps < LEAST_STEPS:
            few = f"too few steps: the script then ends after {trial.steps}"
            if not self.trials.get(setting.name):
                self.absent[setting.name] = few
            return f"{few}; left out"
        self.trials.setdefault(setting.name, []).append(trial)
        return _each(trial)

    def nudge(self) -> Trial:
        """What a rounding error becomes in this training; run once, when first needed."""
        if self.nudged is None:
            self.progress("some weights differ: one more trial shows the effect of rounding")
            self.nudged = run_trial(self.side, self.steps, nudge=ROUNDING, timeout=self.timeout)
        if self.nudged.interrupted:
            raise Interrupted
        return self.nudged

    def _say(self, name: str, said: str) -> None:
        planned = max(self._planned, self._done)
        left = (planned - self._done) * self._spent / self._done
        remaining = f", about {words.seconds(left)} left" if left else ""
        self.progress(f"[{self._done} of at most {planned}{remaining}] {name}: {said}")


def _each(trial: Trial) -> str:
    return f"{words.seconds(steady(trial))} a step"


def steady(trial: Trial) -> float:
    """Mean seconds per step after the opening: auto-clustering compiles after the first step.

    The longest twentieth counts as its shortest: a pause of the machine hits few steps, the end of
    an epoch more.
    """
    rest = trial.seconds[opening(trial) :]
    return float(np.minimum(rest, np.quantile(rest, _COMMON)).mean()) if len(rest) else trial.steady


def opening(trial: Trial) -> int:
    return max(trial.group, len(trial.seconds) // _OPENING)


def side_with(side: Side, setting: Setting | None) -> Side:
    if setting is None:
        return side
    extra = dict(setting.environment)
    if setting.switches:
        extra["UNSLOW_WHATIF"] = json.dumps(dict(setting.switches))
    return replace(side, env={**side.env, **extra})


# Why a request had no effect, for each thing whose switch confirms that it was applied.
_UNCONFIRMED = {
    "jit_compile": "compile() was never reached",
    "steps_per_execution": "compile() was never reached",
    "functions": "the function was never created",
    "policy": "no layer took the policy: the script sets its own",
    "batch": "no batch was cut from outside",
    "accumulate": "no optimizer took it",
    "optimizer": "no optimizer was replaced",
    "data": "no pipeline was read",
    "determinism": "the script never enables it",
}
_EITHER = {"jit_compile", "functions"}  # one of them is enough


def unreached(setting: Setting, trial: Trial) -> str:
    """Why a setting had no effect though it was set; '' when every part of it was applied."""
    done = {name for fact in trial.switched for name in fact.done}
    if done & _EITHER:
        done |= _EITHER
    if setting.environment:  # determinism is then a variable, which no switch confirms
        done.add("determinism")
    wanted = [name for name, value in setting.switches.items() if value is not None]
    missing = [name for name in wanted if name in _UNCONFIRMED and name not in done]
    if missing:
        return _broken_switch(trial) or _UNCONFIRMED[missing[0]]
    return _overruled(setting, trial)


def _broken_switch(trial: Trial) -> str:
    failed = [fact.why for fact in trial.switched if isinstance(fact, SwitchFailed)]
    lost = [f"{name} {why}" for name, why in trial.lost.items() if name.startswith("whatif")]
    return next(iter(failed + lost), "")


def _overruled(setting: Setting, trial: Trial) -> str:
    """An environment variable that the script itself sets."""
    started = [fact for fact in trial.switched if isinstance(fact, RuntimeStarted)]
    seen = started[0].environment if started else {}
    for name, value in seen.items():
        if value != setting.environment.get(name):
            return f"the script itself sets {name}={value}"
    return ""


def factor(trial: Trial) -> float:
    """How many times the examples of the script's own steps were in a step of this trial."""
    batched = [fact for fact in trial.switched if isinstance(fact, FitStarted | DatasetBatched)]
    cut = [fact.size / fact.was for fact in batched if "batch" in fact.done and fact.was]
    return float(min(cut, default=1.0))


_ERROR = re.compile(r"^[\w.]*(Error|Exception|Exit|Interrupt)\b.*")


def reason(trial: Trial, timeout: float = 0.0) -> str:
    """Why a trial ended as it did, in one line."""
    if trial.ended == "killed by SIGKILL" and timeout:
        return f"stopped after {timeout:.0f} s, {_TIMES_AS_LONG} times as long as without it"
    lines = [line.strip() for line in trial.errors.splitlines() if line.strip()]
    named = [line for line in lines if _ERROR.match(line)]
    return ": ".join([trial.ended, *(named or lines)[-1:]])
