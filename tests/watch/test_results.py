"""The measured promises: the page is what the results say, and the results keep the promises."""

from __future__ import annotations

from bench.watch import page


def test_the_page_is_written_from_the_results() -> None:
    assert page.page(page.results()) == page.PAGE.read_text(), "run make watch-bench"


def test_false_alarms_are_rarer_than_one_in_thirty_days() -> None:
    found = page.results()["simulate"]
    rows = found["recordings"]
    alarms = sum(row["alarms"] + row["alarms_busy"] for row in rows)
    alarms += sum(row["alarms"] for row in found["long_runs"])
    days = sum(2 * row["days"] for row in rows) + sum(row["days"] for row in found["long_runs"])
    assert 30 * alarms / days < 1


def test_each_trouble_was_reported_once_and_the_healthy_training_not_at_all() -> None:
    found = page.results()["real"]
    assert [(row["kind"], row["times"]) for row in found["troubles"]] == [
        ("slower", 1),
        ("memory", 1),
        ("stalled", 1),
    ]
    assert not found["others"] and not found["healthy"]


def test_memory_is_flat_over_ten_million_steps() -> None:
    held = page.results()["cost"]["held"]
    assert max(held) - min(held) < 1 << 20
