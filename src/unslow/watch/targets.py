"""What is watched: a run, the run of a process, or every run below a folder."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from unslow.errors import UnslowError
from unslow.runfolder import layout

_PROC = Path("/proc")


@dataclass(frozen=True)
class Target:
    """Either one run, or a folder in which runs appear."""

    folder: Path
    many: bool

    def runs(self) -> list[Path]:
        """Run folders that are there now."""
        if not self.many:
            return [self.folder]
        try:
            return sorted(each.parent for each in self.folder.glob(f"*/{layout.HEADER}"))
        except OSError:  # a network folder that is away for a moment
            return []


def is_run(folder: Path) -> bool:
    return (folder / layout.HEADER).is_file()


def run_of_process(pid: int, runs: Path) -> Path | None:
    """The run folder that a process of this machine writes to, or launched; None without one."""
    if not (_PROC / str(pid)).is_dir():
        raise UnslowError(
            f"cannot watch process {pid}",
            "there is no such process",
            "Type `unslow runs` to see the runs there are.",
            "watch",
        )
    inherited = _inherited(pid)
    recorded = [inherited] if inherited else []
    headers = runs.glob(f"*/{layout.HEADER}") if runs.is_dir() else ()
    recorded += [header.parent for header in sorted(headers, reverse=True)]
    return next((folder for folder in recorded if _is_of(pid, folder)), None)


def _is_of(pid: int, folder: Path) -> bool:
    """Whether a run goes on in which this process records, or which it launched."""
    try:
        header = layout.read_header(str(folder))
    except layout.Unreadable:
        return False
    here = socket.gethostname()
    records = (folder / f"{here}-{pid}.events").is_file()
    launched = header.get("launcher") == pid and header.get("host", here) == here
    return not header.get("ended") and (records or launched)


def _inherited(pid: int) -> Path | None:
    """The folder in its environment, which `unslow run` put there."""
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # another user's
        return None
    for variable in variables:
        name, _, value = variable.partition(b"=")
        if name == b"UNSLOW_RUN":
            return Path(value.decode(errors="surrogateescape"))
    return None
