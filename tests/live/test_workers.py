"""A real job of two processes on this machine: who the others wait for, and a sound one."""

from __future__ import annotations

from collections.abc import Callable

from tests.live.conftest import ROOT, Recorded, marked
from unslow.analyse.run.assemble import load
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.job import Job, State

SCRIPT = ROOT / "bench" / "workers" / "straggler.py"


def job_from(recorded: Recorded) -> Job:
    found = job_of(load(str(recorded.folder)))
    assert found is not None
    return found


def judged(recorded: Recorded) -> list[str]:
    causes = [finding["cause"] for finding in recorded.report["findings"] if finding["fault"]]
    return [cause for cause in causes if cause in ("straggler", "communication")]


def test_the_worker_that_holds_the_others_up_is_named_with_its_line(
    record: Callable[..., Recorded],
) -> None:
    recorded = record(SCRIPT)
    assert recorded.done.returncode == 0, recorded.done.stderr
    assert judged(recorded) == ["straggler"]
    finding = next(f for f in recorded.report["findings"] if f["cause"] == "straggler")
    assert finding["title"].startswith("worker 1 ") and "its own Python" in finding["title"]
    assert finding["location"]["line"] in marked(SCRIPT, "straggler")
    job = job_from(recorded)
    assert [worker.state for worker in job.workers] == [State.WHOLE, State.WHOLE]
    assert job.steps == 200
    assert job.per_step == 1
    assert job.exact is None  # no windows in a job: closing one may end a worker
    assert job.collectives[0].bytes == 2 * 256 * 256 * 4


def test_a_job_whose_workers_are_alike_raises_no_alarm(record: Callable[..., Recorded]) -> None:
    recorded = record(SCRIPT.read_text().replace("if index == 1:", "if True:"))
    assert recorded.done.returncode == 0, recorded.done.stderr
    assert judged(recorded) == []
