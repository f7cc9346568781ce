"""Metrics of watched runs for Prometheus, served on loopback, and for OTLP, sent by the SDK."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from unslow.errors import UnslowError, reason_of
from unslow.watch.figures import ALERTS, GAUGES, Value

LOOPBACK = "127.0.0.1"
_SEND_EVERY = 15_000  # milliseconds between two exports by OTLP
Read = Callable[[], Iterator[Value]]


def port_of(text: str) -> int:
    """`:9464` or `9464`; an address is refused, since nothing but loopback is served."""
    digits = text.removeprefix(f"{LOOPBACK}:").removeprefix("localhost:").removeprefix(":")
    if not digits.isdigit() or not 0 < int(digits) < 65536:
        raise UnslowError(
            f"cannot serve metrics at {text}",
            "metrics are served on loopback only, at a port from 1 to 65535",
            "Give --metrics :9464",
            "watch",
        )
    return int(digits)


def serve(port: int, gauges: Read, counts: Read) -> Callable[[], None]:
    """Serve Prometheus's text format at http://127.0.0.1:port/metrics; returns what ends it."""
    client = _need("prometheus_client", "prometheus-client", "prometheus")
    core = importlib.import_module("prometheus_client.core")
    registry = client.CollectorRegistry()
    registry.register(_Collector(core, gauges, counts))
    try:
        server, thread = client.start_http_server(port, addr=LOOPBACK, registry=registry)
    except OSError as problem:
        raise UnslowError(
            f"cannot serve metrics at {LOOPBACK}:{port}",
            reason_of(problem),
            "Give another port.",
            "watch",
        ) from None

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close


class _Collector:
    """A collector for a registry of prometheus_client."""

    def __init__(self, core: ModuleType, gauges: Read, counts: Read) -> None:
        self._core, self._gauges, self._counts = core, gauges, counts

    def describe(self) -> list[object]:
        return []  # nothing is read before the first scrape

    def collect(self) -> Iterator[object]:
        yield from _families(self._core.GaugeMetricFamily, list(self._gauges()))
        yield from _families(self._core.CounterMetricFamily, list(self._counts()))


def _families(kind: Any, values: list[Value]) -> Iterator[object]:
    for figure in dict.fromkeys(value.figure for value in values):
        own = [value for value in values if value.figure is figure]
        family = kind(figure.name, figure.help, labels=list(own[0].labels))
        for value in own:
            family.add_metric(list(value.labels.values()), value.value)
        yield family


def send(endpoint: str, gauges: Read, counts: Read) -> Callable[[], None]:
    """Send the same by OTLP over HTTP; returns what sends the last values and ends it."""
    if not endpoint.startswith(("http://", "https://")):
        raise UnslowError(
            f"cannot send metrics to {endpoint}",
            "it is no http address",
            "Give --otlp http://localhost:4318/v1/metrics",
            "watch",
        )
    sdk = _need("opentelemetry.sdk.metrics", "opentelemetry-sdk", "opentelemetry")
    export = importlib.import_module("opentelemetry.sdk.metrics.export")
    resources = importlib.import_module("opentelemetry.sdk.resources")
    otlp = _need(
        "opentelemetry.exporter.otlp.proto.http.metric_exporter",
        "opentelemetry-exporter-otlp-proto-http",
        "opentelemetry",
    )
    reader = export.PeriodicExportingMetricReader(
        otlp.OTLPMetricExporter(endpoint=endpoint), export_interval_millis=_SEND_EVERY
    )
    resource = resources.Resource({"service.name": "unslow"})
    provider = sdk.MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    _observe(provider.get_meter("unslow"), gauges, counts)
    shutdown: Callable[[], None] = provider.shutdown
    return shutdown


def _observe(meter: Any, gauges: Read, counts: Read) -> None:
    observation = importlib.import_module("opentelemetry.metrics").Observation

    def reader(name: str, read: Read) -> Callable[[object], Iterator[object]]:
        def observe(options: object) -> Iterator[object]:
            for value in read():
                if value.figure.name == name:
                    yield observation(value.value, value.labels)

        return observe

    for figure in GAUGES:
        meter.create_observable_gauge(
            figure.name, [reader(figure.name, gauges)], figure.unit, figure.help
        )
    meter.create_observable_counter(
        ALERTS.name, [reader(ALERTS.name, counts)], ALERTS.unit, ALERTS.help
    )


def _need(module: str, package: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UnslowError(
            "cannot give metrics",
            f"the package {package} is not installed here",
            f"Install it beside unslow: pip install 'unslow[{extra}]'",
            "missing-extra",
        ) from None
