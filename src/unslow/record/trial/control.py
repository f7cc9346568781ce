"""A trial of `prove` and `whatif`: fixed seeds, a stop after N steps, and the weights then."""

from __future__ import annotations

import json
import os
import sys

from unslow.facts.process import Unwritten
from unslow.record.engine.foreign import Foreign
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, Recorder, clock
from unslow.record.engine.steps import Steps
from unslow.record.engine.watcher import Watcher
from unslow.record.trial.losses import Losses

_MOST_BYTES = 256 << 20
_LEAST = 10  # steps, however long they take


class Trial:
    """One trial. `setting` is a JSON object with these keys:

    steps    after which it stops
    out      folder for the weights
    seed     0 by default; also added to the seeds that the script sets itself
    nudge    relative change of the weights after the first step, 0.0 by default
    seconds  after which fewer steps are enough, null by default
    repeats  whether calls that only repeat count as steps, false by default
    losses   whether losses are kept, which takes some time in each step, false by default
    """

    def __init__(self, setting: str, recorder: Recorder, steps: Steps) -> None:
        chosen = json.loads(setting)
        self._limit = int(chosen["steps"])
        self._out = str(chosen["out"])
        self._seed = int(chosen.get("seed", 0))
        self._nudge = float(chosen.get("nudge", 0.0))
        self._enough = int(float(chosen.get("seconds") or 0) * 1e9)
        self._began = 0
        self._recorder = recorder
        self._steps = steps
        self._chance: Foreign = None
        self._done = False
        self._keeps_losses = bool(chosen.get("losses"))
        self._losses: Losses | None = None
        recorder.is_trial = True
        recorder.signals.row.subscribe("trial", self._count)
        # Else what is repeated before the training would count.
        steps.trains = not chosen.get("repeats")

    def probes(self, watcher: Watcher) -> list[Probe]:
        """What a trial sees beside what every recording does."""
        if not self._keeps_losses:
            return []
        self._losses = Losses(self._recorder, self._steps, watcher)
        return [self._losses]

    def seed(self) -> None:
        """Before the script's own code runs; a script that sets its own seeds wins."""
        import random

        numpy, tensorflow = sys.modules.get("numpy"), sys.modules["tensorflow"]
        random.seed(self._seed)
        if numpy is not None:
            numpy.random.seed(self._seed)
        tensorflow.random.set_seed(self._seed)
        if not self._seed:
            return
        places: list[tuple[Foreign, str]] = [(random, "seed"), (tensorflow.random, "set_seed")]
        places.append((tensorflow.compat.v1, "set_random_seed"))
        if numpy is not None:
            places += [(numpy.random, "seed"), (numpy.random, "default_rng")]
        for owner, name in places:
            _shift_seed(owner, name, self._seed)

    def _count(self, lane: Lane) -> None:
        if self._losses is not None:
            self._losses.row_ended()
        if self._nudge and self._steps.total == 1:
            self._nudge_weights(lane)
        if (self._steps.led >= self._limit or self._is_late()) and not self._done:
            self.finish()
            self._steps.flush(last=True)
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(0)

    def _is_late(self) -> bool:
        if not self._enough:
            return False
        self._began = self._began or clock()
        return self._steps.led >= _LEAST and clock() - self._began > self._enough

    def _nudge_weights(self, lane: Lane) -> None:
        """Change each weight by a rounding error, to see what rounding alone does to this training.

        Up or down at random: a network that is merely scaled takes the same course as before.
        """
        lane.busy = True
        for held in list(self._recorder.kept_weights.values()):
            try:
                self._nudge_session(held) if hasattr(held, "partial_run") else self._nudge_variable(
                    held
                )
            except Exception as problem:  # noqa: BLE001 - the variable may be gone
                self._recorder.emit(Unwritten(of="nudge", why=str(problem)[:200]))
        lane.busy = False

    def _nudge_variable(self, variable: Foreign) -> None:
        if "float" in str(getattr(variable, "dtype", "")):
            variable.assign(self._moved(variable.numpy()))

    def _nudge_session(self, session: Foreign) -> None:
        for variable in session.graph.get_collection("trainable_variables"):
            if "float" in str(variable.dtype):
                variable.load(self._moved(session.run(variable)), session)

    def _moved(self, array: Foreign) -> Foreign:
        """Up or down by a source of chance of our own: the training's must not notice."""
        self._chance = self._chance or sys.modules["numpy"].random.RandomState(self._seed)
        signs = self._chance.randint(0, 2, array.shape) * 2 - 1
        return (array * (1.0 + self._nudge * signs)).astype(array.dtype)

    def finish(self) -> None:
        """Write the weights: one file of raw numbers and one that says what they are."""
        if self._done:
            return
        self._done = True
        lane = self._recorder.local.lane
        lane.busy = True
        index, offset, peak = [], 0, _peak_memory()
        os.makedirs(self._out, exist_ok=True)
        with open(os.path.join(self._out, "weights.bin"), "wb") as file:
            for name, array in self._weights():
                data = array.tobytes()
                if offset + len(data) > _MOST_BYTES:
                    break
                file.write(data)
                index.append(
                    {
                        "name": name,
                        "shape": list(array.shape),
                        "dtype": str(array.dtype),
                        "offset": offset,
                    }
                )
                offset += len(data)
        with open(os.path.join(self._out, "weights.json"), "w", encoding="utf-8") as file:
            counts = {"steps": self._steps.led, "updates": self._steps.total, "peak_bytes": peak}
            json.dump({**counts, "weights": index}, file)
        if self._losses is not None:
            self._losses.write(self._out)
        lane.busy = False

    def _weights(self) -> list[tuple[str, Foreign]]:
        found: list[tuple[str, Foreign]] = []
        for held in self._recorder.kept_weights.values():
            try:
                found.extend(
                    _of_session(held) if hasattr(held, "partial_run") else [_of_variable(held)]
                )
            except Exception as problem:  # noqa: BLE001 - the variable may be gone
                self._recorder.emit(Unwritten(of="weight", why=str(problem)[:200]))
        return found


def _shift_seed(owner: object, name: str, shift: int) -> None:
    """Let a function that takes a seed as its first argument get another one."""
    original = getattr(owner, name)

    def shifted(*values: Foreign, **named: Foreign) -> object:
        if values and isinstance(values[0], int):
            values = (values[0] + shift, *values[1:])
        elif isinstance(named.get("seed"), int):
            named["seed"] += shift
        return original(*values, **named)

    setattr(owner, name, shifted)


def _peak_memory() -> int:
    """The most resident bytes so far; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(
                (int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")), 0
            )
    except (OSError, ValueError):
        return 0


def _of_variable(variable: Foreign) -> tuple[str, Foreign]:
    return str(getattr(variable, "name", "")), variable.numpy()


def _of_session(session: Foreign) -> list[tuple[str, Foreign]]:
    variables = session.graph.get_collection("trainable_variables")
    return [
        (str(variable.name), value)
        for variable, value in zip(variables, session.run(variables), strict=True)
    ]
