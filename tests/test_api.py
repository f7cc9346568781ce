"""What `import unslow` offers."""

from __future__ import annotations

import zipfile
from pathlib import Path

import unslow
from tests.examples import RECORDED


def test_a_recorded_run_can_be_judged_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(RECORDED / "gc_pauses.zip") as packed:
        packed.extractall(tmp_path)
    for _ in range(2):
        assert unslow.why(tmp_path).findings[0].cause == "gc-pauses"


def test_every_public_name_is_there_and_stays_what_it_is() -> None:
    import unslow.cli
    import unslow.diagnose

    for name in unslow.__all__:
        assert getattr(unslow, name) is getattr(unslow, name)
    assert callable(unslow.record) and callable(unslow.why)
