"""What all exports share: where they write, and what they say when a package or the disk is missing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from unslow.errors import UnslowError
from unslow.export import FORMATS, export
from unslow.model import Diagnosis

from ..report.gallery import retracing

PACKAGES = {"tensorboard": "tensorboard", "parquet": "duckdb", "opentelemetry": "opentelemetry-sdk"}
ROOTS = {"tensorboard": "tensorboard", "parquet": "duckdb", "opentelemetry": "opentelemetry"}


@pytest.fixture
def diagnosis(tmp_path: Path) -> Diagnosis:
    found = retracing()
    return replace(found, run=replace(found.run, folder=str(tmp_path / "run")))


@pytest.mark.parametrize("form", PACKAGES)
def test_a_missing_package_is_named_with_what_to_type(
    form: str, diagnosis: Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules, ROOTS[form]]:
        if name.partition(".")[0] == ROOTS[form]:
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnslowError) as raised:
        export(diagnosis, form, tmp_path / "out")
    assert raised.value.slug == "missing-extra"
    assert PACKAGES[form] in raised.value.why and "pip install" in raised.value.next_step


def test_without_a_path_the_export_goes_into_the_run_folder(
    diagnosis: Diagnosis, tmp_path: Path
) -> None:
    assert export(diagnosis, "perfetto") == tmp_path / "run" / FORMATS["perfetto"][1]


def test_a_place_that_cannot_be_written_is_an_error_in_words(
    diagnosis: Diagnosis, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnslowError, match="cannot write"):
        export(diagnosis, "perfetto", tmp_path / "file" / "trace.json")
