"""What a container of views is told apart by, and the edit that follows."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.hoards import Hoard
from unslow.causes.hoarded_tensors import HoardedTensors, _advice
from unslow.diagnose import diagnose
from unslow.facts.memory import Container
from unslow.model import Fix, Safety


def _hoard(element: str, each: float = 1e7) -> Hoard:
    container = Container(path="rows", kind="list", length=100, bytes=100 * each, element=element)
    return Hoard(container, None, each, 100 * each, is_hidden=False, is_slowing=False)


def test_slices_of_large_arrays_are_stored_as_copies() -> None:
    sketch = next(each for each in HoardedTensors.FIRES if "slices" in each.says)
    diagnosis = diagnose(sketch.run(), [HoardedTensors()])
    [finding] = diagnosis.findings
    assert "through views of 65.5 kB" in finding.title and ".copy()" in finding.advice
    fix = diagnosis.fixes[0]
    assert isinstance(fix, Fix) and fix.safety is Safety.EXACT
    assert "self.history.append(states[:, 0].copy())" in fix.files["train.py"]


@pytest.mark.parametrize(
    ("element", "says"),
    [
        ("tensor float32[]", "float(loss)"),
        ("tuple of 2 × tensor float32[96, 32, 32, 3]", "only what is used later"),
        ("list of 4 × array float32[1000]", "write them to disk"),
        ("method with Tape", "float(loss)"),
    ],
)
def test_no_number_can_stand_for_a_picture(element: str, says: str) -> None:
    assert says in _advice(_hoard(element))


@pytest.mark.parametrize(
    ("element", "each", "shown"),
    [
        ("array float32[64, 256]", 6_291_656, 65_536),
        ("array float64[]", 80_000, 8),
        ("array float32[64, 256]", 65_636, 0),  # an array of its own
        ("array float32[64, 256]", 2 * 65_536, 0),  # half of one: a copy frees little
        ("array float32[2]", 208, 0),  # small: most of it is the object itself
        ("tuple of 2 × array float32[64, 256]", 6_291_656, 0),
        ("tensor float32[64, 256]", 6_291_656, 0),
    ],
)
def test_a_view_keeps_far_more_than_it_shows(element: str, each: float, shown: float) -> None:
    assert _hoard(element, each).shown == shown
