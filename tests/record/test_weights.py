"""Which variables are weights: those that a gradient was taken for, as long as they live."""

from __future__ import annotations

import gc
from types import SimpleNamespace

from unslow.record.engine.start import Recording
from unslow.record.probes.eager.eager import Eager
from unslow.record.probes.memory.weights import WeightsProbe


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


def test_a_batch_of_unknown_size_among_the_sources_is_no_weight(recording: Recording) -> None:
    """A gradient penalty asks for the gradient of the images themselves."""
    probe = next(each for each in recording.arming.probes if isinstance(each, WeightsProbe))
    dtype = SimpleNamespace(name="float32")
    batch = SimpleNamespace(shape=(None, 28, 28, 1), dtype=dtype)
    weight = SimpleNamespace(shape=(3, 4), dtype=dtype)
    probe._first(None, lambda: [(None, batch), (None, weight)])
    assert "weights" not in recording.recorder.probes  # where a lost one is named
