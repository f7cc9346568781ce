"""Calls that the interpreter makes for us on the main thread."""

from __future__ import annotations

from unslow.record.engine.pending_calls import pending_call


def test_a_scheduled_call_is_made() -> None:
    made: list[int] = []
    call = pending_call(lambda: made.append(1))
    call.schedule()
    sum(range(10))
    call.end()
    assert made == [1]


def test_one_that_ended_does_nothing_and_serves_the_next_recording() -> None:
    made: list[int] = []
    call = pending_call(lambda: made.append(1))
    schedule = call.schedule
    call.end()
    call.end()
    schedule()
    sum(range(10))
    assert made == []
    first, second = pending_call(list), pending_call(list)
    assert first is call
    assert second is not call
    first.end()
    second.end()
