"""The jobs of the campaign: what is wrong with each, and what must be said about it."""

from __future__ import annotations

from dataclasses import dataclass

BATCH = 128  # rows of a batch: steps of about 12 ms on one core


@dataclass(frozen=True)
class Case:
    """One kind of job."""

    name: str
    cause: str = ""  # straggler, communication, or nothing
    reasons: tuple[str, ...] = ()  # any of them is right
    loop: str = "compiled"
    workers: tuple[int, ...] = (2, 3, 4)
    fault: str = ""  # as train.py knows it
    faulty: int | None = None  # the worker; None: the last one
    steps: int = 80
    busy: int = 0  # programs beside the job that keep a processor busy, on any core

    @property
    def sound(self) -> int:
        """Steps after the fault has ended: a fault that is there all the time is easier to find."""
        ends = self.cause == "straggler" and self.fault not in ("late", "core")
        return 70 if ends and self.loop in ("compiled", "inside") else 0

    @property
    def is_healthy(self) -> bool:
        return not self.cause


CASES = (
    Case("healthy: balanced", fault="none"),
    Case("slow input", "straggler", ("input",), fault="input"),
    Case("extra Python", "straggler", ("own Python",), fault="python"),
    Case("extra Python, eager", "straggler", ("own Python",), "eager", (2,), "python"),
    Case("longer batches", "straggler", ("longer batches",), fault="batches"),
    Case("a busy core", "straggler", ("machine",), workers=(2,), fault="core"),
    Case("a memory hoard", "straggler", ("memory",), fault="memory"),
    Case("late start", "straggler", ("late start",), fault="late"),
    Case(
        "evaluation on the chief",
        "straggler",
        ("evaluation or callbacks",),
        fault="evaluate",
        faulty=0,
    ),
    Case("large gradients", "communication", ("large gradients",), fault="large", steps=40),
    Case(
        "many small collectives",
        "communication",
        ("many small collectives",),
        "eager",
        (2, 3),
        "small",
        steps=60,
    ),
    Case("gathered slices", "communication", ("gathered slices",), fault="slices", steps=60),
    Case(
        "parameter-server fetches",
        "communication",
        ("parameter-server fetches",),
        workers=(2,),
        fault="fetch",
        steps=300,
    ),
    Case("slow input inside the step", "straggler", ("input",), "inside", fault="input"),
    Case("healthy: balanced, input inside", loop="inside", fault="none"),
    Case("healthy: rare evaluation on the chief", fault="rare-evaluation", faulty=0),
    Case("healthy: a slow first step", fault="first"),
    Case("healthy: balanced, tf_keras fit", loop="fit", workers=(2,), fault="none"),
    Case("healthy: balanced, beside a busy program", fault="none", steps=400, busy=1),
    Case(
        "healthy: balanced, input inside, beside a busy program",
        loop="inside",
        workers=(2,),
        fault="none",
        steps=400,
        busy=1,
    ),
    Case(
        "extra Python in a callback, tf_keras fit",
        "straggler",
        ("evaluation or callbacks",),
        "fit",
        (2,),
        "python",
    ),
    Case("slow input, tf_keras fit", "straggler", ("input",), "fit", (2,), "input"),
)
