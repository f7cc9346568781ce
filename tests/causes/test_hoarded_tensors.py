"""What a container of views is told apart by, and the edit that follows."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.hoards import Hoard
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.causes.hoarded_tensors import HoardedTensors, _advice
from unslow.diagnose import diagnose
from unslow.facts.memory import Container, Containers
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


def test_containers_that_one_line_fills_are_one_finding_with_the_growth_of_all() -> None:
    source = "def train(self):\n    for x in data:\n        for name in names:\n            self.kept[name].append(step(x))\n"
    usual = Container(
        path="", file="train.py", function="train", kind="list", element="tensor float32[500]"
    )
    facts = []
    for step in (16, 22, 31, 44, 61, 86, 120, 168, 235, 329):
        found = [
            usual.replace(path=f"self.kept['{name}']", length=step, bytes=step * each)
            for name, each in (("a", 2e5), ("b", 1e5))
        ]
        facts.append(at(step, Containers(step=step, found=tuple(found))))
    run = Sketch("two lists at a line", [0.01] * 400, facts=facts, source=source).run()
    [finding] = HoardedTensors().detect(run)
    assert finding.title.startswith("`self.kept['a']` and 1 more container keep 300 kB of every")
    assert finding.forecast is not None and finding.forecast.bytes == pytest.approx(4000 * 3e5)


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
