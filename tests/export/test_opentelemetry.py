"""Metrics, read back by the SDK's own reader and from the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unslow.export import export, opentelemetry

from ..report.gallery import GALLERY, retracing

sdk = pytest.importorskip(
    "opentelemetry.sdk.metrics", reason="opentelemetry-sdk is not installed: not tested"
)


def points(metrics: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    for scope in metrics["resource_metrics"][0]["scope_metrics"]:
        for metric in scope["metrics"]:
            if metric["name"] == name:
                yield from metric["data"]["data_points"]


def exported(name: str, folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        export(GALLERY[name](), "opentelemetry", folder / "metrics.json").read_text()
    )
    return loaded


def test_steps_phases_and_findings_are_metrics(tmp_path: Path) -> None:
    metrics = exported("retracing", tmp_path)
    assert [point["value"] for point in points(metrics, "unslow.steps")] == [300]
    phases = {
        point["attributes"]["phase"]: point["value"]
        for point in points(metrics, "unslow.phase.time")
    }
    assert sum(phases.values()) == pytest.approx(retracing().run.trained)
    assert [point["attributes"] for point in points(metrics, "unslow.finding.cost")] == [
        {"cause": "retracing", "line": "train.py:12"}
    ]


def test_the_middle_step_time_is_the_typical_one(tmp_path: Path) -> None:
    durations = {
        point["attributes"]["quantile"]: point["value"]
        for point in points(exported("retracing", tmp_path), "unslow.step.duration")
    }
    assert durations[0.5] == pytest.approx(retracing().run.loops[0].typical(), rel=0.01)
    assert durations[1.0] >= durations[0.99] >= durations[0.95] >= durations[0.5]


@pytest.mark.parametrize("name", GALLERY)
def test_every_run_can_be_exported(name: str, tmp_path: Path) -> None:
    assert (
        exported(name, tmp_path)["resource_metrics"][0]["resource"]["attributes"]["service.name"]
        == "unslow"
    )


def test_any_provider_can_be_fed() -> None:
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = sdk.MeterProvider([reader], shutdown_on_exit=False)
    opentelemetry.record(retracing(), provider)
    names = {
        metric.name
        for metric in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    }
    provider.shutdown()
    assert {"unslow.steps", "unslow.step.duration", "process.memory.usage"} <= names


def test_a_row_of_many_steps_weighs_as_many() -> None:
    assert opentelemetry._quantile(np.array([1.0, 5.0]), np.array([1, 99]), 0.5) == 5.0
