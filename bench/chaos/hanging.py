"""A disk that can be made to hang: a FUSE mount whose server is stopped, or a frozen file system."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Disk:
    mount: Path
    hang: Callable[[], None]
    answer: Callable[[], None]
    kind: str
    kill: Callable[[], None] | None = None  # the disk is gone for good


@contextmanager
def served(place: Path) -> Iterator[Disk | None]:
    """A mounted disk below a folder; None where this user may mount nothing."""
    mount = place / "mount"
    mount.mkdir()
    if os.geteuid():
        yield None
    elif shutil.which("bindfs") and Path("/dev/fuse").exists():
        yield from _by_fuse(place, mount)
    elif shutil.which("fsfreeze") and shutil.which("mkfs.ext4"):
        yield from _by_freezing(place, mount)
    else:
        yield None


def _by_fuse(place: Path, mount: Path) -> Iterator[Disk]:
    real = place / "real"
    real.mkdir()
    server = subprocess.Popen(["bindfs", "-f", str(real), str(mount)])
    try:
        while not mount.is_mount():
            time.sleep(0.02)
        yield Disk(
            mount,
            lambda: server.send_signal(signal.SIGSTOP),
            lambda: server.send_signal(signal.SIGCONT),
            "a FUSE mount whose server was stopped",
            server.kill,
        )
    finally:
        server.send_signal(signal.SIGCONT)
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)
        server.terminate()
        server.wait()


def _by_freezing(place: Path, mount: Path) -> Iterator[Disk]:
    image = place / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(mount)], check=True)
    try:
        yield Disk(
            mount,
            lambda: _freeze("-f", mount),
            lambda: _freeze("-u", mount),
            "a frozen file system",
        )
    finally:
        _freeze("-u", mount)
        subprocess.run(["umount", str(mount)], check=False, capture_output=True)


def _freeze(option: str, mount: Path) -> None:
    subprocess.run(["fsfreeze", option, str(mount)], check=False, capture_output=True)
