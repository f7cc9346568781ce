"""The pytest plugin: tests that fail when a training gets slow.

    @pytest.mark.unslow(max_step=0.05, no=["retracing"])
    def test_training(): ...

Every pytest in an environment with unslow loads this module, so it imports nothing of ours before a
test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from unslow.model import Diagnosis

_MARKER = (
    "unslow(max_step=None, no=()): record the test; fail if a step takes longer (s), or has a cause"
)


@dataclass(frozen=True)
class Limits:
    """What a training must keep to."""

    max_step: float | None = None  # seconds of a typical step, in any loop
    no: tuple[str, ...] = ()  # causes that must not be found


class Recorded:
    """A recorded block; its diagnosis is there once the block has ended."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._diagnosis: Diagnosis | None = None

    @property
    def diagnosis(self) -> Diagnosis:
        if self._diagnosis is None:
            from unslow.analyse.run.assemble import load
            from unslow.diagnose import diagnose

            self._diagnosis = diagnose(load(self.folder), with_fixes=False)
        return self._diagnosis

    @property
    def causes(self) -> list[str]:
        """The ids of all problems that were found, the most expensive first."""
        return [finding.cause for finding in self.diagnosis.findings if finding.fault]

    @property
    def step(self) -> float:
        """Seconds of a typical step in the slowest loop; 0 if there was none."""
        return max((loop.typical() for loop in self.diagnosis.run.loops), default=0.0)

    def check(self, max_step: float | None = None, no: tuple[str, ...] = ()) -> None:
        """Fail the test if a limit was exceeded."""
        problems = exceeded(self.diagnosis, Limits(max_step, tuple(no)))
        if problems:
            more = f"all of it: unslow why {self.folder}"
            pytest.fail("\n".join([*problems, more]), pytrace=False)


def exceeded(diagnosis: Diagnosis, limits: Limits) -> list[str]:
    """What is wrong with a recorded test, one line each. What was not judged is wrong, too."""
    run = diagnosis.run
    if not run.loops:
        return ["unslow saw no training step in this test"]
    problems = []
    for loop in run.loops:
        typical = loop.typical()
        if limits.max_step is not None and typical > limits.max_step:
            text = f"{loop.location}: a step takes {typical:.3g} s, {limits.max_step:.3g} s allowed"
            problems.append(text)
    for finding in diagnosis.findings:
        if {finding.cause, *finding.merged} & set(limits.no):
            problems.append(f"{finding.location or 'run'}: {finding.cause}: {finding.title}")
    for item in diagnosis.not_judged:
        if item.cause in limits.no:
            problems.append(f"{item.cause} could not be judged: {item.reason}")
    return problems


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def limits_of(marker: pytest.Mark) -> Limits:
    """The marker's arguments; a misspelled one is an error, never ignored."""
    unknown = set(marker.kwargs) - {"max_step", "no"}
    if marker.args or unknown:
        wrong = ", ".join([*map(repr, marker.args), *sorted(unknown)])
        raise pytest.UsageError(f"@pytest.mark.unslow takes max_step= and no=, not {wrong}")
    no = marker.kwargs.get("no", ())
    causes = (no,) if isinstance(no, str) else tuple(no)
    _must_exist(causes)
    return Limits(marker.kwargs.get("max_step"), causes)


def _must_exist(causes: tuple[str, ...]) -> None:
    from unslow.cause import load
    from unslow.errors import suggestion

    known = [cause.id for cause in load()[0]]
    for name in causes:
        if name not in known:
            hint = suggestion(name, known) or "`unslow explain` lists them."
            raise pytest.UsageError(f"@pytest.mark.unslow: there is no cause {name}. {hint}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Record a marked test, and judge it if it passed by itself."""
    marker = item.get_closest_marker("unslow")
    if marker is None:
        return (yield)
    limits = limits_of(marker)
    with _recorded(_folder(item)) as recorded:
        result = yield
    recorded.check(limits.max_step, limits.no)
    return result


@pytest.fixture
def unslow_record(
    request: pytest.FixtureRequest,
) -> Callable[[], AbstractContextManager[Recorded]]:
    """Records blocks of a test: `with unslow_record() as recorded: …`, then `recorded.check(…)`."""
    if request.node.get_closest_marker("unslow") is not None:
        raise pytest.UsageError("use the marker unslow or the fixture unslow_record, not both")
    return lambda: _recorded(_folder(request.node))


def _folder(item: pytest.Item) -> Path:
    """A new folder below pytest's own temporary ones, which it keeps for three runs."""
    factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
    return factory.mktemp("unslow")


@contextmanager
def _recorded(folder: Path) -> Iterator[Recorded]:
    from unslow.record.engine.inline import recording

    with recording(str(folder), report=False):
        recorded = Recorded(str(folder))
        yield recorded
