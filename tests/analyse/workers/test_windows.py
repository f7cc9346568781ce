"""Collectives and waits for input in a profile that was taken from a session."""

from __future__ import annotations

import pytest

from unslow.analyse.host import xplane

PICOSECONDS = 10**12


def trace(*events: tuple[bytes, float, float, dict[bytes, bytes]]) -> bytes:
    made = xplane._message("Trace")()
    for name, start, length, arguments in events:
        event = made.events.add(
            name=name, start=int(start * PICOSECONDS), length=int(length * PICOSECONDS)
        )
        for key, value in arguments.items():
            event.arguments.add(key=key, value=value)
    data: bytes = made.SerializeToString()
    return data


def test_a_collective_is_known_by_the_key_that_all_workers_share() -> None:
    data = trace(
        (b"CollectiveReduceV2", 2.0, 0.5, {b"instance_key": b"152", b"group_key": b"1"}),
        (b"CollectiveReduceV2", 1.0, 0.25, {b"instance_key": b"151"}),
        (b"CollectiveExecutor::RunClosure", 1.0, 0.1, {b"name": b"CollectiveReduceV2"}),
        (b"IteratorGetNextOp::DoCompute", 0.5, 0.125, {}),
        (b"MatMul", 0.7, 0.1, {}),
    )
    found = xplane.shared_spans(data)
    assert [(span.key, span.start, span.length) for span in found.collectives] == [
        (151, 1.0, 0.25),
        (152, 2.0, 0.5),
    ]
    assert xplane.covered(found.inputs) == pytest.approx(0.125)


def test_a_damaged_profile_is_an_error_that_its_reader_expects() -> None:
    with pytest.raises(ValueError, match="not a profile"):
        xplane.shared_spans(b"\xff\xff\xff")
