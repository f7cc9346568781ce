"""Other processes, throttling or a hypervisor took the processor away."""

from __future__ import annotations

from collections.abc import Iterable

from unslow.analyse import wording as say
from unslow.analyse.host.machine import contention, gained
from unslow.analyse.sketches.sketch import Sketch
from unslow.cause import Cause
from unslow.facts.machine import Machine
from unslow.model import Evidence, Finding, Loop, Run

_WORTH = 0.05  # of the time, throttled or stolen (judgement)
_MOST_LOST = 0.95  # of the loop: some of it was needed
_COUNTERS = ("waited", "throttled", "steal")


class NoisyMachine(Cause):
    """
    What happens

    The training was ready to run but no processor was free: another process used it, the
    container's quota was used up, or the hypervisor gave the time to another machine.

    Why it is slow

    The steps take longer, and vary more, than the program needs. No change of the program helps.

    The fix

    Run on a quieter machine, raise the container's quota, or stop the other processes, and measure
    again.

    When we are wrong

    A training that starts its own helper processes competes with itself; they count as others here.
    """

    title = "the machine was busy with something else"
    reads = (Machine,)
    deeper_than = (
        "input-bound",
        "python-overhead",
        "tiny-batches",
        "host-sync",
        "gc-pauses",
        "slow-callbacks",
        "slow-first-step",
    )

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            yield from self._judge(run, loop)

    def _judge(self, run: Run, loop: Loop) -> Iterable[Finding]:
        rate = {name: gained(run, loop, name) or 0.0 for name in _COUNTERS}
        seen = contention(run, loop)
        cores, others, waited = seen.cores, seen.others, seen.waited
        stolen = rate["steal"] / cores
        taken = max(rate["throttled"], stolen)
        if not seen.is_busy and taken < _WORTH:
            return
        lost = taken  # seconds per second
        advice = "Measure again on a quiet machine: small costs in this report may be noise."
        if seen.is_busy:
            lost = max(rate["waited"], taken)
            title = f"other programs used {say.share(others)} of the {cores:.0f} cores; "
            title += f"the training waited {say.share(max(waited, taken))} of the time"
        elif rate["throttled"] >= stolen:
            title = "the container's processor quota was used up "
            title += f"{say.share(min(taken, 1.0))} of the time"
            advice = "Raise the container's quota, or measure again without it."
        else:
            title = f"the hypervisor took the processor away {say.share(taken)} of the time"
        yield Finding(
            cause=self.id,
            title=title,
            location=None,
            seconds=min(_MOST_LOST, lost) * loop.total,
            fault=False,
            evidence=(
                Evidence("waiting, of the time it could have run", say.share(waited)),
                Evidence("cores used by others", round(others * cores, 2)),
                Evidence("throttled", round(rate["throttled"], 3), "s per s"),
                Evidence("stolen", round(rate["steal"], 3), "s per s"),
            ),
            advice=advice,
        )


def _ticks(**rates: float) -> dict[str, list[float]]:
    return {name: [rate * second for second in range(5)] for name, rate in rates.items()}


NoisyMachine.FIRES = (
    Sketch(
        "another process on the same cores",
        [0.01] * 300,
        ticks=_ticks(
            waited=0.4,
            ran=0.6,
            machine_cpu=2.0,
            user_cpu=0.8,
            system_cpu=0.1,
            throttled=0.0,
            steal=0.0,
        ),
    ),
    Sketch(
        "another process on the cores of the threads that the training thread sleeps for",
        [0.01] * 300,
        ticks=_ticks(waited=0.08, ran=0.12, machine_cpu=2.0, user_cpu=0.7, system_cpu=0.1),
    ),
    Sketch(
        "a container's quota",
        [0.01] * 300,
        ticks=_ticks(throttled=0.3, machine_cpu=1.0, user_cpu=1.0),
    ),
)
NoisyMachine.QUIET = (
    Sketch(
        "a training whose own threads compete",
        [0.01] * 300,
        ticks=_ticks(waited=0.4, ran=0.6, machine_cpu=2.0, user_cpu=1.9, system_cpu=0.1),
    ),
    Sketch(
        "others in the background that take nothing away",
        [0.01] * 300,
        ticks=_ticks(waited=0.02, ran=0.5, machine_cpu=1.6, user_cpu=0.8),
    ),
)
