"""The launchers of a job that several machines record into one folder.

run.json                    what all of them have in common, written by the first one
launch-<host>-<pid>.json    one launcher: its task, and how its command ended
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from unslow.facts.json_object import JsonObject
from unslow.runfolder import layout

_ENTRIES = "launch-*.json"


def create_header(folder: str, header: Mapping[str, object]) -> bool:
    """Write the header of a job unless there is one; says whether it was written."""
    target = Path(folder) / layout.HEADER
    draft = Path(folder) / f".{layout.HEADER}.{os.uname().nodename}-{os.getpid()}"
    draft.write_text(json.dumps({"version": layout.VERSION, **header}, indent=1), encoding="utf-8")
    try:
        target.hardlink_to(draft)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: two headers of one job say the same
        if target.exists():
            return False
        draft.replace(target)
        return True
    finally:
        draft.unlink(missing_ok=True)
    return True


def write(folder: str, name: str, entry: Mapping[str, object]) -> None:
    """Replace an entry in one move."""
    draft = Path(folder) / f".launch-{name}"
    draft.write_text(json.dumps(entry, indent=1), encoding="utf-8")
    draft.replace(Path(folder) / f"launch-{name}.json")


def read(folder: str) -> list[JsonObject]:
    """The entries of all launchers, each with its `name`; a damaged one is left out."""
    found = []
    for path in sorted(Path(folder).glob(_ENTRIES)):
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(entry, dict):
            entry["name"] = path.stem.partition("-")[2]
            found.append(entry)
    return found


def ending(entries: Sequence[JsonObject]) -> JsonObject:
    """How a job ended: as the first of its launchers that failed. Nothing while one runs."""
    if not entries or not all(isinstance(entry.get("ended"), str) for entry in entries):
        return {}
    worst = max(entries, key=lambda entry: bool(entry.get("code")))
    began = min(float(entry.get("started") or 0.0) for entry in entries)
    stopped = max(
        float(entry.get("started") or 0.0) + float(entry.get("seconds") or 0.0) for entry in entries
    )
    return {"ended": worst["ended"], "code": worst.get("code"), "seconds": stopped - began}
