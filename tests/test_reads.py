"""A cause reads the facts that it declares: what it cannot judge without a probe follows from that alone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.examples import RECORDED
from unslow.analyse.run.assemble import load as read
from unslow.cause import CannotJudge, Cause, load
from unslow.diagnose import diagnose
from unslow.facts import process as plumbing
from unslow.facts.schema import Fact
from unslow.facts.table import observed_reads
from unslow.model import Run

CAUSES = [cause for cause in load()[0] if cause.ran]
ENGINE = {kind for kind in vars(plumbing).values() if isinstance(kind, type)}


def sketches() -> Iterator[Run]:
    for cause in CAUSES:
        for sketch in (*cause.FIRES, *cause.QUIET):
            yield sketch.run()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    found = list(sketches())
    for recording in sorted(RECORDED.glob("*.zip"))[::6]:
        place = tmp_path_factory.mktemp(recording.stem)
        with zipfile.ZipFile(recording) as packed:
            packed.extractall(place)
        found.append(read(str(place)))
    return found


def observed(cause: Cause, runs: list[Run]) -> set[type[Fact]]:
    with observed_reads() as kinds:
        for run in runs:
            try:
                list(cause.detect(run))
            except CannotJudge:
                continue
    return kinds


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_cause_reads_only_what_it_declares(cause: Cause, runs: list[Run]) -> None:
    undeclared = observed(cause, runs) - set(cause.reads) - ENGINE
    assert not {kind.__name__ for kind in undeclared}


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_cause_whose_probe_was_lost_is_not_judged(cause: Cause) -> None:
    if not cause.FIRES:
        pytest.skip("nothing makes it fire")
    run = cause.FIRES[0].run()
    for probe in {*cause.needs, *(kind.probe for kind in cause.reads)}:
        lost = {**run.processes[0].probes, probe: "lost: gone in this version"}
        broken = replace(run, processes=(replace(run.processes[0], probes=lost),))
        diagnosis = diagnose(broken, [cause], with_fixes=False)
        assert [one.cause for one in diagnosis.not_judged] == [cause.id], probe
        assert not diagnosis.findings
