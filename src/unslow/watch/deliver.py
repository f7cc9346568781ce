"""Hands alerts to a command and a webhook on a thread of its own, so that watching goes on."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from unslow.errors import UnslowError
from unslow.watch.alert import Alert

_MOST_WAITING = 1000  # alerts; more are dropped and counted
_COMMAND_TIMEOUT = 60.0  # seconds
_WEBHOOK_TIMEOUT = 10.0
_TRIES, _BETWEEN_TRIES = 3, 2.0  # seconds, doubled after each try
_AT_THE_END = 15.0  # seconds that the last alerts have

Send = Callable[[str], None]  # sends one JSON text, or raises `Undelivered`


class Undelivered(Exception):
    """An alert that could not be delivered: why."""


@dataclass(frozen=True)
class Command:
    """A shell command that gets the alert as JSON on its stdin."""

    text: str
    timeout: float = _COMMAND_TIMEOUT

    def __call__(self, body: str) -> None:
        try:
            done = subprocess.run(
                self.text,
                shell=True,
                input=body.encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            why = f"it ran for more than {self.timeout:.0f} s and was killed"
            raise Undelivered(f"the command {self.text!r}: {why}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2][:200]
            raise Undelivered(f"the command {self.text!r}: exit {done.returncode} {said}".rstrip())


@dataclass(frozen=True)
class Webhook:
    """An address that gets the alert as JSON by POST."""

    url: str
    timeout: float = _WEBHOOK_TIMEOUT
    pause: float = _BETWEEN_TRIES

    def __call__(self, body: str) -> None:
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                self._post(body)
                return
            except urllib.error.HTTPError as problem:
                why = f"it answered {problem.code}"
                if 400 <= problem.code < 500:  # the same again would be refused again
                    break
            except OSError as problem:  # refused, no such host, no answer in time
                reason = getattr(problem, "reason", None) or problem
                why = str(reason) or type(problem).__name__
        raise Undelivered(f"the webhook {self.url}: {why}")

    def _post(self, body: str) -> None:
        request = urllib.request.Request(
            self.url, data=body.encode(), headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=self.timeout) as answer:
            answer.read(1)


def webhook(url: str) -> Webhook:
    """Checked now: an address that can never work is an error before anything is watched."""
    if not url.startswith(("http://", "https://")) or not url.partition("//")[2].strip("/"):
        raise UnslowError(
            f"cannot use the webhook {url}",
            "it is no http address",
            "Give --webhook https://…",
            "watch",
        )
    return Webhook(url)


class Deliverer:
    """Sends every alert once to each receiver; a failure is reported, and the next is tried."""

    def __init__(self, receivers: list[Send], failed: Callable[[str], None]) -> None:
        self._receivers = receivers
        self._failed = failed
        self._waiting: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._work, name="alerts", daemon=True)
        if receivers:
            self._thread.start()

    def send(self, alert: Alert) -> None:
        if not self._receivers:
            return
        try:
            self._waiting.put_nowait(json.dumps(alert.as_json()))
        except queue.Full:
            self._failed("an alert was dropped: too many are waiting to be delivered")

    def close(self) -> None:
        """Wait for the last alerts, but not for ever."""
        if not self._thread.is_alive():
            return
        try:
            self._waiting.put(None, timeout=_AT_THE_END)
        except queue.Full:
            return
        self._thread.join(_AT_THE_END)
        if self._thread.is_alive():
            self._failed(f"the last alerts were not all delivered within {_AT_THE_END:.0f} s")

    def _work(self) -> None:
        while (body := self._waiting.get()) is not None:
            for receiver in self._receivers:
                try:
                    receiver(body)
                except Undelivered as problem:
                    self._failed(f"an alert was not delivered: {problem}")
