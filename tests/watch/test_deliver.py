"""Alerts on their way: to a command and a webhook, whatever these do."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from unslow.errors import UnslowError
from unslow.watch.alert import Alert, Matter
from unslow.watch.deliver import Command, Deliverer, Undelivered, Webhook, webhook

ALERT = Alert(Matter.STALLED, "train", "/runs/train", "no step for 61 s", 1.7e9, 1.7e9 - 61)


class Receiver(http.server.BaseHTTPRequestHandler):
    answer = 200
    bodies: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        type(self).bodies.append(body)
        self.send_response(self.answer)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[tuple[str, type[Receiver]]]:
    handler = type("One", (Receiver,), {"bodies": []})
    server = http.server.HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_gets_the_alert_as_json(receiver: tuple[str, type[Receiver]]) -> None:
    url, handler = receiver
    failures: list[str] = []
    deliverer = Deliverer([webhook(url)], failures.append)
    deliverer.send(ALERT)
    deliverer.close()
    assert [json.loads(body) for body in handler.bodies] == [ALERT.as_json()] and not failures


def test_a_webhook_that_fails_is_tried_three_times(receiver: tuple[str, type[Receiver]]) -> None:
    url, handler = receiver
    handler.answer = 503
    with pytest.raises(Undelivered, match="it answered 503"):
        Webhook(url, pause=0.0)("{}")
    assert len(handler.bodies) == 3


def test_a_webhook_that_refuses_the_message_is_not_asked_again(
    receiver: tuple[str, type[Receiver]],
) -> None:
    url, handler = receiver
    handler.answer = 403
    with pytest.raises(Undelivered, match="it answered 403"):
        Webhook(url, pause=0.0)("{}")
    assert len(handler.bodies) == 1


def test_a_webhook_where_nobody_listens_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(Undelivered, match="refused"):
            Webhook(url, pause=0.0)("{}")


def test_a_webhook_that_hangs_does_not_hold_up_the_watching() -> None:
    failures: list[str] = []
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        deliverer = Deliverer([Webhook(url, timeout=0.2, pause=0.0)], failures.append)
        before = time.monotonic()
        deliverer.send(ALERT)
        assert time.monotonic() - before < 0.1
        deliverer.close()
    assert len(failures) == 1 and "timed out" in failures[0]


@pytest.mark.parametrize("url", ["foo", "ftp://example.org/", "http://", "file:///etc/passwd"])
def test_what_is_no_http_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(UnslowError, match="no http address"):
        webhook(url)


def test_a_command_gets_the_alert_on_its_stdin(tmp_path: Path) -> None:
    target = tmp_path / "got.json"
    Command(f"cat > '{target}'")(json.dumps(ALERT.as_json()))
    assert json.loads(target.read_text()) == ALERT.as_json()


def test_a_command_that_fails_is_named_with_its_last_words() -> None:
    with pytest.raises(Undelivered, match="exit 3 no mail here"):
        Command("echo no mail here >&2; exit 3")("{}")


def test_a_command_that_hangs_is_killed() -> None:
    with pytest.raises(Undelivered, match="was killed"):
        Command("exec sleep 30", timeout=0.2)("{}")


def test_one_receiver_that_fails_does_not_cost_the_other_its_alert(tmp_path: Path) -> None:
    target = tmp_path / "got.json"
    failures: list[str] = []
    deliverer = Deliverer([Command("exit 1"), Command(f"cat > '{target}'")], failures.append)
    deliverer.send(ALERT)
    deliverer.close()
    assert len(failures) == 1 and json.loads(target.read_text())["kind"] == "stalled"
