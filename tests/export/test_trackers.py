"""Runs of Weights & Biases and MLflow, written offline and read back by the packages themselves.

Both are large and not installed by `make`: pip install wandb mlflow-skinny
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.gallery import GALLERY, retracing
from unslow.export import export
from unslow.export.series import rows_of, summary_of


def test_a_run_has_one_row_per_step_and_the_cost_of_each_cause() -> None:
    rows = list(rows_of(retracing()))
    assert [step for _, step, _ in rows] == list(range(1, 301))
    assert rows[0][2]["unslow/step seconds/mean"] > 0
    assert summary_of(retracing())["unslow/cost of retracing"] > 0


def records_of(data: bytes) -> Iterator[bytes]:
    """The records of a .wandb file: LevelDB's log format behind a header of seven bytes."""
    place, block, record = 7, 32768, b""
    while place + 7 <= len(data):
        if block - place % block < 7:  # the end of a block is filled up
            place += block - place % block
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        record += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield record
            record = b""


@pytest.mark.filterwarnings("ignore")
def test_weights_and_biases_reads_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: its export is not tested")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("HOME", str(tmp_path))
    export(retracing(), "wandb", tmp_path / "wandb")
    (written,) = tmp_path.rglob("offline-run-*/*.wandb")
    steps, summary = 0, {}
    for data in records_of(written.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        steps += record.WhichOneof("record_type") == "history"
        for item in record.summary.update:
            summary[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
    assert steps == 300
    assert summary["unslow/cost of retracing"] == pytest.approx(retracing().findings[0].seconds)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["retracing", "no_steps", "unicode"])
def test_mlflow_reads_its_run(name: str, tmp_path: Path) -> None:
    mlflow = pytest.importorskip(
        "mlflow", reason="mlflow is not installed: its export is not tested"
    )
    folder = export(GALLERY[name](), "mlflow", tmp_path / "mlruns")
    client = mlflow.MlflowClient(tracking_uri=folder.as_uri())
    experiment = client.get_experiment_by_name("unslow")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.metrics["unslow/steps"] == GALLERY[name]().run.steps
    assert [each.path for each in client.list_artifacts(run.info.run_id)] == ["unslow.html"]
