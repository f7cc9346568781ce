"""How often a loop's body was repeated, told from the numbers in which its ops occur."""

from __future__ import annotations

import random

import pytest

from unslow.record.probes.functions.traced_graphs import _period


def test_a_short_period_does_not_hide_the_long_one_that_it_divides() -> None:
    counts = [200] * 40 + [400] * 10 + [10] * 6 + [1] * 50
    assert _period(counts, sum(counts)) == 200


def test_alike_layers_that_make_up_little_of_the_graph_are_no_loop() -> None:
    counts = [12] * 3 + [1] * 500
    assert _period(counts, sum(counts)) == 0


def test_a_body_that_makes_every_kind_of_op_several_times() -> None:
    """Eighty steps of a simulation and its gradients: no kind of op occurs eighty times."""
    counts = [
        1746,
        1346,
        880,
        641,
        635,
        *[480] * 4,
        *[477] * 3,
        475,
        475,
        400,
        398,
        320,
        320,
        318,
        316,
        160,
        160,
        158,
    ]
    counts += [158, 158, 8, 6, *[4] * 13, 3, *[2] * 9, *[1] * 24]
    assert _period(counts, sum(counts)) == 80


@pytest.mark.parametrize("seed", range(40))
def test_counts_without_a_common_measure_are_no_loop(seed: int) -> None:
    chance = random.Random(seed)
    counts = [round(chance.lognormvariate(2.5, 1.5)) + 1 for _ in range(120)]
    assert _period(counts, sum(counts)) < 16
