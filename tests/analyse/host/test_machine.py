"""What others took of the machine while a loop ran."""

from __future__ import annotations

import pytest

from unslow.analyse.host.machine import contention
from unslow.analyse.sketches.jobs import Hand, JobSketch


@pytest.mark.parametrize(("hosts", "busy"), [(("one", "one"), False), (("one", "two"), True)])
def test_the_other_workers_of_a_job_on_the_same_machine_are_no_others(
    hosts: tuple[str, str], busy: bool
) -> None:
    """Both workers use a core each, and two cores of the machine of each are in use."""
    rates = {"machine_cpu": 2.0, "user_cpu": 1.0, "system_cpu": 0.0, "waited": 0.5, "ran": 0.5}
    ticks = {name: [rate * second for second in range(5)] for name, rate in rates.items()}
    sketch = JobSketch(
        "two", workers=(Hand(), Hand()), hosts=hosts, ticks=ticks, machine={"cores": 2}
    )
    run = sketch.run()
    assert contention(run, run.loops[0]).is_busy is busy
