"""The iterations of a graph's loop, in a profile as TensorFlow serializes it."""

from __future__ import annotations

import pytest

from unslow.record.probes.functions.loop_iterations import iterations


def event(number: int) -> bytes:
    """An event of the executor, as TensorFlow 2.21 writes it."""
    digits = str(number).encode()
    argument = b"\n\x08iter_num\x12" + bytes([len(digits)]) + digits
    body = b"\x08\xbd\x05\x10\xde\x01\x1a\x16ExecutorState::ProcessH\xf0\xcfP\xa8\x05"
    body += b"Z" + bytes([len(argument)]) + argument
    return b'"' + bytes([len(body)]) + body


def test_the_last_iteration_counts() -> None:
    assert iterations(b"".join(map(event, range(300)))) == 299


def test_of_a_large_profile_pieces_are_enough() -> None:
    profile = b"".join(map(event, range(100_000)))
    assert len(profile) > 64 * (1 << 16)
    assert iterations(profile) == pytest.approx(100_000, rel=0.03)


def test_a_graph_without_loops_has_no_iterations() -> None:
    assert iterations(event(0) * 50) == 0
    assert iterations(b"") == 0
