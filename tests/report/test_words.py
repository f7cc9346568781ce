"""Numbers in words."""

from __future__ import annotations

import pytest

from unslow.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (1.78e-17, "0 s"),
        (4.2e-7, "0.420 µs"),
        (0.000047, "47.0 µs"),
        (0.0123, "12.3 ms"),
        (0.9996, "1.00 s"),
        (9.996, "10.0 s"),
        (61.5, "61.5 s"),
        (599, "599 s"),
        (660, "11.0 min"),
        (9000, "2.50 h"),
        (-0.05, "-50.0 ms"),
        (3.6e7, "10,000 h"),
    ],
)
def test_seconds_have_three_digits_and_the_unit_that_fits(value: float, text: str) -> None:
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.50 kB"), (999_950_000, "1.00 GB"), (-2e6, "-2.00 MB")],
)
def test_sizes_are_decimal(value: float, text: str) -> None:
    assert words.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0%"), (0.0004, "under 0.1%"), (0.05, "5.0%"), (0.0996, "10%"), (14.5, "1,450%")],
)
def test_shares_are_per_cent(value: float, text: str) -> None:
    assert words.share(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (297, "", "297"),
        (0.071, "s", "71.0 ms"),
        (4.1e8, "bytes", "410 MB"),
        (0.71, "share", "71%"),
        (41.0, "%", "41%"),
        (2e6, "bytes per step", "2.00 MB per step"),
        (0.01, "s/step", "10.0 ms/step"),
        ("a → b", "", "a → b"),
        (3, "nodes", "3 nodes"),
        (True, "", "True"),
        (1.5, "times", "1.50 times"),
        (float("inf"), "", "inf"),
    ],
)
def test_evidence_reads_in_its_unit(value: object, unit: str, text: str) -> None:
    assert words.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (50, "50th"), (1003, "1,003rd")],
)
def test_ordinals(value: int, text: str) -> None:
    assert words.ordinal(value) == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("no code", [(False, "no code")]),
        ("`a` and `b`", [(True, "a"), (False, " and "), (True, "b")]),
        ("one ` tick", [(False, "one ` tick")]),
        ("`a` then `", [(True, "a"), (False, " then `")]),
        ("", []),
    ],
)
def test_back_ticks_mark_code_in_pairs(text: str, parts: list[tuple[bool, str]]) -> None:
    assert words.spans(text) == parts


def test_text_with_escape_sequences_and_stray_bytes_becomes_visible() -> None:
    assert words.plain("a\x1b[31m\udce9\u202e\u00a0b") == "a\\x1b[31m\\xe9\\u202e b"


def test_ordinary_text_of_any_script_is_left_alone() -> None:
    assert words.plain("größe 訓練 🚀\n\tx") == "größe 訓練 🚀\n\tx"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("each step waits", "Each step waits"),
        ("step_1 is traced", "step_1 is traced"),
        ("logs grows", "logs grows"),
    ],
)
def test_a_sentence_has_a_capital_unless_it_begins_with_a_name(text: str, shown: str) -> None:
    assert words.sentence(text) == shown


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (11.2, "≈11× faster"),
        (1.2, "≈1.2× faster"),
        (1 / 1.2, "≈1.2× slower"),
        (1 / 1.05, "≈1.05× slower"),
        (0.998, "as fast"),
        (1000, "over 100× faster"),
    ],
)
def test_every_ratio_is_a_speedup_in_words(ratio: float, text: str) -> None:
    assert words.speed(ratio) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.0123, 9.994, "1.01–9.99× faster"),
        (0.006, 0.16, "6.25–167× slower"),
        (1 / 15.98, 1400, "16.0× slower to 1,400× faster"),
    ],
)
def test_an_interval_has_three_digits(low: float, high: float, text: str) -> None:
    assert words.interval(low, high) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.1, 1.3, "1.10–1.30× faster"),
        (0.5, 0.8, "1.25–2.00× slower"),
        (0.8, 1.1, "1.25× slower to 1.10× faster"),
    ],
)
def test_an_interval_says_the_direction_of_its_ends(low: float, high: float, text: str) -> None:
    assert words.interval(low, high) == text


def test_a_number_is_joined_to_its_unit_and_to_nothing_else() -> None:
    joined = words.unbroken("12.3 ms of 2 cores in 250 steps", "_")
    assert joined == "12.3_ms of 2 cores in 250_steps"


def test_a_factor_stands_close_to_its_sign() -> None:
    assert words.quantity(1.01, "×") == "1.01×"
