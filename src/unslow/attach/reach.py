"""Whether the process can read our code and write into the run folder, checked before it is asked
to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from unslow.attach.inject import PACKAGE, ended
from unslow.attach.target import Target, has_ended
from unslow.errors import UnslowError
from unslow.record.engine.attached import STATE


def make_reachable(target: Target, folder: Path) -> None:
    """Give the run folder to the process's user; an error where the process cannot get to it."""
    try:
        owner = Path(f"/proc/{target.pid}").stat()
    except OSError:
        raise ended(target) from None
    if owner.st_uid != os.geteuid():
        os.chown(folder, owner.st_uid, owner.st_gid)
        os.chown(folder / STATE, owner.st_uid, owner.st_gid)
    for path, move in ((folder, "Name another folder: -o /tmp/run"), (PACKAGE, _INSTALL)):
        why = _unreachable(target, path, owner)
        if why and has_ended(target.pid):
            raise ended(target)
        if why:
            what = f"cannot attach to process {target.pid}"
            raise UnslowError(what, why, move, "attach")


_INSTALL = "Install unslow where its user may read it, and attach from there."


def _unreachable(target: Target, path: Path, user: os.stat_result) -> str:
    if not Path(f"/proc/{target.pid}/root{path}").exists():
        return f"it sees other files (a container), and {path} is not among them"
    if user.st_uid == 0:
        return ""
    for folder in (path, *path.parents):
        if not _may_enter(folder.stat(), user):
            return f"its user may not enter {folder}"
    return ""


def _may_enter(folder: os.stat_result, user: os.stat_result) -> bool:
    if folder.st_uid == user.st_uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    if folder.st_gid == user.st_gid:
        return bool(folder.st_mode & stat.S_IXGRP)
    return bool(folder.st_mode & stat.S_IXOTH)
