"""The example rules and dashboard with a real Prometheus: it scrapes, and the alert fires."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.watch.folders import Growing
from tests.watch.test_metrics import free_port
from unslow.watch.alert import Alert, Matter
from unslow.watch.figures import Counts, values_of
from unslow.watch.metrics import serve
from unslow.watch.watched import WatchedRun

EXAMPLE = Path(__file__).parents[2] / "examples" / "grafana"
PATIENCE = 90.0  # seconds for Prometheus to start, scrape and evaluate on a busy machine

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="Prometheus is not installed (Debian: apt-get install prometheus)",
)


def ask(port: int, path: str, **query: str) -> Any:
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())["data"]


def slow_run(place: Path) -> tuple[WatchedRun, Counts]:
    """A run that has become slower, and one alert of it."""
    run = Growing(place)
    watched, counts = WatchedRun(run.folder, clocks=run.clocks()), Counts()
    for step in (0.1, 0.15):
        for _ in range(70):
            run.steps(5, step)
            for alert in watched.poll():
                counts.add(alert)
    counts.add(Alert(Matter.DIED, "other", "/runs/other", "died", 0.0))
    return watched, counts


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    place = tmp_path_factory.mktemp("prometheus")
    watched, counts = slow_run(place / "mnist")
    metrics, port = free_port(), free_port()
    close = serve(metrics, lambda: values_of([watched]), counts.values)
    config = (EXAMPLE / "prometheus.yml").read_text().replace("9464", str(metrics))
    (place / "prometheus.yml").write_text(config.replace("15s", "1s"))
    shutil.copy(EXAMPLE / "alerts.yml", place)
    log = (place / "log").open("w")
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={place}/prometheus.yml",
            f"--storage.tsdb.path={place}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=log,
        stderr=log,
    )
    try:
        yield port
    finally:
        server.terminate()
        server.wait()
        log.close()
        close()


def until(condition: Any) -> Any:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if found := condition():
                return found
        except OSError:  # it has not started yet
            pass
        assert time.monotonic() < end, "Prometheus did not come to it in time"
        time.sleep(0.2)


@needs_prometheus
def test_the_alert_of_a_slower_training_fires(prometheus: int) -> None:
    def firing() -> dict[str, str]:
        alerts = ask(prometheus, "alerts")["alerts"]
        return {
            alert["labels"]["alertname"]: alert["labels"]["run"]
            for alert in alerts
            if alert["state"] == "firing"
        }

    def both() -> dict[str, str]:
        found = firing()
        return found if len(found) > 1 else {}

    assert until(both) == {"TrainingSlower": "mnist", "TrainingDied": "other"}


@needs_prometheus
def test_every_panel_of_the_dashboard_is_a_query_that_prometheus_takes(prometheus: int) -> None:
    until(lambda: ask(prometheus, "query", query="unslow_steps")["result"])
    panels = json.loads((EXAMPLE / "dashboard.json").read_text())["panels"]
    empty = []
    for panel in panels:
        for target in panel["targets"]:
            query = target["expr"].replace("$run", ".*").replace("[1m]", "[1h]")
            if not ask(prometheus, "query", query=query)["result"]:
                empty.append(panel["title"])
    # This run says nothing of its end and does not leak; a rate needs two scrapes.
    assert set(empty) <= {"Expected end", "Time until memory is full", "Steps a second"}


@needs_prometheus
def test_promtool_accepts_rules_and_configuration() -> None:
    for words in (["check", "rules", "alerts.yml"], ["check", "config", "prometheus.yml"]):
        done = subprocess.run(
            ["promtool", *words], cwd=EXAMPLE, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_the_dashboard_and_the_rules_use_only_figures_that_exist() -> None:
    from unslow.watch import figures

    known = {figure.name for figure in figures.GAUGES} | {f"{figures.ALERTS.name}_total"}
    for name in ("dashboard.json", "alerts.yml"):
        text = (EXAMPLE / name).read_text()
        assert set(re.findall(r"\bunslow_[a-z_]+", text)) <= known
