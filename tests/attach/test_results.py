"""The measured promises of attaching: what `make attach-bench` and `make attach-pythons` kept."""

from __future__ import annotations

import statistics

from bench.attach.results import changes_of, read

PAUSE = 0.1  # seconds


def test_no_step_was_held_up_longer_than_promised() -> None:
    for one in read()["rounds"]["rounds"]:
        assert max(one["longest_attach"], one["longest_detach"]) <= PAUSE


def test_fifty_rounds_left_no_memory_behind_and_lost_no_step() -> None:
    found = read()["rounds"]
    memory = found["memory"]
    assert len(memory) == 50 and found["same"]
    assert memory[-1] - memory[9] < 4e6  # bytes; the first rounds load and prepare


def test_a_step_after_detaching_costs_what_it_did_before() -> None:
    for style, one in read()["after"].items():
        # Noise of a shared machine, and what is left.
        assert statistics.median(changes_of(one)) < 1.03, style


def test_every_style_of_loop_was_attached_to_on_every_python() -> None:
    found = {one["python"]: {loop["style"] for loop in one["loops"]} for one in read()["pythons"]}
    assert set(found) == {"3.10", "3.11", "3.12", "3.13", "3.14"}
    assert len(set.intersection(*found.values())) == 7
