"""Which line makes a container grow."""

from __future__ import annotations

import pytest

from unslow.analyse.memory.container_growth import growth_place

LOG = """class Log:
    def __init__(self):
        self.series = {}
        self._kept = []

    def update(self, **values):
        for name, value in values.items():
            self.series[name].append(value)
        self._kept.append(values)
"""
TRAIN = """log = Log()
losses = []
for batch in data:
    losses.append(step(batch))
    log.update(loss=losses[-1])
"""
SOURCES = {"train.py": TRAIN, "log.py": LOG}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("losses", ("train.py", 4)),
        ("log._kept", ("log.py", 9)),
        ("log.series['loss']", ("log.py", 8)),
        ("log.other", None),
        ("series", None),
    ],
)
def test_the_line_that_adds_is_found_in_whatever_file(
    path: str, place: tuple[str, int] | None
) -> None:
    assert growth_place(SOURCES, "train.py", path) == place
