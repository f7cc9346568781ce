"""Metrics: Prometheus's text on loopback, and OTLP as a collector receives it."""

from __future__ import annotations

import http.server
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.watch.folders import Growing
from unslow.errors import UnslowError
from unslow.watch.alert import Alert, Matter
from unslow.watch.figures import Counts, Value, values_of
from unslow.watch.metrics import port_of, send, serve
from unslow.watch.watched import WatchedRun


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def read(tmp_path: Path) -> tuple[Callable[[], Iterator[Value]], Callable[[], Iterator[Value]]]:
    run = Growing(tmp_path / "mnist")
    watched = WatchedRun(run.folder, clocks=run.clocks())
    for _ in range(20):
        run.steps(5)
        watched.poll()
    counts = Counts()
    counts.add(Alert(Matter.SLOWER, "mnist", str(run.folder), "slower", 0.0))
    return lambda: values_of([watched]), counts.values


def test_prometheus_reads_the_numbers_of_a_run(read: tuple) -> None:
    port = free_port()
    close = serve(port, *read)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    finally:
        close()
    assert 'unslow_steps{run="mnist"} 1000.0' in text
    assert 'unslow_step_seconds{run="mnist"} 0.1' in text
    assert 'unslow_alert{kind="slower",run="mnist"} 0.0' in text
    assert 'unslow_alerts_total{kind="slower",run="mnist"} 1.0' in text


def test_nothing_is_served_to_other_machines() -> None:
    assert port_of(":9464") == port_of("9464") == port_of("127.0.0.1:9464") == 9464
    for text in ("0.0.0.0:9464", "example.org:9464", ":0", ":70000", "nine"):
        with pytest.raises(UnslowError, match="loopback only"):
            port_of(text)


def test_a_port_that_is_taken_is_an_error(read: tuple) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UnslowError, match="in use"):
            serve(taken.getsockname()[1], *read)


def test_a_collector_receives_the_same_by_otlp(read: tuple) -> None:
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service

    bodies: list[bytes] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            bodies.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        send(f"http://127.0.0.1:{server.server_port}/v1/metrics", *read)()  # the last values
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    request = service.ExportMetricsServiceRequest.FromString(bodies[-1])
    metrics = request.resource_metrics[0].scope_metrics[0].metrics
    found = {metric.name: metric for metric in metrics}
    (steps,) = found["unslow_steps"].gauge.data_points
    assert steps.as_int == 1000 or steps.as_double == 1000.0
    assert found["unslow_alerts"].sum.is_monotonic


def test_an_address_for_otlp_is_checked() -> None:
    with pytest.raises(UnslowError, match="no http address"):
        send("localhost:4318", lambda: iter(()), lambda: iter(()))
