"""A quick part of the chaos suite: every reader and every awkward program is there and can be run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.chaos import faults, hostile, injected, load, own_errors, supply, transparency
from bench.chaos.kept import Attack, Result, Results, run_all
from bench.chaos.page import PARTS, page
from bench.chaos.readers import READERS

QUICK = {
    "lines of facts": 300,
    "rows of steps": 100,
    "headers and the list of runs": 100,
    "profiles": 50,
    "patches given to prove": 5,
    "settings files": 20,
    "source given to check": 10,
    "the live view": 2,
}


@pytest.mark.parametrize("reader", QUICK)
def test_a_reader_survives_hostile_input(reader: str) -> None:
    result = hostile.fuzz(reader, seed=1, count=QUICK[reader], timeout=100)
    assert not result.broke


def test_every_reader_is_fuzzed_with_100_000_inputs_in_all() -> None:
    assert hostile.COUNTS.keys() == READERS.keys()
    assert sum(hostile.COUNTS.values()) >= 100_000


def test_there_are_40_awkward_programs_and_all_are_python() -> None:
    programs = transparency.programs()
    assert len(programs) >= 40
    for program in programs:
        compile(program.main.read_bytes(), program.name, "exec")


def test_200_kills_are_tried() -> None:
    assert sum(faults._KILLS.values()) == 200


def test_fifty_thousand_facts_are_judged_in_seconds_and_bounded_memory() -> None:
    # A tenth of the time that comparing each trace with all others took.
    assert not load.many_facts(50_000, load.Bound(20, 400)).broke


def test_a_thousand_functions_are_judged_in_seconds() -> None:
    assert not load.many_functions(1_000, load.Bound(8, 200)).broke


def test_a_hundred_runs_are_listed_compared_and_watched() -> None:
    assert not load.many_runs(100, watched=3.0).broke


def test_eight_processes_record_into_one_folder() -> None:
    assert not load.many_processes(8).broke


def test_a_cause_that_raises_is_named() -> None:
    result = own_errors.report_parts(names=("hot_lines", "_account"), examples=("retracing",))
    assert result.tries == 2 and not result.broke


def test_every_part_of_the_recorder_that_is_made_to_raise_is_there() -> None:
    """Each is looked up by its name, and a refactoring may have moved it."""
    assert len(list(injected.injections())) > 100


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_attacks_with_names_of_their_own(part: str) -> None:
    modules = {
        "faults": faults,
        "hostile": hostile,
        "load": load,
        "own_errors": own_errors,
        "supply": supply,
        "transparency": transparency,
    }
    names = [attack.name for attack in modules[part].attacks()]
    assert names and len(names) == len(set(names))


def test_what_held_is_not_tried_again_and_what_broke_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.chaos.kept.KEPT", tmp_path)
    tried = tmp_path / "tried"

    def attack(name: str, *broke: str) -> Attack:
        def run() -> Result:
            with tried.open("a") as file:
                file.write(f"{name} ")
            return Result(broke=broke)

        return Attack(name, run)

    attacks = [attack("holds"), attack("breaks", "it fell")]
    run_all({"load": attacks}, jobs=1)
    run_all({"load": attacks}, jobs=1)
    assert tried.read_text().split() == ["holds", "breaks", "breaks"]
    text = page({"load": Results.load("load")})
    assert "it fell" in text and "**2 tries, 1 broke**" in text


def test_an_attack_that_kills_its_process_is_a_failure_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.chaos.kept.KEPT", tmp_path)
    attacks = [Attack("dies", lambda: os._exit(3)), Attack("holds", lambda: Result())]
    run_all({"load": attacks}, jobs=2)
    rows = Results.load("load").rows
    assert rows["dies"].broke and not rows["holds"].broke
    assert 0 < rows["holds"].processor < 10
