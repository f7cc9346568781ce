"""What one trial gave, and where it is kept so that `make chaos` can be stopped and resumed."""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
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


@dataclass(frozen=True)
class Attack:
    """Something to try, by its name within a part."""

    name: str
    run: Callable[[], Result]
    alone: bool = False  # its times mean something only if nothing runs beside it


@dataclass
class Results:
    """The results of one part, kept in a file."""

    part: str
    rows: dict[str, Result] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

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
        with self._lock, _only_one(self.path):
            self.rows = {**Results.load(self.part).rows, name: result}
            text = json.dumps({name: asdict(row) for name, row in sorted(self.rows.items())})
            draft = self.path.with_suffix(".draft")
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.path)


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """One process at a time changes a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_all(part: str, attacks: Iterable[Attack], jobs: int, again: bool = False) -> Results:
    """Try everything that has no result yet, or broke; `jobs` at a time."""
    results = Results.load(part)
    chosen = [one for one in attacks if again or _is_open(results.rows.get(one.name))]

    def one(attack: Attack) -> None:
        began = perf_counter()
        try:
            result = attack.run()
        except Exception as problem:  # noqa: BLE001 - one attack must not stop the others
            result = Result(broke=(f"the attack itself failed: {problem!r}",))
        result = Result(**{**asdict(result), "seconds": perf_counter() - began})
        results.keep(attack.name, result)
        print(f"{part}: {attack.name}: {_line(result)}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [attack for attack in chosen if not attack.alone]))
    for attack in chosen:
        if attack.alone:
            one(attack)
    return results


def _is_open(result: Result | None) -> bool:
    return result is None or bool(result.broke)


def _line(result: Result) -> str:
    if result.skipped:
        return f"not tried: {result.skipped}"
    if result.broke:
        return "BROKE: " + "; ".join(result.broke)
    times = "once" if result.tries == 1 else f"{result.tries} times"
    return f"held, {times}, {result.seconds:.1f} s"
