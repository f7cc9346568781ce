"""Steps as blocks: the same whatever the recorder merged, and unmoved by a few long steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unslow.facts.phase import Phase
from unslow.runfolder.steplog import FIELDS
from unslow.watch.blocks import Block, Blocks


def rows(steps: Any, site: int = 0, elements: Any = 0.0, evaluation: Any = 0.0) -> Any:
    """One row per step; validation is part of a step's time."""
    found = np.zeros(len(steps), dtype=FIELDS)
    walls = (np.asarray(steps) * 1e9).astype(np.int64)
    found["end"] = np.cumsum(walls) + int(1e12)
    for name in ("total", "low", "high"):
        found[name] = walls
    found["count"] = 1
    found["site"] = site
    found["elements"] = elements
    found["phases"][:, Phase.EVAL] = (np.asarray(evaluation) * 1e9).astype(np.int64)
    return found


def merged(single: Any, width: int) -> Any:
    groups = single[: len(single) // width * width].reshape(-1, width)
    found = groups[:, -1].copy()
    for name in ("total", "count", "elements"):
        found[name] = groups[name].sum(axis=1)
    return found


def blocks_of(data: Any, at_once: int = 1000) -> list[Block]:
    taker = Blocks()
    return [
        block for at in range(0, len(data), at_once) for block in taker.add(data[at : at + at_once])
    ]


def test_a_block_holds_five_seconds_and_the_time_of_a_step() -> None:
    found = blocks_of(rows([0.1] * 1200))
    assert len(found) > 10
    for block in found:
        assert block.end - block.begin == pytest.approx(5, abs=1.1)
        assert block.step == pytest.approx(0.1)


def test_the_first_half_minute_of_a_loop_is_left_out() -> None:
    found = blocks_of(rows([0.1] * 1200))
    assert found[0].begin >= 1000 + 30


def test_it_does_not_matter_in_which_pieces_rows_are_read() -> None:
    data = rows(np.random.default_rng(1).uniform(0.05, 0.15, 1500), elements=8.0)
    assert blocks_of(data, 7) == blocks_of(data, 1500)


@pytest.mark.parametrize("width", [2, 4, 8])
def test_merged_rows_give_the_same_values(width: int) -> None:
    single = rows(np.random.default_rng(2).exponential(0.01, 20_000))
    alone = np.median([block.step for block in blocks_of(single)])
    together = np.median([block.step for block in blocks_of(merged(single, width))])
    assert together == pytest.approx(alone, rel=0.02)


def test_a_long_step_now_and_then_does_not_move_a_block() -> None:
    steps = np.full(3000, 0.05)
    steps[::90] = 2.0  # a checkpoint
    values = [block.step for block in blocks_of(rows(steps))]
    assert max(values) < 0.06


def test_validation_inside_a_step_is_not_part_of_its_time() -> None:
    evaluation = np.zeros(3000)
    evaluation[::10] = 1.0
    values = [b.step for b in blocks_of(rows(0.05 + evaluation, evaluation=evaluation))]
    assert max(values) == pytest.approx(0.05, rel=0.01)


def test_steps_of_many_seconds_make_longer_blocks() -> None:
    found = blocks_of(rows([20.0] * 30))
    assert found and all(block.end - block.begin >= 80 for block in found)


def test_updates_in_turn_belong_to_one_loop() -> None:
    data = rows([0.02] * 6000)
    data["site"][::2] = 7
    data["site"][1::2] = 3
    assert {block.site for block in blocks_of(data)} == {3}


def test_time_per_element_is_known_where_batches_were_seen() -> None:
    block = blocks_of(rows([0.1] * 800, elements=50.0))[0]
    assert block.element == pytest.approx(0.002)
    assert np.isnan(blocks_of(rows([0.1] * 800))[0].element)


def test_rows_longer_than_a_second_are_compared_with_rows_of_their_length_only() -> None:
    assert blocks_of(rows([0.5] * 400))[0].octave == 0
    assert blocks_of(rows([3.0] * 60))[0].octave == 2
