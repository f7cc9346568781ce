"""The page of benchmarks says what was measured, and says what was not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import report
from bench.results import ratio, read


def test_the_page_and_its_plot_are_not_stale(tmp_path: Path) -> None:
    report.write(tmp_path)
    for made in sorted(tmp_path.iterdir()):
        kept = ROOT / "docs" / made.name
        if not kept.exists() or kept.read_text(encoding="utf-8") != made.read_text(
            encoding="utf-8"
        ):
            pytest.fail(
                f"docs/{made.name} is not what bench/results.json says: run python bench/report.py"
            )


def test_without_measurements_every_target_is_not_measured() -> None:
    assert {row[-1] for row in report.targets({})} == {"not measured"}


def test_every_target_is_in_the_page() -> None:
    page = report.page(read())
    assert [row[0] for row in report.targets(read()) if row[0] not in page] == []


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.0, 1.02, "met"),
        (1.04, 1.06, "**missed**"),
        (1.02, 1.04, "undecided: the interval contains it"),
    ],
)
def test_a_target_is_met_only_where_the_whole_interval_meets_it(
    low: float, high: float, said: str
) -> None:
    assert report.verdict(low, high, 1.03) == said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((1.008, 1.0, 1.019), "met"),
        ((1.008, 1.0, 1.03), "undecided: the interval contains it"),
        ((1.04, 1.03, 1.05), "**missed**"),
        ((1.0, None, None), "undecided: too few runs"),
    ],
)
def test_a_ratio_is_met_where_its_interval_ends_close_above(
    found: tuple[float | None, ...], said: str
) -> None:
    assert report.reached(found, 1.01) == said


@pytest.mark.parametrize(
    ("peer", "said"),
    [([1.5] * 6, "met"), ([0.9] * 6, "**missed**"), ([0.9, 1.2] * 3, "undecided for 1")],
)
def test_every_tool_is_set_against_ours(peer: list[float], said: str) -> None:
    tools = {
        name: {"styles": {"eager": {"steps": steps}}}
        for name, steps in {"unslow": [1.0] * 6, "peer": peer}.items()
    }
    assert [row[-1] for row in report._against_peers({"overhead": {"tools": tools}})] == [said]


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ((1.03, 1.02, 1.04), "1 longer"),
        ((1.0, 0.995, 1.005), "1 the same within 1%"),
        ((0.97, 0.96, 0.98), "1 less"),
        ((1.0, 0.9, 1.1), "1 undecided"),
    ],
)
def test_turns_in_one_process_say_more_than_processes(
    beside: tuple[float, float, float], said: str
) -> None:
    tools = {name: {"styles": {"eager": {"steps": [1.0, 3.0] * 3}}} for name in ("unslow", "peer")}
    turns = {"styles": {"eager": {"tools": {"peer": {"beside": beside}}}}}
    assert [
        row[1] for row in report._against_peers({"overhead": {"tools": tools}, "turns": turns})
    ] == [said]


def test_a_peer_that_crashes_is_a_row_with_its_reason() -> None:
    row = {"title": "peer", "runs": 3, "failed": ["exit code 1: no"] * 2, "styles": {}}
    assert "2 of 3: exit code 1: no" in report._beside("peer", row, bare=False)


def test_a_peer_that_does_not_install_is_a_row_with_its_reason() -> None:
    row = {
        "title": "peer",
        "runs": 0,
        "failed": [],
        "styles": {},
        "absent": "does not install here: no wheel",
    }
    assert "does not install here: no wheel" in report._beside("peer", row, bare=False)


def test_a_ratio_of_equal_sides_is_one() -> None:
    assert ratio([2.0] * 5, [2.0] * 5) == (1.0, 1.0, 1.0)


def test_paired_blocks_see_through_a_pace_that_changes() -> None:
    pace = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    middle, low, high = ratio([1.03 * each for each in pace], pace, paired=True)
    assert (
        low == pytest.approx(1.03) and middle == pytest.approx(1.03) and high == pytest.approx(1.03)
    )


def test_a_few_runs_have_no_interval() -> None:
    assert ratio([2.0, 2.0], [1.0, 1.0]) == (2.0, None, None)


def test_a_few_runs_meet_no_target() -> None:
    assert report.verdict(None, None, 1.03) == "undecided: too few runs"
