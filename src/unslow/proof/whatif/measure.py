"""Trials of every setting in turn, in fresh processes, with the script as it is in between."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unslow.proof.prove import ROUNDING
from unslow.proof.trials import Side, Trial, run_trial
from unslow.proof.whatif.settings import Setting

LEAST_STEPS = 5
_EVERY = 6  # settings between two trials of the script as it is: a machine's pace drifts
_SLOWER = 1.3  # clearly slower twice: no third trial is needed to leave it
_TIMES_AS_LONG = 10
_COMMON = 0.95
_OPENING = 3  # the first third of the steps is where tracing, compiling and warming up happen
_LEAST_TIMEOUT = 120.0

Progress = Callable[[str], None]


class Interrupted(Exception):
    """Ctrl-C was typed: what was measured so far is kept."""


@dataclass
class Bench:
    """Runs trials and keeps them, by the name of the setting; the script as it is has the name ''."""

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
        """Each setting once a round, in turning order; one that fails or does not apply is left out at once."""
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
            return f"{steady(trial) * 1e3:.3g} ms a step"
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
            few = f"too few steps: the script ends after {trial.steps} then"
            if not self.trials.get(setting.name):
                self.absent[setting.name] = few
            return f"{few}; left out"
        self.trials.setdefault(setting.name, []).append(trial)
        return f"{steady(trial) * 1e3:.3g} ms a step"

    def nudge(self) -> Trial:
        """What a rounding error becomes in this training; run once, when first asked for."""
        if self.nudged is None:
            self.progress(
                "some weights differ: one more trial shows what rounding alone becomes in this training"
            )
            self.nudged = run_trial(self.side, self.steps, nudge=ROUNDING, timeout=self.timeout)
            if self.nudged.interrupted:
                raise Interrupted
        return self.nudged

    def _say(self, name: str, said: str) -> None:
        left = max(0, self._planned - self._done) * self._spent / self._done
        minutes = (
            f", about {left / 60:.0f} min left"
            if left >= 90
            else f", about {left:.0f} s left"
            if left
            else ""
        )
        self.progress(
            f"[{self._done} of at most {max(self._planned, self._done)}{minutes}] {name}: {said}"
        )


def steady(trial: Trial) -> float:
    """Mean seconds per step after the opening: auto-clustering, for one, compiles in a later step than the first.

    The longest twentieth counts as its shortest: a pause of the machine hits few steps, an epoch's end more.
    """
    rest = trial.seconds[opening(trial) :]
    return float(np.minimum(rest, np.quantile(rest, _COMMON)).mean()) if len(rest) else trial.steady


def opening(trial: Trial) -> int:
    return max(trial.group, len(trial.seconds) // _OPENING)


def side_with(side: Side, setting: Setting | None) -> Side:
    if setting is None:
        return side
    extra = dict(setting.environment)
    if setting.asked:
        extra["UNSLOW_WHATIF"] = json.dumps(dict(setting.asked))
    return replace(side, env={**side.env, **extra})


# What a switch in the training's process says it has done, for each thing that can be asked for.
_CONFIRMED = {
    "jit_compile": "compile() was never reached",
    "steps_per_execution": "compile() was never reached",
    "functions": "the function was never made",
    "policy": "no layer took the policy: the script sets its own",
    "batch": "no batch was cut from outside",
    "accumulate": "no optimizer took it",
    "optimizer": "no optimizer was replaced",
    "data": "no pipeline was read",
    "determinism": "it was never asked for",
}


def unreached(setting: Setting, trial: Trial) -> str:
    """Why a setting had no effect though it was asked for; '' when every part of it was applied."""
    done = {name for fact in trial.told for name in fact.get("done", ())}
    broken = next((fact["why"] for fact in trial.told if fact["what"] == "failed"), "")
    for switch, why in trial.lost.items():
        broken = broken or (f"{switch} {why}" if switch.startswith("whatif") else "")
    either = {"jit_compile", "functions"} & set(setting.asked)
    for name in setting.asked:
        applied = bool(done & either) if name in either else name in done
        if name in _CONFIRMED and not applied and setting.asked[name] is not None:
            if name == "determinism" and setting.environment:
                continue
            return broken or _CONFIRMED[name]
    started = next((fact for fact in trial.told if fact["what"] == "started"), None)
    for name, value in (started or {}).get("environment", {}).items():
        if value != setting.environment.get(name):
            return f"the script itself sets {name}={value}"
    return ""


def factor(trial: Trial) -> float:
    """How many times the examples of the script's own steps were in a step of this trial."""
    scales = [
        fact["size"] / fact["was"]
        for fact in trial.told
        if "batch" in fact.get("done", ()) and fact["was"]
    ]
    return float(min(scales, default=1.0))


_ERROR = re.compile(r"^[\w.]*(Error|Exception|Exit|Interrupt)\b.*")


def reason(trial: Trial, timeout: float = 0.0) -> str:
    """Why a trial ended as it did, in one line."""
    if trial.ended == "killed by SIGKILL" and timeout:
        return f"stopped after {timeout:.0f} s, {_TIMES_AS_LONG} times as long as without it"
    lines = [line.strip() for line in trial.errors.splitlines() if line.strip()]
    named = [line for line in lines if _ERROR.match(line)]
    said = (named or lines or [""])[-1]
    return f"{trial.ended}: {said}" if said else trial.ended


def told_examples(seen: int, trials: Sequence[Trial]) -> float:
    """Examples in a step of these trials."""
    return seen * factor(trials[0]) if trials else 0.0


Trials = Mapping[str, Sequence[Trial]]
