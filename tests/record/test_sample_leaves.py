"""What runs below a line: not its own Python where an iterator is let go or a module imported."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.record.standins import module, opened
from unslow.facts.process import ITERATOR_END, MODULE_IMPORT
from unslow.record.engine.start import Recording
from unslow.record.engine.thread_stacks import Line


class OwnedIterator:
    """Stands for TensorFlow's; makes its resource in the call that is wrapped."""

    def __init__(self) -> None:
        self._create_iterator(object())

    def _create_iterator(self, dataset: object) -> None:
        self.dataset = dataset


class Resource:
    """Stands for what an iterator holds, whose release waits for threads."""

    def __init__(self, seen: list[Line]) -> None:
        self.seen = seen

    def __del__(self) -> None:
        frame = sys._getframe(1)
        self.seen.append((frame.f_code, frame.f_lasti))


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    recording = Recording(str(tmp_path))
    opened(
        recording,
        module("tensorflow.python.data.ops.iterator_ops", OwnedIterator=OwnedIterator),
    )
    yield recording
    recording.end()


def test_the_instruction_that_lets_go_is_known_while_it_waits(recording: Recording) -> None:
    seen: list[Line] = []
    iterator = OwnedIterator()
    iterator.resource = Resource(seen)  # type: ignore[attr-defined]
    del iterator
    assert seen == list(recording.recorder.iterator_ends)


def test_an_import_below_a_line_is_named_and_one_above_it_is_not(recording: Recording) -> None:
    machinery = compile("", "<frozen importlib._bootstrap>", "exec")
    package = compile("", json.__file__, "exec")
    mine = compile("", __file__, "exec")
    of_package = recording.watcher._key([(package, 0), (machinery, 0), (mine, 0)], 10)
    of_mine = recording.watcher._key([(mine, 0), (machinery, 0), (mine, 0)], 10)
    assert of_package is not None
    assert of_mine is not None
    assert (of_package[0], of_mine[0]) == (MODULE_IMPORT, "python")


def test_a_sample_there_says_so_and_one_elsewhere_does_not(recording: Recording) -> None:
    iterator = OwnedIterator()
    del iterator
    there = recording.recorder.iterator_ends[0]
    watcher = recording.watcher
    waiting, elsewhere = (watcher._key([line], 10) for line in (there, (there[0], 0)))
    assert waiting is not None
    assert elsewhere is not None
    assert (waiting[0], elsewhere[0]) == (ITERATOR_END, "python")


def test_a_package_that_keras_calls_is_kerass_time(recording: Recording) -> None:
    optree, other, keras = (
        compile("", f"/lib/site-packages/{name}/__init__.py", "exec")
        for name in ("optree", "scipy", "keras")
    )
    mine = compile("", __file__, "exec")
    called = recording.watcher._key([(optree, 0), (keras, 0), (mine, 0)], 10)
    direct = recording.watcher._key([(other, 0), (mine, 0), (keras, 0)], 10)
    assert called is not None
    assert direct is not None
    assert (called[0], direct[0]) == ("keras", "scipy")
