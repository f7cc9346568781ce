"""What the processors did during a block."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from unslow.watch.load import Load, Reading, Usage, of_process, of_tick

TICK = {
    "t": 5_000_000_000,
    "machine_cpu": 100.0,
    "steal": 1.0,
    "user_cpu": 30.0,
    "system_cpu": 2.0,
}


def test_a_tick_says_what_the_machine_and_the_training_used() -> None:
    assert of_tick(TICK) == Reading(5.0, 101.0, 32.0)


@pytest.mark.parametrize("lost", ["machine_cpu", "user_cpu"])
def test_a_tick_without_counters_says_nothing(lost: str) -> None:
    assert of_tick({key: value for key, value in TICK.items() if key != lost}) is None


def test_the_rest_is_other_programs() -> None:
    load = Load(cores=4)
    for at in range(11):
        load.add(Reading(float(at), 3.0 * at, 1.0 * at))
    usage = load.usage(2.5, 7.5)
    assert usage.machine == pytest.approx(0.75) and usage.others == pytest.approx(0.5)
    assert usage.own == pytest.approx(5.0)


def test_a_training_may_fill_the_machine_alone() -> None:
    assert Usage(machine=1.0, others=0.5).crowded
    assert not Usage(machine=1.0, others=0.02).crowded
    assert not Usage(machine=0.6, others=0.5).crowded


def test_nothing_is_known_without_readings() -> None:
    assert Load(cores=4).usage(0, 5) == Usage()
    assert Load(cores=4).recent(10) is None


def test_readings_are_bounded() -> None:
    load = Load(cores=1)
    for at in range(5000):
        load.add(Reading(float(at), at, at))
    assert len(load._readings) <= 512


def test_children_of_the_training_are_no_other_programs() -> None:
    spin = "import time; end = time.monotonic() + 0.4\nwhile time.monotonic() < end: pass"
    before = of_process(os.getpid(), time.perf_counter())
    child = subprocess.Popen([sys.executable, "-c", spin + "\ntime.sleep(30)"])
    try:
        end = time.monotonic() + 20
        while (after := of_process(os.getpid(), time.perf_counter())) and before:
            if after.own - before.own > 0.15 or time.monotonic() > end:
                break
        assert before and after and after.own - before.own > 0.15
    finally:
        child.kill()
        child.wait()


def test_a_process_that_is_gone_says_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert of_process(child.pid, 1.0) is None
