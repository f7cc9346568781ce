"""What one trial gave, and where it is kept so that `make chaos` can be stopped and resumed."""

from __future__ import annotations

import fcntl
import json
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import connection, get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".chaos"


@dataclass(frozen=True)
class Result:
    """One attack: how often it was tried, and every way in which something broke."""

    tries: int = 1
    lost: str = ""  # the most that was lost in one try
    broke: tuple[str, ...] = ()
    note: str = ""
    skipped: str = ""  # why it could not be tried here
    seconds: float = 0.0
    processor: float = 0.0  # seconds, with those of the processes that it started


@dataclass(frozen=True)
class Attack:
    """Something to try, by its name within a part."""

    name: str
    run: Callable[[], Result]


@dataclass
class Results:
    """The results of one part, kept in a file."""

    part: str
    rows: dict[str, Result] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return KEPT / "results" / f"{self.part}.json"

    @classmethod
    def load(cls, part: str) -> Results:
        results = cls(part)
        if results.path.exists():
            rows = json.loads(results.path.read_text(encoding="utf-8"))
            results.rows = {
                name: Result(**{**row, "broke": tuple(row["broke"])}) for name, row in rows.items()
            }
        return results

    def keep(self, name: str, result: Result) -> None:
        """Add a result to what is kept by now: several suites may run at once."""
        with only_one(self.path):
            self.rows = {**Results.load(self.part).rows, name: result}
            text = json.dumps({name: asdict(row) for name, row in sorted(self.rows.items())})
            draft = self.path.with_suffix(".draft")
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.path)


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """One process at a time changes what is at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_all(parts: Mapping[str, Sequence[Attack]], jobs: int, again: bool = False) -> None:
    """Try everything that has no result yet, or broke; `jobs` at a time, each in a process.

    A process of its own: attacks replace functions of unslow, and a crash is a failure of one.
    """
    running: dict[int, _Running] = {}
    for part, attacks in parts.items():
        kept = Results.load(part).rows
        for attack in attacks:
            if not again and not _is_open(kept.get(attack.name)):
                continue
            if len(running) >= jobs:
                _wait_for_one(running)
            process = get_context("fork").Process(target=_try, args=(part, attack))
            process.start()
            running[process.sentinel] = _Running(process, part, attack.name)
    while running:
        _wait_for_one(running)


@dataclass(frozen=True)
class _Running:
    process: ForkProcess
    part: str
    name: str


def _wait_for_one(running: dict[int, _Running]) -> None:
    for sentinel in connection.wait(list(running)):
        ended = running.pop(sentinel)  # type: ignore[arg-type]
        ended.process.join()
        if ended.process.exitcode:
            result = Result(broke=(f"the attack itself died with {ended.process.exitcode}",))
            _keep(ended.part, ended.name, result)


def _try(part: str, attack: Attack) -> None:
    began = perf_counter()
    try:
        result = attack.run()
    except Exception as problem:  # noqa: BLE001 - one attack must not stop the others
        result = Result(broke=(f"the attack itself failed: {problem!r}",))
    result = replace(result, seconds=perf_counter() - began, processor=_processor_seconds())
    _keep(part, attack.name, result)


def _keep(part: str, name: str, result: Result) -> None:
    Results.load(part).keep(name, result)
    print(f"{part}: {name}: {_line(result)}", flush=True)


def _processor_seconds() -> float:
    """Of this process and of all that it waited for."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(each) for each in whose]
    return sum(one.ru_utime + one.ru_stime for one in used)


def minutes_at_once() -> float:
    """How long everything took in one call, from empty results; 0 where it was run in pieces."""
    path = elapsed_file()
    return float(path.read_text(encoding="utf-8")) / 60 if path.exists() else 0.0


def elapsed_file() -> Path:
    return KEPT / "results" / "elapsed"


def _is_open(result: Result | None) -> bool:
    return result is None or bool(result.broke)


def _line(result: Result) -> str:
    if result.skipped:
        return f"not tried: {result.skipped}"
    if result.broke:
        return "BROKE: " + "; ".join(result.broke)
    times = "once" if result.tries == 1 else f"{result.tries} times"
    return f"held, {times}, {result.seconds:.1f} s, {result.processor:.1f} s of processor"
