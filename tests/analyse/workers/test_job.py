"""The account of a job: who waits for whom, and what odd folders are told as."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unslow.analyse.sketches.jobs import Hand, JobSketch
from unslow.analyse.workers.assemble import job_of
from unslow.analyse.workers.job import NOBODY, Job, State, Work
from unslow.analyse.workers.members import unread
from unslow.analyse.workers.reasons import Why, reason_of
from unslow.analyse.workers.step_account import (
    Table,
    pace_of,
    replayed,
    shares_of,
    stragglers_of,
    table_of,
)
from unslow.facts.table import FactTable
from unslow.facts.workers import SyncBlock, WorkerIdentity
from unslow.model import Run

USUAL = {"input": 0.004, "python": 0.001}
EQUAL = Hand(USUAL)
SLOW = Hand({"input": 0.034, "python": 0.001})


def job_from(run: Run) -> Job:
    found = job_of(run)
    assert found is not None
    return found


def sketched(*workers: Hand, steps: int = 200) -> Run:
    return JobSketch("a job", workers=workers, steps=steps).run()


def with_identities(run: Run, change: dict[int, dict[str, object]]) -> Run:
    """The same run, some of whose processes say that they are someone else."""
    facts = [fact.replace(**change.get(fact.process, {})) for fact in run.facts(WorkerIdentity)]
    return replace(run, table=FactTable(facts=[*facts, *run.facts(SyncBlock)]))


def test_a_program_of_one_process_is_no_job() -> None:
    assert job_of(JobSketch("one", workers=(EQUAL,)).run()) is None


def test_the_worker_that_waits_least_is_the_culprit() -> None:
    job = job_from(sketched(EQUAL, SLOW, EQUAL))
    named = job.culprit[job.judged]
    assert (named == 1).mean() > 0.95
    assert job.stragglers == (1,)
    wait = np.nanmedian(job.wait, axis=1)
    assert wait[1] == pytest.approx(0, abs=1e-3)
    assert wait[0] == pytest.approx(0.03, abs=2e-3)


def test_nobody_is_blamed_where_all_are_alike() -> None:
    job = job_from(sketched(EQUAL, EQUAL, EQUAL))
    assert (job.culprit == NOBODY).all()
    assert job.stragglers == ()
    assert job.ideal_step == pytest.approx(job.measured_step)


def test_own_work_wait_and_transfer_make_up_the_step() -> None:
    job = job_from(sketched(EQUAL, SLOW, EQUAL))
    whole = job.own.sum(axis=2) + job.wait + job.transfer
    assert whole[:, job.judged] == pytest.approx(job.wall[:, job.judged], rel=1e-3)


def test_replaying_without_the_excess_gives_the_step_of_a_sound_job() -> None:
    faulty, sound = job_from(sketched(EQUAL, SLOW)), job_from(sketched(EQUAL, EQUAL))
    assert faulty.ideal_step == pytest.approx(sound.measured_step, rel=0.05)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_a_replay_keeps_the_wait_that_equal_workers_cause_each_other(workers: int) -> None:
    """Steps are uneven by a seventh, as real ones are: the later of two is above the mean."""
    work = np.random.default_rng(1).normal(0.02, 0.003, (workers, 2000)).astype(np.float32)
    sound = work.max(axis=0)
    work[-1] += 0.05
    wall = np.tile(work.max(axis=0), (workers, 1))
    culprit = np.full(2000, workers - 1, dtype=np.int32)
    replay = replayed(wall, work, (workers - 1,), culprit)
    assert replay.mean() == pytest.approx(sound.mean(), rel=0.01)


def test_a_replay_without_stragglers_is_the_job_as_it_was() -> None:
    """Two workers end the same steps, one a moment before the other."""
    late = np.random.default_rng(1).normal(0.0, 0.001, 2000).astype(np.float32)
    wall = np.array([0.02 + late, 0.02 - late])
    nobody = np.full(2000, NOBODY, dtype=np.int32)
    assert replayed(wall, wall, (), nobody).mean() == pytest.approx(0.02, rel=0.001)


@pytest.mark.parametrize(
    ("hand", "why"),
    [
        (SLOW, Why.INPUT),
        (Hand({"input": 0.004, "python": 0.03}), Why.PYTHON),
        (Hand({**USUAL, "collector": 0.03}), Why.COLLECTOR),
        (Hand({**USUAL, "save": 0.03}), Why.SAVE),
        (Hand(USUAL, inside=0.05, elements=4096), Why.BATCHES),
        (Hand(USUAL, inside=0.05), Why.COMPUTE),
        (Hand(USUAL, delay=0.03), Why.MACHINE),
        (Hand({"input": 0.02, "python": 0.017, "save": 0.02}), Why.UNKNOWN),
    ],
)
def test_the_reason_is_what_it_does_more_of_than_its_peers(hand: Hand, why: Why) -> None:
    run = sketched(EQUAL, EQUAL, hand)
    job = job_from(run)
    assert job.stragglers == (2,)
    assert reason_of(run, job, 2).why is why


def test_a_straggler_of_the_second_half_says_since_when() -> None:
    run = sketched(EQUAL, EQUAL, Hand(USUAL, extra={"python": 0.06}, since=101))
    reason = reason_of(run, job_from(run), 2)
    assert reason.since == 101


def test_long_runs_share_records_and_keep_the_culprit() -> None:
    job = job_from(sketched(EQUAL, SLOW, EQUAL, steps=6000))
    assert job.steps == 6000
    assert len(job.step) < 2500
    assert job.stragglers == (1,)


def test_a_worker_that_died_is_shown_up_to_its_last_step() -> None:
    run = sketched(EQUAL, EQUAL)
    processes = (run.processes[0], replace(run.processes[1], how="killed"))
    job = job_from(replace(run, processes=processes))
    assert [worker.state for worker in job.workers] == [State.WHOLE, State.DIED]


def test_a_missing_worker_is_named() -> None:
    job = job_from(JobSketch("two of three", workers=(EQUAL, EQUAL), missing=1).run())
    assert [worker.state for worker in job.others] == [State.MISSING]
    assert job.others[0].name == "worker 2"


def test_an_unreadable_configuration_is_told_once() -> None:
    changed = {index: {"problem": "JSONDecodeError: line 1"} for index in range(3)}
    run = with_identities(sketched(EQUAL, EQUAL, EQUAL), changed)
    assert unread(run) == ["TF_CONFIG could not be read (JSONDecodeError: line 1)"]
    assert unread(sketched(EQUAL, EQUAL)) == []


def test_two_processes_of_one_identity_at_once_are_named() -> None:
    job = job_from(with_identities(sketched(EQUAL, EQUAL, EQUAL), {2: {"index": 1}}))
    assert any("2 processes at once say that they are worker 1" in note for note in job.notes)
    assert len(job.workers) == 3


def test_a_process_after_the_other_of_its_identity_is_a_restart() -> None:
    run = with_identities(sketched(EQUAL, EQUAL, EQUAL), {2: {"index": 1}})
    first = replace(run.processes[1], started=0.0, ended=2.0, how="killed")
    second = replace(run.processes[2], started=3.0, ended=9.0)
    job = job_from(replace(run, processes=(run.processes[0], first, second)))
    assert [worker.state for worker in job.workers] == [State.WHOLE, State.RESTARTED]
    assert job.workers[1].earlier == (1,)


def test_half_of_another_job_is_left_out_and_named() -> None:
    run = with_identities(sketched(*[EQUAL] * 5), {3: {"job": "b"}, 4: {"job": "b"}})
    job = job_from(run)
    assert len(job.workers) == 3
    assert any("2 of 5 processes belong to another job" in note for note in job.notes)


def test_a_late_start_is_a_state_and_no_death() -> None:
    job = job_from(sketched(EQUAL, EQUAL, Hand(USUAL, start=9.0)))
    assert job.workers[2].state is State.LATE


def test_damaged_records_are_left_out() -> None:
    run = sketched(EQUAL, SLOW)
    blocks = [replace_data(block) for block in run.facts(SyncBlock)]
    job = job_from(replace(run, table=FactTable(facts=[*run.facts(WorkerIdentity), *blocks])))
    assert job.steps == 0 or not job.stragglers


def replace_data(block: SyncBlock) -> SyncBlock:
    return SyncBlock(data="!" + block.data[5:], process=block.process)


def table_from(*workers: Hand) -> Table:
    return table_of(JobSketch("a job", workers=workers).records())


def test_a_wait_for_elements_inside_the_step_is_own_work() -> None:
    table = table_from(EQUAL, EQUAL)
    for wall in table.mean["wall"]:
        wall += 0.03  # nobody computes in it
    starving = np.zeros_like(table.end)
    starving[1] = 0.03
    shares = shares_of(table, pace_of(table, {}, starving))
    assert (shares.culprit[shares.judged] == 1).all()
    assert np.nanmedian(shares.own[1, :, Work.INPUT]) == pytest.approx(0.034, rel=0.05)
    assert np.nanmedian(shares.wait[0]) == pytest.approx(0.03, rel=0.05)


def test_a_worker_that_did_not_run_after_the_collective_is_not_waited_for() -> None:
    """Its step is longer than the other's: who waits least and who works most are not the same."""
    table = table_from(EQUAL, Hand({"input": 0.004, "python": 0.006}))
    table.mean["wall"][1] += 0.08
    shares = shares_of(table, pace_of(table, {}))
    assert (shares.culprit == NOBODY).all()
    assert not shares.blamed.any()


def test_eager_collectives_are_timed_whatever_processor_they_use() -> None:
    table = table_from(EQUAL, EQUAL)
    table.mean["timed"][:] = 0.015  # of the 22 ms after the first launch
    shares = shares_of(table, pace_of(table, {}))
    assert np.nanmedian(shares.transfer) == pytest.approx(0.015, rel=0.05)


def test_moving_data_is_no_own_work() -> None:
    table = table_from(EQUAL, EQUAL)
    table.mean["network"][:] = 0.008  # of the 20 ms that it runs after the first launch
    shares = shares_of(table, pace_of(table, {}))
    assert np.nanmedian(shares.transfer) == pytest.approx(0.010, rel=0.05)


@pytest.mark.parametrize(("more", "culprit"), [(0.006, NOBODY), (0.03, 1)])
def test_computing_beyond_what_moving_data_takes_is_a_workers_own(
    more: float, culprit: int
) -> None:
    """8 ms are known to be spent on data, and threads that are not known may spend as much."""
    table = table_from(EQUAL, Hand(USUAL, inside=0.02 + more))
    table.mean["network"][:] = 0.008
    shares = shares_of(table, pace_of(table, {}))
    assert (shares.culprit[shares.judged] == culprit).all()


@pytest.mark.parametrize(("longer", "found"), [(0.0, ()), (0.03, (1,))])
def test_steps_in_which_a_worker_is_late_by_an_estimate_are_longer(
    longer: float, found: tuple[int, ...]
) -> None:
    """tf.data's model of an iterator may say that it waits, and the step takes no longer."""
    table = table_from(EQUAL, EQUAL)
    table.mean["wall"][:] += 0.03
    table.mean["wall"][:, 100:] += longer
    starving = np.zeros_like(table.end)
    starving[1, 100:] = 0.03
    shares = shares_of(table, pace_of(table, {}, starving))
    assert stragglers_of(shares, table.mean["wall"], table.columns.count) == found


def test_the_recorder_that_runs_while_a_worker_waits_is_no_own_work() -> None:
    table = table_from(EQUAL, SLOW)
    recorder = 0.02 * table.mean["wall"]
    table.mean["inside"] += 0.02 * (table.mean["wall"] - table.mean["before"])
    shares = shares_of(table, pace_of(table, {}, recorder=recorder))
    assert np.nanmedian(shares.own[0, :, Work.COMPUTE]) == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize(
    ("delays", "starved"),
    [
        ((0.02, 0.07), (0, 0.05)),  # of two workers, the better one shows what is usual
        ((0.02, 0.025), (0, 0)),
        ((0.0, 0.0), (0, 0)),
    ],
)
def test_a_worker_is_starved_where_it_waits_much_longer_for_a_processor(
    delays: tuple[float, float], starved: tuple[float, float]
) -> None:
    table = table_from(*[Hand(USUAL, delay=delay) for delay in delays])
    assert pace_of(table, {}).starved == pytest.approx(starved, abs=2e-3)


def test_a_busy_worker_does_not_make_its_peer_look_starved() -> None:
    """A peer that runs for a third of the time waits as long for a processor, and is not slow."""
    busy = Hand({"input": 0.004, "python": 0.04}, delay=0.02)
    assert not pace_of(table_from(Hand(USUAL, delay=0.02), busy), {}).starved.any()


def test_servers_of_a_coordinator_that_ended_well_did_not_die() -> None:
    run = sketched(EQUAL, EQUAL, EQUAL)
    run = with_identities(
        run,
        {
            0: {"role": "coordinator", "size": 1},
            1: {"index": 0, "size": 1},
            2: {"role": "ps", "size": 1},
        },
    )
    killed = [replace(one, how="killed" if one.index else "exit") for one in run.processes]
    job = job_from(replace(run, processes=tuple(killed)))
    assert {worker.state for worker in (*job.workers, *job.others)} == {State.WHOLE}


def test_every_kind_of_work_has_a_reason() -> None:
    job = job_from(sketched(EQUAL, EQUAL))
    assert job.own.shape[2] == len(Work)
