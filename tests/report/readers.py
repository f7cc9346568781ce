"""Readers that are not ours, for tests: a browser, and packages out of the npm registry. Skips where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Any]]:
    """Starts Chromium with more flags."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no browser tests"
    )
    named = os.environ.get("UNSLOW_BROWSER")
    found = next((path for path in (named, *BROWSERS) if path and Path(path).exists()), None)
    if found is None:
        pytest.skip(
            "there is no Chromium (apt-get install chromium, or set UNSLOW_BROWSER): no browser tests"
        )
    with sync_api.sync_playwright() as playwright:
        started = []

        def start(*flags: str) -> Any:
            started.append(playwright.chromium.launch(executable_path=found, args=[*FLAGS, *flags]))
            return started[-1]

        yield start
        for browser in started:
            browser.close()


@pytest.fixture(scope="module")
def npm(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The folder of an npm package, fetched once and kept in pytest's cache."""
    kept = Path(request.config.rootpath) / ".pytest_cache" / "npm"

    def folder(package: str) -> Path:
        target = kept / package.replace("/", "+")
        if not target.exists():
            program = shutil.which("npm")
            if program is None:
                pytest.skip(f"{package} comes from the npm registry, and there is no npm here")
            kept.mkdir(parents=True, exist_ok=True)
            # Tests may run in several processes: each unpacks for itself, and the first one's folder stays.
            with tempfile.TemporaryDirectory(dir=kept) as mine:
                command = [program, "pack", "--silent", "--pack-destination", mine, package]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    pytest.skip(
                        f"{package} could not be fetched from npm: {done.stderr.strip()[-200:]}"
                    )
                with tarfile.open(Path(mine) / done.stdout.split()[-1]) as tar:
                    tar.extractall(Path(mine) / "unpacked", filter="data")
                if not target.exists():
                    (Path(mine) / "unpacked").rename(target)
        return target / "package"

    return folder
