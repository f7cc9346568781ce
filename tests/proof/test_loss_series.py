"""Which losses of before and after are compared."""

from __future__ import annotations

import numpy as np
import pytest

from unslow.proof.loss_series import common_losses


def losses(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_the_loss_that_both_have_is_compared() -> None:
    before = {"loss#0": losses(3, 2), "value#0": losses(9, 9)}
    after = {"value#0": losses(8, 8), "loss#0": losses(2, 1), "output acc#0": losses(0, 1)}
    found = common_losses([before, after], fewest=2)
    assert found is not None
    assert [list(one) for one in found] == [[3, 2], [2, 1]]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("output 0#0", "metric train_loss#0"), "metric train_loss#0"),
        (("metric accuracy#0", "output loss#0"), "output loss#0"),
        (("value#0", "fetch at 1#0"), "fetch at 1#0"),
    ],
)
def test_a_name_that_says_loss_comes_first(names: tuple[str, ...], chosen: str) -> None:
    trial = {name: losses(float(name == chosen)) for name in names}
    found = common_losses([trial, trial], fewest=1)
    assert found is not None and found[0][0] == 1.0


def test_several_losses_of_a_step_count_as_their_mean() -> None:
    gan = {"loss#0": losses(1, 1, 1), "loss#1": losses(3, 5)}
    found = common_losses([gan, gan], fewest=2)
    assert found is not None and list(found[0]) == [2, 3]


def test_a_loss_that_only_one_side_has_is_left_out() -> None:
    """The compiled step returns the second of its losses only."""
    before = {"loss#0": losses(1, 1), "loss#1": losses(3, 5)}
    found = common_losses([before, {"loss#1": losses(3, 4)}], fewest=2)
    assert found is not None and list(found[0]) == [3, 5]


def test_too_few_or_none_in_common_is_nothing_to_compare() -> None:
    few, many = {"loss#0": losses(1)}, {"loss#0": losses(1, 2)}
    assert common_losses([few, many], fewest=2) is None
    assert common_losses([many, {"metric loss#0": losses(1, 2)}], fewest=2) is None
