"""Which steps share a record depends on their numbers alone, so that all workers agree."""

from __future__ import annotations

from unslow.facts.workers import FULL_RECORDS, RECORDS_PER_WIDTH, closes_at, width_at


def test_a_record_holds_as_many_steps_as_its_width_says() -> None:
    steps = 0
    for step in range(1, 20_001):
        steps += 1
        if closes_at(step):
            assert steps == width_at(step)
            steps = 0


def test_the_number_of_records_grows_with_the_logarithm_of_the_steps() -> None:
    records = sum(map(closes_at, range(1, 100_001)))
    assert FULL_RECORDS < records <= FULL_RECORDS + 7 * RECORDS_PER_WIDTH


def test_the_first_steps_have_a_record_each() -> None:
    assert all(map(closes_at, range(1, FULL_RECORDS + 1)))
    assert not closes_at(FULL_RECORDS + 1)
    assert closes_at(FULL_RECORDS + 2)
