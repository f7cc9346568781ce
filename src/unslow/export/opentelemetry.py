"""OpenTelemetry metrics of a run by the SDK: steps, phases, memory, findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unslow.export import need
from unslow.model import Diagnosis, Phase, line_text
from unslow.report.view import clean

QUANTILES = (0.5, 0.95, 0.99, 1.0)


def write(diagnosis: Diagnosis, path: Path) -> None:
    """The metrics as the SDK's own JSON; `record` feeds any other provider, such as OTLP."""
    sdk = need("opentelemetry-sdk", "opentelemetry.sdk.metrics", "opentelemetry", "opentelemetry")
    exports = need(
        "opentelemetry-sdk", "opentelemetry.sdk.metrics.export", "opentelemetry", "opentelemetry"
    )
    resources = need(
        "opentelemetry-sdk", "opentelemetry.sdk.resources", "opentelemetry", "opentelemetry"
    )
    reader = exports.InMemoryMetricReader()
    attributes = {
        "service.name": "unslow",
        "process.command_args": clean(list(diagnosis.run.command)),
    }
    provider = sdk.MeterProvider(
        [reader], resource=resources.Resource(attributes), shutdown_on_exit=False
    )
    record(diagnosis, provider)
    path.write_text(reader.get_metrics_data().to_json() + "\n", encoding="utf-8")
    provider.shutdown()


def record(diagnosis: Diagnosis, provider: Any) -> None:
    """Put a run's numbers into the instruments of a provider's meter."""
    meter = provider.get_meter("unslow")
    steps = meter.create_counter("unslow.steps", "{step}", "Training steps.")
    phases = meter.create_counter("unslow.phase.time", "s", "Seconds of training by phase.")
    duration = meter.create_gauge(
        "unslow.step.duration", "s", "Quantiles of step time, the first step left out."
    )
    for loop in diagnosis.run.loops:
        where = clean({"loop": str(loop.location), "style": loop.style, "process": loop.process})
        steps.add(loop.steps, where)
        for phase in Phase:
            phases.add(max(0.0, loop.phase(phase)), {**where, "phase": phase.name.lower()})
        weights = loop.count[-len(loop.steady()) :]
        for quantile in QUANTILES if loop.steps else ():
            duration.set(
                _quantile(loop.steady(), weights, quantile), {**where, "quantile": quantile}
            )
    _process(diagnosis, meter)
    cost = meter.create_gauge("unslow.finding.cost", "s", "Avoidable time of a finding.")
    for finding in diagnosis.findings:
        cost.set(
            finding.seconds, clean({"cause": finding.cause, "line": line_text(finding.location)})
        )


def _process(diagnosis: Diagnosis, meter: Any) -> None:
    memory = meter.create_gauge("process.memory.usage", "By", "Peak resident memory.")
    for process in diagnosis.run.processes:
        rss = process.ticks.columns.get("rss", np.empty(0))
        known = rss[np.isfinite(rss)]
        if len(known):
            memory.set(
                int(known.max()), {"process": process.index, "worker": clean(process.worker)}
            )
    meter.create_gauge("unslow.unexplained", "s", "Seconds of training that nothing explains.").set(
        diagnosis.unexplained
    )
    meter.create_gauge("unslow.own_cost", "s", "Seconds that recording cost.").set(
        diagnosis.own_seconds
    )


def _quantile(seconds: np.ndarray, weights: np.ndarray, quantile: float) -> float:
    """Of rows that stand for different numbers of steps."""
    order = np.argsort(seconds)
    reached = np.cumsum(weights[order])
    return float(seconds[order][np.searchsorted(reached, quantile * reached[-1])])
