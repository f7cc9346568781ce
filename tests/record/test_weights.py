"""Which variables are weights: those that a gradient was taken for, as long as they live."""

from __future__ import annotations

import gc

from unslow.record.engine.start import Recording
from unslow.record.probes.eager.eager import Eager


class Variable:
    pass


def known(eager: Eager) -> int:
    return len(eager._weights.by_id)


def test_a_variable_that_is_gone_is_no_weight_any_more(recording: Recording) -> None:
    """Its id may be given to a metric's variable, which every evaluation assigns."""
    eager = next(each for each in recording.arming.probes if isinstance(each, Eager))
    weight = Variable()
    eager._meet([weight])
    assert known(eager) == 1
    del weight
    gc.collect()
    assert known(eager) == 0
