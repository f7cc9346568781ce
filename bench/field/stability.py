"""Records programs again and again: the first cause and its line must be the same every time.

python -m bench.field.stability     30 programs, five recordings each, the last two beside a busy process

Every fourth program by name is taken. What was answered is kept in `.field/stability.json`, so it can be
stopped and resumed; `python -m bench.field` puts the result into docs/field.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.field.measure import KEPT, record_into, recorder_digest, report
from bench.field.programs import Program, all_programs

ANSWERS = KEPT / "stability.json"
_PROGRAMS = 30
_TIMES = 5
_QUIET = 3  # of the recordings; a second process is busy beside the others

Answers = dict[str, list[str]]  # by program and recorder


def main() -> int:
    kept = _kept()
    for number, program in enumerate(chosen(), 1):
        said = kept.setdefault(f"{program.name} {program.digest} {recorder_digest()}", [])
        while len(said) < _TIMES:
            with _busy(len(said) >= _QUIET):
                said.append(_answer(program))
            KEPT.mkdir(exist_ok=True)
            ANSWERS.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        print(f"[{number}/{_PROGRAMS}] {program.name}: {dict(Counter(said))}", flush=True)
    print(summary(kept))
    return 0


def chosen() -> list[Program]:
    return all_programs()[::4][:_PROGRAMS]


def summary(kept: Mapping[str, Sequence[str]]) -> str:
    """How many recordings gave the answer that most recordings of their program gave."""
    whole = [said for said in kept.values() if len(said) == _TIMES]
    same = sum(Counter(said).most_common(1)[0][1] for said in whole)
    recordings = sum(map(len, whole))
    if not recordings:
        return "not measured"
    share = 100 * same / recordings
    return f"{same} of {recordings} recordings of {len(whole)} programs ({share:.0f}%)"


def known() -> str:
    return summary(_kept())


def _kept() -> Answers:
    try:
        found: Answers = json.loads(ANSWERS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _answer(program: Program) -> str:
    """The first cause and its line, in words."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        record_into(program, Path(place), out)
        said = report(out)
    faults: list[dict[str, Any]] = [one for one in said["findings"] if one["fault"]]
    if not faults:
        return str(said["verdict"]["kind"])
    where = faults[0]["location"]
    return f"{faults[0]['cause']} {where['file']}:{where['line']}" if where else faults[0]["cause"]


@contextmanager
def _busy(really: bool) -> Iterator[None]:
    """A process that takes one core meanwhile."""
    if not really:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
