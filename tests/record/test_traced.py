"""How often a loop's body was repeated, told from the numbers in which its ops occur."""

from __future__ import annotations

from unslow.record.probes.traced import _period


def test_a_short_period_does_not_hide_the_long_one_that_it_divides() -> None:
    counts = [200] * 40 + [400] * 10 + [10] * 6 + [1] * 50
    assert _period(counts, sum(counts)) == 200


def test_alike_layers_that_make_up_little_of_the_graph_are_no_loop() -> None:
    counts = [12] * 3 + [1] * 500
    assert _period(counts, sum(counts)) == 0
